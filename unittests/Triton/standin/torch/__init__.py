# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Triton up to 3.7 asks of torch, over the driver itself: tests need not have
torch, whose CUDA runtime refuses the tests' libcuda."""

import ctypes
import sys
import types

__version__ = "0"
uint8 = "uint8"
version = types.SimpleNamespace(hip=None, cuda="13.0")

_cuda = ctypes.CDLL("libcuda.so.1")


def _call(name, *args):
    result = getattr(_cuda, name)(*args)
    assert result == 0, (name, result)


def _current_device():
    device = ctypes.c_int()
    if _cuda.cuCtxGetDevice(ctypes.byref(device)):
        _set_device(0)
    return device.value


def _set_device(device):
    context = ctypes.c_void_p()
    _call("cuInit", 0)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _call("cuCtxSetCurrent", context)


class _C(types.ModuleType):
    @staticmethod
    def _cuda_getCurrentRawStream(device):
        return 0


class Cuda(types.ModuleType):
    current_device = staticmethod(_current_device)
    set_device = staticmethod(_set_device)

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def get_device_capability(device=0):
        return 9, 0


class Buffer:
    """A tensor of bytes on the CPU, of the one kind that is asked for."""

    def __init__(self, size):
        self._storage = ctypes.create_string_buffer(size + 127)

    def data_ptr(self):
        return -(-ctypes.addressof(self._storage) // 128) * 128


def empty(size, dtype, device):
    assert dtype == uint8 and device == "cpu"
    return Buffer(size)


cuda = sys.modules["torch.cuda"] = Cuda("torch.cuda")
_C = sys.modules["torch._C"] = _C("torch._C")
