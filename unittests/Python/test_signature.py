# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import copy
import pickle

import launchjit as lj
import pytest

TEXT = "x: *fp32, pair: (i32, *fp16), n: i32:16, BLOCK: constexpr"


def test_parameters():
    signature = lj.Signature(TEXT, scratch="gp")
    assert signature.abi == "p(i32p)i32_+gp"
    assert [p.name for p in signature.parameters] == [
        "x", "pair[0]", "pair[1]", "n", "global_scratch", "profile_scratch"]
    assert [p.type for p in signature.parameters][:4] == ["*fp32", "i32", "*fp16", "i32"]
    assert [p.c_type for p in signature.parameters][:2] == ["CUdeviceptr", "int32_t"]
    assert [p.offset for p in signature.parameters] == [0, 8, 16, 24, 32, 40]
    assert [p.size for p in signature.parameters] == [8, 4, 8, 4, 8, 8]
    assert [p.align for p in signature.parameters] == [8, 4, 8, 4, 8, 8]
    assert [p.divisible_by for p in signature.parameters][:4] == [0, 0, 0, 16]
    assert [p.hidden for p in signature.parameters] == [False] * 4 + [True] * 2
    assert signature.size == 48


def test_arguments():
    assert lj.Signature(TEXT).arguments == (
        lj.Argument("x", "*fp32", 0, 1),
        lj.Argument("pair", "(i32, *fp16)", 1, 2),
        lj.Argument("n", "i32", 3, 1),
        lj.Argument("BLOCK", "constexpr", 4, 0),
    )


def test_empty():
    signature = lj.Signature("")
    assert (signature.abi, signature.size, signature.parameters, signature.arguments) == \
        ("", 0, (), ())


def test_equality_and_text():
    signature = lj.Signature("x:*fp32,n : int")
    assert str(signature) == "x: *fp32, n: i32"
    assert repr(signature) == "Signature('x: *fp32, n: i32')"
    assert repr(lj.Signature("i32", scratch="g")) == "Signature('i32', scratch='g')"
    assert signature == lj.Signature(str(signature))
    assert hash(signature) == hash(lj.Signature(str(signature)))
    assert signature != lj.Signature("x: *fp32, n: i32", scratch="g")
    assert signature != lj.Signature("x: *fp32, m: i32")
    assert signature != str(signature)
    assert len({signature, lj.Signature("x: *fp32, n: i32")}) == 1


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    signature = lj.Signature("struct<5000,8>, i32", "g", True)
    again = pickle.loads(pickle.dumps(signature, protocol))
    assert again == signature and again.abi == signature.abi
    assert copy.deepcopy(signature) == signature


def test_records():
    parameter = lj.Signature("n: i32").parameters[0]
    assert repr(parameter) == ("Parameter(name='n', type='i32', c_type='int32_t', offset=0, "
                               "size=4, align=4, divisible_by=0, hidden=False)")
    assert pickle.loads(pickle.dumps(parameter)) == parameter
    assert hash(parameter) == hash(lj.Signature("n: i32").parameters[0])
    with pytest.raises(AttributeError):
        parameter.name = "m"


@pytest.mark.parametrize("text, offset", [
    ("*fp32, i33", 7), ("*fp32 i32", 6), ("", None), ("x: *fp32, x: i32", 10),
    ("struct<8,3>", 9), ("(i32", 4), ("*", 1),
])
def test_errors(text, offset):
    if offset is None:
        lj.Signature(text)
        return
    with pytest.raises(lj.SignatureError) as info:
        lj.Signature(text)
    assert isinstance(info.value, ValueError)
    assert info.value.offset == offset
    assert info.value.argument is None
    assert str(info.value)


def test_limits():
    lj.Signature("struct<4096,8>")
    with pytest.raises(lj.SignatureError):
        lj.Signature("struct<5120,8>")
    assert lj.Signature("struct<32764,4>", large_parameters=True).size == 32764
    with pytest.raises(lj.SignatureError):
        lj.Signature("struct<32768,4>", large_parameters=True)
    assert len(lj.Signature(", ".join(["i8"] * 4000)).parameters) == 4000


def test_wrong_use():
    with pytest.raises(lj.Error):
        lj.Signature("i32", scratch="x")
    with pytest.raises(TypeError, match="a signature is a str, not list"):
        lj.Signature(["i32"])
    with pytest.raises(lj.SignatureError):
        lj.Signature("x: i32\0")
