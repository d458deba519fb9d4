# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel binaries."""

from __future__ import annotations

import os
from ctypes import c_size_t, c_uint32, c_uint64, c_void_p

from . import _config, _lib
from ._errors import check
from ._lib import lib
from .kernel import Kernel
from .signature import Signature, as_signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Unpack


class KernelInfo(_lib.Record):
    """What a binary says of one kernel; None where it does not say.

    parameters: an (offset, size) each, in bytes.
    registers: a thread.
    static_shared: shared memory, bytes a block.
    local: local memory, bytes a thread.
    max_threads: a block.
    required_block, required_cluster: three ints.
    """

    __slots__ = ("name", "parameters", "registers", "static_shared", "local",
                 "max_threads", "required_block", "required_cluster")
    name: str
    parameters: tuple[tuple[int, int], ...] | None
    registers: int | None
    static_shared: int | None
    local: int | None
    max_threads: int | None
    required_block: tuple[int, int, int] | None
    required_cluster: tuple[int, int, int] | None


class VariableInfo(_lib.Record):
    """A __device__ or, where constant, a __constant__ variable: its bytes."""

    __slots__ = ("name", "size", "constant")
    name: str
    size: int
    constant: bool


class Module(_lib.Handle):
    """A cubin, fatbin or PTX; made by from_file or from_bytes.

    Making one reads the binary and needs no driver, which loads it at the first
    launch. Pickles by value.
    """

    __slots__ = ("_name", "_kernels")
    _name: str
    _kernels: dict[str, KernelInfo] | None

    _delete = lib.lj_module_delete

    def __init__(self):
        raise TypeError("a Module is made by Module.from_file or Module.from_bytes")

    @classmethod
    def _of(cls, create, *arguments, name: str) -> Module:
        self = cls.__new__(cls)
        handle = c_void_p()
        check(create(*arguments, handle))
        self._handle = handle.value
        self._name = name
        self._kernels = None
        return self

    @classmethod
    def from_file(cls, path: str | bytes | os.PathLike) -> Module:
        """Reads a file. Raises Error where it cannot be read or is no kernel
        binary."""
        return cls._of(lib.lj_module_create_from_file, os.fsencode(path),
                       name=os.fsdecode(path))

    @classmethod
    def from_bytes(cls, data, name: str = "") -> Module:
        """Copies a binary from a bytes-like object; `name` is for messages."""
        data = bytes(memoryview(data))
        return cls._of(lib.lj_module_create, data, len(data), os.fsencode(name),
                       name=name)

    @property
    def format(self) -> str:
        """"cubin", "fatbin" or "ptx"."""
        return lib.lj_module_format(self._handle).decode()

    @property
    def arch(self) -> int:
        """90 for sm_90; 0 where the binary does not say."""
        return lib.lj_module_arch(self._handle)

    @property
    def bytes(self) -> bytes:
        """The binary as it was given."""
        return lib.lj_module_bytes(self._handle).bytes()

    @property
    def kernels(self) -> dict[str, KernelInfo]:
        """What the binary says of its kernels, by name."""
        if self._kernels is None:
            infos = map(self._info, range(lib.lj_module_num_kernels(self._handle)))
            self._kernels = {info.name: info for info in infos}
        return dict(self._kernels)

    @property
    def variables(self) -> dict[str, VariableInfo]:
        """The variables that the binary defines, by name; see get_global."""
        infos = []
        for index in range(lib.lj_module_num_variables(self._handle)):
            info = _lib.VariableInfo()
            check(lib.lj_module_variable_info(self._handle, index, info))
            infos.append(VariableInfo(str(info.name), info.size, info.constant))
        return {info.name: info for info in infos}

    def _info(self, index) -> KernelInfo:
        def known(value):
            return None if value < 0 else value

        def known3(values):
            return None if values[0] < 0 else tuple(values)

        info = _lib.KernelInfo()
        check(lib.lj_module_kernel_info(self._handle, index, info))
        parameters = None
        if info.num_parameters >= 0:
            parameters = tuple(
                self._parameter(index, i) for i in range(info.num_parameters)
            )
        return KernelInfo(
            str(info.name), parameters, known(info.registers),
            known(info.static_shared), known(info.local), known(info.max_threads),
            known3(info.required_block), known3(info.required_cluster),
        )

    def _parameter(self, kernel, parameter) -> tuple[int, int]:
        offset, size = c_uint32(), c_uint32()
        check(lib.lj_module_kernel_parameter(self._handle, kernel, parameter, offset,
                                             size))
        return offset.value, size.value

    def get_global(self, name: str, device: int = 0) -> tuple[int, int]:
        """The address and the size, in bytes, of a __device__ or __constant__
        variable, in the current context or, where there is none, in the primary
        one of `device`. Loads the module there."""
        address, size = c_uint64(), c_size_t()
        check(lib.lj_module_get_global(self._handle, name.encode(), device, address,
                                       size))
        return address.value, size.value

    def get_kernel(self, name: str, signature: Signature | str,
                   **config: Unpack[_config.Config]) -> Kernel:
        """A kernel of this module, with a launch configuration: see Kernel.

        Needs no driver and compiles nothing. Raises SignatureError where the
        signature does not fit what the binary says, and Error where it has no
        such kernel.
        """
        signature = as_signature(signature)
        complete = _config.complete(config, "get_kernel")
        handle = c_void_p()
        check(lib.lj_module_get_kernel(self._handle, name.encode(), signature._handle,
                                       _config.to_options(complete), handle))
        return Kernel._of(handle, signature, complete, self)

    def __reduce__(self):
        return Module.from_bytes, (self.bytes, self._name)

    def __repr__(self):
        name = f" {self._name}" if self._name else ""
        arch = f" sm_{self.arch}" if self.arch else ""
        return f"<launchjit.Module{name} {self.format}{arch}>"
