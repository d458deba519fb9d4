# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No path of a launch, good or bad, leaves anything behind.

LAUNCHJIT_TEST_CALLS=1000000 makes so many calls of each.
"""

import ctypes
import itertools
import os

import launchjit as lj
import pytest
from helpers import leaks_nothing, make_kernel
from test_conversions import Float, Index
from test_pointers import CPU, Array, Memory, Tensor

CALLS = int(os.environ.get("LAUNCHJIT_TEST_CALLS", "5000"))


class Raises:
    """A new exception each time: one that is raised again keeps all its frames."""

    def fail(self):
        raise KeyError

    __index__ = data_ptr = fail


class Stream:
    def __cuda_stream__(self):
        return (0, 2)


KERNEL = "p: *fp32, n: i32, x: fp16, s: struct<4,4>, t: (i64, u1), c: constexpr"
STRUCT = bytearray(4)
GOOD = (Tensor(), 2**20, 1.5, STRUCT, (2**40, True), object())


def with_argument(index, value):
    return (*GOOD[:index], value, *GOOD[index + 1:])


PATHS = {
    # name: arguments, grid, stream, the exception
    "dlpack": (GOOD, (2, 3), 0, None),
    "current stream": (GOOD, 1, None, None),
    "stream object": (GOOD, 1, Stream(), None),
    "array interface": (with_argument(0, Array()), 1, 0, None),
    "data_ptr": (with_argument(0, Memory()), 1, 0, None),
    "int": (with_argument(0, 2**40), [1], 0, None),
    "index": (with_argument(1, Index(5)), 1, 0, None),
    "ctypes": (with_argument(1, ctypes.c_int(5)), 1, 0, None),
    "float": (with_argument(2, Float(1.5)), 1, 0, None),
    "empty grid": (GOOD, 0, 0, None),
    "too few": (GOOD[:-1], 1, 0, lj.ArgumentTypeError),
    "too many": ((*GOOD, 1), 1, 0, lj.ArgumentTypeError),
    "pointer type": (with_argument(0, "x"), 1, 0, lj.ArgumentTypeError),
    "no tensor": (with_argument(0, Tensor(error=True)), 1, 0, lj.ArgumentValueError),
    "cpu": (with_argument(0, Tensor(1, (CPU, 0))), 1, 0, lj.ArgumentValueError),
    "interface": (with_argument(0, Array(None)), 1, 0, lj.ArgumentTypeError),
    "raises": (with_argument(0, Raises()), 1, 0, KeyError),
    "index raises": (with_argument(1, Raises()), 1, 0, KeyError),
    "int range": (with_argument(1, 2**31), 1, 0, lj.ArgumentRangeError),
    "int huge": (with_argument(1, 2**100), 1, 0, lj.ArgumentRangeError),
    "int type": (with_argument(1, "1"), 1, 0, lj.ArgumentTypeError),
    "float range": (with_argument(2, 1e9), 1, 0, lj.ArgumentRangeError),
    "float type": (with_argument(2, None), 1, 0, lj.ArgumentTypeError),
    "struct size": (with_argument(3, b""), 1, 0, lj.ArgumentValueError),
    "struct type": (with_argument(3, 5), 1, 0, lj.ArgumentTypeError),
    "tuple": (with_argument(4, (1,)), 1, 0, lj.ArgumentTypeError),
    "tuple item": (with_argument(4, (1, 2)), 1, 0, lj.ArgumentRangeError),
    "grid type": (GOOD, (1, "2"), 0, lj.ArgumentTypeError),
    "grid range": (GOOD, 2**40, 0, lj.ArgumentValueError),
    "stream type": (GOOD, 1, "0", lj.ArgumentTypeError),
    "stream unknown": (GOOD, 1, 0x123450, lj.CudaError),
}


@pytest.mark.parametrize("way", ["launch", "subscript"])
@pytest.mark.parametrize("path", PATHS)
def test_leaks_nothing(path, way):
    args, grid, stream, exception = PATHS[path]
    kernel = make_kernel(KERNEL)

    calls = itertools.count()

    def call():
        if next(calls) % 500 == 0:
            lj.driver.recorded()
        try:
            if way == "launch":
                kernel.launch(grid, stream, *args)
            else:
                kernel[grid](*args, stream=stream)
        except (lj.Error, KeyError) as error:
            assert type(error) is exception
        else:
            assert exception is None

    watched = [thing for thing in (*args, grid, exception, kernel, type(args[0]))
               if thing is not None]
    leaks_nothing(call, CALLS, min(CALLS, 2000), watched, blocks=50, memory=1 << 20)
