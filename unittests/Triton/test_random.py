# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches at random, several things wrong with many of them: which one is told, and
what was done before, agrees. Nothing is drawn that meets a fault of Triton's."""

import math
import random

import numpy as np
import pytest
import worlds
from helpers import Float, Index
from test_launcher import FLOATS, INTEGERS, Case, bfloat_fault, raises, run, their_integer
from worlds import EARLY, VERSION, Pointer, agree, memory, pinned

# Up to 3.6 a C compiler runs for each signature.
SIGNATURES, CALLS = (8, 150) if EARLY else (60, 30)
SCALARS = [*INTEGERS, "fp16", "bf16", "fp32", "f32", "fp64"]
EDGES = sorted({sign * 2**bits + delta for bits in (0, 7, 8, 15, 16, 31, 32, 63, 64)
                for sign in (-1, 1) for delta in (-1, 0)})


class SubInt(int):
    pass


def draw_type(r, depth=2):
    if depth and r.random() < 0.25:
        return tuple(draw_type(r, depth - 1) for _ in range(r.randrange(4)))
    return r.choice([*SCALARS, *["*fp32", "*kfp16", "constexpr"] * 2])


def fits(type, value):
    bits = INTEGERS[type][0]
    return -2**(bits - 1) <= value < 2**bits


def has_fault(type, value):
    if type in INTEGERS:
        bits, signed = INTEGERS[type]
        right = OverflowError
        if fits(type, value):
            right = (value % 2**bits).to_bytes(bits // 8, "little")
        return their_integer(type, bits, signed, value) != right
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return ((type == "bf16" and bool(bfloat_fault(value)))
            or (type == "fp16" and EARLY and 65520 <= abs(number) < math.inf))


def draw(r, type, wrong, log):
    """A value of that type; `wrong` is how probable another one is."""
    is_wrong = r.random() < wrong
    if isinstance(type, tuple):
        items = [draw(r, each, wrong, log) for each in type]
        if is_wrong:  # from 3.7 on a short one reads beyond
            return r.choice([5, None, items + [1]] + ([items[:-1]] if EARLY else []))
        return r.choice([tuple, list])(items)
    if type == "constexpr":
        return r.choice([1, None, "x", object])
    name = str(r.random())
    if type[0] == "*":
        if is_wrong:
            return r.choice([Pointer(2**44, log, name), Pointer("x", log, name),
                             Pointer(1.5, log, name), object(), "s", 2.5])
        return r.choice([None, 0, 2**40, True, SubInt(2**40), Pointer(0, log, name),
                         Pointer(pinned(), log, name), Pointer(memory(), log, name)])
    pool = [each for each in ([0, 1] + EDGES if type in INTEGERS else FLOATS.values())
            if not has_fault(type, each)]
    if type not in INTEGERS:
        good = [each for each in pool if isinstance(each, (int, float)) and abs(each) < 1e6]
        return r.choice([None, [], b"x", 1j, *pool] if is_wrong else good)
    good = [each for each in pool if fits(type, each)]
    bad = [each for each in pool if not fits(type, each)]
    if is_wrong:
        return r.choice(["s", None, [], b"x", 1j, 1.5, np.float32(1), Float(1.5), np.int64(5),
                         np.bool_(True), Index(7), *bad])
    return r.choice([SubInt(9), True, *good])


def draw_case(r, types):
    wrong, seed = r.choice([0, 0, 0.1, 0.4]), r.random()
    meta = {}
    if r.random() < 0.3:
        meta.update(num_warps=r.choice([1, 2, 8, 16, 32, 64, 0, -1]),
                    shared=r.choice([0, 100, 40000, 300000]), launch_pdl=r.random() < 0.5,
                    launch_cooperative_grid=r.random() < 0.5)
    if r.random() < 0.2:
        ctas = r.choice([2, 4, 16])
        meta.update(num_ctas=ctas, cluster_dims=(ctas, 1, 1))
    allocators = []
    for name in ("global_scratch_size", "profile_scratch_size"):
        answer = r.choice([Pointer(memory()), Pointer(2**44), None, 7, object()])
        allocators.append(r.choice([None, lambda answer=answer: answer]))
        if r.random() < 0.15 and (VERSION >= (3, 5) or name[0] == "g"):
            meta[name] = 8

    def args(log):
        again = random.Random(seed)
        return [draw(again, type, wrong, log) for type in types]

    hooks = [None, None, None, lambda _: None, lambda _: None, raises]
    return Case("random", types, args, meta=meta, enter=r.choice(hooks), exit=r.choice(hooks),
                allocator=allocators[0], profile_allocator=allocators[1],
                grid=r.choice([(2, 3, 1)] * 10 + [(0, 1, 1), (1, -5, 1), (2**31, 1, 1),
                                                 ("x", 1, 1), (1, 1, 2**17)]),
                stream=r.choice([0] * 20 + ["x"]))


@pytest.mark.parametrize("seed", range(SIGNATURES))
def test_calls(seed):
    worlds.made_driver()
    r = random.Random(seed)
    types = [draw_type(r) for _ in range(r.randrange(9))]
    for number in range(CALLS):
        case = draw_case(r, types)
        case.args([])  # raises nothing itself
        agree(run(case, ours=False), run(case, ours=True), (types, number))
