#!/usr/bin/env python3
# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches on a GPU with what torch, CuPy, numba-cuda and cuda.core pass: their
tensors, arrays, buffers and streams. It needs torch; the others as they are there.

    PYTHON=python3 tools/dev python tools/launchjit/kernels/check_frameworks.py

A line a check; the exit status is 1 if one failed.
"""

import sys

import launchjit as lj
import torch

# p[i] += 1 for i < n
PTX = b"""
.version 7.8
.target sm_80
.address_size 64
.visible .entry increment(.param .u64 p, .param .u32 n)
{
.reg .b64 %rd<4>;
.reg .b32 %r<6>;
.reg .f32 %f<3>;
.reg .pred %p<2>;
ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [n];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.s32 %r5, %r2, %r3, %r4;
setp.ge.u32 %p1, %r5, %r1;
@%p1 ret;
mul.wide.u32 %rd2, %r5, 4;
add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
add.f32 %f2, %f1, 0f3F800000;
st.global.f32 [%rd3], %f2;
ret;
}
"""
SMALL, LARGE = 1000, 1 << 22
BLOCK = 128

failed = 0
kernel = lj.Module.from_bytes(PTX).get_kernel("increment", "p: *fp32, n: i32", block=BLOCK)


def blocks(n):
    return -(-n // BLOCK)


def check(what, good):
    global failed
    failed += not good
    print("ok    " if good else "FAILED", what)


def refused(what, exception, launch, *args):
    try:
        launch(*args)
    except exception as error:
        check(f"{what}: {error}", True)
    else:
        check(what, False)


def zeros(n=SMALL, **options):
    return torch.zeros(n, **{"device": "cuda", **options})


def holds(tensor, value):
    torch.cuda.synchronize()
    return bool((tensor == value).all())


def with_torch():
    tensor = zeros()
    kernel[blocks(SMALL)](tensor, SMALL)
    check("torch: a tensor", holds(tensor, 1))
    parameter = torch.nn.Parameter(zeros())
    kernel[blocks(SMALL)](parameter, SMALL)
    check("torch: a Parameter that requires a gradient", holds(parameter.detach(), 1))
    pinned = torch.zeros(SMALL).pin_memory()
    kernel[blocks(SMALL)](pinned, SMALL)
    check("torch: a pinned CPU tensor", holds(pinned, 1))
    view = zeros(2 * SMALL)
    kernel[blocks(SMALL)](view[SMALL:], SMALL)
    check("torch: a view keeps its offset", holds(view[SMALL:], 1) and holds(view[:SMALL], 0))
    empty = zeros(0)
    kernel[1](empty, 0)
    kernel[0](empty, 0)
    check("torch: a tensor without elements", True)
    refused("torch: a CPU tensor is refused", lj.ArgumentValueError,
            kernel[1], torch.zeros(SMALL), SMALL)
    refused("torch: strict refuses another element type", lj.ArgumentTypeError,
            kernel.with_config(strict=True)[1], zeros(dtype=torch.float16), SMALL)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        large = zeros(LARGE)
        for _ in range(50):
            kernel[blocks(LARGE)](large, LARGE)
        copy = large.clone()
    side.synchronize()
    check("torch: the current side stream, unnamed", bool((copy == 50).all()))
    kernel[blocks(SMALL)](tensor, SMALL, stream=side)
    side.synchronize()
    check("torch: a stream by name", holds(tensor, 2))

    graph = torch.cuda.CUDAGraph()
    captured = zeros()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        kernel[blocks(SMALL)](captured, SMALL)
    check("torch: a capture runs nothing", holds(captured, 0))
    graph.replay()
    graph.replay()
    check("torch: the captured launch runs with each replay", holds(captured, 2))


def with_cupy():
    import cupy

    array = cupy.zeros(SMALL, dtype=cupy.float32)
    kernel[blocks(SMALL)](array, SMALL)
    check("CuPy: an array", bool((array == 1).all()))
    with cupy.cuda.Stream(non_blocking=True) as side:
        large = cupy.zeros(LARGE, dtype=cupy.float32)
        for _ in range(20):
            kernel.launch(blocks(LARGE), None, large, LARGE)
    side.synchronize()
    torch.cuda.synchronize()
    check("CuPy: the launch waits for the array's stream", bool((large == 20).all()))


def with_numba():
    from numba import cuda

    array = cuda.as_cuda_array(zeros())
    kernel[blocks(SMALL)](array, SMALL)
    torch.cuda.synchronize()
    check("numba-cuda: an array", bool((array.copy_to_host() == 1).all()))


def with_cuda_core():
    try:
        from cuda.core import Device
    except ImportError:
        from cuda.core.experimental import Device
    device = Device()
    device.set_current()
    stream = device.create_stream()
    buffer = device.allocate(4 * SMALL, stream=stream)
    kernel[blocks(SMALL)](buffer, SMALL, stream=stream)
    tensor = zeros()
    torch.cuda.synchronize()
    kernel.launch(blocks(SMALL), stream, tensor, SMALL)
    stream.sync()
    check("cuda.core: a buffer and a stream", holds(tensor, 1))


def main():
    if not torch.cuda.is_available():
        sys.exit("check_frameworks.py: there is no GPU, or torch cannot use it")
    for with_framework in with_torch, with_cupy, with_numba, with_cuda_core:
        try:
            with_framework()
        except ImportError as error:
            print("absent", error)
    print(f"{failed} failed")
    sys.exit(failed != 0)


main()
