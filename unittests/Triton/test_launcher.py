# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launchers driven directly: Triton's own one and ours get the same calls.

Every recorded launch, every exception's class and stem and the order of effects
must agree. A case with `fault` is one where Triton's launcher is wrong, by a fault
that shared/TRITON.md lists: there the test says what is right.
"""

import math
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
import worlds
from helpers import Float, Index
from worlds import (EARLY, VERSION, Broken, Pointer, agree, load, memory, metadata, outcome, packed,
                    pinned, set_allocators, spell)


class Case:
    """A launch: types and arguments, and what is not as usual."""

    def __init__(self, name, types, args, *, grid=(3, 1, 1), stream=0, meta=None, enter=None,
                 exit=None, expanded=None, fault=None, right=None, allocator=None,
                 profile_allocator=None, kmeta=None, crashes=False, function=None,
                 by_launch=False, names=None):
        self.__dict__.update(locals())

    def __repr__(self):
        return self.name


def run(case, ours):
    from triton.runtime import _allocation

    worlds.enter_world(ours)
    log = []
    meta = metadata(**(case.meta or {}))
    types = list(case.types)
    names = case.names or [f"a{i}" for i in range(len(types))]
    src = SimpleNamespace(signature=dict(zip(names, types)), constants={},
                          fn=SimpleNamespace(arg_names=names))
    function = case.function
    if function is None:
        function = load(spell(case.expanded or types))
    elif callable(function):
        function = function()

    def hook(name, what):
        if not callable(what) or type(what).__name__ == "HookChain":
            return what

        def call(argument):
            log.append((name, argument))
            return what(argument)
        return call

    def allocator(name, which):
        def allocate(size, align, stream):
            log.append((name, size, align, stream))
            return which()
        return allocate

    def work():
        launcher = worlds.made_driver().launcher_cls(src, meta)
        args = case.args(log) if callable(case.args) else case.args
        kmeta = packed(meta) if case.kmeta is None else case.kmeta
        rest = kmeta, "metadata", hook("enter", case.enter), hook("exit", case.exit)
        if not case.by_launch:
            return launcher(*case.grid, case.stream, function, *rest, *args)
        flags = meta.launch_cooperative_grid, meta.launch_pdl
        scratch = [Pointer(memory(), log, f"scratch {i}")
                   for i in range(1 if VERSION == (3, 4) else 2)]
        if EARLY:
            return launcher.launch(*case.grid, case.stream, function, *flags, *scratch, *rest,
                                   *args)
        return launcher.launch(*case.grid, case.stream, function, *flags, *rest, *scratch,
                               launcher.arg_annotations, launcher.kernel_signature, args)

    set_allocators(allocator("global", case.allocator) if case.allocator else None,
                   allocator("profile", case.profile_allocator)
                   if case.profile_allocator else None)
    try:
        return outcome(work, log)
    finally:
        set_allocators(None, None)
        worlds.enter_world(False)


INTEGERS = {"i1": (8, True), "i8": (8, True), "i16": (16, True), "i32": (32, True),
            "i64": (64, True), "u1": (8, False), "u8": (8, False), "u16": (16, False),
            "u32": (32, False), "u64": (64, False)}


def integer_cases():
    """An integer fits where its width holds it as signed or as unsigned; Triton's
    rule differs by version, and where it refuses or truncates other values, that
    is its fault."""
    for type, (bits, signed) in INTEGERS.items():
        low, high = -2**(bits - 1), 2**bits - 1
        edges = {0, 1, 5, -1, low, low - 1, low + 1, 2**(bits - 1) - 1, 2**(bits - 1),
                 high - 1, high, high + 1, 2**31, 2**32, 2**63, 2**64, -2**63, -2**64, 10**30}
        for value in sorted(edges):
            fits = low <= value <= high
            theirs = their_integer(type, bits, signed, value)
            right = (value % 2**bits).to_bytes(bits // 8, "little") if fits else OverflowError
            yield Case(f"{type}={value}", [type], [value],
                       fault=None if theirs == right else "integers", right=right)
        for value in (True, False):
            yield Case(f"{type}={value}", [type], [value])
        for name, value in {"float": 1.5, "str": "1", "none": None, "numpy": np.int64(7),
                            "numpy8": np.int8(7), "index": Index(9), "list": [1],
                            "numpyfloat": np.float32(1)}.items():
            yield Case(f"{type}:{name}", [type], [value])


def their_integer(type, bits, signed, value):
    """What Triton makes of an integer: bytes or an exception class."""
    low, high = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
    cut = (value % 2**bits).to_bytes(bits // 8, "little")
    if EARLY:
        if type == "i1" and VERSION == (3, 4):
            return cut if -2**31 <= value < 2**31 else OverflowError
        if type in ("i1", "i8"):  # PyArg_ParseTuple's unsigned `b`
            return cut if 0 <= value <= 255 else OverflowError
        if not signed:  # no check
            return cut
        return cut if low <= value <= high else OverflowError
    if bits == 64:
        return cut if low <= value <= high else OverflowError
    wide = (-2**63, 2**63 - 1) if signed else (0, 2**64 - 1)
    return cut if wide[0] <= value <= wide[1] else OverflowError


FLOATS = {"zero": 0.0, "-0": -0.0, "1.5": 1.5, "third": 1 / 3, "subnormal": 5e-324,
          "half subnormal": 6e-8, "-half max": -65504.0, "fp32 max": 3.4028234663852886e38,
          "1e39": 1e39, "inf": math.inf, "-inf": -math.inf, "nan": math.nan, "int": 7,
          "big int": 10**30, "huge int": 10**400, "numpy": np.float32(0.1), "index": Index(3),
          "float": Float(0.5), "str": "x", "none": None, "true": True, "1e-45": 1e-45}


def bfloat_fault(value):
    """The right bytes of a bf16, where Triton's are others since it truncates."""
    try:
        with np.errstate(all="ignore"):
            single = np.float32(float(value))
    except (TypeError, ValueError, OverflowError):
        return None
    bits = int(single.view(np.uint32))
    nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    if not np.isfinite(single) or nearest == bits >> 16:
        return None
    return nearest.to_bytes(2, "little")


def float_cases():
    for type in ("fp16", "bf16", "fp32", "f32", "fp64"):
        for name, value in FLOATS.items():
            fault = right = None
            if type == "bf16" and bfloat_fault(value):
                fault, right = "bf16 truncates", bfloat_fault(value)
            try:
                beyond = type == "fp16" and 65520 <= abs(float(value)) < math.inf
            except (TypeError, ValueError, OverflowError):
                beyond = False
            if beyond and EARLY:
                fault, right = "fp16 overflow raises after the launch", OverflowError
            yield Case(f"{type}:{name}", [type], [value], fault=fault, right=right)


def pointer_cases():
    def of(answer):
        return lambda log: [Pointer(answer() if callable(answer) else answer, log, "p")]

    late = "an int pointer's overflow raises after the launch"
    for name, value in {"none": None, "zero": 0, "int": 2**40, "true": True,
                        "high": 2**64 - 2}.items():
        yield Case(f"pointer:{name}", ["*fp32"], [value])
    for value in (-1, 2**64, 10**30):
        yield Case(f"pointer:{value}", ["*fp32"], [value], fault=late, right=OverflowError)
    yield Case("pointer:device", ["*fp32"], of(memory))
    yield Case("pointer:const", ["*kfp32"], of(memory))
    yield Case("pointer:pinned", ["*fp32"], of(lambda: pinned() + 64))
    yield Case("pointer:inside", ["*fp32"], of(lambda: memory() + 16))
    yield Case("pointer:empty", ["*fp32"], of(0))
    yield Case("pointer:pageable", ["*fp32"], of(2**44))
    yield Case("pointer:second", ["constexpr", ("i32", "*fp32")],
               lambda log: [5, (1, Pointer(2**44, log, "p"))])
    yield Case("pointer:text", ["*fp32"], of("text"))
    yield Case("pointer:float", ["*fp32"], of(1.5))
    yield Case("pointer:nodata", ["*fp32"], [object()])
    yield Case("pointer:str", ["*fp32"], ["text"])
    yield Case("pointer:negative answer", ["*fp32"], of(-1), fault="a wrong answer is hidden",
               right=OverflowError)
    for error in (Broken("of the test"), AttributeError("of the test"), TypeError("of the test")):
        yield Case(f"pointer:raises {type(error).__name__}", ["*fp32"], of(error),
                   fault="what data_ptr() raises is lost", right=type(error),
                   crashes=VERSION == (3, 4))
    yield Case("order", ["*fp32", "i32", "*fp32"],
               lambda log: [Pointer(memory(), log, "a"), 2**70, Pointer(memory(), log, "b")],
               enter=lambda _: None, exit=lambda _: None)
    yield Case("order good", ["*fp32", "i32", "*fp32"],
               lambda log: [Pointer(memory(), log, "a"), 2, Pointer(memory(), log, "b")],
               enter=lambda _: None, exit=lambda _: None)
    yield Case("order pageable", ["*fp32", "*fp32"],
               lambda log: [Pointer(2**44, log, "a"), Pointer(memory(), log, "b")],
               enter=lambda _: None, exit=lambda _: None)
    yield Case("order late int", ["*fp32", "i64"],
               lambda log: [Pointer(2**44, log, "a"), 2**70], enter=lambda _: None)
    yield Case("order half", ["fp16", "*fp32"],
               lambda log: [1e6, Pointer(2**44, log, "a")], enter=lambda _: None)


Pair = namedtuple("Pair", "x y")


def exchange_cases():
    """Tensors that tell their address by DLPack's C exchange, faster: the same comes
    of it as of data_ptr()."""
    from test_pointers import CPU, CUDA, Tensor

    class Plain(Tensor):
        __dlpack_c_exchange_api__ = Tensor.__dlpack_c_exchange_api__

        def __init__(self, *args, **named):
            super().__init__(*args, **named)
            self.log = []

        def data_ptr(self):
            if self.error:
                raise Broken("of the test")
            return (self.values.data or 0) + self.values.byte_offset

    class Derived(Plain):
        pass

    class Other(Plain):
        def data_ptr(self):
            return 0

    class Dispatching(Plain):
        def __torch_dispatch__(self):
            pass

        def data_ptr(self):
            raise Broken("of the test")

    class Functional(Plain):
        @classmethod
        def __torch_function__(cls):
            pass

    for each in (Plain, Derived, Other, Dispatching, Functional):
        lost = each is Dispatching and "what data_ptr() raises is lost"
        yield Case(f"exchange {each.__name__}", ["*fp32", "i32"],
                   lambda log, each=each: [each(memory()), 5], fault=lost or None, right=Broken,
                   crashes=bool(lost) and VERSION == (3, 4))
        yield Case(f"exchange {each.__name__} inside", ["*fp32"] * 2,
                   lambda log, each=each: [each(memory(), byte_offset=16), each(memory())],
                   fault=lost or None, right=Broken, crashes=bool(lost) and VERSION == (3, 4))
    yield Case("exchange on the CPU", ["*fp32"], lambda log: [Plain(2**44, (CPU, 0))])
    yield Case("exchange pinned", ["*fp32"], lambda log: [Plain(pinned(), (CPU, 0))])
    yield Case("exchange empty", ["*fp32"], lambda log: [Plain(0, (CUDA, 0))])
    yield Case("exchange failing", ["*fp32"], lambda log: [Plain(memory(), error=True)],
               fault="what data_ptr() raises is lost", right=Broken, crashes=VERSION == (3, 4))


def tuple_cases():
    nested = [("i32", ("fp32", "constexpr"), "u8")]
    unchecked = None if EARLY else "tuples are not checked"
    for name, types, value in [
            ("tuple", nested, (1, (2.5, "c"), 3)), ("list", nested, [1, [2.5, "c"], 3]),
            ("named", [("i32", "i32")], Pair(1, 2)), ("empty", [()], ()),
            ("empty list", [()], []), ("of one", [("i64",)], (7,)),
            ("of constexpr", [("constexpr", "constexpr")], (1, 2)),
            ("deep", [((("i32",),),)], (((4,),),)), ("not one", [("i32",)], 5),
            ("str", [("i32",)], "5"), ("dict", [("i32",)], {5: 6}),
            ("range", [("i32", "i32")], range(2)), ("set of constexpr", [("constexpr",)], {1})]:
        yield Case(f"tuple:{name}", types, [value])
    yield Case("tuple:short", [("i32", "i32")], [(1,)], fault=unchecked, right=TypeError,
               crashes=not EARLY)
    yield Case("tuple:long", [("i32", "i32")], [(1, 2, 3)])
    yield Case("tuple:iterator", [("i32", "i32")], lambda log: [iter((1, 2))])


def shape_cases():
    yield Case("no arguments", [], [])
    yield Case("all constexpr", ["constexpr"] * 3, [1, None, object()])
    yield Case("60", ["*fp32", "i32", "fp32", "constexpr", "i64"] * 12,
               lambda log: [Pointer(memory(), log, "p"), 3, 0.5, None, -1] * 12)
    yield Case("300", ["i32", "fp64", "u8"] * 100, [1, 2.5, 3] * 100)
    for place in range(3):
        types = ["i32", "i64"]
        types.insert(place, "constexpr")
        args = [1, 2]
        args.insert(place, "constant")
        yield Case(f"constexpr at {place}", types, args)
    yield Case("too many", ["i32"], [1, 2])
    yield Case("too few", ["i32", "i32"], [1], crashes=not EARLY,
               fault=None if EARLY else "arguments are not counted", right=TypeError)
    yield Case("names of types", ["fp16", "*fp32", "i32"], [1.5, 2**40, 3],
               names=["half", "float", "class"])
    yield Case("no hidden parameters", ["i32", "*fp32"], [1, 2**40],
               function=lambda: load("i32, *fp32", hidden=False))
    yield Case("mixed alignment", ["i8", "i64", "i16", "fp64", "u8", "*i8"],
               [1, 2, 3, 4.5, 5, 2**40])


def grid_cases():
    for grid in [(1, 1, 1), (3, 5, 7), (2**31 - 1, 1, 1), (1, 65535, 1), (1, 1, 65535),
                 (0, 1, 1), (1, 0, 1), (1, 1, 0), (0, 0, 0), (-1, 1, 1), (1, -5, 1),
                 (2**31, 1, 1), (-2**31 - 1, 1, 1), (10**20, 1, 1), (1.5, 1, 1), ("1", 1, 1),
                 (None, 1, 1), (np.int64(2), 1, 1), (True, 1, 1), (1, 65536, 1), (1, 1, 65536)]:
        yield Case(f"grid:{grid}", ["i32"], [1], grid=grid, enter=lambda _: None,
                   exit=lambda _: None)
    product = "the grid's product wraps"
    for grid, right in [((16384, 16384, 16), [16384, 16384, 16]),
                        ((65536, 65536, 1), RuntimeError), ((65536, 32768, 1), [65536, 32768, 1]),
                        ((2**31 - 1, 3, 1), [2**31 - 1, 3, 1])]:
        wraps = (math.prod(grid) + 2**31) % 2**32 - 2**31 <= 0
        yield Case(f"grid:{grid}", ["i32"], [1], grid=grid, fault=product if wraps else None,
                   right=right)
    yield Case("grid:(-1, -1, 1)", ["i32"], [1], grid=(-1, -1, 1), right=None,
               fault="a grid of two negative sizes is launched")


def configuration_cases():
    for warps in (1, 2, 8, 32, 33, 64):
        yield Case(f"warps {warps}", ["i32"], [1], meta=dict(num_warps=warps))
    for shared in (1, 49152, 49153, 2**20):
        yield Case(f"shared {shared}", ["i32"], [1], meta=dict(shared=shared))
    for ctas in (1, 2, 4, 8, 16, 32):
        yield Case(f"ctas {ctas}", ["i32"], [1], meta=dict(num_ctas=ctas,
                                                          cluster_dims=(ctas, 1, 1)))
    if VERSION <= (3, 5):
        yield Case("cluster (2, 2, 1)", ["i32"], [1],
                   meta=dict(num_ctas=4, cluster_dims=(2, 2, 1)), grid=(3, 5, 1))
        yield Case("cluster without ctas", ["i32"], [1], meta=dict(cluster_dims=(2, 1, 1)))
    for pdl in (False, True, 1):
        for cooperative in (False, True):
            yield Case(f"pdl {pdl} cooperative {cooperative}", ["i32"], [1],
                       meta=dict(launch_pdl=pdl, launch_cooperative_grid=cooperative))
    yield Case("all attributes", ["i32"], [1], grid=(4, 1, 1),
               meta=dict(launch_pdl=True, launch_cooperative_grid=True, num_ctas=2,
                         cluster_dims=(2, 1, 1)))
    for kmeta in ((), (4,), (4, 1, 0, 1), (4.5, 1, 0), "abc", None, (2**40, 1, 0)):
        if VERSION <= (3, 5) and isinstance(kmeta, tuple) and len(kmeta) > 1:
            kmeta = kmeta + (1, 1, 1)
        yield Case(f"kernel_metadata {kmeta}", ["i32"], [1], kmeta=kmeta, enter=lambda _: None)
    for stream in (0, 1, 2, "x", 1.5, None):
        yield Case(f"stream {stream}", ["i32"], [1], stream=stream)
    yield Case("function 0", ["i32"], [1], function=0)
    yield Case("function str", ["i32"], [1], function="x")


def raises(_):
    raise Broken("of the test")


def hook_cases():
    def nothing(_):
        pass

    def chain(*calls):
        if VERSION == (3, 4):
            return calls[0] if calls else None
        from triton.knobs import HookChain

        made = HookChain()
        for each in calls:
            made.add(each)
        return made

    for name, enter, exit in [("none", None, None), ("enter", nothing, None),
                              ("exit", None, nothing), ("both", nothing, nothing),
                              ("raising enter", raises, nothing),
                              ("raising exit", nothing, raises)]:
        yield Case(f"hooks:{name}", ["i32"], [1], enter=enter, exit=exit)
        yield Case(f"hooks:{name}, bad argument", ["i32"], ["x"], enter=enter, exit=exit)
        yield Case(f"hooks:{name}, empty grid", ["i32"], [1], enter=enter, exit=exit,
                   grid=(0, 1, 1))
        yield Case(f"hooks:{name}, refused", ["i32"], [1], enter=enter, exit=exit,
                   meta=dict(num_warps=64))
    for name, make in {"empty chain": lambda: chain(), "chain": lambda: chain(nothing),
                       "raising chain": lambda: chain(nothing, raises)}.items():
        yield Case(f"hooks:{name}", ["i32"], [1], enter=make(), exit=make())
    yield Case("hooks:not callable", ["i32"], [1], enter=5)


def scratch_cases():
    for size, align in ((16, 8), (1, 1), (4096, 128)):
        for grid in ((3, 2, 1), (0, 1, 1), (-1, 1, 1)):
            def at():
                return Pointer(memory())

            yield Case(f"scratch {size} {grid}", ["i32"], [1], grid=grid, allocator=at,
                       meta=dict(global_scratch_size=size, global_scratch_align=align))
            if VERSION >= (3, 5):
                yield Case(f"profile {size} {grid}", ["i32"], [1], grid=grid,
                           profile_allocator=at,
                           meta=dict(profile_scratch_size=size, profile_scratch_align=align))
                yield Case(f"both {size} {grid}", ["i32"], [1], grid=grid, allocator=at,
                           profile_allocator=at, enter=lambda _: None,
                           meta=dict(global_scratch_size=size, global_scratch_align=align,
                                     profile_scratch_size=size, profile_scratch_align=align))
    yield Case("scratch without allocator", ["i32"], [1], meta=dict(global_scratch_size=8))
    yield Case("scratch pageable", ["i32"], [1], allocator=lambda: Pointer(2**44),
               meta=dict(global_scratch_size=8), enter=lambda _: None)
    yield Case("scratch int", ["i32"], [1], allocator=lambda: 2**40,
               meta=dict(global_scratch_size=8))
    yield Case("scratch none", ["i32"], [1], allocator=lambda: None,
               meta=dict(global_scratch_size=8))
    yield Case("scratch with ctas", ["i32"], [1], allocator=lambda: Pointer(memory()),
               meta=dict(global_scratch_size=8, num_ctas=2, cluster_dims=(2, 1, 1)))


def launch_cases():
    """The attribute `launch`, which some tools call."""
    yield Case("launch", ["i32", "constexpr", ("*fp32", "fp16")],
               lambda log: [7, 5, (Pointer(memory(), log, "p"), 1.5)], by_launch=True,
               enter=lambda _: None, exit=lambda _: None)
    yield Case("launch i1 u1", ["i1", "i8", "u1", "u8", "i32"], [1, 2, 0, 3, 4], by_launch=True)
    yield Case("launch cooperative", ["i32"], [7], by_launch=True,
               meta=dict(launch_cooperative_grid=True, launch_pdl=True))
    yield Case("launch bad", ["i32"], ["x"], by_launch=True)
    yield Case("launch list", ["i32", "i32"], [1, 2], by_launch=True)
    yield Case("launch nothing", [], [], by_launch=True)


def gsan_cases():
    if VERSION < (3, 8):
        return
    hidden = ["*i8"] if VERSION == (3, 8) else ["*i8", "*i8", "i64"]
    for name, types, args in [("gsan", ["i32", "fp32"], [1, 2.5]), ("gsan alone", [], []),
                              ("gsan bad", ["i32"], ["x"])]:
        yield Case(name, types, args, expanded=types + hidden, enter=lambda _: None,
                   meta=dict(instrumentation_mode="gsan"))


@pytest.fixture(autouse=True, scope="module")
def gsan():
    """Stand-ins for what gsan compiles."""
    if VERSION < (3, 8):
        yield
        return
    import sys
    import types

    allocator = types.ModuleType("triton.experimental.gsan._allocator")
    allocator.get_device_rank = lambda device: device
    allocator.get_global_state_pointer = lambda: 2**41
    sync = types.ModuleType("triton.experimental.gsan._stream_sync")
    sync.synchronize_launch_stream = lambda device: None
    sync.get_launch_state = lambda device, stream, pdl: (2**42, 77)
    import triton.experimental

    modules = {"triton.experimental.gsan": types.ModuleType("triton.experimental.gsan"),
               allocator.__name__: allocator, sync.__name__: sync}
    modules["triton.experimental.gsan"]._allocator = allocator
    modules["triton.experimental.gsan"]._stream_sync = sync
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    yield
    for name, module in before.items():
        if module is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module


class Descriptor:
    def __init__(self, log, shape, strides, address=None, padding="zero", tf32=False):
        self.base = Pointer(memory() if address is None else address, log, "base")
        self.shape, self.strides = shape, strides
        self.padding, self.round_f32_to_tf32 = padding, tf32
        self.element_strides = self.pixel_box_lower_corner = self.pixel_box_upper_corner = None


def descriptor_cases():
    def expanded(rank, meta):
        if meta:
            head = ["nvTmaDesc"]
        else:
            flags = 0 if VERSION == (3, 4) else 1 if EARLY else 2
            head = ["*i8"] + ["i64"] * 2 * rank + ["i1"] * flags
        return head + ["i32"] * rank + ["i64"] * rank

    def tma(rank, **changes):
        return dict(swizzle=2, elem_size=4, elem_type=7, block_size=[16] * rank,
                    fp4_padded=False, **changes)

    if VERSION == (3, 4):
        try:
            from triton.tools.tensor_descriptor import TensorDescriptor
        except ImportError:
            return
        # 3.4 knows descriptors by their class.
        def make(log, shape, strides, **options):
            made = TensorDescriptor.__new__(TensorDescriptor)
            made.__dict__.update(Descriptor(log, shape, strides, **options).__dict__)
            return made
    else:
        make = Descriptor
    for rank in range(1, 6):
        shape = [32] * rank
        strides = [32**i for i in reversed(range(rank))]
        type = f"tensordesc<fp32[{', '.join(['16'] * rank)}]>"
        for name, meta in {"tma": [tma(rank)], "none": None, "empty": []}.items():
            for padding in ("zero", "nan"):
                yield Case(f"descriptor {rank} {name} {padding}", [type, "i32"],
                           lambda log, s=shape, t=strides, p=padding: [
                               make(log, s, t, padding=p), 7],
                           meta=dict(tensordesc_meta=meta), enter=lambda _: None,
                           expanded=expanded(rank, meta) + ["i32"])
    two = "tensordesc<fp16[16, 16]>"
    for name, options, change in [
            ("unaligned", dict(address=2**40 + 4), {}), ("tf32", dict(tf32=True), {}),
            ("fp4", {}, dict(fp4_padded=True)), ("swizzle", {}, dict(swizzle=3)),
            ("type 8", {}, dict(elem_type=8)), ("type 9", {}, dict(elem_type=9)),
            ("type 10", {}, dict(elem_type=10)), ("raising", dict(address=Broken("of the test")),
                                                  {})]:
        if name == "tf32" and EARLY:
            continue
        meta = [{**tma(2), **change}]
        yield Case(f"descriptor {name}", [two],
                   lambda log, o=options: [make(log, [64, 64], [64, 1], **o)],
                   meta=dict(tensordesc_meta=meta), expanded=expanded(2, meta))
    yield Case("two descriptors", [two, "constexpr", two],
               lambda log: [make(log, [64, 64], [64, 1]), 5, make(log, [32, 32], [32, 1])],
               meta=dict(tensordesc_meta=[tma(2), tma(2)]),
               expanded=expanded(2, True) + ["constexpr"] + expanded(2, True))
    yield Case("strided", [two], lambda log: [make(log, [64, 64], [64, 2])],
               meta=dict(tensordesc_meta=[tma(2)]), expanded=expanded(2, True))
    yield Case("large", [two], lambda log: [make(log, [4096, 4096], [4096, 1])],
               meta=dict(tensordesc_meta=[tma(2)]), expanded=expanded(2, True))
    if VERSION >= (3, 7):
        for corner in (None, [0, 0], [0, 0, 0]):
            def im2col(log, corner=corner):
                made = make(log, [2, 16, 16, 64], [16 * 16 * 64, 16 * 64, 64, 1])
                made.pixel_box_lower_corner = made.pixel_box_upper_corner = corner
                made.element_strides = None if corner is None else [1, 1, 1, 1]
                made.output_channels = made.channels_per_pixel = made.pixels_per_column = 16
                return [made]

            meta = [{**tma(2), "is_im2col": True}]
            yield Case(f"im2col {corner}", ["tensordesc_im2col<fp32[16, 16],input_rank=4>"],
                       im2col, meta=dict(tensordesc_meta=meta), expanded=expanded(4, True))
    yield Case("not a map", ["nvTmaDesc"], [object()])
    yield Case("a number for a map", ["nvTmaDesc"], [5], enter=lambda _: None)


CASES = [case for cases in (integer_cases, float_cases, pointer_cases, exchange_cases,
                            tuple_cases, shape_cases,
                            grid_cases, configuration_cases, hook_cases, scratch_cases,
                            launch_cases, gsan_cases, descriptor_cases) for case in cases()]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_case(case):
    ours = run(case, ours=True)
    if not case.crashes:
        theirs = run(case, ours=False)
    if case.fault is None:
        agree(theirs, ours)
        return
    if isinstance(case.right, type):
        assert ours.result[:2] == ("raised", case.right), ours.result
        assert not ours.launches
    else:
        assert ours.result == ("returned", None)
        if isinstance(case.right, bytes):
            assert [launch["parameters"][0] for launch in ours.launches] == [case.right.hex()]
        else:
            assert [launch["grid"] for launch in ours.launches] == (
                [case.right] if case.right else [])
    if not case.crashes:  # it is indeed the fault
        with pytest.raises(AssertionError):
            agree(theirs, ours)


def test_enough_cases():
    assert len(CASES) >= 300
