#!/usr/bin/env python3
# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks on a GPU that a launch which was saved gives the same again in another
process. It needs neither torch nor Triton:

    tools/dev python tools/launchjit/kernels/check_replay.py build/release/bin/launchjit

With LAUNCHJIT_DRIVER=recording, where nothing runs, the buffers stay as they
were. The exit status is 1 if something differs.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
N, BEHIND = 1000, 24


def floats(values):
    return bytes((ctypes.c_float * len(values))(*values))


def launch():
    """`add`, whose arguments a and c lie in one buffer; prints the buffer."""
    import launchjit as lj
    from launchjit._lib import lib as cuda

    def memory(content):
        address = ctypes.c_uint64()
        assert not cuda.lj_memory_allocate(len(content), ctypes.byref(address))
        assert not cuda.lj_memory_write(address, content, len(content))
        return address.value

    a = [0.25 * i for i in range(N)]
    b = [1000.0 - i for i in range(N)]
    both = memory(floats([-1.0] * BEHIND + a + [7.0] * N + [-1.0] * BEHIND))
    second = memory(floats(b))
    kernel = lj.Module.from_file(os.path.join(HERE, "kernels.ptx")).get_kernel(
        "add", "a: *fp32, b: *fp32, c: *fp32, n: i32", block=128)
    first = both + 4 * BEHIND
    kernel[(N + 127) // 128](first, second, first + 4 * N, N, stream=0)
    size = 4 * (2 * N + 2 * BEHIND)
    after = ctypes.create_string_buffer(size)
    assert not cuda.lj_memory_read(after, both, size)
    c = floats([x + y for x, y in zip(a, b)])
    if lj.driver.kind == "cuda":
        assert after.raw[4 * (BEHIND + N):][:4 * N] == c, "the launch itself is wrong"
    sys.stdout.buffer.write(after.raw)


def main(tool):
    with tempfile.TemporaryDirectory() as folder:
        dump, out = folder + "/dump", folder + "/out"
        environment = {**os.environ, "LAUNCHJIT_DEBUG": "dump=" + dump}
        expected = subprocess.run([sys.executable, __file__, "--launch"], env=environment, check=True,
                                  stdout=subprocess.PIPE).stdout
        done = subprocess.run([tool, "replay", dump, "--compare", "--times", "3", "--output", out, "--json"],
                              check=True, stdout=subprocess.PIPE).stdout
        told, = json.loads(done)["launches"]
        print("\n".join(f"{b['file']}: {b['size']} bytes, {b['bytes_changed']} changed" for b in told["buffers"]),
              "ns:", told["ns"])
        assert len(told["buffers"]) == 2
        file, = pathlib.Path(out).glob("*/buffer-0.bin")
        assert file.read_bytes() == expected, "the buffer differs after the replay"
    print("replay gives what the launch gave")


if __name__ == "__main__":
    if sys.argv[1:] == ["--launch"]:
        launch()
    elif len(sys.argv) == 2:
        main(sys.argv[1])
    else:
        sys.exit(__doc__)
