# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The object cache. What a process sees of it is settled when it first looks,
so each test has processes of its own."""

import glob
import json
import os
import shutil
import subprocess
import sys

import launchjit as lj
import pytest
from helpers import JIT, run_python

pytestmark = pytest.mark.skipif(not JIT, reason="interpreted launchers are not kept")

LAUNCH = """
import json, launchjit as lj
from helpers import make_kernel, parameters
kernel = make_kernel("x: *fp32, n: i32, h: fp16, t: (i64, u8)")
bytes = [p.hex() for p in parameters(kernel, 2**40, -5, 1.5, (2**40, 255))]
print(json.dumps([bytes, lj.Launcher(kernel.signature, "python").origin,
                  lj.Launcher(kernel.signature, "c").origin, lj.cache.stats()]))
"""


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def run(cache, code=LAUNCH, **environment):
    environment = {"LAUNCHJIT_CACHE": "rw", "LAUNCHJIT_CACHE_DIR": str(cache), **environment}
    return run_python(code, **environment)


def launch(cache, **environment):
    return json.loads(run(cache, **environment))


def test_the_second_process_loads_what_the_first_compiled(cache):
    first, python, c, stats = launch(cache)
    assert first == ["0000000000010000", "fbffffff", "003e", "0000000000010000", "ff"]
    assert (python, c) == ("memory", "compiled")
    assert stats == {"hits": 0, "misses": 2, "stored": 2, "damaged": 0, "foreign": 0,
                     "failed": 0, "pruned": 0}
    second, python, c, stats = launch(cache)
    assert second == first
    assert (python, c) == ("memory", "cache")
    assert (stats["hits"], stats["misses"], stats["stored"]) == (2, 0, 0)


def test_a_moved_cache_serves(cache, tmp_path):
    first = launch(cache)
    shutil.move(cache, tmp_path / "moved")
    second = launch(tmp_path / "moved")
    assert second[0] == first[0]
    assert second[3]["hits"] == 2


def other_pythons():
    """Interpreters of other versions that happen to be here."""
    for minor in range(9, 20):
        programs = glob.glob(os.path.expanduser(f"~/.pyenv/versions/3.{minor}.*/bin/python"))
        programs += filter(None, [shutil.which(f"python3.{minor}")])
        for program in programs if minor != sys.version_info[1] else ():
            if not subprocess.run([program, "-c", ""], stderr=subprocess.DEVNULL).returncode:
                yield program
                break


def test_one_python_serves_another(cache):
    launch(cache)
    code = ("import launchjit as lj\n"
            "print(lj.Launcher('*fp32, i32, fp16, (i64, u8)', 'python').origin)")
    package = os.path.dirname(os.path.dirname(__import__("launchjit").__file__))
    environment = {**os.environ, "LAUNCHJIT_CACHE": "rw", "LAUNCHJIT_CACHE_DIR": str(cache),
                   "PYTHONPATH": package}
    others = list(other_pythons())
    for python in others:
        done = subprocess.run([python, "-c", code], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "cache\n", python
    # Nor does a key say which it was.
    for entry in cache.glob("*.stub"):
        assert b"\nabi=" in entry.read_bytes() and b"python=" not in entry.read_bytes()
    if not others:
        pytest.skip("no Python of another version is here")


def test_modes(cache):
    assert launch(cache, LAUNCHJIT_CACHE="ro")[3]["misses"] == 2
    assert not cache.exists()
    stats = launch(cache, LAUNCHJIT_CACHE="off")[3]
    assert set(stats.values()) == {0}
    assert not cache.exists()
    launch(cache)
    assert launch(cache, LAUNCHJIT_CACHE="ro")[3]["hits"] == 2


def test_settings(cache, tmp_path):
    show = "import launchjit as lj; c = lj.cache; print([c.path, c.layers, c.mode, c.max_bytes])"
    assert eval(run(cache, show, LAUNCHJIT_CACHE_PATH="/a:/b", LAUNCHJIT_CACHE_MAX_SIZE="3M")) == \
        [str(cache), ("/a", "/b"), "rw", 3 << 20]
    assert eval(run(cache, show, LAUNCHJIT_CACHE_DIR=None, XDG_CACHE_HOME=None, HOME="/")) == \
        [None, (), "rw", 256 << 20]


def test_entries_are_listed_verified_and_removed(cache):
    launch(cache)
    code = """
import launchjit as lj
def raises(function, **arguments):
    try:
        function(**arguments)
    except lj.Error as error:
        return str(error)
entries = lj.cache.entries()
assert len(entries) == 2 and all(e.bytes > 500 and len(e.key) == 32 for e in entries)
assert {lj.Launcher("*fp32, i32, fp16, i64, u8", "c").key} < {e.key for e in entries}
assert lj.cache.verify() == lj.cache.verify(recompile=True) == []
with open(entries[0].path, "r+b") as file:
    file.seek(100)
    file.write(b"!")
((path, why),) = lj.cache.verify(recompile=True)
assert path == entries[0].path and "checksum" in why, why
assert lj.cache.prune() == []
assert len(lj.cache.prune(0, dry_run=True)) == 2 == len(lj.cache.entries())
assert len(lj.cache.prune(max(e.bytes for e in entries))) == 1
assert len(lj.cache.clear()) == 1 and lj.cache.entries() == []
print("done")
"""
    assert run(cache, code) == "done\n"
    refused = "import launchjit as lj\ntry: lj.cache.clear()\nexcept lj.Error as e: print(e)"
    assert "LAUNCHJIT_CACHE=rw allows it" in run(cache, refused, LAUNCHJIT_CACHE="ro")


def test_a_missing_code_generator_is_no_entry_of_another_build(cache, tmp_path):
    launch(cache)
    alone = shutil.copy(lj._lib.path, tmp_path)  # without the generator beside it
    code = """
import launchjit as lj
assert lj.cache.verify() == [] and len(lj.cache.entries()) == 2
try: print(lj.cache.verify(recompile=True))
except lj.Error as error: print(error)
"""
    assert "the code generator cannot be loaded" in run(cache, code, LAUNCHJIT_LIBRARY=alone)


def test_a_refused_folder_hides_no_other(cache, tmp_path):
    launch(cache)
    layer = shutil.copytree(cache, tmp_path / "layer")
    layer.chmod(0o770)
    code = """
import launchjit as lj
((path, why),) = lj.cache.verify()
print(len(lj.cache.entries()), path, why)
"""
    assert run(cache, code, LAUNCHJIT_CACHE_PATH=str(layer)).startswith(
        f"2 {layer} the cache {layer} is refused: others than its owner can write it")
