# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""liblaunchjit.so: where it is, its structs and its functions.

The declarations follow include/launchjit-c, where ownership, units and threads
are stated.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_bool, c_char, c_char_p, c_int, c_int64, c_size_t
from ctypes import c_uint32, c_uint64, c_void_p, py_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ABI_VERSION = 1


class String(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]

    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.size) if self.size else b""

    def __str__(self) -> str:
        return self.bytes().decode("utf-8", "replace")


class Buffer(String):
    """Bytes that the caller must give back."""

    def take(self) -> bytes:
        try:
            return self.bytes()
        finally:
            lib.lj_buffer_delete(self)


class _Sized(ctypes.Structure):
    """A struct that begins with its own size."""

    def __init__(self, *args):
        super().__init__(ctypes.sizeof(self), *args)


class SignatureOptions(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("scratch", c_char_p),
        ("large_parameters", c_bool),
    ]


class Parameter(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", String),
        ("type", String),
        ("c_type", String),
        ("offset", c_uint32),
        ("size", c_uint32),
        ("align", c_uint32),
        ("divisible_by", c_uint64),
        ("hidden", c_bool),
    ]


class Argument(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", String),
        ("type", String),
        ("first", c_size_t),
        ("count", c_size_t),
    ]


class LauncherInfo(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("entry", c_int),
        ("origin", c_int),
        ("key", c_char * 33),
        ("compile_ns", c_uint64),
        ("link_ns", c_uint64),
        ("object_size", c_size_t),
        ("code_size", c_size_t),
        ("address", c_void_p),
    ]


class KernelInfo(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", String),
        ("num_parameters", c_int64),
        ("registers", c_int64),
        ("static_shared", c_int64),
        ("local", c_int64),
        ("max_threads", c_int64),
        ("required_block", c_int64 * 3),
        ("required_cluster", c_int64 * 3),
    ]


class VariableInfo(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", String),
        ("size", c_uint64),
        ("constant", c_bool),
    ]


class Attribute(ctypes.Structure):
    _fields_ = [("id", c_uint32), ("reserved", c_uint32), ("value", c_uint64 * 8)]


class KernelOptions(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("block", c_uint32 * 3),
        ("shared", c_uint32),
        ("attributes", c_char_p),  # of lj_attribute
        ("num_attributes", c_size_t),
        ("device", c_int),
        ("nonportable_cluster", c_bool),
        ("global_scratch_size", c_uint64),
        ("global_scratch_align", c_uint64),
        ("profile_scratch_size", c_uint64),
        ("profile_scratch_align", c_uint64),
        ("scratch_allocator", c_void_p),
        ("scratch_context", c_void_p),
    ]


class DriverInfo(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_char_p),
        ("path", String),
        ("version", c_int),
        ("num_devices", c_int),
    ]


class RecordedLaunch(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kernel", String),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("shared", c_uint32),
        ("device", c_int),
        ("stream", c_uint64),
        ("context", c_uint64),
        ("attributes", POINTER(Attribute)),
        ("num_attributes", c_size_t),
        ("parameters", POINTER(String)),
        ("num_parameters", c_size_t),
    ]


class CacheInfo(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("mode", c_int),
        ("directory", String),
        ("num_layers", c_size_t),
        ("max_bytes", c_uint64),
    ]


class CacheStats(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("hits", c_uint64),
        ("misses", c_uint64),
        ("stored", c_uint64),
        ("damaged", c_uint64),
        ("foreign", c_uint64),
        ("failed", c_uint64),
        ("pruned", c_uint64),
    ]


class CacheFile(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("directory", String),
        ("path", String),
        ("key", String),
        ("bytes", c_uint64),
        ("last_used", c_int64),
    ]


# What a fallible function returns: an lj_error to check, or null.
_Error = c_void_p
_handle = c_void_p
_out = POINTER(c_void_p)

# name: result, parameters
_FUNCTIONS = {
    "lj_abi_version": (c_uint32,),
    "lj_version": (c_char_p,),
    "lj_llvm_version": (c_char_p,),
    "lj_buffer_delete": (None, POINTER(Buffer)),
    "lj_error_status": (c_int, _Error),
    "lj_error_message": (c_char_p, _Error),
    "lj_error_argument": (c_int64, _Error),
    "lj_error_offset": (c_int64, _Error),
    "lj_error_cuda": (c_int, _Error),
    "lj_error_cuda_name": (c_char_p, _Error),
    "lj_error_delete": (None, _Error),
    "lj_signature_parse": (_Error, c_char_p, c_size_t, POINTER(SignatureOptions), _out),
    "lj_signature_delete": (None, _handle),
    "lj_signature_text": (String, _handle),
    "lj_signature_abi": (String, _handle),
    "lj_signature_size": (c_size_t, _handle),
    "lj_signature_num_parameters": (c_size_t, _handle),
    "lj_signature_parameter": (_Error, _handle, c_size_t, POINTER(Parameter)),
    "lj_signature_num_arguments": (c_size_t, _handle),
    "lj_signature_argument": (_Error, _handle, c_size_t, POINTER(Argument)),
    "lj_launcher_create": (_Error, _handle, c_int, c_char_p, _out),
    "lj_launcher_delete": (None, _handle),
    "lj_launcher_get_info": (_Error, _handle, POINTER(LauncherInfo)),
    "lj_stub_emit": (_Error, _handle, c_int, c_char_p, c_int, POINTER(Buffer)),
    "lj_origin_name": (c_char_p, c_int),
    "lj_entry_kind_parse": (_Error, c_char_p, POINTER(c_int)),
    "lj_module_create": (_Error, c_char_p, c_size_t, c_char_p, _out),
    "lj_module_create_from_file": (_Error, c_char_p, _out),
    "lj_module_delete": (None, _handle),
    "lj_module_format": (c_char_p, _handle),
    "lj_module_arch": (ctypes.c_uint, _handle),
    "lj_module_bytes": (String, _handle),
    "lj_module_num_kernels": (c_size_t, _handle),
    "lj_module_kernel_info": (_Error, _handle, c_size_t, POINTER(KernelInfo)),
    "lj_module_kernel_parameter": (
        _Error, _handle, c_size_t, c_size_t, POINTER(c_uint32), POINTER(c_uint32),
    ),
    "lj_module_num_variables": (c_size_t, _handle),
    "lj_module_variable_info": (_Error, _handle, c_size_t, POINTER(VariableInfo)),
    "lj_module_get_global": (
        _Error, _handle, c_char_p, c_int, POINTER(c_uint64), POINTER(c_size_t),
    ),
    "lj_module_get_kernel": (
        _Error, _handle, c_char_p, _handle, POINTER(KernelOptions), _out,
    ),
    "lj_kernel_from_function": (
        _Error, c_void_p, c_char_p, _handle, POINTER(KernelOptions), _out,
    ),
    "lj_kernel_from_cukernel": (
        _Error, c_void_p, c_char_p, _handle, POINTER(KernelOptions), _out,
    ),
    "lj_kernel_with_config": (_Error, _handle, POINTER(KernelOptions), _out),
    "lj_kernel_delete": (None, _handle),
    "lj_kernel_name": (String, _handle),
    "lj_kernel_attributes": (POINTER(Attribute), _handle, POINTER(c_size_t)),
    "lj_kernel_load": (_Error, _handle, c_int),
    "lj_cache_get_info": (_Error, POINTER(CacheInfo)),
    "lj_cache_layer": (_Error, c_size_t, POINTER(String)),
    "lj_cache_get_stats": (_Error, POINTER(CacheStats)),
    "lj_cache_list": (_Error, c_char_p, c_size_t, _out),
    "lj_cache_listing_size": (c_size_t, _handle),
    "lj_cache_listing_get": (_Error, _handle, c_size_t, POINTER(CacheFile)),
    "lj_cache_listing_delete": (None, _handle),
    "lj_cache_prune": (_Error, c_uint64, c_int, _out, POINTER(c_size_t)),
    "lj_cache_clear": (_Error, c_int, _out, POINTER(c_size_t)),
    "lj_cache_entry_read": (_Error, c_char_p, c_size_t, _out),
    "lj_cache_entry_object": (String, _handle),
    "lj_cache_entry_recompile": (_Error, _handle, c_int, POINTER(Buffer)),
    "lj_cache_entry_delete": (None, _handle),
    "lj_driver_get_info": (_Error, POINTER(DriverInfo)),
    "lj_driver_function": (_Error, c_char_p, POINTER(c_void_p)),
    "lj_driver_take_recorded": (_Error, _out),
    "lj_recorded_delete": (None, _handle),
    "lj_recorded_count": (c_size_t, _handle),
    "lj_recorded_get": (_Error, _handle, c_size_t, POINTER(RecordedLaunch)),
    "lj_memory_allocate": (_Error, c_size_t, POINTER(c_uint64)),
    "lj_memory_free": (_Error, c_uint64),
    "lj_memory_write": (_Error, c_uint64, c_void_p, c_size_t),
    "lj_memory_read": (_Error, c_void_p, c_uint64, c_size_t),
    "lj_synchronize": (_Error,),
}
# These need the GIL.
_PYTHON_FUNCTIONS = {
    "lj_python_initialize": (_Error, POINTER(py_object), c_size_t),
    "lj_python_kernel_base": (py_object,),
    "lj_python_callable": (py_object, _handle, ctypes.c_uint),
    "lj_python_bound_base": (py_object,),
    "lj_python_batch_base": (py_object,),
    "lj_python_bind": (py_object, py_object, py_object, py_object, py_object),
    "lj_python_batch": (py_object, py_object, py_object),
    "lj_python_triton_base": (py_object,),
    "lj_python_triton_launch": (py_object, _handle, c_char_p, ctypes.c_uint, c_bool, c_bool,
                                py_object, py_object),
    "lj_python_triton_tensor_maps": (py_object,),
    "lj_python_triton_devices": (py_object,),
    "lj_python_add_hook": (_handle, py_object, py_object, py_object),
    "lj_python_remove_hook": (None, _handle, c_bool),
}


def _find() -> str:
    """The path of the library: $LAUNCHJIT_LIBRARY, or the first that is there of
    this package's and the source tree's."""
    path = os.environ.get("LAUNCHJIT_LIBRARY")
    if path:
        return path
    package = os.path.dirname(os.path.abspath(__file__))
    tree = os.path.join(package, *[os.pardir] * 4)
    candidates = [
        os.path.join(package, "lib", "liblaunchjit.so"),
        os.path.normpath(os.path.join(tree, "build", "release", "lib", "liblaunchjit.so")),
    ]
    for path in candidates:
        if os.path.exists(path):
            return path
    raise ImportError(
        "liblaunchjit.so is neither at " + " nor at ".join(candidates)
        + ": run tools/dev build, or set LAUNCHJIT_LIBRARY to its path"
    )


def _declare(library: ctypes.CDLL, functions: dict) -> None:
    for name, (restype, *argtypes) in functions.items():
        function = getattr(library, name)
        function.restype = restype
        function.argtypes = argtypes


path = _find()
try:
    lib = ctypes.CDLL(path)
except OSError as error:
    raise ImportError(f"{path} cannot be loaded: {error}") from None
pylib = ctypes.PyDLL(path, handle=lib._handle)
lib.lj_abi_version.restype = c_uint32
if lib.lj_abi_version() < ABI_VERSION:
    raise ImportError(f"{path} is older than this package: its interface has version "
                      f"{lib.lj_abi_version()}, {ABI_VERSION} is needed")
_declare(lib, _FUNCTIONS)
_declare(pylib, _PYTHON_FUNCTIONS)

version = lib.lj_version().decode()
llvm_version = lib.lj_llvm_version().decode()


class Handle:
    """Owns one of the library's handles."""

    __slots__ = ("_handle", "__weakref__")

    _handle: int | None
    _delete: Any = None  # the library's function

    def __del__(self):
        handle = getattr(self, "_handle", None)
        if handle:
            self._handle = None
            self._delete(handle)


class Record:
    """A few named values, set once. A subclass lists them in __slots__."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *values):
        for name, value in zip(self.__slots__, values):
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__}.{name} is read-only")

    def _values(self) -> tuple:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self):
        return hash(self._values())

    def __reduce__(self):
        return type(self), self._values()

    def __repr__(self):
        items = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({items})"
