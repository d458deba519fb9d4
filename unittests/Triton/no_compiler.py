# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that uses Triton and knows nothing of launchjit; test_no_compiler.py
runs it."""

import ctypes
import json
import sys

import triton
import triton.language as tl
from triton.runtime import driver


class Tensor:
    dtype = "fp32"

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


def main():
    device = driver.active.get_current_device()
    driver.active.get_current_stream(device)
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.lj_recorded.restype = ctypes.c_char_p
    address = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) == 0
    tensor = Tensor(address.value)
    scale[(7,)](tensor, tensor, 100, 1.5, BLOCK=128)
    (launch,) = json.loads(cuda.lj_recorded())
    assert launch["grid"] == [7, 1, 1] and launch["parameters"][2:4] == ["64000000", "0000c03f"]
    print("launched", *sys.argv[1:])


main()
