# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hooks around launches."""

import ctypes
import gc
import json
import os
import sys
import threading
import weakref

import launchjit as lj
import pytest
from helpers import launched, make_kernel, run_python


@pytest.fixture
def kernel():
    return make_kernel("x: *fp32, h: fp16, n: i32, B: constexpr", block=(32, 2), shared=64)


def launch(kernel, grid=3, stream=0):
    kernel.launch(grid, stream, 0x1000, 1.5, -7, 1)


class Log(list):
    """Writes down what it is called with."""

    def enter(self, name):
        return lambda launch: self.append(("enter", name))

    def exit(self, name):
        return lambda launch: self.append(("exit", name, launch.error))


def test_a_hook_gets_the_launch(kernel):
    seen = []
    with lj.hooks.add(enter=seen.append, exit=seen.append):
        launch(kernel, (3, 4))
    launch(kernel)
    expected = lj.hooks.Launch(
        "axpy", (3, 4, 1), (32, 2, 1), 64, 0,
        [(0x1000).to_bytes(8, "little"), b"\x00\x3e", (-7).to_bytes(4, "little", signed=True)],
        None)
    assert seen == [expected, expected]
    assert len(lj.driver.recorded()) == 2


def test_brackets_and_interpreted_entries_are_hooked(kernel):
    log = Log()
    with lj.hooks.add(enter=log.enter("a")):
        kernel[1](0x1000, 1.5, -7, 1, stream=0)
        big = make_kernel(", ".join(["i32"] * 130))  # has no compiled python entry
        big.launch(1, 0, *range(130))
    assert log == [("enter", "a")] * 2


def test_order(kernel):
    log = Log()
    a = lj.hooks.add(log.enter("a"), log.exit("a"))
    with lj.hooks.add(log.enter("b"), log.exit("b")):
        launch(kernel)
    a.remove()
    a.remove()
    launch(kernel)
    assert log == [("enter", "a"), ("enter", "b"), ("exit", "b", None), ("exit", "a", None)]


def test_what_an_enter_hook_raises_stops_the_launch(kernel):
    error = KeyError("no")

    def refuse(launch):
        raise error

    log = Log()
    with lj.hooks.add(log.enter("a"), log.exit("a")):
        with lj.hooks.add(refuse, log.exit("b")):
            with pytest.raises(KeyError) as info:
                launch(kernel)
    assert info.value is error
    assert info.traceback[-1].name == "refuse"
    assert log == [("enter", "a"), ("exit", "a", error)]
    assert lj.driver.recorded() == []
    launch(kernel)


def test_what_an_exit_hook_raises_comes_after_the_launch(kernel):
    error = RuntimeError("late")

    def fail(launch):
        raise error

    with lj.hooks.add(exit=fail):
        with pytest.raises(RuntimeError) as info:
            launch(kernel)
        assert info.value is error
        assert len(lj.driver.recorded()) == 1
        with pytest.raises(RuntimeError) as info:
            launch(kernel, -1)
        assert info.value is error
        assert isinstance(error.__context__, lj.ArgumentValueError)
    # The next failure is its own.
    with pytest.raises(lj.ArgumentValueError):
        launch(kernel, -1)


def test_an_exit_hook_gets_the_launchs_error(kernel):
    errors = []
    with lj.hooks.add(exit=lambda launch: errors.append(launch.error)):
        with pytest.raises(lj.ArgumentValueError) as info:
            launch(kernel, -1)
    (error,) = errors
    assert type(error) is lj.ArgumentValueError
    assert str(error) == str(info.value)


def test_what_is_found_before_a_launch_is_not_hooked(kernel):
    log = Log()
    with lj.hooks.add(log.enter("a"), log.exit("a")):
        with pytest.raises(lj.ArgumentTypeError):
            kernel.launch(1, 0, "x", 1.5, -7, 1)
        launch(kernel, 0)
    assert log == []


def test_a_hooks_own_launches_are_not_hooked(kernel):
    calls = []

    def again(info):
        calls.append(info)
        launch(kernel)

    with lj.hooks.add(enter=again):
        launch(kernel)
    assert len(calls) == 1
    assert len(lj.driver.recorded()) == 2


def test_a_hook_may_remove_itself(kernel):
    def once(info):
        calls.append(info)
        hook.remove()

    calls = []
    hook = lj.hooks.add(enter=once)
    launch(kernel)
    launch(kernel)
    assert len(calls) == 1


def test_removal_gives_the_functions_up(kernel):
    class Function:
        def __call__(self, launch):
            pass

    function = Function()
    alive = weakref.ref(function)
    hook = lj.hooks.add(enter=function, exit=function)
    del function
    launch(kernel)
    assert alive() is not None
    hook.remove()
    gc.collect()
    assert alive() is None


@pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="no reference counts")
def test_nothing_is_leaked(kernel):
    error = ValueError("x")

    def fail(info):
        raise error

    def attempt():
        with lj.hooks.add(exit=fail):
            with pytest.raises(ValueError):
                launch(kernel)
        error.__traceback__ = None

    attempt()
    gc.collect()
    before = sys.getrefcount(error), sys.getrefcount(fail), sys.getrefcount(lj.hooks.Launch)
    for _ in range(100):
        attempt()
    gc.collect()
    after = sys.getrefcount(error), sys.getrefcount(fail), sys.getrefcount(lj.hooks.Launch)
    # What the last exception of the thread refers to, and nothing more.
    assert all(b <= a + 3 for a, b in zip(before, after))


def test_only_functions_are_hooks():
    with pytest.raises(lj.ArgumentTypeError, match="exit: expected a function or None, got int"):
        lj.hooks.add(exit=5)


def test_threads(kernel):
    """Hooks come and go while other threads launch; nothing waits for ever."""
    stop = threading.Event()
    failed = []

    def work():
        try:
            while not stop.is_set():
                launch(kernel)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    removed = set()
    for i in range(200):
        def check(launch, i=i):
            if i in removed:
                failed.append(i)

        with lj.hooks.add(check, check):
            launch(kernel)
        removed.add(i)
    stop.set()
    for thread in threads:
        thread.join()
    assert failed == []


C_LAUNCH = """
import ctypes, threading
import launchjit as lj
from launchjit._lib import lib
from helpers import make_kernel

class Value(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("size", ctypes.c_uint32), ("i", ctypes.c_int64)]

kernel = make_kernel("n: i32")
lib.lj_kernel_launch.restype = ctypes.c_void_p
lib.lj_kernel_launch.argtypes = [ctypes.c_void_p] + [ctypes.c_int64] * 3 + [
    ctypes.c_void_p, ctypes.POINTER(Value), ctypes.c_size_t]

def launch():
    return lib.lj_kernel_launch(kernel._handle, 1, 1, 1, None, Value(0, 0, 5), 1)
"""


def test_a_launch_from_c():
    out = run_python(C_LAUNCH + """
with lj.hooks.add(enter=lambda launch: print(launch.kernel, launch.arguments)):
    assert launch() is None
def fail(launch):
    raise ValueError("as you like")
with lj.hooks.add(enter=fail):
    error = launch()
print(lib.lj_error_message(error).decode())
lib.lj_error_delete(error)
print(len(lj.driver.recorded()))
""")
    assert out.splitlines() == [
        "axpy [b'\\x05\\x00\\x00\\x00']",
        "a launch hook raised ValueError: as you like",
        "1",
    ]


def test_a_thread_that_python_does_not_know(tmp_path):
    """One of pthread_create, which calls the library without the GIL."""
    source = tmp_path / "thread.c"
    source.write_text("""
#include <pthread.h>
#include <stdint.h>
#include <stddef.h>
typedef void *(*launch_t)(void *, int64_t, int64_t, int64_t, void *, void *, size_t);
static void *arguments[3], *result;
static void *run(void *unused) {
  (void)unused;
  result = ((launch_t)arguments[0])(arguments[1], 1, 1, 1, NULL, arguments[2], 1);
  return NULL;
}
void *launch_in_thread(void *launch, void *kernel, void *value) {
  pthread_t thread;
  arguments[0] = launch, arguments[1] = kernel, arguments[2] = value;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
  return result;
}
""")
    compiler = os.environ.get("CC", "cc")
    library = tmp_path / "thread.so"
    if os.system(f"{compiler} -shared -fPIC -pthread -o '{library}' '{source}'"):
        pytest.skip(f"no C compiler: {compiler}")
    out = run_python(C_LAUNCH + f"""
other = ctypes.CDLL({str(library)!r})
other.launch_in_thread.restype = ctypes.c_void_p
other.launch_in_thread.argtypes = [ctypes.c_void_p] * 3
def launch_in_thread():
    function = ctypes.cast(lib.lj_kernel_launch, ctypes.c_void_p)
    value = Value(0, 0, 5)
    return other.launch_in_thread(function, kernel._handle, ctypes.addressof(value))
main = threading.get_ident()
with lj.hooks.add(enter=lambda launch: print(launch.kernel, threading.get_ident() != main)):
    assert launch_in_thread() is None
with lj.hooks.add(exit=lambda launch: 1 / 0):
    error = launch_in_thread()
print(lib.lj_error_message(error).decode())
""")
    assert out.splitlines() == [
        "axpy True", "a launch hook raised ZeroDivisionError: division by zero"]


def test_hooks_of_an_ended_interpreter_are_gone():
    """At exit, with threads that go on launching."""
    run_python("""
import threading
import launchjit as lj
from helpers import make_kernel
kernel = make_kernel("n: i32")
begun = threading.Event()
lj.hooks.add(enter=lambda launch: begun.set(), exit=lambda launch: None)
def work():
    while True:
        kernel.launch(1, 0, 5)
        lj.driver.recorded()
threading.Thread(target=work, daemon=True).start()
begun.wait()
""")


def test_a_child_of_fork_has_the_hooks():
    out = run_python("""
import os
import launchjit as lj
from helpers import make_kernel
kernel = make_kernel("n: i32")
hook = lj.hooks.add(enter=lambda launch: os.write(1, b"hooked "))
kernel.launch(1, 0, 5)
pid = os.fork()
if pid == 0:
    kernel.launch(1, 0, 5)
    hook.remove()
    kernel.launch(1, 0, 5)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
""")
    assert out == "hooked hooked "


def test_a_trace_is_json(tmp_path):
    path = tmp_path / "trace.json"
    run_python("""
from helpers import make_kernel
make_kernel("n: i32", "k").launch((2, 3), 0, 5)
""", LAUNCHJIT_TRACE=str(path))
    events = json.loads(path.read_text())
    assert events[-1]["name"] == "k"
    assert events[-1]["cat"] == "launch"
    assert events[-1]["args"]["grid"] == [2, 3, 1]
    for event in events:
        assert event["ph"] == "X"
        assert event["dur"] >= 0


def test_the_environments_observers_see_python_launches():
    code = """
import os
os.dup2(1, 2)
from helpers import make_kernel
make_kernel("n: i32, h: bf16", "k").launch((2, 3), 0, 5, 0.5)
"""
    out = run_python(code, LAUNCHJIT_DEBUG="print,sync,nvtx")
    assert ("launchjit: launch k grid=(2,3,1) block=(1,1,1) shared=0 stream=0x0 "
            "(n: i32 = 5, h: bf16 = 0.5)\n") in out


def test_a_python_launch_is_saved(tmp_path):
    code = """
from helpers import make_kernel
make_kernel("n: i32", "k").launch(2, 0, 5)
"""
    run_python(code, LAUNCHJIT_DEBUG=f"dump={tmp_path}")
    launch, = tmp_path.glob("*-000000-k")
    assert (launch / "arguments.bin").read_bytes() == b"\5\0\0\0"
    saved = json.loads((launch / "launch.json").read_text())
    assert saved["grid"] == [2, 1, 1] and saved["signature"] == "n: i32"
    assert (tmp_path / "modules" / saved["module"]).exists()
