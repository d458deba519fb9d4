# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launchers, to look into."""

from __future__ import annotations

from ctypes import c_int, c_void_p

from . import _lib
from ._errors import check
from ._lib import lib
from .signature import Signature, as_signature

_OBJECT, _ASSEMBLY, _IR = 0, 1, 2


class Launcher(_lib.Handle):
    """The entry point that all kernels of one canonical ABI share. Kernels make
    theirs by themselves; this is for looking at one.

    entry: "c", "packed" or "python", which says who calls it.
    contract: the name of the conversions.

    signature: the Signature.
    entry: as given.
    contract: as given.
    origin: where it came from: "memory" (alive in this process), "cache",
        "compiled", or "interpreted" (no generated code).
    key: 32 hexadecimal digits, which identify the code.
    compile_ns, link_ns: what making it took, in nanoseconds; 0 where it was
        there already.
    size: of the object, in bytes; 0 if interpreted.
    code_size: of the executable memory, in bytes; 0 if interpreted.
    address: of the entry point.
    """

    __slots__ = ("signature", "entry", "contract", "origin", "key", "compile_ns",
                 "link_ns", "size", "code_size", "address", "_kind")

    _delete = lib.lj_launcher_delete

    def __init__(self, signature: Signature | str, entry: str = "c",
                 contract: str = "launchjit"):
        self.signature = as_signature(signature)
        self.entry = entry
        self.contract = contract
        kind = c_int()
        check(lib.lj_entry_kind_parse(entry.encode(), kind))
        self._kind = kind.value
        handle = c_void_p()
        check(lib.lj_launcher_create(self.signature._handle, kind, contract.encode(),
                                     handle))
        self._handle = handle.value
        info = _lib.LauncherInfo()
        check(lib.lj_launcher_get_info(handle, info))
        self.origin = lib.lj_origin_name(info.origin).decode()
        self.key = info.key.decode()
        self.compile_ns = info.compile_ns
        self.link_ns = info.link_ns
        self.size = info.object_size
        self.code_size = info.code_size
        self.address = info.address

    def _emit(self, output) -> bytes:
        buffer = _lib.Buffer()
        check(lib.lj_stub_emit(self.signature._handle, self._kind,
                               self.contract.encode(), output, buffer))
        return buffer.take()

    def ir(self) -> str:
        """Its code as LLVM IR."""
        return self._emit(_IR).decode()

    def asm(self) -> str:
        """Its code as assembly."""
        return self._emit(_ASSEMBLY).decode()

    def object(self) -> bytes:
        """Its code as a relocatable ELF object."""
        return self._emit(_OBJECT)

    def __repr__(self):
        return (f"<launchjit.Launcher {self.entry} {self.signature.abi!r} "
                f"{self.origin} {self.key}>")
