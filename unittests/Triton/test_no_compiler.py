# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In an image with no compiler, no Python.h, no ldconfig, a read-only home and a
cache from which nothing can be executed, Triton works with launchjit, and not
without it."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import worlds

HERE = Path(__file__).resolve().parent
SETUP = """
set -e
mkdir -p "$1/home" "$1/cache"
mount -t tmpfs -o noexec,mode=755 none "$1/cache"
mount --bind "$1/home" "$1/home"
mount -o remount,bind,ro "$1/home"
for each in /sbin/ldconfig /usr/sbin/ldconfig; do
  [ ! -e $each ] || mount --bind /dev/null $each
done
[ -z "$2" ] || mount -t tmpfs none "$2"
shift 2
! touch "$HOME/x" 2>/dev/null
exec "$@"
"""


def run(tmp_path, *arguments, **more):
    unshare = shutil.which("unshare")
    if not unshare or subprocess.run([unshare, "-rm", "true"]).returncode:
        pytest.skip("this system lets no user namespace be made")
    include = sysconfig.get_path("include")
    # Python itself may lie under a folder that PATH needs not have.
    environment = {
        "PATH": "/nonexistent", "HOME": str(tmp_path / "home"),
        "TRITON_CACHE_DIR": str(tmp_path / "cache"),
        "LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"],
        "TRITON_DEFAULT_FP_FUSION": "1", "LAUNCHJIT_RECORDING": "90,1",
        "PYTHONPATH": os.pathsep.join(
            [os.environ["PYTHONPATH"]]
            + ([str(HERE / "standin")] if worlds.VERSION < (3, 8) else [])),
    }
    environment.update(more)
    # The library under test, and what a sanitizer's needs.
    for name in ("LAUNCHJIT_LIBRARY", "LD_PRELOAD", "ASAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    return subprocess.run(
        [unshare, "-rm", "/bin/bash", "-c", SETUP, "bash", str(tmp_path),
         include if os.path.isdir(include) else "",
         "/usr/bin/env", *(f"{name}={value}" for name, value in environment.items()),
         sys.executable, *arguments],
        env={**environment, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, cwd="/", text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_with_launchjit(tmp_path):
    done = run(tmp_path, "-m", "launchjit.triton", str(HERE / "no_compiler.py"), "one", "two")
    assert (done.returncode, done.stdout) == (0, "launched one two\n"), done.stderr


@pytest.mark.parametrize("named, why", [(False, "ldconfig"), (True, "C compiler")])
def test_without(tmp_path, named, why):
    """Triton alone stops at ldconfig; where it is told of libcuda, at the compiler."""
    environment = {"TRITON_LIBCUDA_PATH": os.environ["TRITON_LIBCUDA_PATH"]} if named else {}
    done = run(tmp_path, str(HERE / "no_compiler.py"), **environment)
    assert done.returncode and "launched" not in done.stdout
    assert why in done.stderr.strip().splitlines()[-1], done.stderr
