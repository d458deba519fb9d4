# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cubins that Triton compiles (no GPU is needed), with signatures made of
Triton's own types."""

import os
import struct

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # else 3.9 warns

import launchjit as lj
import pytest
import triton
import triton.language as tl
from helpers import launched
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n)
    tl.store(out + i, total, mask=i < n)


@triton.jit
def scalars(out, a, b, c, d, e, f, g, h, i, j, k, l, m, n):
    tl.store(out, a.to(tl.float64) + b + c + d + e + f + g + h + i + j + k + l + m + n)


@triton.jit
def nested(arguments, scale):
    tl.store(arguments[0], arguments[1][0] + arguments[1][1] * scale)


@triton.jit
def nothing():
    pass


@triton.jit
def dot(a, b, c, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = i[:, None] * BLOCK + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def copy(source, target):
    target.store([0, 0], source.load([0, 0]))


def scratch_of_this_version():
    major, minor = map(int, triton.__version__.split(".")[:2])
    if (major, minor) < (3, 3):
        return ""
    return "g" if (major, minor) < (3, 5) else "gp"


def spelling(type):
    if isinstance(type, tuple):
        return "(" + ", ".join(map(spelling, type)) + ")"
    return type


def compiled(function, constexprs={}, **types):
    """A kernel of ours on the cubin, with the signature that Triton compiled."""
    source = ASTSource(fn=function, signature=types, constexprs=constexprs)
    kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    text = ", ".join(f"{name}: {spelling(type)}" for name, type in types.items())
    metadata = kernel.metadata
    module = lj.Module.from_bytes(kernel.asm["cubin"], name=metadata.name)
    assert (module.format, module.arch) == ("cubin", 90)
    signature = lj.Signature(text, scratch=scratch_of_this_version())
    info = module.kernels[metadata.name]
    assert [size for _, size in info.parameters] == [p.size for p in signature.parameters]
    if all(p.align <= 16 for p in signature.parameters):
        assert [offset for offset, _ in info.parameters] == \
            [p.offset for p in signature.parameters]
    return module.get_kernel(metadata.name, signature, block=32 * metadata.num_warps,
                             shared=metadata.shared)


HIDDEN = [bytes(8)] * len(scratch_of_this_version())


def test_add():
    kernel = compiled(add, {"BLOCK": 128}, x="*fp32", y="*fp32", out="*fp32", n="i32",
                      BLOCK="constexpr")
    launch = launched(kernel, 2**40, None, 2**41, 1000, 128, grid=8)
    assert launch["kernel"] == "add"
    assert (launch["grid"], launch["block"]) == ((8, 1, 1), (128, 1, 1))
    assert launch["parameters"] == [
        struct.pack("<Q", 2**40), bytes(8), struct.pack("<Q", 2**41), struct.pack("<i", 1000),
        *HIDDEN]
    kernel[lambda arguments: (arguments["n"] // arguments["BLOCK"],)](
        2**40, None, 2**41, n=1024, BLOCK=128)
    assert lj.driver.recorded()[0]["grid"] == (8, 1, 1)


def test_every_scalar():
    types = ["i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "fp16", "bf16",
             "fp32", "fp64"]
    kernel = compiled(scalars, out="*fp64", **dict(zip("abcdefghijklmn", types)))
    values = [True, -8, -16, -32, -64, False, 8, 16, 32, 64, 0.5, 0.5, 0.25, 0.125]
    layouts = ["<?", "<b", "<h", "<i", "<q", "<?", "<B", "<H", "<I", "<Q", "<e", None, "<f", "<d"]
    expected = [struct.pack("<Q", 8)]
    for value, layout in zip(values, layouts):
        expected.append(struct.pack(layout, value) if layout else struct.pack("<f", value)[2:])
    assert launched(kernel, 8, *values)["parameters"] == expected + HIDDEN


def test_tuples():
    kernel = compiled(nested, {(0, 1, 1): 7},
                      arguments=("*fp32", ("fp32", "constexpr")), scale="i32")
    launch = launched(kernel, (2**40, (1.5, 7)), 3)
    assert launch["parameters"] == [
        struct.pack("<Q", 2**40), struct.pack("<f", 1.5), struct.pack("<i", 3), *HIDDEN]


def test_no_parameters():
    assert launched(compiled(nothing))["parameters"] == HIDDEN


def test_shared_memory():
    kernel = compiled(dot, {"BLOCK": 128}, a="*fp16", b="*fp16", c="*fp32", BLOCK="constexpr")
    assert kernel.shared > 48 << 10
    assert launched(kernel, 1 << 20, 1 << 21, 1 << 22, 128)["shared"] == kernel.shared


def test_tensor_descriptors():
    kernel = compiled(copy, source="tensordesc<fp16[64, 64]>", target="tensordesc<fp16[64, 64]>")
    source, target = (b"s" * 128, 1, 2, 3, 4), (b"t" * 128, 5, 6, 7, 8)
    expected = [struct.pack("<128siiqq", *descriptor) for descriptor in (source, target)]
    assert b"".join(launched(kernel, source, target)["parameters"]) == \
        b"".join(expected + HIDDEN)


def test_a_wrong_signature_is_refused():
    source = ASTSource(fn=add, signature={"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32",
                                          "BLOCK": "constexpr"}, constexprs={"BLOCK": 128})
    cubin = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]
    module = lj.Module.from_bytes(cubin)
    for text, scratch in (("*fp32, *fp32, *fp32, i32", ""), ("*fp32, *fp32, *fp32, i64", "gp"),
                          ("*fp32, *fp32, *fp32, i32", "g"), ("*fp32, *fp32, i32, i32", "gp")):
        with pytest.raises(lj.SignatureError, match="add"):
            module.get_kernel("add", lj.Signature(text, scratch=scratch))


@pytest.mark.parametrize("damage", ["half", "header", "zeros"])
def test_damaged_cubins(damage):
    source = ASTSource(fn=nothing, signature={}, constexprs={})
    cubin = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]
    cubin = {"half": cubin[:len(cubin) // 2], "header": cubin[:40],
             "zeros": cubin[:64] + bytes(len(cubin) - 64)}[damage]
    with pytest.raises(lj.Error):
        lj.Module.from_bytes(cubin).get_kernel("nothing", lj.Signature("", scratch="gp"))
