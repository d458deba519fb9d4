# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are called around every launch of the process.

    def show(launch):
        print(launch.kernel, launch.grid)

    with lj.hooks.add(enter=show):
        kernel[grid](x, y, n)

A process without hooks pays nothing for them.
"""

from __future__ import annotations

import atexit

from . import _lib
from ._errors import ArgumentTypeError
from ._lib import pylib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class Launch(_lib.Record):
    """One launch, as a hook gets it.

    kernel: its name.
    grid, block: three ints each.
    shared: dynamic shared memory, bytes a block.
    stream: the handle.
    arguments: the bytes of each of the kernel's parameters, hidden ones left
        out; Signature.parameters says what they are.
    error: in an exit hook, the exception because of which nothing was launched,
        or, though it was, that of an exit hook that came before (or what
        LAUNCHJIT_DEBUG=sync found); None otherwise.
    """

    __slots__ = ("kernel", "grid", "block", "shared", "stream", "arguments", "error")
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    arguments: list[bytes]
    error: BaseException | None


class Hook:
    """What add() gives. As a context manager it removes itself at the end."""

    __slots__ = ("_handle",)

    def remove(self) -> None:
        """The functions may be called until this returns and never after: it
        waits for those that run in other threads, so do not hold a lock that
        they want. Called from a hook it does not wait. A second call does
        nothing."""
        self._remove(True)

    def _remove(self, wait):
        if _hooks.pop(self, None):
            pylib.lj_python_remove_hook(self._handle, wait)

    def __enter__(self) -> Hook:
        return self

    def __exit__(self, *_):
        self.remove()


_hooks: dict[Hook, bool] = {}


def add(enter: Callable[[Launch], Any] | None = None,
        exit: Callable[[Launch], Any] | None = None) -> Hook:
    """Calls `enter` before and `exit` after every launch, each with a Launch,
    until the Hook that this gives is removed: launches from Python, C and C++,
    on the launching thread.

    What `enter` raises stops the launch, and the caller gets it unchanged; what
    `exit` raises the caller gets after the launch, in place of an error of the
    launch. `exit` is called where `enter` returned, whether the launch failed or
    not. Enter hooks run in the order of add(), exit hooks in the reverse one. A
    launch with an empty grid is none, a Batch or another graph is none that hooks
    see, and what a hook launches itself is not hooked. A C or C++ program that
    gets no exceptions gets an error that tells of it.
    """
    for name, function in (("enter", enter), ("exit", exit)):
        if function is not None and not callable(function):
            raise ArgumentTypeError(
                f"{name}: expected a function or None, got {type(function).__name__}"
            )
    hook = Hook()
    hook._handle = pylib.lj_python_add_hook(Launch, enter, exit)
    _hooks[hook] = True
    return hook


@atexit.register
def _remove_all():
    # Launches of other threads must not call into an interpreter that is gone;
    # waiting for a hook of a thread that ends with it could be for ever.
    for hook in list(_hooks):
        hook._remove(False)
