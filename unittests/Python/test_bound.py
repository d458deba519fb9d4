# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bound launches, batches of them, and graphs that hold them."""

import copy
import gc
import pickle
import struct
import sys
import weakref

import launchjit as lj
import pytest
from helpers import launched, leaks_nothing, make_kernel
from test_host_functions import over_libcuda
from test_pointers import Tensor, packed


def recorded(bound):
    """What one launch of a bound launch, or of a batch of one, recorded."""
    assert bound.launch() is None
    (launch,) = lj.driver.recorded()
    return launch


def numbers():
    """The first parameter, an i32, of each recorded launch."""
    return [struct.unpack("<i", launch["parameters"][0])[0] for launch in lj.driver.recorded()]


def refused(exception, message, function, *args):
    with pytest.raises(exception) as info:
        function(*args)
    assert type(info.value) is exception
    assert str(info.value) == message
    assert lj.driver.recorded() == []
    return info.value


# --- launches -------------------------------------------------------------------------

def test_a_bound_launch_is_a_launch():
    kernel = make_kernel("x: *fp32, s: struct<4,4>, pair: (i64, u1), c: constexpr, h: fp16",
                         block=(32, 2), shared=64, pdl=True)
    args = 2**40, b"abcd", (-5, True), object(), 1.5
    for grid in 7, (2, 3), [1, 2, 3]:
        expected = launched(kernel, *args, grid=grid, stream=1)
        bound = kernel.bind(grid, 1, *args)
        assert lj.driver.recorded() == []
        assert recorded(bound) == expected
        assert recorded(bound) == expected
    assert bound.arguments == args


def test_arguments_by_name():
    kernel = make_kernel("x: *fp32, n: i32")
    assert kernel.bind(1, None, n=2, x=3).arguments == (3, 2)
    bound = kernel.bind(lambda arguments: arguments["n"] * 2, None, 3, n=2)
    assert recorded(bound)["grid"] == (4, 1, 1)
    refused(lj.ArgumentTypeError, "axpy() missing 1 required positional argument: 'n'",
            kernel.bind, 1, None, 3)
    refused(lj.ArgumentTypeError, "axpy() takes 2 positional arguments but 3 were given",
            kernel.bind, 1, None, 1, 2, 3)
    # Parameters of these names are no trouble.
    assert make_kernel("grid: i32, stream: i32").bind(1, 0, grid=5, stream=6).arguments == (5, 6)


def test_what_is_wrong_is_told_when_it_is_bound():
    kernel = make_kernel("n: i8")
    error = refused(lj.ArgumentRangeError,
                    "argument 0 ('n', i8): 128 does not fit; allowed is -128 to 127",
                    kernel.bind, 1, 0, 128)
    assert error.argument == 0
    refused(lj.ArgumentTypeError, "grid: expected an int or a tuple of 1 to 3 ints, got str",
            kernel.bind, "1", 0, 1)
    refused(lj.ArgumentTypeError, "stream: expected an int, None or an object with "
            "__cuda_stream__() or cuda_stream, got str", kernel.bind, 1, "0", 1)
    bound = kernel.bind((1, 70000), 0, 1)
    refused(lj.ArgumentValueError, "kernel 'axpy': grid y is 70000; allowed is 0 to 65535, and "
            "nothing was launched", bound.launch)


def test_set():
    kernel = make_kernel("a: i32, c: constexpr, t: (i32, (fp32, u8)), p: *void")
    bound = kernel.bind(1, 0, 1, None, (2, (3.0, 4)), 5)

    def check(*expected):
        assert recorded(bound)["parameters"] == [
            struct.pack("<" + code, value) for code, value in zip("iifBQ", expected)]

    bound.set(0, -1)
    check(-1, 2, 3.0, 4, 5)
    bound.set("t", (7, (0.5, 9)))
    bound.set("p", None)
    bound.set("c", "anything")
    check(-1, 7, 0.5, 9, 0)
    assert bound.arguments == (-1, "anything", (7, (0.5, 9)), None)

    # A failure changes nothing, though the tuple's first elements are fine.
    refused(lj.ArgumentRangeError, "argument 3 ('t[1][1]', u8): 256 does not fit; allowed is 0 to 255",
            bound.set, "t", (1, (1.0, 256)))
    refused(lj.ArgumentTypeError, "argument 0 ('a', i32): expected an int, got str",
            bound.set, "a", "1")
    for index in 4, -1, 2**70:
        refused(lj.ArgumentValueError, f"kernel 'axpy' has no argument {index}; it has 4, counted "
                "from 0", bound.set, index, 1)
    refused(lj.ArgumentValueError, "kernel 'axpy' has no argument 'b'; it has a, c, t, p",
            bound.set, "b", 1)
    refused(lj.ArgumentTypeError, "index: expected an int, got float", bound.set, 1.0, 1)
    refused(lj.ArgumentTypeError, "set() takes 2 arguments, an index or a name and a value "
            "(1 given)", bound.set, 1)
    check(-1, 7, 0.5, 9, 0)
    assert bound.arguments == (-1, "anything", (7, (0.5, 9)), None)
    refused(lj.ArgumentValueError, "kernel 'axpy' has no argument ''; it has none with a name",
            make_kernel("i32").bind(1, 0, 1).set, "", 1)


def test_what_a_conversion_raises_comes_through():
    class Bad:
        def __index__(self):
            raise ZeroDivisionError("mine")

    bound = make_kernel("a: i32").bind(1, 0, 1)
    refused(ZeroDivisionError, "mine", bound.set, 0, Bad())
    refused(ZeroDivisionError, "mine", bound.set, Bad(), 0)
    assert recorded(bound)["parameters"] == [struct.pack("<i", 1)]


def test_set_grid():
    bound = make_kernel("").bind(1, 0)
    bound.set_grid((2, 3, 4))
    assert recorded(bound)["grid"] == (2, 3, 4)
    refused(lj.ArgumentTypeError, "grid: expected an int or a tuple of 1 to 3 ints, got 4",
            bound.set_grid, (1, 2, 3, 4))
    bound.set_grid(5)
    assert recorded(bound)["grid"] == (5, 1, 1)
    bound.set_grid(0)
    bound.launch()
    assert lj.driver.recorded() == []


def test_the_frameworks_current_stream_is_asked_for_at_each_launch():
    kernel = make_kernel("p: *fp32")
    try:
        bound = kernel.bind(1, None, Tensor())
        for stream in 2, 1, 0:
            Tensor.stream = stream
            assert recorded(bound)["stream"] == stream
        batch = lj.Batch([bound])
        Tensor.stream = 2
        assert recorded(batch)["stream"] == 2
        batch.launch(1)
        batch.launch(stream=0)
        assert [launch["stream"] for launch in lj.driver.recorded()] == [1, 0]
        # One that is named is kept.
        assert recorded(kernel.bind(1, 1, Tensor()))["stream"] == 1
        # A tensor that is set tells too.
        other = kernel.bind(1, None, 5)
        assert recorded(other)["stream"] == 0
        other.set("p", Tensor())
        assert recorded(other)["stream"] == 2
    finally:
        Tensor.stream = 0


def test_devices_are_compared():
    bound = make_kernel("p: *fp32").bind(1, 0, Tensor())
    refused(lj.ArgumentValueError, "argument 0 ('p', *fp32): it is on device 1, but argument 0 "
            "('p', *fp32) is on device 0; peer_access=True allows that",
            bound.set, 0, Tensor(device=(2, 1)))
    there = make_kernel("p: *fp32").bind(1, 0, Tensor(device=(2, 1)))
    message = ("kernel 'axpy', argument 0 ('p', *fp32): it is on device 1, but the launch's stream "
               "is on device 0; launch on a stream of its device, or allow peer access")
    refused(lj.ArgumentValueError, message, there.launch)
    refused(lj.ArgumentValueError, message, lj.Batch([there]).launch)


def test_strict():
    kernel = make_kernel("n: i32:16", strict=True)
    bound = kernel.bind(1, 0, 32)
    with pytest.raises(lj.ArgumentValueError):
        bound.set(0, 17)
    with pytest.raises(lj.ArgumentValueError):
        kernel.bind(1, 0, 17)
    assert recorded(bound)["parameters"] == [struct.pack("<i", 32)]


def test_hooks_see_bound_launches():
    bound = make_kernel("n: i32").bind(3, 0, 1)
    seen = []
    with lj.hooks.add(enter=lambda launch: seen.append((launch.kernel, launch.grid))):
        bound.launch()
    assert seen == [("axpy", (3, 1, 1))]
    lj.driver.recorded()


# --- objects --------------------------------------------------------------------------

def test_arguments_are_kept_alive():
    class Pointer:
        def data_ptr(self):
            return 0

    kernel = make_kernel("p: *void, q: *void")
    p, q = Pointer(), Pointer()
    references = [weakref.ref(p), weakref.ref(q)]
    bound = kernel.bind(1, 0, p, q)
    batch = lj.Batch([bound])
    del p, q, kernel
    gc.collect()
    assert all(reference() for reference in references)
    bound.set(0, None)
    gc.collect()
    assert references[0]() is None and references[1]()
    del bound
    batch.launch()
    assert references[1]()
    del batch
    gc.collect()
    assert references[1]() is None
    lj.driver.recorded()


def test_the_stream_is_kept_alive():
    class Stream:
        cuda_stream = 1

    stream = Stream()
    reference = weakref.ref(stream)
    bound = make_kernel("").bind(1, stream)
    del stream
    gc.collect()
    assert reference()
    assert recorded(bound)["stream"] == 1
    del bound
    gc.collect()
    assert reference() is None


def test_an_argument_that_launches_while_it_goes():
    bound = make_kernel("n: i32").bind(1, 0, 1)

    class Last(int):
        def __del__(self):
            bound.launch()

    bound.set(0, Last(5))
    bound.set(0, 6)
    bound.launch()
    assert numbers() == [6, 6]


def test_objects_are_made_by_their_makers_only():
    bound = make_kernel("").bind(1, 0)
    with pytest.raises(TypeError, match="a BoundLaunch is made by Kernel.bind"):
        lj.BoundLaunch()
    empty = lj.BoundLaunch.__new__(lj.BoundLaunch)
    for call in (empty.launch, lambda: empty.set(0, 1), lambda: empty.set_grid(1),
                 lambda: empty.update(1), lambda: empty.arguments, lambda: lj.Batch([empty])):
        refused(lj.Error, "this object is empty; make it by Kernel.bind", call)
    refused(lj.Error, "this object is empty; make it by Batch([...])",
            object.__new__(lj.Batch).launch)
    refused(lj.ArgumentTypeError, "launch 1: expected a BoundLaunch, got int", lj.Batch, [bound, 5])
    with pytest.raises(AttributeError):
        bound.other = 1
    for thing in bound, lj.Batch([bound]):
        with pytest.raises(TypeError):
            pickle.dumps(thing)
        with pytest.raises(TypeError):
            copy.copy(thing)


def test_signatures_are_told():
    assert lj.BoundLaunch.set.__text_signature__ == "($self, index_or_name, value, /)"
    assert lj.Batch.launch.__text_signature__ == "($self, /, stream=None)"
    assert lj.BoundLaunch.launch.__doc__ and lj.BoundLaunch.set_grid.__doc__


@pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="no reference counts")
def test_nothing_is_leaked():
    kernel = make_kernel("p: *fp32, t: (i32, u8), n: i32")
    tensor, pair, number, grid = Tensor(), (2**20, 1), 2**30, (2**10, 1)

    def fail(function, *args):
        try:
            function(*args)
        except lj.Error:
            return
        raise AssertionError("did not fail")

    def round():
        bound = kernel.bind(grid, None, tensor, pair, number)
        bound.launch()
        bound.set("p", tensor)
        bound.set("t", pair)
        bound.set(2, number)
        bound.set_grid(grid)
        bound.arguments
        batch = lj.Batch([bound, bound])
        batch.launch()
        bound.set(2, number)
        batch.launch(0)
        fail(bound.set, "x", number)
        fail(bound.set, 2, 2**40)
        fail(bound.set, 1, (1, 2**40))
        fail(bound.set_grid, "x")
        fail(bound.update, 5)
        fail(bound.update, "x")
        fail(kernel.bind, grid, None, tensor, pair, 2**40)
        fail(batch.launch, 1, 2)
        fail(lambda: batch.launch(streem=1))
        fail(batch.launch, "x")
        lj.driver.recorded()

    watched = [tensor, pair, number, grid, None, kernel, kernel.launch, lj.BoundLaunch, lj.Batch]
    leaks_nothing(round, 200, 10, watched, references=20, blocks=200)


# --- batches --------------------------------------------------------------------------

def test_a_batch_follows_its_launches():
    kernel = make_kernel("n: i32")
    bounds = [kernel.bind(1, 0, n) for n in range(5)]
    batch = lj.Batch(iter([*bounds, bounds[0]]))
    assert lj.driver.recorded() == []
    batch.launch()
    batch.launch()
    assert numbers() == [0, 1, 2, 3, 4, 0] * 2
    bounds[0].set("n", 10)
    bounds[3].set(0, 13)
    batch.launch()
    assert numbers() == [10, 1, 2, 13, 4, 10]
    bounds[1].set_grid(0)
    batch.launch()
    assert numbers() == [10, 2, 13, 4, 10]
    bounds[1].set_grid(2)
    batch.launch()
    assert numbers() == [10, 1, 2, 13, 4, 10]
    lj.Batch([]).launch()
    assert numbers() == []


def test_a_batch_says_what_is_wrong():
    kernel = make_kernel("n: i32")
    batch = lj.Batch([kernel.bind((1, 1, 70000), 0, 1)])
    refused(lj.ArgumentValueError, "kernel 'axpy': grid z is 70000; allowed is 0 to 65535, and "
            "nothing was launched", batch.launch)
    refused(lj.ArgumentTypeError, "launch() takes a stream and nothing else", batch.launch, 1, 2)
    with pytest.raises(lj.ArgumentTypeError, match="launch\\(\\) takes a stream and nothing else"):
        batch.launch(steam=1)
    refused(lj.ArgumentTypeError, "stream: expected an int, None or an object with "
            "__cuda_stream__() or cuda_stream, got str", batch.launch, "1")


# --- the user's graphs ----------------------------------------------------------------

def test_update_in_a_users_graph():
    over_libcuda("""
module = lj.Module.from_bytes(image)
kernel = module.get_kernel("axpy", signature)
bound = kernel.bind(2, stream.value, 2**40, 1)
other = kernel.bind(1, stream.value, 2**41, 5)
batch = lj.Batch([other])

def value(launch):
    return int.from_bytes(bytes.fromhex(launch["parameters"][1]), "little")

call("cuStreamBeginCapture_v2", stream, 0)
bound.launch()
other.launch()
bound.launch()
batch.launch(stream.value)
# Nothing of ours that ends now breaks the capture.
module.get_kernel("axpy", signature).with_config(block=2)
del batch
import gc; gc.collect()
graph = ctypes.c_void_p()
call("cuStreamEndCapture", stream, ctypes.byref(graph))
assert recorded() == []
execution = new("cuGraphInstantiateWithFlags", graph, ctypes.c_ulonglong(0))

def run():
    call("cuGraphLaunch", execution, stream)
    return [value(launch) for launch in recorded()]

assert run() == [1, 5, 1, 5]
bound.set("n", 7)
assert run() == [1, 5, 1, 5]
bound.update(execution.value)
assert run() == [7, 5, 7, 5]

class Graph: # as torch's
    def raw_cuda_graph_exec(self):
        return execution.value

other.set("n", 8)
other.update(Graph())
assert run() == [7, 8, 7, 5]
bound.set_grid(0)
bound.update(Graph())
assert run() == [8, 5]
bound.set_grid((3, 1))
bound.update(Graph())
call("cuGraphLaunch", execution, stream)
assert [launch["grid"][0] for launch in recorded()] == [3, 1, 3, 1]
call("cuGraphDestroy", graph)
try:
    bound.update(Graph())
except lj.CudaError as error:
    assert error.code == 1
    assert str(error).startswith("kernel 'axpy' was not written into the graph: "), error
else:
    raise AssertionError
""")


def test_modules_end_during_a_capture():
    over_libcuda("""
kernel = lj.Module.from_bytes(image).get_kernel("axpy", signature)
kernel.launch(1, stream.value, 1, 2)
call("cuStreamBeginCapture_v2", stream, 0)
del kernel
import gc; gc.collect()
graph = ctypes.c_void_p()
call("cuStreamEndCapture", stream, ctypes.byref(graph))
""")


def test_update_without_a_capture():
    bound = make_kernel("").bind(1, 0)
    refused(lj.Error, "kernel 'axpy' is in no graph that could be updated; launch it while its "
            "stream is being captured (CUDA 12.3 or later tells its node)", bound.update, 5)
    refused(lj.ArgumentTypeError, "graph_exec: expected an int or an object with "
            "raw_cuda_graph_exec(), got str", bound.update, "x")
