#!/usr/bin/env python3
# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every bundled kernel through the `python` entry and checks what came of it.

On a GPU the kernels' results are checked, with the recording driver the bytes
of what was recorded. It needs nothing but the launchjit package:

    tools/dev python tools/launchjit/kernels/check.py

README.md beside this file says what each kernel does. A line a kernel; the exit
status is 1 if one failed.
"""

import ctypes
import os
import statistics
import struct
import sys
import time
from ctypes import byref, c_size_t, c_uint64, c_void_p, create_string_buffer

import launchjit as lj
from launchjit._errors import check
from launchjit._lib import lib

FILLER = b"\xa5"
PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.ptx")


def write(address, data):
    check(lib.lj_memory_write(address, data, len(data)))


class Memory:
    """Device memory that a launch takes as it takes a tensor."""

    def __init__(self, data):
        address = c_uint64()
        check(lib.lj_memory_allocate(len(data), address))
        self.address, self.size = address.value, len(data)
        self.write(data)

    def __del__(self):
        check(lib.lj_memory_free(self.address))

    def write(self, data):
        write(self.address, data)

    def read(self):
        data = create_string_buffer(self.size)
        check(lib.lj_memory_read(data, self.address, self.size))
        return data.raw

    def data_ptr(self):
        return self.address


class Output(Memory):
    """Memory that must hold `expected` after the launch."""

    def __init__(self, expected):
        super().__init__(FILLER * len(expected))
        self.expected = expected


def words(code, values):
    return struct.pack(f"<{len(values)}{code}", *values)


def bits(code, value):
    """A value's bits, zero-extended to 64."""
    return int.from_bytes(struct.pack("<" + code, value), "little")


def add(module):
    n, behind = 1000, 24
    a = [0.25 * i for i in range(n + behind)]
    b = [1000.0 - i for i in range(n + behind)]
    out = words("f", [x + y for x, y in zip(a[:n], b[:n])]) + FILLER * 4 * behind
    return dict(signature="a: *fp32, b: *fp32, c: *fp32, n: i32", grid=(n + 127) // 128, block=128,
                arguments=[Memory(words("f", a)), Memory(words("f", b)), Output(out), n])


def scalars(module):
    values = [("i1", "B", True), ("i8", "b", -5), ("i16", "h", -12345), ("i32", "i", -123456789),
              ("i64", "q", -1234567890123456789), ("u1", "B", False), ("u8", "B", 200),
              ("u16", "H", 65000), ("u32", "I", 4000000000), ("u64", "Q", 0xFEDCBA9876543210),
              ("fp16", "e", 1.5), ("bf16", None, -2.5), ("fp32", "f", 3.25), ("fp64", "d", -0.1)]
    out = [bits(code, value) if code else bits("f", value) >> 16 for _, code, value in values]
    signature = "out: *u64" + "".join(f", v{i}: {type}" for i, (type, _, _) in enumerate(values))
    return dict(signature=signature, arguments=[Output(words("Q", out)), *(v for _, _, v in values)])


def structs(module):
    out = [0x01020304 * (i + 1) for i in range(11)]
    data = words("I", out)
    return dict(signature="out: *u32, a: struct<12,4>, i: i32, b: struct<24,8>, j: i32",
                arguments=[Output(data), data[:12], out[3], data[16:40], out[10]])


def cluster(module):
    return dict(signature="out: *u32", grid=8, block=32, cluster=4,
                arguments=[Output(words("I", [x for k in range(8) for x in (k % 4, 4)]))])


def cooperative(module):
    blocks, threads = 4, 64
    first = [i * i for i in range(blocks * threads)]
    second = [x + first[(i + threads) % len(first)] for i, x in enumerate(first)]
    return dict(signature="first: *u32, second: *u32", grid=blocks, block=threads, cooperative=True,
                arguments=[Output(words("I", first)), Output(words("I", second))])


def params300(module):
    types = [("*void", "Q", lambda i: 0x7F0000000000 + 256 * i), ("i32", "i", lambda i: -1000003 * i),
             ("i64", "q", lambda i: -1000000000039 * i), ("fp32", "f", lambda i: 0.375 * i)]
    values = [types[i % 4][2](i) for i in range(1, 300)]
    raw = [bits(types[i % 4][1], value) for i, value in enumerate(values, 1)]
    total = sum(i * x for i, x in enumerate(raw, 1)) % 2**64
    signature = "out: *u64" + "".join(f", p{i}: {types[i % 4][0]}" for i in range(1, 300))
    return dict(signature=signature,
                arguments=[Output(words("Q", [total, raw[0], raw[149], raw[298]])), *values])


def shared(module):
    n = 25600
    return dict(signature="out: *u32, n: i32", block=256, shared=4 * n,
                arguments=[Output(words("I", [3 * (n - 1 - i) for i in range(n)])), n])


def globals_(module):
    factor, coefficients = -3, [0.5, -1.25, 8.0, 1e10]
    for name, data in (("factor", words("i", [factor])), ("coefficients", words("f", coefficients))):
        address, size = module.get_global(name)
        assert size == len(data), f"{name} has {size} bytes"
        write(address, data)
    return dict(signature="out: *fp32", block=4,
                arguments=[Output(words("f", [factor * c for c in coefficients]))])


KERNELS = {"add": add, "scalars": scalars, "structs": structs, "cluster": cluster,
           "cooperative": cooperative, "params300": params300, "shared": shared, "globals": globals_}

CODES = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "i1": "?", "u1": "?", "u8": "B", "u16": "H",
         "u32": "I", "u64": "Q", "fp16": "e", "fp32": "f", "fp64": "d"}


def parameter_bytes(type, value):
    """What the driver must get of an argument."""
    if isinstance(value, bytes):
        return value
    if type.startswith("*"):
        return struct.pack("<Q", value.data_ptr() if isinstance(value, Memory) else value)
    if type == "bf16":
        return struct.pack("<H", bits("f", value) >> 16)
    return struct.pack("<" + CODES[type], value)


def try_kernel(module, name):
    """What was checked, the median time of a launch in seconds, and where the
    launcher came from."""
    trial = KERNELS[name](module)
    signature, arguments = lj.Signature(trial.pop("signature")), trial.pop("arguments")
    grid = trial.pop("grid", 1)
    launcher = lj.Launcher(signature, entry="python")
    kernel = module.get_kernel(name, signature, **trial)
    kernel[grid](*arguments, stream=0)
    if lj.driver.kind == "cuda":
        ours = [(p.offset, p.size) for p in signature.parameters]
        assert driver_layout(name) == ours, "the driver reports another layout"
        check(lib.lj_synchronize())
        for i, argument in enumerate(arguments):
            if isinstance(argument, Output) and argument.read() != argument.expected:
                raise AssertionError(f"argument {i} points to a wrong result")
        what = "results, and the driver's layout"
    else:
        [launch] = lj.driver.recorded()
        expected = [parameter_bytes(p.type, value) for p, value in zip(signature.parameters, arguments)]
        assert launch["kernel"] == name and launch["grid"] == (grid, 1, 1), launch
        assert launch["block"][0] == trial.get("block", 1), launch
        assert launch["shared"] == trial.get("shared", 0), launch
        assert len(launch["attributes"]) == ("cluster" in trial) + ("cooperative" in trial), launch
        assert launch["parameters"] == expected, "recorded parameters differ"
        what = "recorded bytes"

    times = []
    for _ in range(5):
        for _ in range(100):
            start = time.perf_counter()
            kernel.launch(grid, 0, *arguments)
            times.append(time.perf_counter() - start)
        check(lib.lj_synchronize())
    if lj.driver.kind == "recording":
        lj.driver.recorded()
    return what, statistics.median(times), launcher.origin


def driver_layout(name):
    """Offset and size of each parameter, as libcuda tells of the loaded kernel.
    A context must be current."""
    cuda = ctypes.CDLL(lj.driver.info()["path"])

    def call(function, *arguments):
        status = getattr(cuda, function)(*arguments)
        if status:
            raise AssertionError(f"{function} gives {status}")

    library, kernel, context = c_void_p(), c_void_p(), c_void_p()
    call("cuDevicePrimaryCtxRetain", byref(context), 0)
    call("cuCtxPushCurrent_v2", context)
    with open(PTX, "rb") as file:
        call("cuLibraryLoadData", byref(library), file.read() + b"\0", None, None, 0, None, None, 0)
    call("cuLibraryGetKernel", byref(kernel), library, name.encode())
    layout, offset, size = [], c_size_t(), c_size_t()
    while not cuda.cuKernelGetParamInfo(kernel, c_size_t(len(layout)), byref(offset), byref(size)):
        layout.append((offset.value, size.value))
    call("cuLibraryUnload", library)
    call("cuCtxPopCurrent_v2", byref(context))
    return layout


def main():
    try:
        info = lj.driver.info()
    except lj.Error as error:
        sys.exit(f"check.py: {error}")
    if info["kind"] == "null":
        sys.exit("check.py: the null driver shows nothing; set LAUNCHJIT_DRIVER to cuda or recording")
    print(f"driver {info['kind']} {info['version']} {info['path']}, "
          f"Python {sys.version.split()[0]}, launchjit {lj.__version__}")
    module = lj.Module.from_file(PTX)
    failed = 0
    for name in KERNELS:
        try:
            what, seconds, origin = try_kernel(module, name)
            print(f"{name:<12} ok: {what}; {origin}, a launch takes {seconds * 1e6:.2f} µs")
        except (lj.Error, AssertionError, ValueError) as error:
            failed += 1
            print(f"{name:<12} FAILED: {type(error).__name__}: {error}")
    print(f"{len(KERNELS) - failed} of {len(KERNELS)} kernels are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
