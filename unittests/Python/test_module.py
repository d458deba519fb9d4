# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import pickle

import launchjit as lj
import pytest
from helpers import BUNDLED, ptx, run_python

ADD = "a: *fp32, b: *fp32, c: *fp32, n: i32"


def test_kernels():
    module = lj.Module.from_file(BUNDLED)
    assert (module.format, module.arch) == ("ptx", 90)
    assert set(module.kernels) >= {"add", "scalars", "structs", "cluster", "cooperative",
                                   "params300", "shared", "globals"}
    variables = module.variables
    assert {name: (each.name, each.size, each.constant) for name, each in variables.items()} == {
        "coefficients": ("coefficients", 16, True), "factor": ("factor", 4, False)}
    info = module.kernels["add"]
    assert info.name == "add"
    assert info.parameters == ((0, 8), (8, 8), (16, 8), (24, 4))
    assert info.registers is None
    assert len(module.kernels["params300"].parameters) == 300
    assert pickle.loads(pickle.dumps(info)) == info
    assert str(BUNDLED) in repr(module)


def test_what_the_binary_says_is_the_layout():
    signature = lj.Signature("*u64, i1, i8, i16, i32, i64, u1, u8, u16, u32, u64, fp16, bf16, "
                             "fp32, fp64")
    info = lj.Module.from_file(BUNDLED).kernels["scalars"]
    assert info.parameters == tuple((p.offset, p.size) for p in signature.parameters)


def test_bytes_and_pickle():
    data = BUNDLED.read_bytes()
    for given in (data, bytearray(data), memoryview(data)):
        assert lj.Module.from_bytes(given).bytes == data
    module = pickle.loads(pickle.dumps(lj.Module.from_file(str(BUNDLED))))
    assert module.bytes == data
    assert str(BUNDLED) in repr(module)


def test_get_global():
    module = lj.Module.from_file(BUNDLED)
    address, size = module.get_global("coefficients")
    assert address and size == 16
    other, size = module.get_global("factor")
    assert other and other != address and size == 4
    with pytest.raises(lj.Error, match="no_such_variable"):
        module.get_global("no_such_variable")


def test_signature_must_fit():
    module = lj.Module.from_file(BUNDLED)
    module.get_kernel("add", ADD)
    for wrong in ("*fp32, *fp32, *fp32", ADD + ", i32", "*fp32, *fp32, *fp32, i64", "i32"):
        with pytest.raises(lj.SignatureError, match="add"):
            module.get_kernel("add", wrong)


def test_errors(tmp_path):
    with pytest.raises(lj.Error, match="no/such/file"):
        lj.Module.from_file("no/such/file.cubin")
    with pytest.raises(lj.Error):
        lj.Module.from_bytes(b"this is no binary")
    with pytest.raises(lj.Error):
        lj.Module.from_bytes(b"")
    with pytest.raises(lj.Error):
        lj.Module.from_bytes(b"\x7fELF" + bytes(40))
    with pytest.raises(lj.Error, match="no_such_kernel"):
        lj.Module.from_file(BUNDLED).get_kernel("no_such_kernel", ADD)
    with pytest.raises(TypeError):
        lj.Module.from_bytes("text")
    with pytest.raises(TypeError, match="from_file"):
        lj.Module()
    path = tmp_path / "empty"
    path.write_bytes(b"")
    with pytest.raises(lj.Error, match="empty"):
        lj.Module.from_file(path)


def test_needs_no_driver():
    """Everything but a launch works without a driver, and a launch says why it
    does not."""
    print(run_python(
        f"""
import pickle
import launchjit as lj
module = lj.Module.from_file({str(BUNDLED)!r})
module.kernels
kernel = module.get_kernel("add", {ADD!r}, block=128)
kernel = pickle.loads(pickle.dumps(kernel)).with_config(shared=16)
lj.Launcher({ADD!r})
launch = kernel.launch
try:
    launch(1, 0, 0, 0, 0, 0)
except lj.CudaError as error:
    assert "LAUNCHJIT_DRIVER" in str(error), error
    assert (error.code, error.name) == (0, "")
else:
    raise SystemExit("launched without a driver")
try:
    lj.driver.kind
except lj.CudaError as error:
    assert (error.code, error.name) == (0, "")
else:
    raise SystemExit("a driver out of nowhere")
""",
        LAUNCHJIT_DRIVER=None, LAUNCHJIT_LIBCUDA="/no/such/libcuda.so.1",
    ))


def test_imports_little():
    """Importing is quick because it brings in nothing but ctypes."""
    added = run_python("""
import sys
before = set(sys.modules)
import launchjit
print(*{name.partition(".")[0] for name in set(sys.modules) - before})
""")
    assert set(added.split()) <= {"launchjit", "ctypes", "_ctypes", "struct", "_struct", "types",
                                     "__future__", "atexit"}


def test_library_is_found():
    message = run_python("""
try:
    import launchjit
except ImportError as error:
    print(error)
""", LAUNCHJIT_LIBRARY="/no/such/liblaunchjit.so")
    assert "/no/such/liblaunchjit.so cannot be loaded" in message


def test_ptx_of_one_kernel():
    signature = lj.Signature("struct<12,4>, nvTmaDesc, i8")
    info = lj.Module.from_bytes(ptx(signature), name="mine").kernels["axpy"]
    assert info.parameters == tuple((p.offset, p.size) for p in signature.parameters)
