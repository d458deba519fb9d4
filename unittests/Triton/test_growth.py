# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hundred thousand calls of our launchers, good and bad ones, keep neither
memory nor a reference."""

import ctypes
import gc
import sys
from types import SimpleNamespace

import pytest
import worlds
from test_launcher import Descriptor
from worlds import (VERSION, Broken, Pointer, load, memory, metadata, packed, set_allocators,
                    spell)

CALLS = 100_000


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                 "uordblks", "fordblks", "keepcost")]


def used():
    """Python's blocks and malloc's bytes in use."""
    gc.collect()
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if not mallinfo:
        return sys.getallocatedblocks(), 0
    mallinfo.restype = Mallinfo
    info = mallinfo()
    return sys.getallocatedblocks(), info.uordblks + info.hblkhd


def forget_launches():
    cuda = worlds.cuda()
    cuda.free(cuda.lj_recorded())


def repeat(call, times):
    for i in range(times):
        try:
            call()
        except Exception:
            pass
        if i % 1000 == 0:
            forget_launches()
    forget_launches()


def assert_no_growth(call, objects, times=CALLS):
    repeat(call, times // 10)
    counts, before = [sys.getrefcount(each) for each in objects], used()
    repeat(call, times)
    after = used()
    # Others hold small ints and types, too, and some of them let go meanwhile.
    for each, count in zip(objects, counts):
        assert abs(sys.getrefcount(each) - count) < times // 10, each
    assert after[0] - before[0] < times // 10, (before, after)
    # malloc takes what it keeps for itself, up to a limit, for used.
    assert after[1] - before[1] < times * 8 + 2**17, (before, after)


@pytest.fixture
def ours():
    worlds.enter_world(True)
    yield
    set_allocators(None, None)
    worlds.enter_world(False)


def nothing(_):
    pass


def raises(_):
    raise Broken("of the test")


class Raising:
    """Whose data_ptr() raises, a new exception each time."""

    def __init__(self, error):
        self.error = error

    def data_ptr(self):
        raise self.error("of the test")


class Loop:
    """A call of a launcher, and what must be raised."""

    def __init__(self, name, types, args, raised=None, *, grid=(2, 1, 1), enter=None, exit=None,
                 meta=None, expanded=None, allocator=None):
        self.__dict__.update(locals())

    def __repr__(self):
        return self.name


def loops():
    tensor = lambda: [Pointer(memory())]  # noqa: E731
    tma = dict(swizzle=2, elem_size=4, elem_type=7, block_size=[16, 16], fp4_padded=False)
    described = "tensordesc<fp32[16, 16]>"
    yield Loop("plain", ["*fp32", "*fp32", "i32", "fp32", "constexpr"],
               lambda: tensor() + tensor() + [2**30, 1.5, 10**40])
    yield Loop("a list for a tuple", [("i32", ("*fp32", "fp64"))],
               lambda: [[2**30, [Pointer(memory()), 1.5]]])
    yield Loop("no memory", ["*fp32"], lambda: [Pointer(0)])
    yield Loop("hooks", ["i64"], lambda: [2**40], enter=nothing, exit=nothing)
    yield Loop("empty grid", ["i64"], lambda: [2**40], grid=(0, 1, 1), exit=nothing)
    yield Loop("scratch", ["i64"], lambda: [2**40], meta=dict(global_scratch_size=16),
               allocator=lambda size, align, stream: Pointer(memory()))
    yield Loop("too large", ["*fp32", "i32"], lambda: tensor() + [2**70], OverflowError)
    yield Loop("too large a pointer", ["*fp32"], lambda: [2**70], OverflowError)
    yield Loop("too large a half", ["fp16", "*fp32"], lambda: [1e6] + tensor(), OverflowError)
    yield Loop("no number", ["i32", "fp32"], lambda: [2**30, "x"], TypeError)
    yield Loop("no pointer", ["*fp32"], lambda: [object()], TypeError)
    yield Loop("pageable", ["*fp32", "*fp32"], lambda: tensor() + [Pointer(2**44)], ValueError)
    yield Loop("raising", ["*fp32"], lambda: [Raising(Broken)], Broken)
    yield Loop("attribute error", ["*fp32"], lambda: [Raising(AttributeError)], AttributeError)
    yield Loop("wrong answer", ["*fp32"], lambda: [Pointer("x")], TypeError)
    yield Loop("a short list", [("i32", "i32")], lambda: [[2**30]], TypeError)
    yield Loop("no tuple", [("i32", "i32")], lambda: [5], TypeError)
    yield Loop("too few", ["i32", "i32"], lambda: [2**30], TypeError)
    yield Loop("wrong grid", ["i32"], lambda: [2**30], TypeError, grid=(1, "x", 1))
    yield Loop("huge grid", ["i32"], lambda: [2**30], OverflowError, grid=(2**40, 1, 1))
    yield Loop("raising enter", ["*fp32"], tensor, Broken, enter=raises)
    yield Loop("raising exit", ["*fp32"], tensor, Broken, exit=raises)
    yield Loop("refused", ["*fp32"], tensor, RuntimeError, meta=dict(num_warps=64))
    yield Loop("no scratch", ["i32"], lambda: [2**30], RuntimeError,
               meta=dict(global_scratch_size=16))
    if VERSION > (3, 4):
        yield Loop("descriptor", [described], lambda: [Descriptor(None, [64, 64], [64, 1])],
                   meta=dict(tensordesc_meta=[tma]),
                   expanded=["nvTmaDesc"] + ["i32"] * 2 + ["i64"] * 2)
        yield Loop("wrong map", ["nvTmaDesc"], lambda: [object()], TypeError)


@pytest.mark.parametrize("loop", list(loops()), ids=repr)
def test_calls(loop, ours):
    meta = metadata(**(loop.meta or {}))
    src = SimpleNamespace(signature=dict(enumerate(loop.types)), constants={},
                          fn=SimpleNamespace(arg_names=[f"a{i}" for i in range(len(loop.types))]))
    launcher = worlds.made_driver().launcher_cls(src, meta)
    args = loop.args()
    fixed = [*loop.grid, 0, load(spell(loop.expanded or loop.types)), packed(meta), object(),
             loop.enter, loop.exit]
    set_allocators(loop.allocator, None)

    def call():
        launcher(*fixed, *args)

    if loop.raised:
        with pytest.raises(loop.raised):
            call()
    else:
        call()
    assert_no_growth(call, [launcher, *fixed, *args, type(args[0])],
                     CALLS // 10 if loop.expanded else CALLS)


def test_new_metadata_and_functions(ours):
    """Ever new objects, equal and other ones, are not kept."""
    src = SimpleNamespace(signature={0: "i32"}, constants={}, fn=SimpleNamespace(arg_names=["a"]))
    launcher = worlds.made_driver().launcher_cls(src, metadata())
    function, count = load("i32"), iter(range(10**9))

    def call():
        meta = metadata(num_warps=next(count) % 40, shared=next(count) % 1000)
        launcher(2, 1, 1, 0, int(str(function)), packed(meta), None, None, None, 7)

    assert_no_growth(call, [launcher])


def test_launchers(ours):
    """Launchers come and go."""
    kinds = [["*fp32", "i32"], [("i32", "fp32"), "constexpr"], ["i8"] * 20]
    count = iter(range(10**9))

    def call():
        types = kinds[next(count) % 3]
        src = SimpleNamespace(signature=dict(enumerate(types)), constants={},
                              fn=SimpleNamespace(arg_names=[f"a{i}" for i in range(len(types))]))
        meta = metadata()
        launcher = worlds.made_driver().launcher_cls(src, meta)
        args = {"*": [0, 7], "(": [(1, 2.5), 3]}.get(spell(types)[0], range(20))
        launcher(2, 1, 1, 0, load(spell(types)), packed(meta), None, None, None, *args)

    assert_no_growth(call, [], CALLS // 5)


@pytest.mark.skipif(VERSION < (3, 8), reason="up to 3.7 kernels are not unloaded")
def test_modules(ours):
    """Modules that are loaded and unloaded."""
    import launchjit as lj
    from helpers import ptx

    image = ptx(lj.Signature("i32", scratch="gp"), "kernel") + b"\0"
    utils = worlds.made_driver().utils

    def call():
        utils.unload_module(utils.load_binary("kernel", image, 0, 0)[0])

    assert_no_growth(call, [image], CALLS // 10)
