# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lives how long; threads; fork."""

import gc
import os
import pickle
import struct
import sys
import threading
import time
import weakref

import launchjit as lj
import pytest
from helpers import BUNDLED, leaks_nothing, make_kernel, ptx, run_python

ADD = "a: *fp32, b: *fp32, c: *fp32, n: i32"


class Tensor:
    """Has no elements, so its memory need not be the GPU's."""

    def data_ptr(self):
        return 0


class Stream:
    def __cuda_stream__(self):
        return (0, 2)


def failing(kernel, *args, grid=1, stream=0):
    try:
        kernel.launch(grid, stream, *args)
    except (lj.Error, ValueError):
        return
    raise AssertionError("did not fail")


def test_launches_leak_nothing():
    kernel = make_kernel("*fp32, i32, fp16, struct<4,4>, (i64, u1), constexpr")
    good = (Tensor(), 2**20, 1.5, bytearray(4), (2**40, True), object())
    wrong = [("x", *good[1:]), (Tensor(), 2**31, *good[2:]), (*good[:2], 1e9, *good[3:]),
             (*good[:3], b"", *good[4:]), (*good[:4], (1,), 0), good[:-1]]
    grid, stream = (2**10, 3), Stream()

    def round():
        kernel.launch(grid, stream, *good)
        kernel[grid](*good, stream=stream)
        for args in wrong:
            failing(kernel, *args)
        failing(kernel, *good, grid=(1, "2"))
        failing(kernel, *good, stream="0")
        failing(kernel, *good, grid=2**40)

    watched = [*good, grid, stream, None, lj.ArgumentTypeError, kernel.launch]
    leaks_nothing(round, 500, 10, watched, references=20, blocks=200)


def test_objects_leak_nothing():
    module = lj.Module.from_file(BUNDLED)

    def round():
        signature = lj.Signature(ADD)
        signature.parameters
        kernel = module.get_kernel("add", signature, block=128, pdl=True)
        kernel.launch(0, 0, 1, 2, 3, 4)
        kernel.with_config(block=64)[0](1, 2, 3, 4)
        lj.Launcher(signature)
        lj.Launcher(signature, entry="packed").origin
        try:
            lj.Signature("i33")
        except lj.SignatureError:
            pass

    leaks_nothing(round, 2000, 200, blocks=500, memory=4 << 20)


def test_no_cycles():
    """Everything goes when its last reference goes."""
    gc.disable()
    try:
        gc.collect()
        module = lj.Module.from_file(BUNDLED)
        kernel = module.get_kernel("add", ADD)
        kernel[1](1, 2, 3, n=4)
        kernel.launch
        module.kernels
        sibling = kernel.with_config(block=2)
        lj.Launcher(kernel.signature)
        del module, kernel, sibling
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("hold", [
    lambda kernel, it: kernel.bind(1, 0, it),
    lambda kernel, it: kernel.bind(1, it, None),
    lambda kernel, it: lj.Batch([kernel.bind(1, 0, it)]),
    lambda kernel, it: kernel[lambda arguments: it],
], ids=["bound", "stream", "batch", "grid"])
def test_cycles_are_collected(hold):
    """Objects may keep what was made of them."""
    class Both(Tensor, Stream):
        pass

    it = Both()
    it.held = hold(make_kernel("p: *fp32"), it)
    reference = weakref.ref(it)
    gc.collect()
    assert reference()
    del it
    gc.collect()
    assert reference() is None


def test_what_is_needed_stays():
    launch = lj.Module.from_file(BUNDLED).get_kernel("add", ADD, block=32).launch
    bound = lj.Module.from_file(BUNDLED).get_kernel("add", ADD, block=32)[5]
    gc.collect()
    launch(3, 0, 1, 2, 3, 4)
    bound(1, 2, 3, 4)
    first, second = lj.driver.recorded()
    assert (first["grid"], second["grid"]) == ((3, 1, 1), (5, 1, 1))
    assert first["parameters"] == second["parameters"]


def test_the_last_reference_goes_without_the_gil():
    """A thread that no switch interval lets run does so while kernels go."""
    signature = lj.Signature("i32")
    image = ptx(signature) + b"//" + bytes([32]) * (8 << 20)
    launches = [lj.Module.from_bytes(image).get_kernel("axpy", signature).launch
                for _ in range(20)]
    counter = 0
    stop = False

    def work():
        nonlocal counter
        while not stop:
            counter += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        end = time.monotonic() + 0.1
        while time.monotonic() < end:  # until it waits for the GIL
            pass
        before = counter
        launches.clear()
        after = counter
    finally:
        stop = True
        sys.setswitchinterval(interval)
        thread.join()
    assert after > before


def test_self_of_a_launch_is_opaque():
    kind = type(make_kernel("i32").launch.__self__)
    try:
        empty = kind()
    except TypeError:
        return
    del empty


def test_threads():
    kernel = make_kernel("thread: i32, i: i64")
    count, rounds = 8, 1000
    start = threading.Barrier(count)
    errors = []

    def work(thread):
        try:
            start.wait()
            for i in range(rounds):
                kernel.launch(1, 0, thread, i)
                if i % 100 == 0:
                    failing(kernel, 2**31, i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    seen = sorted(tuple(struct.unpack("<i", p[0]) + struct.unpack("<q", p[1]))
                  for p in (launch["parameters"] for launch in lj.driver.recorded()))
    assert seen == [(thread, i) for thread in range(count) for i in range(rounds)]


def test_threads_make_kernels():
    count = 8
    start = threading.Barrier(count)
    errors = []

    def work(thread):
        try:
            start.wait()
            for i in range(1, 30):
                kernel = make_kernel(", ".join(["i8", "fp64"] * i))
                kernel.launch(1, 0, *[1, 1.0] * i)
                pickle.loads(pickle.dumps(kernel))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(lj.driver.recorded()) == count * 29


def test_threads_ask_for_a_kernels_launch_at_once():
    count = 8
    for i in range(20):
        # A new ABI: whoever makes the launcher lets go of the GIL.
        kernel = make_kernel(f"i8, struct<{i + 7},1>", name="asked_at_once")
        start = threading.Barrier(count)

        def work():
            start.wait()
            kernel[1](1, bytes(i + 7))

        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(lj.driver.recorded()) == count
        del kernel
    gc.collect()
    assert not [o for o in gc.get_objects()
                if type(o) is type(len) and o.__name__ == "asked_at_once"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_while_threads_work():
    """Children launch, make launchers, and leave the parent alone."""
    kernel = make_kernel("a: i32, b: i32")
    kernel.launch(1, 0, 1, 2)
    lj.driver.recorded()
    stop = threading.Event()

    def work():
        i = 0
        while not stop.is_set():
            i += 1
            make_kernel(", ".join(["i16"] * (i % 100 + 1))).launch
            kernel.launch(0, 0, 1, 2)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for n in range(10):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    kernel.launch(1, 0, n, 2)
                    other = make_kernel(f"i8, struct<{n + 1},1>")
                    other.launch(1, 0, 1, bytes(n + 1))
                    launches = lj.driver.recorded()
                    if [len(launch["parameters"]) for launch in launches] == [2, 2]:
                        status = 0
                finally:
                    os._exit(status)
            deadline = time.monotonic() + 60
            while True:
                pid, status = os.waitpid(child, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline:
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                    raise AssertionError("the child hangs")
                time.sleep(0.002)
            assert status == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_interpreter_ends_while_threads_launch():
    """Daemon threads are in the middle of launches when Python goes away."""
    for _ in range(5):
        run_python("""
import threading, time
import launchjit as lj
from helpers import make_kernel
kernel = make_kernel("i32, *fp32")
def work():
    while True:
        kernel.launch(1, 0, 1, 2)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""")
