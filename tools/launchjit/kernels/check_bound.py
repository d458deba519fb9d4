#!/usr/bin/env python3
# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks bound launches, batches and graphs on a GPU, by what the kernels leave
in memory, and times them. It needs torch 2.8 or later with CUDA:

    PYTHON=python3 tools/dev python tools/launchjit/kernels/check_bound.py

A line a check; the exit status is 1 if one failed.
"""

import ctypes
import gc
import os
import sys
import time
import traceback
from ctypes import byref, c_ulonglong, c_void_p

import launchjit as lj
import torch

PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.ptx")
ADD = "a: *fp32, b: *fp32, c: *fp32, n: i32"
N = 1000
GRID = (N + 127) // 128

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, f"{name} gives {status}"


def numbers(first=0.0):
    return torch.arange(N, dtype=torch.float32, device="cuda") + first


def zeros():
    return torch.zeros(N, dtype=torch.float32, device="cuda")


def add(**config):
    return lj.Module.from_file(PTX).get_kernel("add", ADD, block=128, **config)


def expect(tensor, expected, n=N):
    """The first n elements are as expected, the rest zero."""
    torch.cuda.synchronize()
    assert torch.equal(tensor[:n], expected[:n]), (tensor[:4], expected[:4])
    assert not tensor[n:].any(), "written behind the end"


class Graph:
    """What torch captures, instantiated beside torch's own."""

    def __init__(self, work, warm_up=True):
        if warm_up:
            work()
            torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(self.graph):
            work()
        self.execution = c_void_p()
        call("cuGraphInstantiateWithFlags", byref(self.execution),
             c_void_p(self.graph.raw_cuda_graph()), c_ulonglong(0))

    def raw_cuda_graph_exec(self):
        return self.execution.value

    def replay(self):
        call("cuGraphLaunch", self.execution, c_void_p(torch.cuda.current_stream().cuda_stream))


def bound_launch():
    a, b, c = numbers(), numbers(5), zeros()
    bound = add().bind(GRID, None, a, b, c, N)
    bound.launch()
    expect(c, a + b)
    c.zero_()
    bound.launch()
    expect(c, a + b)


def set_and_grid():
    a, b, c, d = numbers(), numbers(5), zeros(), zeros()
    bound = add().bind(GRID, None, a, b, c, n=10)
    bound.set("c", d)
    bound.set(3, 300)
    bound.launch()
    expect(d, a + b, 300)
    expect(c, c, 0)
    d.zero_()
    bound.set_grid(1)
    bound.launch()
    expect(d, a + b, 128)
    d.zero_()
    bound.set_grid(0)
    bound.launch()
    expect(d, d, 0)


def side_streams():
    kernel, a, b, c = add(), numbers(), numbers(5), zeros()
    follows = kernel.bind(GRID, None, a, b, c, N)
    side = torch.cuda.Stream()
    named = kernel.bind(GRID, side, c, b, c, N)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        a += 1
        follows.launch()  # must come behind the sum
    named.launch()  # must come behind that
    expect(c, a + b + b)


def batch():
    kernel, a, b = add(), numbers(), numbers(5)
    sums = [a] + [zeros() for _ in range(10)]
    bounds = [kernel.bind(GRID, None, x, b, y, N) for x, y in zip(sums, sums[1:])]
    all_of_them = lj.Batch(bounds)
    for _ in range(2):
        for y in sums[1:]:
            y.zero_()
        all_of_them.launch()
        expect(sums[-1], a + 10 * b)
    twice = 2 * b
    bounds[4].set("b", twice)
    all_of_them.launch()
    expect(sums[-1], a + 11 * b)
    # What was launched keeps its arguments.
    bounds[4].set("b", b)
    all_of_them.launch()
    bounds[4].set("b", twice)
    expect(sums[-1], a + 10 * b)
    # A launch that is none leaves what was there.
    bounds[9].set_grid(0)
    sums[-1].zero_()
    all_of_them.launch()
    expect(sums[-1], sums[-1], 0)
    bounds[9].set_grid(GRID)
    all_of_them.launch()
    expect(sums[-1], a + 11 * b)


def batch_on_a_side_stream():
    a, b, c = numbers(), numbers(5), zeros()
    all_of_them = lj.Batch([add().bind(GRID, None, a, b, c, N)])
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        a += 1
        all_of_them.launch()
    expect(c, a + b)
    c.zero_()
    torch.cuda.synchronize()
    all_of_them.launch(side)
    expect(c, a + b)


def batch_of_all_attributes():
    module = lj.Module.from_file(PTX)
    first, second = (torch.zeros(256, dtype=torch.int32, device="cuda") for _ in range(2))
    ranks = torch.zeros(16, dtype=torch.int32, device="cuda")
    a, b, c, d = numbers(), numbers(5), zeros(), zeros()
    together = module.get_kernel("cooperative", "first: *u32, second: *u32", block=64,
                                 cooperative=True).bind(4, None, first, second)
    clusters = module.get_kernel("cluster", "out: *u32", block=32, cluster=4).bind(8, None, ranks)
    dependent = add(pdl=True, priority=-1)
    bounds = [together, clusters, dependent.bind(GRID, None, a, b, c, N),
              dependent.bind(GRID, None, c, b, d, N)]
    all_of_them = lj.Batch(bounds)
    for _ in range(2):
        for bound in bounds:
            bound.set(0, bound.arguments[0])  # has every node written
        for tensor in first, second, ranks, c, d:
            tensor.zero_()
        all_of_them.launch()
        torch.cuda.synchronize()
        squares = torch.arange(256, dtype=torch.int32, device="cuda") ** 2
        assert torch.equal(first, squares)
        assert torch.equal(second, squares + squares.roll(-64))
        assert ranks.tolist() == [x for k in range(8) for x in (k % 4, 4)]
        expect(c, a + b)


def update_in_a_torch_graph():
    kernel, a, b, c, d = add(), numbers(), numbers(5), zeros(), zeros()
    bound = kernel.bind(GRID, None, a, b, c, N)
    graph = Graph(bound.launch)
    c.zero_()
    graph.replay()
    expect(c, a + b)
    c.zero_()
    bound.set("n", 200)
    bound.set("c", d)
    graph.replay()  # as captured
    expect(c, a + b)
    c.zero_()
    bound.update(graph)
    graph.replay()
    expect(c, c, 0)
    expect(d, a + b, 200)
    d.zero_()
    bound.set_grid(1)
    bound.update(graph)
    graph.replay()
    expect(d, a + b, 128)
    d.zero_()
    bound.set_grid(0)
    bound.update(graph)
    graph.replay()
    expect(d, d, 0)
    bound.set_grid(GRID)
    bound.update(graph.raw_cuda_graph_exec())
    graph.replay()
    expect(d, a + b, 200)


def update_of_torchs_own_exec():
    a, b, c = numbers(), numbers(5), zeros()
    bound = add().bind(GRID, None, a, b, c, N)
    bound.launch()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    if not hasattr(graph, "raw_cuda_graph_exec"):
        return f"skipped: torch {torch.__version__} does not tell it"
    with torch.cuda.graph(graph):
        bound.launch()
    graph.instantiate()
    bound.set("n", 200)
    bound.update(graph)
    c.zero_()
    graph.replay()
    expect(c, a + b, 200)


def update_of_all_nodes():
    a, b, c = numbers(), numbers(5), zeros()
    accumulate = add().bind(GRID, None, c, b, c, N)
    graph = Graph(lambda: [accumulate.launch() for _ in range(5)])
    c.zero_()
    graph.replay()
    expect(c, 5 * b)
    accumulate.set("b", a)
    accumulate.update(graph)
    c.zero_()
    graph.replay()
    expect(c, 5 * a)


def update_of_a_cooperative_launch():
    kernel = lj.Module.from_file(PTX).get_kernel("cooperative", "first: *u32, second: *u32",
                                                 block=64, cooperative=True)
    tensors = [torch.zeros(256, dtype=torch.int32, device="cuda") for _ in range(3)]
    bound = kernel.bind(4, None, tensors[0], tensors[1])
    graph = Graph(bound.launch)
    bound.set("second", tensors[2])
    bound.update(graph)
    graph.replay()
    torch.cuda.synchronize()
    squares = torch.arange(256, dtype=torch.int32, device="cuda") ** 2
    assert torch.equal(tensors[2], squares + squares.roll(-64))


def first_launch_in_a_capture():
    a, b, c = numbers(), numbers(5), zeros()
    bound = add().bind(GRID, None, a, b, c, N)
    graph = Graph(bound.launch, warm_up=False)
    expect(c, c, 0)
    graph.replay()
    expect(c, a + b)


def batch_in_a_capture():
    a, b, c, d = numbers(), numbers(5), zeros(), zeros()
    kernel = add()
    bounds = [kernel.bind(GRID, None, a, b, c, N), kernel.bind(GRID, None, c, b, d, N)]
    all_of_them = lj.Batch(bounds)
    graph = Graph(all_of_them.launch, warm_up=False)  # it is made there, too
    expect(d, d, 0)
    graph.replay()
    expect(d, a + 2 * b)
    bounds[1].set("b", a)
    all_of_them.launch()
    expect(d, 2 * a + b)
    graph.replay()  # a copy
    expect(d, a + 2 * b)


def things_end_in_a_capture():
    a, b, c = numbers(), numbers(5), zeros()
    going = [add()]
    going.append(going[0].bind(GRID, None, a, b, c, N))
    going.append(lj.Batch([going[1]]))
    going[2].launch()
    going[1].launch()
    bound = add().bind(GRID, None, a, b, c, N)

    def work():
        bound.launch()
        while going:
            going.pop()
            gc.collect()

    graph = Graph(work, warm_up=False)
    c.zero_()
    graph.replay()
    expect(c, a + b)


def errors():
    a = numbers()
    bound = add().bind(GRID, None, a, a, a, N)
    for call_it, error in ((lambda: bound.set("n", 2**40), lj.ArgumentRangeError),
                           (lambda: bound.set("a", torch.zeros(3)), lj.ArgumentValueError),
                           (lambda: bound.update(1), lj.Error)):
        try:
            call_it()
        except error:
            continue
        raise AssertionError("no error")
    bound.set_grid((1, 70000))
    try:
        bound.launch()
    except lj.ArgumentValueError:
        return
    raise AssertionError("no error")


CHECKS = [bound_launch, set_and_grid, side_streams, batch, batch_on_a_side_stream,
          batch_of_all_attributes, update_in_a_torch_graph, update_of_torchs_own_exec,
          update_of_all_nodes, update_of_a_cooperative_launch, first_launch_in_a_capture,
          batch_in_a_capture, things_end_in_a_capture, errors]


def microseconds(function, rounds=200, each=50):
    """The least time of a call, over rounds that begin with an idle GPU."""
    best = float("inf")
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(each):
            function()
        best = min(best, (time.perf_counter() - start) / each)
    return best * 1e6


def times():
    kernel, a, b, c = add(), numbers(), numbers(5), zeros()
    side = torch.cuda.Stream()
    for name, stream in ("the legacy stream", 0), ("a side stream", side.cuda_stream), \
                        ("the current stream", None):
        bound = kernel.bind(1, stream, a, b, c, 1)
        launch = kernel.launch
        print(f"{name}: kernel.launch {microseconds(lambda: launch(1, stream, a, b, c, 1)):.3f} µs, "
              f"bound.launch {microseconds(bound.launch):.3f} µs")
    handle, status = c_void_p(side.cuda_stream), ctypes.c_int()
    clock = time.perf_counter()
    for _ in range(10000):
        cuda.cuStreamIsCapturing(handle, byref(status))
    print(f"cuStreamIsCapturing through ctypes {(time.perf_counter() - clock) * 100:.3f} µs, "
          f"an empty ctypes call {microseconds(lambda: cuda.cuDriverGetVersion(byref(status))):.3f} µs")
    bounds = [kernel.bind(1, 0, a, b, c, 1) for _ in range(100)]
    all_of_them = lj.Batch(bounds)
    launch, change = all_of_them.launch, bounds[50].set

    def changed():
        change(3, 1)
        launch(0)

    print(f"a batch of 100: {microseconds(lambda: launch(0), each=5):.2f} µs, "
          f"one set included {microseconds(changed, each=5):.2f} µs, "
          f"set alone {microseconds(lambda: change(3, 1)):.3f} µs")


def main():
    print(f"driver {lj.driver.info()['kind']} {lj.driver.info()['version']}, torch "
          f"{torch.__version__}, Python {sys.version.split()[0]}, launchjit {lj.__version__}")
    failed = 0
    for check in CHECKS:
        try:
            print(f"PASS {check.__name__} {check() or ''}".rstrip())
        except Exception:
            failed += 1
            print(f"FAIL {check.__name__}")
            traceback.print_exc(file=sys.stdout)
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks are right")
    times()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
