# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bound launches, and batches of them."""

from __future__ import annotations

from ._errors import ArgumentTypeError
from ._lib import pylib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Sequence


class BoundLaunch(pylib.lj_python_bound_base()):
    """A launch whose grid, stream and arguments are converted once; made by
    Kernel.bind.

    launch() repeats it, with the checks of any launch; where the stream was
    given as None, the framework's current one is asked for each time.
    set(index_or_name, value) changes one argument and set_grid(grid) the grid.
    The stream is kept alive, and so are the arguments until another one is set;
    where a graph holds the launch, or the GPU still runs it, that is the caller's
    to do, as it is to keep this object. One thread at a time may use it.
    """

    __slots__ = ()

    def __init__(self):
        raise TypeError("a BoundLaunch is made by Kernel.bind")

    if TYPE_CHECKING:
        def launch(self) -> None: ...
        def set(self, index_or_name: int | str, value: Any, /) -> None: ...
        def set_grid(self, grid: int | Sequence[int], /) -> None: ...

    @property
    def arguments(self) -> tuple:
        """The objects that are bound, in the order of the signature."""
        return self._arguments()

    def update(self, graph_exec) -> None:
        """Writes the arguments and the grid as they are now into a graph of
        yours: a CUgraphExec as an int, or an object with raw_cuda_graph_exec(),
        as torch's CUDAGraph.

        A launch whose stream is being captured remembers its node, and
        `graph_exec` must be instantiated from the graph of the last such
        capture; all of this object's nodes there are written. That graph must
        still exist: torch keeps it with CUDAGraph(keep_graph=True). An empty
        grid disables the nodes.
        """
        raw = getattr(graph_exec, "raw_cuda_graph_exec", None)
        self._update(graph_exec if raw is None else raw())


class Batch(pylib.lj_python_batch_base()):
    """Bound launches that run one after the other as one CUDA graph: the host
    pays for one launch.

    launch(stream=None) launches them with what is set in them then; the first
    call makes the graph, in the context of their streams, which must be one. A
    bound launch may be there several times. One thread at a time may use a
    batch and its launches.
    """

    __slots__ = ()

    def __new__(cls, launches: Iterable[BoundLaunch]):
        launches = tuple(launches)
        for index, launch in enumerate(launches):
            if not isinstance(launch, BoundLaunch):
                raise ArgumentTypeError(f"launch {index}: expected a BoundLaunch, got "
                                        f"{type(launch).__name__}")
        return pylib.lj_python_batch(cls, launches)

    if TYPE_CHECKING:
        def launch(self, stream: Any = None) -> None: ...
