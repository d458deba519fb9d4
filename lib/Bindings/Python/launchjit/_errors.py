# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions, and the one place that makes them of the library's errors."""

from __future__ import annotations

from ctypes import py_object

from ._lib import lib, pylib


class Error(Exception):
    """What launchjit raises. Some failures have a class of their own below it;
    the rest (no such kernel, a damaged binary, a file that cannot be read) are
    plain Errors.

    argument: the kernel parameter at fault, counted from 0 with tuples
        flattened and constexpr left out, or None.
    offset: where in the text the fault is, in bytes, or None.
    """

    __module__ = "launchjit"
    argument: int | None = None
    offset: int | None = None


class SignatureError(Error, ValueError):
    """A signature does not parse, or does not fit the kernel's binary."""

    __module__ = "launchjit"


class ArgumentTypeError(Error, TypeError):
    """An argument has the wrong type, or there are too many or too few."""

    __module__ = "launchjit"


class ArgumentRangeError(Error, OverflowError):
    """A number does not fit its parameter."""

    __module__ = "launchjit"


class ArgumentValueError(Error, ValueError):
    """An argument, the grid or a launch option has a value that cannot be."""

    __module__ = "launchjit"


class CudaError(Error, RuntimeError):
    """The CUDA driver refused, or there is none.

    code: the driver's CUresult; 0 where the driver was not reached.
    name: its name, as "CUDA_ERROR_INVALID_VALUE"; "" where there is no code.
    """

    __module__ = "launchjit"

    def __init__(self, message: str = "", code: int = 0, name: str = ""):
        super().__init__(message)
        self.code = code
        self.name = name


# By lj_status; None is Error.
_CLASSES = (
    None,  # success
    None,  # invalid argument
    SignatureError,
    ArgumentTypeError,
    ArgumentRangeError,
    ArgumentValueError,
    None,  # binary
    None,  # not found
    CudaError,  # no driver
    CudaError,
    None,  # io
    None,  # unsupported
    None,  # internal
)


def check(error: int | None) -> None:
    """Raises what an lj_error says, and gives it back."""
    if not error:
        return
    status = lib.lj_error_status(error)
    message = lib.lj_error_message(error).decode("utf-8", "replace")
    cls = (_CLASSES[status] if status < len(_CLASSES) else None) or Error
    exception = cls(message)
    if isinstance(exception, CudaError):
        exception.code = lib.lj_error_cuda(error)
        exception.name = lib.lj_error_cuda_name(error).decode() if exception.code else ""
    argument, offset = lib.lj_error_argument(error), lib.lj_error_offset(error)
    if argument >= 0:
        exception.argument = argument
    if offset >= 0:
        exception.offset = offset
    lib.lj_error_delete(error)
    raise exception


_array = (py_object * len(_CLASSES))(*[cls or Error for cls in _CLASSES])  # type: ignore[misc]
check(pylib.lj_python_initialize(_array, len(_array)))
