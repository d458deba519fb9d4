# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel signatures."""

from __future__ import annotations

from ctypes import c_void_p

from . import _lib
from ._errors import check
from ._lib import lib


class Parameter(_lib.Record):
    """One parameter as the kernel has it.

    name: "n", "pair[1]", or "" where the signature gives none.
    type: canonical, as "*fp32".
    c_type: what the `c` entry takes, as "CUdeviceptr".
    offset, size, align: bytes.
    divisible_by: what the signature promises of the value, or 0.
    hidden: a scratch pointer, which no caller passes.
    """

    __slots__ = ("name", "type", "c_type", "offset", "size", "align",
                 "divisible_by", "hidden")
    name: str
    type: str
    c_type: str
    offset: int
    size: int
    align: int
    divisible_by: int
    hidden: bool


class Argument(_lib.Record):
    """One argument as the caller passes it: a tuple whole, constexpr included.

    name: "" where the signature gives none.
    type: canonical, as "(i32, *fp16)" or "constexpr".
    first, count: its parameters, in Signature.parameters; none for a constexpr.
    """

    __slots__ = ("name", "type", "first", "count")
    name: str
    type: str
    first: int
    count: int


class Signature(_lib.Handle):
    """A parsed signature: immutable, and equal to one of the same text.

    text: Triton's language, as "x: *fp32, n: i32, BLOCK: constexpr", with
        struct<size,align>, and C's spellings of types.
    scratch: the hidden trailing parameters: "", "g" (global), "p" (profile),
        "gp".
    large_parameters: allow 32,764 bytes of parameters instead of 4,096.

    Raises SignatureError, whose .offset is the byte of the text at fault.
    """

    __slots__ = ("_text", "_scratch", "_large", "_parameters", "_arguments")
    _parameters: tuple[Parameter, ...] | None
    _arguments: tuple[Argument, ...] | None

    _delete = lib.lj_signature_delete

    def __init__(self, text: str, scratch: str = "", large_parameters: bool = False):
        if not isinstance(text, str):
            raise TypeError(f"a signature is a str, not {type(text).__name__}")
        encoded = text.encode()
        options = _lib.SignatureOptions(scratch.encode(), large_parameters)
        handle = c_void_p()
        check(lib.lj_signature_parse(encoded, len(encoded), options, handle))
        self._handle = handle.value
        self._text = str(lib.lj_signature_text(handle))
        self._scratch = scratch
        self._large = bool(large_parameters)
        self._parameters = self._arguments = None

    @property
    def abi(self) -> str:
        """The canonical ABI, as "ppi32+gp": all that a launcher's code depends
        on."""
        return str(lib.lj_signature_abi(self._handle))

    @property
    def size(self) -> int:
        """Where the last of the kernel's parameters ends, in bytes."""
        return lib.lj_signature_size(self._handle)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the kernel takes: tuples flattened, no constexpr, hidden ones
        last."""
        if self._parameters is None:
            self._parameters = tuple(
                self._get(lib.lj_signature_parameter, i, _lib.Parameter(), Parameter)
                for i in range(lib.lj_signature_num_parameters(self._handle))
            )
        return self._parameters

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What the caller passes."""
        if self._arguments is None:
            self._arguments = tuple(
                self._get(lib.lj_signature_argument, i, _lib.Argument(), Argument)
                for i in range(lib.lj_signature_num_arguments(self._handle))
            )
        return self._arguments

    def _get(self, function, index, struct, record):
        check(function(self._handle, index, struct))
        values = (getattr(struct, name) for name in record.__slots__)
        return record(*[str(v) if isinstance(v, _lib.String) else v for v in values])

    def _key(self):
        return self._text, self._scratch, self._large

    def __eq__(self, other):
        if not isinstance(other, Signature):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __reduce__(self):
        return Signature, self._key()

    def __str__(self):
        return self._text

    def __repr__(self):
        options = f", scratch={self._scratch!r}" if self._scratch else ""
        if self._large:
            options += ", large_parameters=True"
        return f"Signature({self._text!r}{options})"


def as_signature(signature: Signature | str) -> Signature:
    return signature if isinstance(signature, Signature) else Signature(signature)
