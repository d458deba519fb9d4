# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels and launches."""

from __future__ import annotations

from ctypes import c_size_t, c_void_p

from . import _config, _lib
from ._errors import ArgumentTypeError, check
from ._lib import lib, pylib
from .bound import BoundLaunch
from .signature import Signature, as_signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Sequence

    from typing_extensions import Unpack

    from .module import Module

    Grid = int | Sequence[int] | Callable[[dict[str, Any]], int | Sequence[int]]


class _Launch:
    """Makes the native callable when it is first asked for, and puts it where
    the next look finds it without coming here."""

    def __get__(self, kernel, owner=None):
        if kernel is None:
            return self
        launch = kernel.__dict__["launch"] = pylib.lj_python_callable(
            kernel._handle, _config.checks(kernel._options))
        return launch


class Kernel(pylib.lj_python_kernel_base()):
    """One GPU function with its launch configuration: immutable.

    Made by Module.get_kernel, Kernel.from_function or Kernel.from_cukernel, with
    these keywords:

    block: threads of a block: an int, or 1 to 3 of them.
    shared: dynamic shared memory, bytes a block.
    cluster, preferred_cluster: blocks of a cluster: an int, or 1 to 3 of them.
    cluster_scheduling_policy: "spread" or "load_balancing".
    nonportable_cluster: allow clusters of more than 8 blocks.
    cooperative: a cooperative launch, all of whose blocks run at once.
    pdl: programmatic dependent launch: the kernel may begin before the one
        before it in the stream has ended.
    priority: of the launch; lower is sooner.
    mem_sync_domain: "default" or "remote"; mem_sync_domain_map: the numbers of
        the two.
    shared_memory_carveout: how much of the L1 cache is to be shared memory, in
        percent; -1 leaves it to the driver.
    attributes: further launch attributes: pairs of the driver's
        CUlaunchAttributeID and up to 64 bytes.
    device: whose primary context serves where no context is current.
    check_memory: refuse memory that the GPU cannot access, and arrays that are
        read-only where the signature's pointer is not. Where a tensor's
        framework tells that it is on the GPU, this costs nothing.
    peer_access: allow tensors of another device than the launch's.
    strict: tensors must have the signature's element type and be contiguous,
        and every value must be divisible as the signature's hints say.

    kernel[grid](*arguments, stream=None, **by_name) launches; so does
    kernel.launch(grid, stream, *arguments), which is the shortest way. The grid
    is an int, or 1 to 3 of them, in blocks, or (with brackets) a function of the
    arguments by name that gives these. The stream is an int (0 is the legacy
    stream), an object with __cuda_stream__() or cuda_stream, or None: then the
    framework's current stream, as the first tensor with DLPack's C exchange
    tells, else torch's where torch is loaded and uses CUDA, else the legacy one.

    A pointer is an int, None, or an object with, in this order,
    __dlpack_c_exchange_api__ on its type (torch 2.10 and later), data_ptr(),
    __cuda_array_interface__ (the launch waits for its stream), or a handle that
    is an int or has __int__ (cuda.core's buffers). A number is anything with
    __index__ or __float__, or a simple object of ctypes; a struct or a tensor
    map anything with the buffer protocol and just its bytes.

    A launch gives None, or raises before anything was launched:
    ArgumentTypeError, ArgumentRangeError, ArgumentValueError, CudaError, or
    what an argument's own code raised. Only what an exit hook (launchjit.hooks)
    raises and what LAUNCHJIT_DEBUG=sync finds come although the launch ran.
    Arguments stay alive until it returns; the GIL is released while the driver
    is called.

    A kernel pickles by value, unless it wraps a function of the host's.
    """

    _delete = lib.lj_kernel_delete
    __del__ = _lib.Handle.__del__

    launch = _Launch()

    signature: Signature
    _options: dict
    _module: Module | None

    def __init__(self):
        raise TypeError("a Kernel is made by Module.get_kernel, Kernel.from_function "
                        "or Kernel.from_cukernel")

    @classmethod
    def _of(cls, handle, signature, config, module) -> Kernel:
        self = cls.__new__(cls)
        self._handle = handle.value
        self.signature = signature
        self._options = config
        self._module = module
        return self

    @classmethod
    def _wrap(cls, create, what, function, signature, name, config) -> Kernel:
        signature = as_signature(signature)
        config = _config.complete(config, what)
        handle = c_void_p()
        check(create(function, name.encode(), signature._handle,
                     _config.to_options(config), handle))
        return cls._of(handle, signature, config, None)

    @classmethod
    def from_function(cls, function: int, signature: Signature | str, name: str = "",
                      **config: Unpack[_config.Config]) -> Kernel:
        """Wraps a CUfunction, given as its address, that the host keeps loaded;
        `name` is for messages."""
        return cls._wrap(lib.lj_kernel_from_function, "from_function", function,
                         signature, name, config)

    @classmethod
    def from_cukernel(cls, kernel: int, signature: Signature | str, name: str = "",
                      **config: Unpack[_config.Config]) -> Kernel:
        """Wraps a CUkernel, given as its address, that the host keeps loaded;
        `name` is for messages."""
        return cls._wrap(lib.lj_kernel_from_cukernel, "from_cukernel", kernel,
                         signature, name, config)

    @property
    def name(self) -> str:
        """The function's name."""
        return str(lib.lj_kernel_name(self._handle))

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block."""
        return self._options["block"]

    @property
    def shared(self) -> int:
        """Dynamic shared memory, bytes a block."""
        return self._options["shared"]

    @property
    def attributes(self) -> list[tuple[int, bytes]]:
        """The launch attributes as the driver gets them: ids and 64 bytes."""
        count = c_size_t()
        array = lib.lj_kernel_attributes(self._handle, count)
        return [(array[i].id, bytes(array[i].value)) for i in range(count.value)]

    def with_config(self, **config: Unpack[_config.Config]) -> Kernel:
        """A sibling: the same function with other options. Cheap; the two share
        what is loaded and the launcher."""
        merged = _config.complete(config, "with_config", self._options)
        handle = c_void_p()
        check(lib.lj_kernel_with_config(self._handle, _config.to_options(merged), handle))
        return type(self)._of(handle, self.signature, merged, self._module)

    def load(self, device: int = 0) -> None:
        """Loads the kernel on a device before its first launch there."""
        check(lib.lj_kernel_load(self._handle, device))

    def bind(self, grid: Grid, stream, /, *args, **by_name) -> BoundLaunch:
        """A launch with its arguments converted now, to be repeated: see
        BoundLaunch. Grid, stream and arguments are as in kernel[grid]; nothing
        is launched."""
        args = self._bind(args, by_name)
        if callable(grid):
            grid = grid(self._by_name(args))
        return pylib.lj_python_bind(BoundLaunch, self.launch, (grid, stream, *args), args)

    if TYPE_CHECKING:
        def __getitem__(self, grid: Grid) -> Callable[..., None]: ...

    def _launch(self, grid, /, *args, stream=None, **by_name):
        """kernel[grid](*args, stream=stream, **by_name), where the native
        callable has no way of its own."""
        args = self._bind(args, by_name)
        if callable(grid):
            grid = grid(self._by_name(args))
        self.launch(grid, stream, *args)

    def _by_name(self, args) -> dict:
        names = [argument.name for argument in self.signature.arguments]
        return {name: value for name, value in zip(names, args) if name}

    def _bind(self, args, by_name) -> list:
        """All arguments in order, or the TypeError that a Python function with
        these parameters would raise."""
        arguments = self.signature.arguments
        names = [argument.name for argument in arguments]
        for name in by_name:
            if name not in names or not name:
                self._refuse(f"got an unexpected keyword argument {name!r}")
            if names.index(name) < len(args):
                self._refuse(f"got multiple values for argument {name!r}")
        if len(args) > len(names):
            takes = "1 positional argument" if len(names) == 1 \
                else f"{len(names)} positional arguments"
            was = "was" if len(args) == 1 else "were"
            self._refuse(f"takes {takes} but {len(args)} {was} given")
        missing = [repr(name) if name else f"number {i} ({arguments[i].type})"
                   for i, name in enumerate(names)
                   if i >= len(args) and name not in by_name]
        if missing:
            if len(missing) > 2:
                listed = ", ".join(missing[:-1]) + ", and " + missing[-1]
            else:
                listed = " and ".join(missing)
            plural = "s" if len(missing) > 1 else ""
            self._refuse(f"missing {len(missing)} required positional "
                         f"argument{plural}: {listed}")
        return [*args, *(by_name[name] for name in names[len(args):])]

    def _refuse(self, what):
        raise ArgumentTypeError(f"{self.name or 'kernel'}() {what}")

    def __reduce__(self):
        if self._module is None:
            raise TypeError(f"the kernel {self.name} cannot be pickled: it wraps a "
                            "function of this process")
        return _rebuild, (self._module, self.name, self.signature, self._options)

    def __repr__(self):
        return (f"<launchjit.Kernel {self.name}({self.signature}) block={self.block} "
                f"shared={self.shared}>")


def _rebuild(module: Module, name, signature, config) -> Kernel:
    return module.get_kernel(name, signature, **config)
