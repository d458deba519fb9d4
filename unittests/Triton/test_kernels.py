# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels end to end: kernel[grid](...) of real JIT functions, compiled for sm_90,
with Triton's own launchers and with ours.

What differs by a fault of Triton's is named, and the test says what is right; the
faults of numbers are test_launcher.py's.
"""

import contextlib
import ctypes
import functools
import itertools
import math
import threading
import types
from collections import namedtuple

import numpy as np
import pytest
import triton
import triton.language as tl
import worlds
from test_launcher import FLOATS, INTEGERS, bfloat_fault, their_integer
from worlds import (EARLY, VERSION, Broken, Pointer, agree, enter_world, memory, outcome, pinned,
                    set_allocators)


def knobs():
    return triton.knobs.runtime


class DType(str):
    """What a tensor has as its dtype."""

    is_floating_point = True
    itemsize = 4


class Tensor(Pointer):
    def __init__(self, answer=None, log=None, name="", dtype="fp32"):
        super().__init__(memory() if answer is None else answer, log, name)
        self.dtype = DType(dtype)
        self.dtype.itemsize = {"fp16": 2, "bf16": 2, "i8": 1}.get(dtype, 4)


def fresh(function, **options):
    """A JIT function that has not compiled anything yet."""
    return triton.jit(function, **options)


def annotated(function, **annotations):
    copy = types.FunctionType(function.__code__, globals(), function.__name__,
                              function.__defaults__)
    copy.__annotations__ = annotations
    return copy


def in_world(work, ours):
    enter_world(ours)
    log = []
    try:
        return outcome(lambda: work(log), log)
    finally:
        enter_world(False)


def both(work):
    """Has `work(log)` agree in the two worlds; gives what came of it."""
    theirs, ours = in_world(work, False), in_world(work, True)
    agree(theirs, ours)
    return ours


def launched(result, count=1):
    """That the kernel was launched, and its parameters."""
    assert result.result[0] == "returned", result.result
    assert len(result.launches) == count
    return [launch["parameters"] for launch in result.launches]


# --- kernels ------------------------------------------------------------------


def one(a):
    pass


def two(a, b):
    pass


def three(a, b, c):
    pass


def with_default(a, b=3, c=1.5, D: tl.constexpr = 7):
    pass


def constants(A: tl.constexpr, b, C: tl.constexpr, d, E: tl.constexpr):
    pass


def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def softmax(out, x, columns, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * stride + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * stride + i, e / tl.sum(e, axis=0), mask=i < columns)


def multiply(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, columns, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        left = tl.load(a + rows[:, None] * K + start + k[None, :])
        right = tl.load(b + (start + k)[:, None] * N + columns[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + rows[:, None] * N + columns[None, :], sum)


def count(x, n):
    tl.atomic_add(x + tl.program_id(0), n)


def copy_block(source, to):
    to.store([0, 0], source.load([0, 0]))


def device_descriptor(x, n):
    block = tl.make_tensor_descriptor(x, shape=[n, 32], strides=[32, 1], block_shape=[16, 32])
    block.store([0, 0], block.load([16, 0]))


def sum_of(x, values):
    tl.store(x, values[0] + values[1][0])


def printing(x, n):
    tl.device_print("n", n)
    tl.device_assert(n > 0, "not positive")


FACTOR = tl.constexpr(3)


def with_global(x, n):
    tl.store(x, n * FACTOR)


@triton.jit
def twice(x):
    return x * 2


def higher(x, n, F: tl.constexpr):
    tl.store(x, F(n))


# --- arguments ----------------------------------------------------------------


class Call:
    """A call of a kernel, compared in the two worlds. `right`: where Triton's
    launcher has a fault, the bytes of the last parameter, or what is raised."""

    def __init__(self, name, function, args, *, grid=(3,), right=None, jit=None, **kwargs):
        self.__dict__.update(locals())

    def __repr__(self):
        return self.name

    def work(self, log):
        kernel = fresh(self.function, **(self.jit or {}))
        args = self.args(log) if callable(self.args) else self.args
        result = []
        for _ in range(2):  # the second finds the kernel in the cache
            compiled = kernel[self.grid](*args, **self.kwargs)
            result.append((compiled.name, compiled.metadata.shared, compiled.metadata.num_warps,
                           compiled.n_regs, compiled.n_spills,
                           list(compiled.src.signature.items())))
        return result


def annotated_cases():
    for type, (bits, signed) in INTEGERS.items():
        if type == "i1":
            continue  # an annotation of it is u1
        low, high = -2**(bits - 1), 2**bits - 1
        for value in sorted({0, 1, 7, 16, -1, low, low - 1, high // 2, high // 2 + 1, high,
                             high + 1}):
            if not -2**63 <= value < 2**64:
                continue  # Triton tells before it launches
            fits = low <= value <= high
            theirs = their_integer(type, bits, signed, value)
            right = (value % 2**bits).to_bytes(bits // 8, "little") if fits else OverflowError
            yield Call(f"{type}={value}", annotated(one, a=type), [value],
                       right=None if theirs == right else right)
        for name, value in {"float": 1.5, "none": None, "numpy": np.int32(3), "true": True}.items():
            yield Call(f"{type}:{name}", annotated(one, a=type), [value])
    for type in ("fp16", "bf16", "fp32", "fp64"):
        for name in ("zero", "1.5", "subnormal", "-half max", "inf", "nan", "int", "numpy",
                     "float", "str", "none", "true", "third"):
            yield Call(f"{type}:{name}", annotated(one, a=type), [FLOATS[name]],
                       right=bfloat_fault(FLOATS[name]) if type == "bf16" else None)
        yield Call(f"{type}:1e6", annotated(one, a=type), [1e6],
                   right=OverflowError if type == "fp16" and EARLY else None)
    for type in ("*fp32", "*i1", "*u8", "*fp8e5", "const *fp16", "*kfp32"):
        for name, value in {"tensor": lambda: Tensor(), "none": lambda: None}.items():
            yield Call(f"{type}:{name}", annotated(one, a=type), lambda log, v=value: [v()])
    yield Call("dtypes", annotated(three, a=tl.int16, b=tl.float16, c=tl.pointer_type(tl.int8)),
               lambda log: [5, 0.5, Tensor(dtype="i8")])


def plain_cases():
    for value in (0, 1, 2, 16, -16, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**63 - 1, 2**63,
                  2**64 - 1, 2**64, -2**63, -2**63 - 1, 10**30, True, False, None, 0.0, 1.0, 0.1,
                  -math.inf, math.nan, 1e39, 5e-324, "text", np.int64(7), np.float64(2.5),
                  np.float32(2.5), np.bool_(True), [1], {}, object, 1j, b"x"):
        yield Call(f"plain {value!r}", two, [7, value])
    for dtype in ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp16", "bf16",
                  "fp32", "fp64", "fp8e4nv", "fp8e5", "torch.float16", "float8_e5m2", "nothing"):
        yield Call(f"tensor of {dtype}", one, lambda log, d=dtype: [Tensor(None, log, "t", d)])
    for name, address in {"pinned": lambda: pinned(), "unaligned": lambda: memory() + 4,
                          "empty": lambda: 0, "pageable": lambda: 2**44,
                          "text": lambda: "x", "raising": lambda: ValueError("of the test"),
                          }.items():
        yield Call(f"{name} tensor", two, lambda log, a=address: [3, Tensor(a(), log, "t")])
        yield Call(f"{name} tensor, not specialized", annotated(two, b="*fp32"),
                   lambda log, a=address: [3, Tensor(a(), log, "t")],
                   jit=dict(do_not_specialize=["b"]),
                   right=ValueError if name == "raising" else None)
    for place in ("a", "b", 0, 1):
        for value in (1, 16, 3.5, None, 2**40, True):
            yield Call(f"do_not_specialize {place} {value}", two, [value, value],
                       jit=dict(do_not_specialize=[place]))
    yield Call("do_not_specialize_on_alignment", three,
               lambda log: [16, Tensor(None, log, "t"), 1],
               jit=dict(do_not_specialize_on_alignment=["a", "b", "c"]))
    for args, kwargs in [((1, 2, 3, 4, 5), {}), ((None, 2.0, "c", 1, (1, 2)), {}),
                         ((tl.float32, 3, twice, 16, True), {}), ((1,), dict(b=2, C=3, d=4, E=5)),
                         ((), dict(E=1, d=2, C=3, b=4, A=5)), ((1, 2, 3), {}),
                         ((1, 2, 3, 4, 5, 6), {}), ((1, 2, 3, 4, 5), dict(A=1)),
                         ((1, 2, 3, 4, 5), dict(nothing=1)), (([1], 2, {}, 3, 4), {})]:
        yield Call(f"constexpr {args} {kwargs}", constants, args, **kwargs)
    for args, kwargs in [((5,), {}), ((5, 16), {}), ((5, 6, 7.5, 8), {}), ((5,), dict(c=2.5)),
                         ((5,), dict(D=1, b=2)), ((), dict(a=1)), ((), {})]:
        yield Call(f"defaults {args} {kwargs}", with_default, args, **kwargs)
    yield Call("no parameters", nothing, [])
    yield Call("60", sixty, lambda log: [Tensor(None, log, "t"), 7, 0.5, None, 2**40, 1] * 10)


def nothing():
    pass


# Only a function with a source can be compiled.
def sixty(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1,
          c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0, e1, e2, e3,
          e4, e5, e6, e7, e8, e9, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9):
    pass


Pair = namedtuple("Pair", "x y")


def variadic(a, *rest):
    pass


def by_name(a, *, b, C: tl.constexpr = 3):
    pass


def language_cases():
    """What only some versions know."""
    for args in [(1, 2, 3.5, None), (1,), (), (7, (2, 3))]:
        yield Call(f"*args {args}", variadic, args)
    for kwargs in [dict(b=7), dict(b=8, C=9), {}]:
        yield Call(f"keyword-only {kwargs}", by_name, [7], **kwargs)
    yield Call("keyword-only by place", by_name, [7, 8])
    yield Call("**kwargs", lambda **kwargs: None, [])


def tuple_cases():
    for value in [(), (2,), (1,), (None,), (2, 3.5), (2, (3, (4, 5.5))), Pair(2, 3), Pair(1, None),
                  Pair(Pair(2, 3), ()), (True, 2**40), ((), ((),)), (tl.float32, 2), (twice, 2),
                  (tl.constexpr(3), 4), [2, 3], ("text",), (2, [3]), (2**63, -1)]:
        yield Call(f"tuple {value}", two, [value, 7])
    for name, address in {"good": lambda: memory(), "pageable": lambda: 2**44,
                          "raising": lambda: ValueError("of the test")}.items():
        yield Call(f"tuple of a {name} tensor", two,
                   lambda log, a=address: [(5, Pair(Tensor(a(), log, "t"), 2)), 7])
    yield Call("tuple constant", annotated(two, a=tl.constexpr), [(1, (2, 3)), 7])
    yield Call("tuple used", sum_of, lambda log: [Tensor(), (2, (3, 4))])


def grid_cases():
    for grid in [(1,), (2, 3), (4, 5, 6), [7, 8], (0,), (2, 0), (2, 3, 0), (-1,), (2**31 - 1,),
                 (2**31,), (2, 65536), (1, 2, 3, 4), (), 5, None, "ab", (1.5,), ("1",), (None,),
                 (True,), (np.int32(3), 2), {0: 3}, range(1, 4), (2, Pair), np.array([3, 4]),
                 lambda meta: (meta["b"], 2), lambda meta: [meta["b"]], lambda meta: 5,
                 lambda meta: meta["nothing"], lambda meta: meta.update(b=50) or (2,),
                 lambda meta: meta.update(b="x") or (2,)]:
        yield Call(f"grid {'callable' if callable(grid) else grid}", two, [7, 9], grid=grid)


def option_cases():
    for warps in (1, 2, 8, 16, 32, 3, 64):
        yield Call(f"num_warps {warps}", two, [7, 9], num_warps=warps)
    for ctas in (1, 2, 4, 8, 16):
        yield Call(f"num_ctas {ctas}", add,
                   lambda log: [Tensor(), Tensor(), Tensor(), 500, 4096], num_ctas=ctas)
    for cooperative, pdl in itertools.product((False, True), repeat=2):
        yield Call(f"cooperative {cooperative} pdl {pdl}", two, [7, 9],
                   launch_cooperative_grid=cooperative, launch_pdl=pdl)
    yield Call("all options", add, lambda log: [Tensor(), Tensor(), Tensor(), 500, 4096],
               grid=(4,), num_ctas=2, launch_cooperative_grid=True, launch_pdl=True, num_warps=8,
               num_stages=2, maxnreg=64)
    for option, value in dict(num_stages=5, maxnreg=32, debug=True, enable_fp_fusion=False,
                              nothing=1, device=0, stream=0, sanitize_overflow=True).items():
        yield Call(f"{option}={value}", two, [7, 9], **{option: value})
    if VERSION <= (3, 5):
        yield Call("cluster_dims", add, lambda log: [Tensor(), Tensor(), Tensor(), 500, 4096],
                   num_ctas=4, cluster_dims=(2, 2, 1), grid=(3, 5))


def kernel_cases():
    tensors = lambda *dtypes: [Tensor(dtype=dtype) for dtype in dtypes]  # noqa: E731
    yield Call("add", add, lambda log: [*tensors("fp32", "fp32", "fp32"), 1000, 256])
    yield Call("add half", add, lambda log: [*tensors("fp16", "bf16", "fp32"), 1000],
               BLOCK=128)
    yield Call("softmax", softmax, lambda log: [*tensors("fp32", "fp32"), 781, 784, 1024])
    yield Call("multiply", multiply,
               lambda log: [*tensors("fp16", "fp16", "fp32"), 256, 64, 64, 32])
    yield Call("too much shared memory", multiply,
               lambda log: [*tensors("fp16", "fp16", "fp32"), 4096, 128, 256, 128],
               num_stages=6, num_warps=8)
    yield Call("atomic", count, lambda log: [*tensors("i32"), 3])
    yield Call("print and assert", printing, lambda log: [*tensors("i32"), 3], debug=True)
    yield Call("a global", with_global, lambda log: [*tensors("i32"), 3])
    yield Call("a function", higher, lambda log: [*tensors("i32"), 3, twice])
    yield Call("repr", two, [7, 9], jit=dict(repr=lambda _: "another_name"))
    yield Call("noinline", two, [7, 9], jit=dict(noinline=True))
    yield Call("does not compile", with_global, lambda log: [3, 4])


@functools.lru_cache(None)
def descriptor_class():
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor


def descriptor_cases():
    def describe(log, shape=(64, 32), dtype="fp32", block=(16, 32), address=None, **options):
        strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        return descriptor_class()(Tensor(address, log, "base", dtype), list(shape), strides,
                                  list(block), **options)

    yield Call("descriptors", copy_block, lambda log: [describe(log), describe(log, (32, 64))])
    yield Call("descriptors of halves", copy_block,
               lambda log: [describe(log, dtype=d, block=(16, 64)) for d in ("fp16", "fp16")])
    for rank in range(1, 6):
        yield Call(f"descriptor of rank {rank}", two,
                   lambda log, r=rank: [describe(log, [32] * r, block=[8] * r), 7])
    yield Call("descriptor of a pageable tensor", two,
               lambda log: [describe(log, address=2**44), 7])
    yield Call("descriptor of nothing", two, lambda log: [describe(log, address=0), 7])
    yield Call("descriptor among others", three,
               lambda log: [Tensor(None, log, "t"), describe(log), 1])
    if VERSION >= (3, 5):
        yield Call("padded descriptor", two, lambda log: [describe(log, padding="nan"), 7])
    if VERSION >= (3, 7):
        yield Call("rounding descriptor", two,
                   lambda log: [describe(log, round_f32_to_tf32=True), 7])
    yield Call("descriptor in a tuple", two, lambda log: [(describe(log), 3), 7])


CALLS = [call for cases in (annotated_cases, plain_cases, language_cases, tuple_cases,
                            grid_cases, option_cases, kernel_cases, descriptor_cases)
         for call in cases()]


@pytest.mark.parametrize("call", CALLS, ids=repr)
def test_call(call):
    if call.right is None:
        both(call.work)
        return
    ours = in_world(call.work, True)
    if isinstance(call.right, type):
        assert ours.result[:2] == ("raised", call.right), ours.result
        assert not ours.launches
    else:
        for parameters in launched(ours, 2):
            assert parameters[0] == call.right.hex()
    if not (VERSION == (3, 4) and call.right is ValueError):  # a crash
        with pytest.raises(AssertionError):
            agree(in_world(call.work, False), ours)


def test_one_kernel_many_ways():
    """Among them constants that are equal, and share what was compiled first."""
    def work(log):
        kernel = fresh(constants)
        calls = [(1, 2, 3, 4, 5), (True, 2, 3, 4, 5), (1.0, 2, 3, 4, 5), (0.0, 1, None, 1.5, ()),
                 (-0.0, 1, None, 1.5, ()), ((2, 3), None, 3, True, 5),
                 (Pair(2, 3), None, 3, True, 5),
                 (1, 2**40, 3, (4, 5), 6), (1, Tensor(None, log, "t"), 3, (4, 5.5), 6)]
        names = []
        for args in calls * 3:
            try:
                names.append(list(kernel[(2,)](*args).src.signature.items()))
            except Exception as error:
                names.append(type(error))
        return names

    assert len(both(work).launches) == 27


@pytest.mark.skipif(VERSION < (3, 5), reason="3.4 has no such kernels")
@pytest.mark.parametrize("im2col", [False, True])
def test_gluon(im2col):
    from triton.experimental import gluon
    from triton.experimental.gluon.language import NVMMASharedLayout
    from triton.experimental.gluon.nvidia import hopper

    if im2col and not hasattr(hopper, "TensorDescriptorIm2Col"):
        pytest.skip("no such descriptors here")

    def work(log):
        layout = NVMMASharedLayout(swizzle_byte_width=64, element_bitwidth=32, rank=2)
        base = Tensor(None, log, "base")
        if im2col:
            descriptor = hopper.TensorDescriptorIm2Col(
                base, [2, 16, 16, 64], [16 * 16 * 64, 16 * 64, 64, 1], [16, 16], layout,
                element_strides=[1, 1, 1, 1], pixel_box_lower_corner=[0, -1],
                pixel_box_upper_corner=[0, -1])
        else:
            descriptor = hopper.TensorDescriptor(base, [64, 64], [64, 1], [16, 16], layout)
        kernel = gluon.jit(two)
        for _ in range(2):
            kernel[(3,)](descriptor, 7)

    launched(both(work), 2)


# --- hooks --------------------------------------------------------------------


def told(metadata):
    """What a hook was given, without the handles."""
    if metadata is None:
        return None
    data = dict(metadata.get())
    data["function"] = bool(data.get("function"))
    return data


@contextlib.contextmanager
def hooks(**changes):
    """launch_enter_hook and the like, or calls of these chains, for a while."""
    before = {}
    try:
        for name, hook in changes.items():
            before[name] = getattr(knobs(), name)
            if isinstance(hook, list) and VERSION >= (3, 5):
                for call in hook:
                    before[name].add(call)
            elif isinstance(hook, list):
                setattr(knobs(), name, hook[0] if hook else None)
            else:
                setattr(knobs(), name, hook)
        yield
    finally:
        for name, hook in before.items():
            setattr(knobs(), name, hook)
            if isinstance(changes[name], list) and hook is not None:
                hook.calls.clear()


def meta_of(log):
    def describe(grid, metadata, args):
        log.append(("describe", grid, metadata.name, sorted(args), args["b"]))
        return {"flops": 42, "name": "renamed"}
    return describe


NONE, ABSENT = object(), object()


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("enter,exit", list(itertools.product(
    ["absent", "none", "hook", "broken"], repeat=2)))
def test_hooks(enter, exit, chained, asked):
    """asked: whether the hooks ask for the metadata."""
    def make(log, name, what):
        def hook(metadata):
            log.append((name, told(metadata) if asked else metadata is None))
            if what == "broken":
                raise Broken("of the test")
        return None if what == "none" else [hook] if chained else hook

    def work(log):
        changes = {f"launch_{name}_hook": make(log, name, what)
                   for name, what in (("enter", enter), ("exit", exit)) if what != "absent"}
        kernel = fresh(three, launch_metadata=meta_of(log))
        with hooks(**changes):
            for value in (5, "bad"):
                with contextlib.suppress(TypeError):
                    kernel[(2,)](Tensor(None, log, "t"), value, 2.5)
            kernel[(0,)](Tensor(None, log, "t"), 6, 2.5)
            kernel.warmup(Tensor(), 7, 2.5, grid=(1,))
        kernel[(3,)](Tensor(None, log, "t"), 7, 2.5)

    both(work)


@pytest.mark.skipif(VERSION < (3, 5), reason="3.4 has no chains")
def test_chains():
    def work(log):
        kernel = fresh(two)
        first = lambda m: log.append(("first", told(m)))  # noqa: E731
        second = lambda m: log.append(("second", told(m)))  # noqa: E731
        with hooks(launch_enter_hook=[first, second], launch_exit_hook=[first, second]):
            kernel[(1,)](2, 3)
            knobs().launch_enter_hook.remove(first)
            kernel[(1,)](2, 3)
            knobs().launch_enter_hook.remove(second)
            kernel[(1,)](2, 3)
        kernel[(1,)](2, 3)
        chain = type(knobs().launch_enter_hook)
        with knobs().scope():
            knobs().launch_enter_hook = chain()
            knobs().launch_exit_hook = None
            kernel[(1,)](2, 3)
            knobs().launch_enter_hook.add(first)
            kernel[(1,)](2, 3)

        class Chain(chain):
            def __call__(self, metadata):
                log.append(("own chain", told(metadata)))

        with hooks(launch_enter_hook=Chain()):
            kernel[(1,)](2, 3)

    both(work)


def test_hook_that_launches():
    """Also one that changes the arguments' memory and the hooks."""
    def work(log):
        inner, outer = fresh(one), fresh(two)
        inner[(1,)](7)

        def enter(metadata):
            log.append("enter")
            with hooks(launch_enter_hook=None):
                inner[(9,)](7)

        with hooks(launch_enter_hook=enter):
            outer[(2,)](Tensor(None, log, "t"), 3)
            outer[(2,)](Tensor(None, log, "t"), 3)

    both(work)


@pytest.mark.parametrize("kind", ["plain", "jit_cache", "refuses", "load", "unload", "pre_run"])
def test_other_hooks(kind):
    def work(log):
        def cache(**given):
            log.append(("cache", given["repr"], given["is_manual_warmup"],
                        given["compile"]["signature"]))
            return kind == "refuses"

        def load(module, function, name, group, hash):
            log.append(("load", bool(module), bool(function), name))

        changes = {}
        if kind in ("jit_cache", "refuses"):
            changes = dict(jit_cache_hook=cache, jit_post_compile_hook=cache)
        elif kind == "load" and VERSION >= (3, 5):
            changes = dict(kernel_load_start_hook=[load], kernel_load_end_hook=[load])
        elif kind == "unload" and VERSION >= (3, 8):
            changes = dict(kernel_unload_hook=[load])
        with hooks(**changes):
            kernel = fresh(three)
            if kind == "pre_run":
                kernel.add_pre_run_hook(lambda *args, **kwargs: log.append((args, sorted(kwargs))))
            for _ in range(2):
                compiled = kernel[(2,)](3, b=4, c=5)
            log.append(compiled is None)
            kernel.device_caches.clear()
            del compiled

    both(work)


# --- the kernel itself --------------------------------------------------------


def test_launched_metadata_is_ours():
    """Without listeners none is built, with ours."""
    enter_world(True)
    try:
        kernel = fresh(two)[(1,)](2, 3)
        assert kernel.launch_metadata((1,), 0, 2, 3) is None
        with hooks(launch_enter_hook=[lambda _: None]):
            assert told(kernel.launch_metadata((1,), 0, 2, 3))["name"] == "two"
    finally:
        enter_world(False)


def test_compiled_kernel():
    """kernel.warmup(...)[grid](...), and the attributes of launchers."""
    worlds.made_driver()
    stream = ctypes.c_void_p()
    worlds.call("cuStreamCreate", ctypes.byref(stream), 0)

    def work(log):
        kernel = fresh(three).warmup(Tensor(), 16, 2.5, grid=(1,))
        run = kernel[(2, 3, 4)]
        run(Tensor(None, log, "t"), 32, 2.5)
        run(Tensor(None, log, "t"), 32, 2.5, stream=stream.value)
        raised = []
        for args in [(1, 2), (1, 2, 3, 4), (1, "x", 2.5), (Tensor(2**44), 2, 2.5), (1, 2, None)]:
            if len(args) < 3 and not EARLY:
                continue  # they read beyond
            try:
                run(*args)
            except Exception as error:
                raised.append(type(error))
        for grid in [(2,), 5, (1, 2, 3, 4)]:
            try:
                kernel[grid](1, 2, 3.5)
            except Exception as error:
                raised.append(type(error))
        launcher = kernel.run
        known = {name: value for name, value in vars(launcher).items()
                 if name not in ("launch", "arg_annotations")}
        return (raised, known, type(launcher).__name__, type(launcher).__module__,
                callable(launcher.launch), kernel.n_regs, kernel.n_spills, kernel.n_max_threads)

    launches = both(work).launches
    worlds.call("cuStreamDestroy_v2", stream)
    assert [launch["grid"] for launch in launches[:2]] == [[2, 3, 4]] * 2
    assert launches[1]["stream"]


@pytest.mark.parametrize("kind", ["ttir", "ttgir", "ptx"])
def test_ir_source(kind, tmp_path):
    """Kernels that were compiled from a file have no arguments' names."""
    def work(log):
        compiled = fresh(add).warmup(Tensor(), Tensor(), Tensor(), 1000, 256, grid=(1,))
        path = tmp_path / f"add.{kind}"
        path.write_text(compiled.asm[kind])
        target = triton.runtime.driver.active.get_current_target()
        kernel = triton.compile(str(path), target=target)
        with hooks(launch_enter_hook=[lambda m: log.append(told(m))]):
            kernel[(4, 1, 1)](*(Tensor(None, log, name) for name in "xyo"), 1000)
        return list(kernel.src.signature.items())

    both(work)


def test_autotune():
    def work(log):
        def bench(call, quantiles):
            call()
            log.append("benched")
            return [float(-len(log))] * 3

        # What has too many threads is not launched; 3.4 tells so only once.
        blocks = [(128, 4), (256, 8)] + ([(4096, 64)] if VERSION > (3, 4) else [])
        configs = [triton.Config({"BLOCK": block}, num_warps=warps,
                                 pre_hook=lambda args: log.append(("pre", sorted(args))))
                   for block, warps in blocks]
        kernel = triton.autotune(configs, key=["n"], do_bench=bench)(
            triton.heuristics({"n": lambda args: args["BLOCK"] * 3})(fresh(add)))
        for size in (1000, 1000, 2000):
            kernel[lambda meta: (triton.cdiv(size, meta["BLOCK"]),)](
                *(Tensor(None, log, name) for name in "xyo"), n=size)
        return str(kernel.best_config)

    launched(both(work), 7)


def test_preload():
    def work(log):
        seen = []
        with hooks(jit_cache_hook=lambda **given: seen.append(
                given["compile"]["specialization_data"])):
            fresh(add)[(1,)](*(Tensor(None, log, name) for name in "xyo"), 1000, 256)
        again = fresh(add)
        again.preload(seen[0])
        with hooks(jit_cache_hook=lambda **given: log.append("compiled")):
            again[(1,)](*(Tensor(None, log, name) for name in "xyo"), 1000, 256)

    assert "compiled" not in both(work).log


@pytest.mark.skipif(VERSION < (3, 5), reason="3.4 has none")
def test_compile_in_the_background():
    from concurrent.futures import ThreadPoolExecutor

    def work(log):
        kernel = fresh(three)
        with ThreadPoolExecutor(1) as pool, triton.AsyncCompileMode(pool):
            kernel.warmup(Tensor(), 3, 2.5, grid=(1,))
            kernel[(2,)](Tensor(), 3, 2.5)
        kernel[(3,)](Tensor(), 3, 2.5)

    launched(both(work), 2)


def test_global_that_changes():
    def work(log):
        global FACTOR
        kernel = fresh(with_global)
        kernel[(1,)](Tensor(dtype="i32"), 3)
        before = FACTOR
        try:
            FACTOR = tl.constexpr(4)
            kernel[(1,)](Tensor(dtype="i32"), 3)
        finally:
            FACTOR = before

    assert both(work).result[1] is RuntimeError


@pytest.mark.parametrize("with_allocator", [True, False])
def test_global_scratch(with_allocator):
    """A descriptor that the kernel makes itself needs memory."""
    def work(log):
        def allocate(size, align, stream):
            log.append((size, align, stream))
            return Tensor(None, log, "scratch")

        set_allocators(allocate if with_allocator else None, None)
        try:
            for grid in [(3,), (2, 5), (0,)]:
                fresh(device_descriptor)[grid](Tensor(None, log, "t"), 64)
        finally:
            set_allocators(None, None)

    both(work)


def test_devices():
    """Each device's kernels are launched there, and its context is made current."""
    def work(log):
        active = triton.runtime.driver.active
        kernel = fresh(two)
        try:
            for device in (0, 1, 1, 0):
                active.set_current_device(device)
                kernel[(1,)](Tensor(), 3)
                log.append(active.get_current_device())
        finally:
            active.set_current_device(0)

    result = both(work)
    assert [launch["device"] for launch in result.launches] == [0, 1, 1, 0]


def in_thread(work):
    result = []

    def run():
        try:
            result.append(work())
        except Exception as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return result[0]


def test_thread_without_context():
    """Fault: Triton takes device 0's context for a kernel of device 1."""
    def work(log):
        active = triton.runtime.driver.active
        try:
            active.set_current_device(1)
            kernel = fresh(two).warmup(2, 3, grid=(1,))
            kernel[(1, 1, 1)](2, 3)
        finally:
            active.set_current_device(0)
        result = in_thread(lambda: kernel.run(2, 1, 1, 0, kernel.function, kernel.packed_metadata,
                                              None, None, None, 2, 3))
        return str(result)

    ours = in_world(work, True)
    launched(ours, 2)
    assert [launch["device"] for launch in ours.launches] == [1, 1]
    with pytest.raises(AssertionError):
        agree(in_world(work, False), ours)


def test_threads():
    def work(log):
        kernel, kinds = fresh(three), [2, 3.5, None]
        for kind, value in itertools.product(kinds, [1000, 1008]):  # and a multiple of 16
            kernel[(1,)](value, kind, 7)
        worlds.recorded()

        def launch(thread):
            worlds.made_driver().set_current_device(0)
            for i in range(100):
                kernel[(i + 1,)](thread * 1000 + i, kinds[i % 3], 7)

        threads = [threading.Thread(target=launch, args=(i,)) for i in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted((launch["parameters"], launch["grid"]) for launch in worlds.recorded())

    assert len(both(work).result[1]) == 400


@pytest.mark.skipif(VERSION < (3, 5), reason="3.4 has no such hook")
def test_first_launches_at_once():
    """A thread that launches a kernel while another one loads it loads it, too."""
    def work(log):
        kernel = fresh(two).warmup(2, 3, grid=(1,))

        def launch(grid):
            worlds.made_driver().set_current_device(0)
            metadata = kernel.launch_metadata((grid, 1, 1), 0, 2, 3)
            kernel.run(grid, 1, 1, 0, kernel.function, kernel.packed_metadata, metadata,
                       knobs().launch_enter_hook, knobs().launch_exit_hook, 2, 3)

        def load(*_):
            knobs().kernel_load_start_hook.remove(load)
            log.append(in_thread(lambda: launch(7)))

        with hooks(kernel_load_start_hook=[load]):
            launch(8)

    result = both(work)
    assert result.log == [None] and len(result.launches) == 2


@pytest.mark.skipif(VERSION < (3, 8), reason="up to 3.7 kernels are not unloaded")
def test_unload():
    def work(log):
        kernel = fresh(two)
        compiled = kernel[(1,)](2, 3)
        function, name = compiled.function, ctypes.c_char_p()
        kernel.device_caches.clear()
        del compiled
        return ctypes.CDLL("libcuda.so.1").cuFuncGetName(ctypes.byref(name),
                                                         ctypes.c_void_p(function))

    assert both(work).result[1] != 0
