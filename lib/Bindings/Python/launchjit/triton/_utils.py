# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What takes the place of Triton's CudaUtils, which runs a C compiler.

Over launchjit's own table of the driver's functions. Nothing here opens the
driver before a function is called.
"""

from __future__ import annotations

import ctypes
import functools
import operator
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p

from .._errors import check
from .._lib import lib, pylib
from ._launcher import KernelSignature, devices, make_launch

# As cuda.h has them.
_MAX_THREADS, _SHARED_SIZE, _LOCAL_SIZE, _NUM_REGS = 0, 1, 3, 4
_MAX_DYNAMIC_SHARED, _NONPORTABLE_CLUSTER, _SHARED_MEMORY_MODE = 8, 14, 17
_OVERSIZED_SHARED_MEMORY = 3
_PREFER_SHARED = 1
_PRINTF_FIFO_SIZE = 1
_CLUSTER_DIMENSION = 4
_SHARED_OPTIN, _MAJOR, _MINOR, _OVERSIZED_OPTIN = 97, 75, 76, 150
_PROPERTIES = {"max_shared_mem": _SHARED_OPTIN, "max_num_regs": 12, "multiprocessor_count": 16,
               "warpSize": 10, "sm_clock_rate": 13, "mem_clock_rate": 36, "mem_bus_width": 37}

_TYPES = {
    "cuCtxGetCurrent": (POINTER(c_void_p),),
    "cuCtxGetLimit": (POINTER(c_size_t), c_int),
    "cuCtxSetLimit": (c_int, c_size_t),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuFuncGetAttribute": (POINTER(c_int), c_int, c_void_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuFuncSetCacheConfig": (c_void_p, c_int),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuModuleLoadData": (POINTER(c_void_p), c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuOccupancyMaxActiveClusters": (POINTER(c_int), c_void_p, c_void_p),
    "cuStreamIsCapturing": (c_void_p, POINTER(c_int)),
}


_get_default_stream, _get_current_device = pylib.lj_python_triton_devices()

# {CUmodule: CUfunction}: what load_binary loaded.
_loaded: dict[int, int] = {}


class _Attribute(ctypes.Structure):
    _fields_ = [("id", c_uint), ("pad", c_uint), ("value", c_uint * 16)]


class _Config(ctypes.Structure):  # CUlaunchConfig
    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint),
                ("stream", c_void_p), ("attributes", POINTER(_Attribute)), ("count", c_uint)]


@functools.lru_cache(None)
def _function(name):
    address = c_void_p()
    check(lib.lj_driver_function(name.encode(), address))
    return ctypes.CFUNCTYPE(c_int, *_TYPES[name])(address.value)


def _call(name, *args):
    """Calls the driver without the GIL."""
    result = _function(name)(*args)
    if result:
        text = c_char_p()
        _function("cuGetErrorString")(result, byref(text))
        raise RuntimeError("Triton Error [CUDA]: "
                           + (text.value or b"unknown error").decode())


def _get(type, name, *args) -> int:
    """What a driver's function puts behind its first argument."""
    value = type()
    _call(name, byref(value), *args)
    return value.value or 0


def _int(value) -> int:
    """As PyArg_ParseTuple's `i`."""
    value = operator.index(value)
    if not -2**31 <= value < 2**31:
        raise OverflowError("signed integer is "
                            + ("greater than maximum" if value > 0 else "less than minimum"))
    return value


def _handle(value) -> int:
    """As PyArg_ParseTuple's `K`."""
    if not isinstance(value, int):
        raise TypeError(f"argument must be int, not {type(value).__name__}")
    return value & (2**64 - 1)


def _need_context(device=0) -> None:
    if not _get(c_void_p, "cuCtxGetCurrent"):
        _get_default_stream(device)  # makes it so


def _attribute(device, id) -> int:
    return _get(c_int, "cuDeviceGetAttribute", id, device)


def _use_much_shared(function, device, version) -> None:
    """Lets a kernel have more than the usual 48 KiB."""
    optin = _attribute(device, _SHARED_OPTIN)
    if optin <= 49152:
        return
    if version >= (3, 8) and not _function("cuFuncSetAttribute")(
            function, _SHARED_MEMORY_MODE, _OVERSIZED_SHARED_MEMORY):
        return
    _call("cuFuncSetCacheConfig", function, _PREFER_SHARED)
    static = _get(c_int, "cuFuncGetAttribute", _SHARED_SIZE, function)
    _call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, optin - static)


def _load_binary(version, name, data, shared, device):
    """(module, function, registers, spills, most threads of a block)"""
    if not isinstance(name, str):
        raise TypeError(f"argument 1 must be str, not {type(name).__name__}")
    encoded = name.encode()
    if b"\0" in encoded:
        raise ValueError("embedded null character")
    data = data.encode() if isinstance(data, str) else bytes(memoryview(data))
    shared, device = _int(shared), _int(device)
    _need_context(device)
    module = _get(c_void_p, "cuModuleLoadData", data)
    try:
        function = _get(c_void_p, "cuModuleGetFunction", module, encoded)
        registers, local, threads = (_get(c_int, "cuFuncGetAttribute", id, function)
                                     for id in (_NUM_REGS, _LOCAL_SIZE, _MAX_THREADS))
        if shared > 49152:
            _use_much_shared(function, device, version)
    except BaseException:
        _function("cuModuleUnload")(module)
        raise
    _loaded[module] = function
    devices[function] = device
    return module, function, registers, local // 4, threads


def _unload_module(module):
    module = _handle(module)
    # Before it is gone: the driver gives its handles to the next.
    devices.pop(_loaded.pop(module, None), None)
    _call("cuModuleUnload", module)


def _get_device_properties(version, device):
    device = _get(c_int, "cuDeviceGet", _int(device))
    ids = dict(_PROPERTIES)
    if version >= (3, 8) and (_attribute(device, _MAJOR), _attribute(device, _MINOR)) == (10, 7):
        ids["max_shared_mem"] = _OVERSIZED_OPTIN
    return {name: _attribute(device, id) for name, id in ids.items()}


def _get_device_capability(device):
    device = _get(c_int, "cuDeviceGet", _int(device))
    return _attribute(device, _MAJOR), _attribute(device, _MINOR)


def _set_current_device(device):
    _get_default_stream(device)  # makes its primary context current


def _is_stream_capturing(stream):
    status = c_int()
    _call("cuStreamIsCapturing", _handle(stream), byref(status))
    return status.value != 0


def _max_active_clusters(function, shared, *cluster):
    function, shared = _handle(function), _int(shared)
    cluster = [*map(_int, cluster)] + [1] * (3 - len(cluster))
    _call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, shared)
    _call("cuFuncSetAttribute", function, _NONPORTABLE_CLUSTER, 1)
    attribute = _Attribute(_CLUSTER_DIMENSION, 0, (c_uint * 16)(*cluster))
    config = _Config((c_uint * 3)(*cluster), (c_uint * 3)(128, 1, 1), shared, None,
                     ctypes.pointer(attribute), 1)
    return _get(c_int, "cuOccupancyMaxActiveClusters", function, byref(config))


def _set_printf_fifo_size(size):
    size = operator.index(size)
    if not -2**63 <= size < 2**63:
        raise OverflowError("Python int too large to convert to C long")
    if size < 0:
        raise ValueError("fifo size must be non-negative")
    _need_context()
    # It cannot be set once a kernel that prints has run, not even to what it is.
    if _get(c_size_t, "cuCtxGetLimit", _PRINTF_FIFO_SIZE) != size:
        _call("cuCtxSetLimit", _PRINTF_FIFO_SIZE, size)


# In the order of Triton's numbers for them, behind that of pointers; i1 and u1 have
# those of i32 and u32.
_POINTER_CODE = 1
_CODES = {name: code for code, names in enumerate(
    ["i8", "i16", "i32 i1", "i64", "u8", "u16", "u32 u1", "u64", "fp16", "bf16", "fp32 f32",
     "fp64", "nvTmaDesc"], _POINTER_CODE + 1) for name in names.split()}


def _build_signature_metadata(types):
    types = list(types)
    codes = []
    for type in types:
        if not isinstance(type, str):
            raise TypeError(f"bad argument type: a type is a str, not {type!r}")
        code = _POINTER_CODE if type[:1] == "*" and len(type) > 1 else _CODES.get(type)
        if code is None:
            raise RuntimeError(("Unexpected" if len(type) < 2 else "Unknown")
                               + f" data type: {type!r}")
        codes.append(code)
    return KernelSignature(codes, types)


class PyKernelArg:
    """How an argument of Triton 3.7 and later is to be taken."""

    __slots__ = ("nested_tuple", "type")

    def __init__(self, nested_tuple, type=0):
        self.nested_tuple = nested_tuple
        self.type = type


def make_utils(driver, version):
    """A class that takes the place of CudaUtils in `driver`, which is the module
    triton.backends.nvidia.driver of a Triton of this version: the same members,
    one instance, and the same globals of the module set with it."""
    tensor_map, fill_tiled, fill_im2col = pylib.lj_python_triton_tensor_maps()

    def members():
        yield "load_binary", functools.partial(_load_binary, version)
        yield "get_device_properties", functools.partial(_get_device_properties, version)
        if version < (3, 6):
            yield "cuOccupancyMaxActiveClusters", lambda function, shared, x, y, z: (
                _max_active_clusters(function, shared, x, y, z))
        else:
            yield "cuOccupancyMaxActiveClusters", lambda function, shared, cluster: (
                _max_active_clusters(function, shared, cluster))
        yield "set_printf_fifo_size", _set_printf_fifo_size
        if version < (3, 5):
            yield "fill_tma_descriptor", lambda to, *rest: fill_tiled(4, to, *rest, 0)
        elif version < (3, 7):
            yield "fill_tma_descriptor", functools.partial(fill_tiled, version[1], None)
        else:
            yield "fill_tma_descriptor_tiled", functools.partial(fill_tiled, version[1], None)
            yield "fill_tma_descriptor_im2col", functools.partial(fill_im2col, version[1], None)
            yield "launch", make_launch(version)
            yield "build_signature_metadata", _build_signature_metadata
        if version >= (3, 8):
            yield "unload_module", _unload_module
            yield "get_current_device", _get_current_device
            yield "set_current_device", _set_current_device
            yield "get_default_stream", _get_default_stream
            yield "get_device_capability", _get_device_capability
        if version >= (3, 9):
            yield "is_stream_capturing", _is_stream_capturing

    class CudaUtils:
        def __new__(cls):
            if not hasattr(cls, "instance"):
                cls.instance = super().__new__(cls)
            return cls.instance

        def __init__(self):
            if version >= (3, 5):
                driver.PyCUtensorMap = tensor_map
            if version >= (3, 7):
                driver.PyKernelArg = PyKernelArg
                driver.ARG_CONSTEXPR, driver.ARG_KERNEL, driver.ARG_TUPLE = range(3)
            self.__dict__.update(members())

    CudaUtils.__module__ = driver.__name__
    CudaUtils.__qualname__ = "CudaUtils"
    return CudaUtils
