# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of any signature, and what a launch of them recorded."""

import ctypes
import gc
import itertools
import os
import subprocess
import sys
from ctypes import c_uint64
from pathlib import Path

import launchjit as lj
import pytest
from launchjit._errors import check
from launchjit._lib import lib

TREE = Path(__file__).resolve().parents[2]
BUNDLED = TREE / "tools" / "launchjit" / "kernels" / "kernels.ptx"
JIT = os.environ.get("LAUNCHJIT_JIT") != "off"
CUDA = os.environ["LAUNCHJIT_DRIVER"] == "cuda"
MAPS = Path("/proc/self/maps").read_text()
SANITIZED = "libasan" in MAPS or "libtsan" in MAPS


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Float:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


def ptx(signature, name="axpy"):
    """PTX of a kernel that has the signature's parameters, and writes their bytes
    to where the variable `echo` points."""
    parameters = ",\n".join(
        f".param .align {p.align} .b8 {name}_param_{i}[{p.size}]"
        for i, p in enumerate(signature.parameters)
    )
    copies = "".join(
        f"mov.b64 %from, {name}_param_{i};\ncvta.param.u64 %from, %from;\nmov.u32 %n, {p.size};\n"
        f"L{i}:\nld.u8 %b, [%from];\nst.global.u8 [%to], %b;\nadd.u64 %from, %from, 1;\n"
        f"add.u64 %to, %to, 1;\nsub.u32 %n, %n, 1;\nsetp.ne.u32 %more, %n, 0;\n@%more bra L{i};\n"
        for i, p in enumerate(signature.parameters)
    )
    return (".version 8.1\n.target sm_90\n.address_size 64\n.global .align 8 .u64 echo;\n"
            f".visible .entry {name}({parameters})\n{{\n"
            ".reg .b64 %from, %to;\n.reg .b32 %n;\n.reg .b16 %b;\n.reg .pred %more;\n"
            f"ld.global.u64 %to, [echo];\n{copies}ret;\n}}\n").encode()


def make_kernel(signature, name="axpy", **config):
    if isinstance(signature, str):
        signature = lj.Signature(signature)
    return lj.Module.from_bytes(ptx(signature, name)).get_kernel(name, signature, **config)


def launched(kernel, *args, grid=1, stream=0):
    """What one launch recorded."""
    assert kernel.launch(grid, stream, *args) is None
    (launch,) = lj.driver.recorded()
    return launch


def parameters(kernel, *args):
    """The bytes of each of the kernel's parameters: those that were recorded, or
    on a GPU those that the kernel found."""
    if not CUDA:
        return launched(kernel, *args)["parameters"]
    sizes = [p.size for p in kernel.signature.parameters]
    filler = b"\xa5" * (sum(sizes) + 8)
    address = c_uint64()
    check(lib.lj_memory_allocate(len(filler), address))
    try:
        check(lib.lj_memory_write(address, filler, len(filler)))
        variable, _ = kernel._module.get_global("echo")
        check(lib.lj_memory_write(variable, ctypes.byref(address), 8))
        assert kernel.launch(1, 0, *args) is None
        check(lib.lj_synchronize())
        found = ctypes.create_string_buffer(len(filler))
        check(lib.lj_memory_read(found, address, len(filler)))
    finally:
        check(lib.lj_memory_free(address))
    assert found.raw[sum(sizes):] == filler[:8]
    ends = list(itertools.accumulate(sizes))
    return [found.raw[end - size:end] for size, end in zip(sizes, ends)]


def refused(exception, message, kernel, *args, grid=1, stream=0):
    """Checks that a launch raises just that, and that nothing is launched; gives
    the exception."""
    with pytest.raises(lj.Error if issubclass(exception, lj.Error) else exception) as info:
        kernel.launch(grid, stream, *args)
    assert type(info.value) is exception
    assert str(info.value) == message
    assert CUDA or lj.driver.recorded() == []
    return info.value


def run_python(code, **environment):
    """Runs code in a Python of its own, which can import this module; None
    removes a variable. Gives what the code printed."""
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), **environment}
    env = {name: value for name, value in env.items() if value is not None}
    done = subprocess.run([sys.executable, "-c", code], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def resident():
    """The memory that this process has, bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def leaks_nothing(round, rounds, warm_up, watched=(), *, references=0, blocks, memory=None):
    """Calls `round`, and checks what the calls after the first `warm_up` leave
    behind: at most so many references to each thing that is watched, fewer blocks
    of Python's, and fewer bytes of the process's memory."""
    for _ in range(warm_up):
        round()
    gc.collect()
    gc.collect()  # finalizers that the first ran let more of earlier tests go
    counts = list(map(sys.getrefcount, watched))
    blocks_before, memory_before = sys.getallocatedblocks(), resident()
    for _ in range(rounds):
        round()
    gc.collect()
    # First, since what is watched may be a small int, which the others may give.
    counts_after = list(map(sys.getrefcount, watched))
    more_blocks = sys.getallocatedblocks() - blocks_before
    more_memory = resident() - memory_before
    for thing, before, after in zip(watched, counts, counts_after):
        # Each place of CPython's cache of methods that was never used holds None
        # (_PyType_InitCache), so whatever is looked up for the first time meanwhile
        # gives one back. What a round leaves behind counts at least once a round.
        allowed = rounds // 2 if thing is None else references
        assert abs(after - before) <= allowed, repr(thing)
    assert more_blocks < blocks
    if memory and not SANITIZED:  # a sanitizer keeps what is freed
        assert more_memory < memory