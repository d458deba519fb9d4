# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that wrap what a host loaded itself, over the tests' libcuda.so.1."""

from pathlib import Path

import launchjit as lj
import pytest
from helpers import run_python
from launchjit import _lib

LIBCUDA = Path(_lib.path).parent / "test" / "libcuda.so.1"

# A host that uses the driver by itself.
HOST = """
import ctypes, json, pickle
import launchjit as lj
from helpers import ptx
cuda = ctypes.CDLL(libcuda)
cuda.lj_recorded.restype = ctypes.c_char_p

def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    assert result == 0, (name, result)

def new(name, *arguments):
    handle = ctypes.c_void_p()
    call(name, ctypes.byref(handle), *arguments)
    return handle

def recorded():
    return json.loads(cuda.lj_recorded())

call("cuInit", 0)
device = 1
context = new("cuDevicePrimaryCtxRetain", device)
call("cuCtxSetCurrent", context)
signature = lj.Signature("x: *fp32, n: i32")
image = ptx(signature, "axpy") + b"\\0"
stream = new("cuStreamCreate", 0)
"""


def over_libcuda(code):
    assert LIBCUDA.exists(), "build the target launchjit-test-libcuda"
    return run_python(f"libcuda = {str(LIBCUDA)!r}\n{HOST}\n{code}",
                      LAUNCHJIT_DRIVER="cuda", LAUNCHJIT_LIBCUDA=str(LIBCUDA),
                      LAUNCHJIT_RECORDING="90,2")


def test_from_function():
    over_libcuda("""
function = new("cuModuleGetFunction", new("cuModuleLoadData", image), b"axpy")
kernel = lj.Kernel.from_function(function.value, signature, name="mine", block=64)
assert kernel.name == "mine" and kernel.block == (64, 1, 1)
kernel[3](2**40, 7, stream=stream.value)
[launch] = recorded()
assert launch["kernel"] == "axpy" and launch["device"] == device
assert launch["grid"] == [3, 1, 1] and launch["block"] == [64, 1, 1]
assert launch["stream"] == stream.value and launch["context"] == context.value
assert launch["parameters"] == ["0000000000010000", "07000000"]
kernel.with_config(block=32, shared=16).launch(1, stream.value, None, 7)
[launch] = recorded()
assert launch["block"] == [32, 1, 1] and launch["shared"] == 16
try:
    pickle.dumps(kernel)
except TypeError as error:
    assert str(error).startswith("the kernel mine cannot be pickled"), error
else:
    raise SystemExit("pickled")
""")


def test_from_cukernel():
    over_libcuda("""
library = ctypes.c_void_p()
call("cuLibraryLoadData", ctypes.byref(library), image, None, None, 0, None, None, 0)
kernel = lj.Kernel.from_cukernel(new("cuLibraryGetKernel", library, b"axpy").value, signature)
class Stream:
    def __cuda_stream__(self):
        return (0, stream.value)
kernel[3](2**40, 7, stream=Stream())
[launch] = recorded()
assert launch["kernel"] == "axpy" and launch["device"] == device
assert launch["parameters"] == ["0000000000010000", "07000000"]
""")


def test_the_current_context_is_the_hosts():
    over_libcuda("""
def current():
    return new("cuCtxGetCurrent").value

kernel = lj.Module.from_bytes(image).get_kernel("axpy", signature, device=0)
call("cuCtxSetCurrent", None)
kernel[1](1, 2, stream=0)       # no context: that of the device option
assert current() is None
kernel[1](1, 2, stream=stream.value)  # the stream's
assert current() is None
call("cuCtxSetCurrent", context)
kernel[1](1, 2, stream=0)       # the current one's
assert current() == context.value
assert [launch["device"] for launch in recorded()] == [0, 1, 1]
try:
    kernel[1, 65536](1, 2, stream=0)
except lj.ArgumentValueError:
    assert current() == context.value
else:
    raise SystemExit("launched")
assert recorded() == []
""")


def test_a_wrong_signature_is_refused():
    over_libcuda("""
function = new("cuModuleGetFunction", new("cuModuleLoadData", image), b"axpy")
try:
    lj.Kernel.from_function(function.value, "*fp32, i64").launch(1, 0, 1, 2)
except lj.SignatureError as error:
    assert "8 bytes" in str(error), error
else:
    raise SystemExit("accepted")
assert recorded() == []
""")


def test_no_function():
    with pytest.raises(lj.Error):
        lj.Kernel.from_function(0, "i32")
    with pytest.raises(lj.Error):
        lj.Kernel.from_cukernel(0, "i32")
