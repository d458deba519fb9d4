# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pointers from every kind of object, and where they lead."""

import ctypes
import struct
import sys
import weakref
from ctypes import POINTER, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from types import SimpleNamespace

import launchjit as lj
import pytest
from helpers import launched, leaks_nothing, make_kernel, parameters, refused, run_python
from launchjit._errors import check
from launchjit._lib import lib

CPU, CUDA, PINNED, MANAGED = 1, 2, 3, 13
DEVICE_ADDRESS = 2**40


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class Managed(ctypes.Structure):
    pass


Deleter = ctypes.PYFUNCTYPE(None, POINTER(Managed))
Managed._fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p),
                    ("deleter", Deleter), ("flags", c_uint64), ("tensor", DLTensor)]
FromObject = ctypes.PYFUNCTYPE(c_int, ctypes.py_object, POINTER(DLTensor))
ManagedFromObject = ctypes.PYFUNCTYPE(c_int, ctypes.py_object, POINTER(POINTER(Managed)))
WorkStream = ctypes.PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))


class API(ctypes.Structure):
    pass


API._fields_ = [("major", c_uint32), ("minor", c_uint32), ("previous", POINTER(API)),
                ("allocator", c_void_p), ("managed_from", ManagedFromObject),
                ("to_object", c_void_p), ("from_object", FromObject),
                ("work_stream", WorkStream)]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
CAPSULE_NAME = b"dlpack_exchange_api"


class Tensor:
    """A tensor of a framework that has DLPack's C exchange."""

    stream = 0

    def __init__(self, data=DEVICE_ADDRESS, device=(CUDA, 0), dtype=(2, 32, 1), shape=(4,),
                 strides=None, byte_offset=0, error=False):
        self.error = error
        self.shape = (c_int64 * len(shape))(*shape)
        self.strides = (c_int64 * len(strides))(*strides) if strides is not None else None
        self.values = DLTensor(data, *device, len(shape), *dtype, self.shape, self.strides,
                               byte_offset)


def fill(tensor, out):
    if tensor.error:
        return -1  # a callback of ctypes cannot leave an exception
    out[0] = tensor.values
    return 0


@FromObject
def from_object(tensor, out):
    return fill(tensor, out)


alive = []


@Deleter
def deleter(managed):
    alive.pop()


@ManagedFromObject
def managed_from(tensor, out):
    managed = Managed(1, 0, None, deleter, 0)
    if fill(tensor, ctypes.pointer(managed.tensor)):
        return -1
    alive.append(managed)
    out[0] = ctypes.pointer(managed)
    return 0


@WorkStream
def work_stream(device_type, device, out):
    assert (device_type, device) == (CUDA, 0)
    out[0] = Tensor.stream
    return 0


def api(major=1, managed=False, previous=None):
    return API(major, 3, previous, None, managed_from if managed else ManagedFromObject(), None,
               FromObject() if managed else from_object, work_stream)


the_api = api()
Tensor.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(the_api), CAPSULE_NAME, None)


def tensor_type(exchange):
    return type("Tensor", (Tensor,), {"__dlpack_c_exchange_api__": exchange})


def packed(address):
    return [struct.pack("<Q", address)]


class Memory:
    """Memory of the recording driver's device."""

    def __init__(self, size=64):
        address = c_uint64()
        check(lib.lj_memory_allocate(size, address))
        self.address = address.value

    def __del__(self):
        check(lib.lj_memory_free(self.address))

    def data_ptr(self):
        return self.address


# --- DLPack's C exchange --------------------------------------------------------

def test_dlpack():
    kernel = make_kernel("p: *fp32")
    for _ in range(3):
        assert parameters(kernel, Tensor()) == packed(DEVICE_ADDRESS)
    assert parameters(kernel, Tensor(byte_offset=12)) == packed(DEVICE_ADDRESS + 12)
    for device in (PINNED, MANAGED):
        assert parameters(kernel, Tensor(device=(device, 0))) == packed(DEVICE_ADDRESS)
    assert parameters(kernel, Tensor(data=None, shape=(0,))) == packed(0)
    refused(lj.ArgumentValueError, "argument 0 ('p', *fp32): its framework's DLPack exchange gave "
            "no tensor", kernel, Tensor(error=True))


def test_dlpack_of_other_versions():
    kernel = make_kernel("p: *fp32")
    newer = api(major=2, previous=ctypes.pointer(the_api))
    managed = api(managed=True)
    for exchange in (ctypes.addressof(the_api),  # an int, as the first frameworks had it
                     new_capsule(ctypes.addressof(newer), CAPSULE_NAME, None),
                     new_capsule(ctypes.addressof(managed), CAPSULE_NAME, None)):
        assert parameters(kernel, tensor_type(exchange)()) == packed(DEVICE_ADDRESS)
    assert alive == []
    unknown = api(major=2)
    for exchange in (new_capsule(ctypes.addressof(unknown), CAPSULE_NAME, None),
                     new_capsule(ctypes.addressof(the_api), b"other", None), "text", None):
        other = tensor_type(exchange)()
        refused(lj.ArgumentTypeError, "argument 0 ('p', *fp32): expected an int, None, or an "
                "object with __dlpack_c_exchange_api__, data_ptr(), __cuda_array_interface__ or "
                "handle, got Tensor", kernel, other)
        other.data_ptr = lambda: 0  # the next way
        assert parameters(kernel, other) == packed(0)


def test_many_types_on_one_kernel():
    kernel = make_kernel("p: *fp32")
    types = [tensor_type(Tensor.__dlpack_c_exchange_api__) for _ in range(9)]
    for _ in range(2):
        for cls in types:
            assert parameters(kernel, cls()) == packed(DEVICE_ADDRESS)


def test_a_kernel_keeps_the_types_it_knows_and_no_others():
    cls = tensor_type(Tensor.__dlpack_c_exchange_api__)
    tensor = cls()
    before = sys.getrefcount(cls)
    kernel = make_kernel("p: *fp32")
    for _ in range(3):
        kernel.launch(1, 0, tensor)
    assert sys.getrefcount(cls) == before + 1
    del kernel
    assert sys.getrefcount(cls) == before
    lj.driver.recorded()


def test_what_the_look_for_a_way_raises():
    """What an object's own code raises comes through; its class is another matter."""
    class Proxy:
        def __getattr__(self, name):
            raise LookupError(name)

    class Meta(type):
        def __getattr__(cls, name):
            raise LookupError(name)

    class Pointer(metaclass=Meta):
        def data_ptr(self):
            return 0

    kernel = make_kernel("p: *fp32")
    refused(LookupError, "data_ptr", kernel, Proxy())
    gone = weakref.proxy(Memory())
    refused(ReferenceError, "weakly-referenced object no longer exists", kernel, gone)
    assert parameters(kernel, Pointer()) == packed(0)


# --- where memory is --------------------------------------------------------------

def test_cpu_memory_is_refused_by_name():
    kernel = make_kernel("n: i32, p: *fp32")
    buffer = ctypes.create_string_buffer(16)
    address = ctypes.addressof(buffer)
    where = (f"0x{address:X}, which is no memory that the GPU can access; pass a tensor on the "
             "GPU or in pinned memory")
    refused(lj.ArgumentValueError, "argument 1 ('p', *fp32): it is on the CPU, at " + where,
            kernel, 1, Tensor(address, (CPU, 0)))

    class Old:
        def data_ptr(self):
            return address

    refused(lj.ArgumentValueError, "argument 1 ('p', *fp32): data_ptr() gave " + where,
            kernel, 1, Old())
    unchecked = kernel.with_config(check_memory=False)
    assert parameters(unchecked, 1, Old())[1:] == packed(address)
    assert parameters(unchecked, 1, Tensor(address, (CPU, 0)))[1:] == packed(address)
    # Pinned memory says that it is the CPU's, and the driver knows better.
    memory = Memory()
    assert parameters(kernel, 1, Tensor(memory.address, (CPU, 0)))[1:] == packed(memory.address)
    assert parameters(kernel, 1, memory)[1:] == packed(memory.address)


def test_devices():
    assert run_python("""
import launchjit as lj
from helpers import make_kernel, parameters, refused
from test_pointers import CUDA, Tensor, packed
kernel = make_kernel("p: *fp32, q: *fp32")
here, there = Tensor(), Tensor(device=(CUDA, 1))
refused(lj.ArgumentValueError, "argument 1 ('q', *fp32): it is on device 1, but argument 0 ('p', "
        "*fp32) is on device 0; peer_access=True allows that", kernel, here, there)
refused(lj.ArgumentValueError, "kernel 'axpy', argument 0 ('p', *fp32): it is on device 1, but the "
        "launch's stream is on device 0; launch on a stream of its device, or allow peer access",
        kernel, there, there)
assert parameters(kernel.with_config(peer_access=True), there, here) == packed(2**40) * 2
assert parameters(kernel.with_config(device=1), there, there) == packed(2**40) * 2
assert parameters(kernel, here, 5) == packed(2**40) + packed(5)
print("done")
""", LAUNCHJIT_RECORDING="90,2") == "done\n"


def test_the_frameworks_current_stream():
    kernel = make_kernel("p: *fp32, n: i32")
    Tensor.stream = 2
    try:
        assert launched(kernel, Tensor(), 1, stream=None)["stream"] == 2
        assert launched(kernel, Tensor(), 1, stream=0)["stream"] == 0
        kernel[1](Tensor(), 1)
        kernel[1](Tensor(), 1, stream=1)
        kernel[1](p=Tensor(), n=1)
        assert [launch["stream"] for launch in lj.driver.recorded()] == [2, 1, 2]
        # Without a tensor that tells there is the legacy stream.
        assert launched(kernel, 2**40, 1, stream=None)["stream"] == 0
    finally:
        Tensor.stream = 0


def test_torchs_current_stream(monkeypatch):
    """torch is asked where no tensor tells, before a kernel's first launch, too."""
    torch = SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: True),
                            _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 2))
    monkeypatch.setitem(sys.modules, "torch", torch)
    kernel = make_kernel("p: *fp32")
    for _ in range(2):
        assert launched(kernel, DEVICE_ADDRESS, stream=None)["stream"] == 2
    assert launched(make_kernel("p: *fp32"), Array(), stream=None)["stream"] == 2


@WorkStream
def no_stream(device_type, device, out):
    return -1  # as above, without an exception


def test_a_framework_without_a_current_stream():
    table = API(1, 3, None, None, ManagedFromObject(), None, from_object, no_stream)
    cls = tensor_type(new_capsule(ctypes.addressof(table), CAPSULE_NAME, None))
    refused(lj.ArgumentValueError, "stream: the framework of a tensor did not tell its current "
            "stream", make_kernel("p: *fp32"), cls(), stream=None)


# --- __cuda_array_interface__ and others --------------------------------------------

class Array:
    def __init__(self, data=(DEVICE_ADDRESS, False), **more):
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": data,
                                         "version": 3, **more}


def test_the_cuda_array_interface():
    kernel = make_kernel("p: *fp32")
    assert parameters(kernel, Array()) == packed(DEVICE_ADDRESS)
    assert parameters(kernel, Array((0, False), shape=(0,))) == packed(0)
    for stream in (None, 1, 2):
        assert parameters(kernel, Array(stream=stream)) == packed(DEVICE_ADDRESS)

    class Property:
        @property
        def __cuda_array_interface__(self):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        kernel.launch(1, 0, Property())
    refused(lj.ArgumentValueError, "argument 0 ('p', *fp32): it is read-only; the signature must "
            "say so, as in *kfp32", kernel, Array((DEVICE_ADDRESS, True)))
    assert parameters(make_kernel("p: *kfp32"), Array((DEVICE_ADDRESS, True))) == \
        packed(DEVICE_ADDRESS)
    for data in (None, 5, (5,), (5, False, 1)):
        refused(lj.ArgumentTypeError, "argument 0 ('p', *fp32): __cuda_array_interface__ has no "
                "data of (address, read-only)", kernel, Array(data))
    # A stream that the driver does not know cannot be waited for.
    with pytest.raises(lj.CudaError, match="stream"):
        kernel.launch(1, 0, Array(stream=0x123456))
    assert lj.driver.recorded() == []


def test_handles():
    class Pointer:
        def __int__(self):
            return DEVICE_ADDRESS

    class Buffer:
        def __init__(self, handle):
            self.handle = handle

    kernel = make_kernel("p: *fp32")
    assert parameters(kernel, Buffer(DEVICE_ADDRESS)) == packed(DEVICE_ADDRESS)
    assert parameters(kernel, Buffer(Pointer())) == packed(DEVICE_ADDRESS)
    refused(lj.ArgumentTypeError, "argument 0 ('p', *fp32): expected its handle to be an int, "
            "got str", kernel, Buffer("x"))


# --- strict -------------------------------------------------------------------------

def test_strict():
    kernel = make_kernel("p: *fp32:16, n: i32:4", strict=True)
    assert parameters(kernel, Tensor(), 8)[:1] == packed(DEVICE_ADDRESS)
    assert parameters(kernel, Tensor(shape=(2, 3), strides=(3, 1)), -8)[:1] == \
        packed(DEVICE_ADDRESS)
    assert parameters(kernel, Tensor(shape=(2, 1, 3), strides=(3, 77, 1)), 0)[:1] == \
        packed(DEVICE_ADDRESS)
    assert parameters(kernel, Array(), 4)[:1] == packed(DEVICE_ADDRESS)
    assert parameters(kernel, DEVICE_ADDRESS, 4)[:1] == packed(DEVICE_ADDRESS)
    first = "argument 0 ('p', *fp32): "
    for wrong, message in (
            (Tensor(dtype=(2, 16, 1)), "its elements are float16, not float32"),
            (Tensor(dtype=(4, 16, 1)), "its elements are bfloat16, not float32"),
            (Tensor(dtype=(2, 32, 4)), "its elements are float32x4, not float32"),
            (Array(typestr="<i4"), "its elements are int32, not float32")):
        refused(lj.ArgumentTypeError, first + message, kernel, wrong, 4)
    for wrong, message in (
            (Tensor(shape=(2, 3), strides=(1, 2)), "it is not contiguous: dimension 1 has stride "
             "2, not 1"),
            (Array(shape=(2, 3), strides=(16, 4)), "it is not contiguous: dimension 0 has stride "
             "4, not 3"),
            (Tensor(byte_offset=4), "0x10000000004 is not divisible by 16, as the signature "
             "promises")):
        refused(lj.ArgumentValueError, first + message, kernel, wrong, 4)
    refused(lj.ArgumentValueError, "argument 1 ('n', i32): 0x6 is not divisible by 4, as the "
            "signature promises", kernel, Tensor(), 6)
    refused(lj.ArgumentTypeError, first + "expected an object that tells its element type "
            "(strict=True), got Memory", kernel, Memory(), 4)
    # Of shape and strides that are no ints nothing is guessed.
    refused(TypeError, "'float' object cannot be interpreted as an integer", kernel,
            Array(shape=(1, 4), strides=(0.0, 4)), 4)
    # Unless it is asked for, none of this is looked at.
    lax = kernel.with_config(strict=False)
    assert parameters(lax, Tensor(dtype=(0, 8, 1), byte_offset=1), 3)[:1] == \
        packed(DEVICE_ADDRESS + 1)


def test_every_element_type_is_known_to_strict():
    codes = {"i8": (0, 8), "i16": (0, 16), "i32": (0, 32), "i64": (0, 64), "u8": (1, 8),
             "u16": (1, 16), "u32": (1, 32), "u64": (1, 64), "fp16": (2, 16), "fp32": (2, 32),
             "fp64": (2, 64), "bf16": (4, 16), "i1": (6, 8), "u1": (6, 8), "fp8e4nv": (10, 8),
             "fp8e5": (12, 8), "fp8e4b15": (9, 8), "fp8e4b8": (11, 8), "fp8e5b16": (13, 8)}
    for name, right in codes.items():
        kernel = make_kernel(f"*{name}", strict=True)
        for code in set(codes.values()):
            tensor = Tensor(dtype=(*code, 1))
            if code == right:
                assert parameters(kernel, tensor) == packed(DEVICE_ADDRESS)
            else:
                with pytest.raises(lj.ArgumentTypeError, match="its elements are"):
                    kernel.launch(1, 0, tensor)
    kernel = make_kernel("*void", strict=True)
    assert parameters(kernel, Tensor(dtype=(5, 64, 1))) == packed(DEVICE_ADDRESS)


# --- leaks ----------------------------------------------------------------------------

def test_pointers_leak_nothing():
    kernel = make_kernel("p: *fp32, q: *fp32")
    strict = kernel.with_config(strict=True)
    good = [Tensor(), Array(), Memory(), tensor_type(Tensor.__dlpack_c_exchange_api__)()]
    bad = [Tensor(error=True), Array(None), Tensor(1, (CPU, 0)), Tensor(dtype=(0, 8, 1))]

    def round():
        for pointer in good:
            kernel.launch(1, None, pointer, pointer)
            kernel[1](pointer, pointer)
        for pointer in bad:
            for which in kernel, strict:
                try:
                    which.launch(1, 0, pointer, pointer)
                except (lj.Error, KeyError):
                    pass
        lj.driver.recorded()

    watched = [*good, *bad, *map(type, good), Tensor.__dlpack_c_exchange_api__, None]
    leaks_nothing(round, 200, 5, watched, blocks=100)
