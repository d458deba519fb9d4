# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One launch in two worlds: Triton's own and ours."""

import ctypes
import functools
import importlib.metadata
import json
import re
from types import SimpleNamespace

VERSION = tuple(int(part) for part in importlib.metadata.version("triton").split(".")[:2])
EARLY = VERSION <= (3, 6)  # numbers convert before the enter hook, pointers after it

# What a message must have in both worlds where it has it in Triton's.
STEMS = [
    "Triton Error [CUDA]: ",
    "cannot be accessed from Triton (cpu tensor?)",
    "must be either uint64 or have data_ptr method",
    "data_ptr method of Pointer object must return 64-bit int",
    "object must be of type PyCUtensorMap",
    "tma_desc_cpu_ptr()",
    "kernel_metadata must be a tuple",
    "set_allocator",
    "GSan does not support CUDA graph capture",
    "float too large to pack",
    "Rank mismatch",
    "fifo size must be non-negative",
    "'float' object cannot be interpreted as an integer",
    "'str' object cannot be interpreted as an integer",
    "must be real number, not str",
    "of the test",
]


@functools.lru_cache(None)
def cuda():
    library = ctypes.CDLL("libcuda.so.1")
    library.lj_recorded.restype = ctypes.c_void_p
    library.free = ctypes.CDLL(None).free
    library.free.argtypes = [ctypes.c_void_p]
    return library


def call(name, *args):
    result = getattr(cuda(), name)(*args)
    assert result == 0, (name, result)


def recorded():
    text = cuda().lj_recorded()
    launches = json.loads(ctypes.string_at(text))
    cuda().free(text)
    return launches


def driver_module():
    import triton.backends.nvidia.driver as module

    return module


@functools.lru_cache(None)
def made_driver():
    """Triton's own driver, made before anything is installed."""
    from triton.runtime import driver

    active = driver.active
    active.get_current_device()
    active.set_current_device(0)
    active.utils  # 3.4: a proxy
    return active


def enter_world(ours):
    import launchjit.triton

    made_driver()
    (launchjit.triton.install if ours else launchjit.triton.uninstall)()


def allocate(size=4096):
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    return address.value


@functools.lru_cache(None)
def memory():
    made_driver()
    return allocate()


@functools.lru_cache(None)
def pinned():
    """Memory of the host, which the device sees at another address."""
    made_driver()
    address = ctypes.c_uint64()
    call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(4096), 0)
    return address.value


def set_allocators(ours, profile):
    from triton.runtime import _allocation

    null = _allocation.NullAllocator()
    if VERSION == (3, 4):
        _allocation._allocator = ours or null
        return
    _allocation._allocator.set(ours or null)
    if VERSION == (3, 5):
        _allocation._profile_allocator.set(profile or null)
    else:
        _allocation.set_profile_allocator(profile)


class Broken(Exception):
    pass


class Pointer:
    """Anything with data_ptr(), which notes that it was asked."""

    dtype = "fp32"

    def __init__(self, answer, log=None, name=""):
        self.answer, self.log, self.name = answer, log, name

    def data_ptr(self):
        if self.log is not None:
            self.log.append(("data_ptr", self.name))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def metadata(**changes):
    values = dict(name="kernel", num_warps=4, num_ctas=1, shared=0, cluster_dims=(1, 1, 1),
                  global_scratch_size=0, global_scratch_align=1, profile_scratch_size=0,
                  profile_scratch_align=1, launch_cooperative_grid=False, launch_pdl=False,
                  tensordesc_meta=None, instrumentation_mode="")
    values.update(changes)
    return SimpleNamespace(**values)


def packed(meta):
    if VERSION <= (3, 5):
        return (meta.num_warps, meta.num_ctas, meta.shared, *meta.cluster_dims)
    return (meta.num_warps, meta.num_ctas, meta.shared)


@functools.lru_cache(None)
def load(text, hidden=True):
    """A kernel with these parameters, and the hidden ones, made of PTX."""
    import launchjit as lj
    from helpers import ptx

    scratch = "" if not hidden else "g" if VERSION < (3, 5) else "gp"
    signature = lj.Signature(text, scratch=scratch, large_parameters=True)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), ptx(signature, "kernel") + b"\0")
    call("cuModuleGetFunction", ctypes.byref(function), module, b"kernel")
    return function.value


def spell(types):
    """The types as our grammar has them, with descriptors taken apart."""
    def each(type):
        if isinstance(type, tuple):
            return "(" + ", ".join(map(each, type)) + ")"
        return "*i8" if type[0] == "*" else type
    return ", ".join(map(each, types))


def outcome(work, log):
    """What came of it: the log of effects, the launches, the result or the
    exception."""
    recorded()
    log.clear()
    try:
        result = ("returned", work())
    except Exception as error:
        result = ("raised", type(error), str(error))
    return SimpleNamespace(log=list(log), launches=recorded(), result=result)


def agree(theirs, ours, where=""):
    assert ours.log == theirs.log, where
    assert ours.launches == theirs.launches, where
    assert ours.result[:2] == theirs.result[:2], (where, theirs.result, ours.result)
    if ours.result[0] == "raised":
        for stem in STEMS:
            if stem in theirs.result[2]:
                assert stem in ours.result[2], (where, theirs.result, ours.result)
        if "Triton Error" in theirs.result[2]:
            text = re.sub(r"\s+$", "", theirs.result[2].split("\n")[0])
            assert ours.result[2].startswith(text), (where, theirs.result, ours.result)
