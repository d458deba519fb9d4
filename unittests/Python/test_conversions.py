# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What arguments become: byte for byte, against struct and NumPy."""

import ctypes
import math
import struct
from fractions import Fraction

import launchjit as lj
import numpy as np
import pytest
from helpers import CUDA, Float, Index, make_kernel, parameters, refused

INTS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q",
        "u8": "B", "u16": "H", "u32": "I", "u64": "Q"}
FLOATS = ["fp16", "bf16", "fp32", "fp64"]
POINTER = ("an int, None, or an object with __dlpack_c_exchange_api__, data_ptr(), "
           "__cuda_array_interface__ or handle")


class Tensor:
    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


class Raises:
    """Whatever is asked of it raises the given exception."""

    def __init__(self, exception):
        self.exception = exception

    def fail(self):
        raise self.exception

    __index__ = __float__ = data_ptr = fail


def limits(name):
    bits = 8 * struct.calcsize(INTS[name])
    return (0, 2**bits - 1) if name[0] == "u" else (-2**(bits - 1), 2**(bits - 1) - 1)


@pytest.mark.parametrize("name", INTS)
def test_ints(name):
    kernel = make_kernel(f"n: {name}")
    low, high = limits(name)
    for value in (low, low + 1, 0, 1, 100, high - 1, high):
        packed = struct.pack("<" + INTS[name], value)
        for given in (value, Index(value)):
            assert parameters(kernel, given) == [packed]
    assert parameters(kernel, True) == [struct.pack("<" + INTS[name], 1)]
    for value in (low - 1, high + 1, -2**63 - 1, 2**64, 10**30, -10**30):
        for given in (value, Index(value)):
            error = refused(
                lj.ArgumentRangeError,
                f"argument 0 ('n', {name}): {value} does not fit; allowed is {low} to {high}",
                kernel, given)
            assert error.argument == 0 and isinstance(error, OverflowError)
    huge = refused(
        lj.ArgumentRangeError,
        f"argument 0 ('n', {name}): the value does not fit; allowed is {low} to {high}",
        kernel, 1 << 100000)
    assert huge.argument == 0


@pytest.mark.parametrize("name", INTS)
def test_numpy_ints(name):
    kernel = make_kernel(name)
    low, high = limits(name)
    for dtype in INTS.values():
        for value in {max(low, np.iinfo(dtype).min), min(high, np.iinfo(dtype).max), 7}:
            assert parameters(kernel, np.dtype(dtype).type(value)) == \
                [struct.pack("<" + INTS[name], value)]
    assert parameters(kernel, np.array(5)) == [struct.pack("<" + INTS[name], 5)]


@pytest.mark.parametrize("name", INTS)
@pytest.mark.parametrize("wrong", [1.0, np.float32(1), "1", None, b"1", [1], (1,), 1j,
                                   np.array([1, 2]), Float(1.0)])
def test_ints_refuse(name, wrong):
    error = refused(
        lj.ArgumentTypeError,
        f"argument 1 ({name}): expected an int, got {type(wrong).__name__}",
        make_kernel(f"fp64, {name}"), 0, wrong)
    assert error.argument == 1 and isinstance(error, TypeError)


@pytest.mark.parametrize("name", ["i1", "u1"])
def test_bools(name):
    kernel = make_kernel(f"flag: {name}")
    for value in (0, 1, False, True, np.bool_(False), np.bool_(True), np.int8(0), np.uint64(1),
                  Index(0), Index(1), ctypes.c_bool(True), np.array(True)):
        byte = int(value.value if isinstance(value, (Index, ctypes.c_bool)) else value)
        assert parameters(kernel, value) == [bytes([byte])]
    for value in (2, -1, 255, 256, 2**64, Index(2), np.int8(-1)):
        number = value.value if isinstance(value, Index) else value
        refused(lj.ArgumentRangeError,
                f"argument 0 ('flag', {name}): {number} does not fit; allowed is 0 to 1",
                kernel, value)
    for value in (1.0, "", None, b"\1", np.array([True]), np.ones((2, 2), bool)[:, 0],
                  np.datetime64(1, "s"), np.float64(1)):
        refused(lj.ArgumentTypeError,
                f"argument 0 ('flag', {name}): expected an int, got {type(value).__name__}",
                kernel, value)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 65504.0, 65519.99, 1e-8, 5e-324, math.pi,
           2.0**-24, 2.0**-25, 2.0**-14, math.inf, -math.inf, 1e30]


@pytest.mark.parametrize("name, layout", [("fp32", "<f"), ("fp64", "<d")])
def test_floats(name, layout):
    kernel = make_kernel(f"f: {name}")
    for value in SPECIAL:
        packed = struct.pack(layout, value)
        for given in (value, Float(value), np.float64(value)):
            assert parameters(kernel, given) == [packed]
    for given in (3, True, Index(3), np.int8(3), np.float32(0.1), np.float16(0.1)):
        number = given.value if isinstance(given, Index) else float(given)
        assert parameters(kernel, given) == [struct.pack(layout, number)]
    assert np.isnan(np.frombuffer(parameters(kernel, math.nan)[0], layout)[0])


def test_fp32_overflow_is_infinity():
    kernel = make_kernel("fp32")
    assert parameters(kernel, 1e39) == [struct.pack("<f", math.inf)]
    assert parameters(kernel, -1e300) == [struct.pack("<f", -math.inf)]
    most = float(np.finfo(np.float32).max)
    assert parameters(kernel, most) == [struct.pack("<f", most)]
    half_more = most + 2.0**103
    assert parameters(kernel, half_more) == [struct.pack("<f", math.inf)]
    assert parameters(kernel, math.nextafter(half_more, 0)) == [struct.pack("<f", most)]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("wrong", ["1", None, b"1", [1.0], np.array([1.0, 2.0])])
def test_floats_refuse(name, wrong):
    refused(lj.ArgumentTypeError,
            f"argument 0 ('f', {name}): expected a number, got {type(wrong).__name__}",
            make_kernel(f"f: {name}"), wrong)


@pytest.mark.parametrize("name", FLOATS)
def test_floats_refuse_huge_ints(name):
    kernel = make_kernel(name)
    refused(lj.ArgumentRangeError,
            f"argument 0 ({name}): the value does not fit into a float", kernel, 10**400)


WIDTH = 64


def rounded(name, values):
    """The bits that each value becomes, as uint16; many to a launch."""
    kernel = make_kernel(", ".join([name] * WIDTH))
    values = np.asarray(values, np.float64)
    padded = np.concatenate([values, np.zeros(-len(values) % WIDTH)])
    bits = []
    for row in padded.reshape(-1, WIDTH).tolist():
        bits += parameters(kernel, *row)
    return np.frombuffer(b"".join(bits), "<u2")[:len(values)]


def halves():
    return np.arange(65536, dtype=np.uint16)


def bfloat_values(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def test_every_half_comes_back():
    with np.errstate(invalid="ignore"):
        values = halves().view(np.float16).astype(np.float64)
    quiet = np.where(np.isnan(values), 0x200, 0).astype(np.uint16)
    assert np.array_equal(rounded("fp16", values), halves() | quiet)


def test_every_bfloat_comes_back():
    with np.errstate(invalid="ignore"):
        values = bfloat_values(halves())
    quiet = np.where(np.isnan(values), 0x40, 0).astype(np.uint16)
    assert np.array_equal(rounded("bf16", values), halves() | quiet)


def around_midpoints(values):
    """The points half way between neighbours, and the doubles beside them."""
    middle = (values[:-1] + values[1:]) / 2
    return np.concatenate([middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf)])


def test_halves_round_to_nearest_even():
    values = np.arange(0x7c00, dtype=np.uint16).view(np.float16).astype(np.float64)
    points = around_midpoints(values)
    random = np.random.default_rng(1)
    points = np.concatenate([points, random.uniform(-65504, 65504, 5000),
                             random.standard_normal(5000) * 2.0**random.integers(-30, 10, 5000)])
    assert np.array_equal(rounded("fp16", points), points.astype(np.float16).view(np.uint16))
    # CPython's own packing agrees.
    for point in points[::97].tolist():
        assert struct.pack("<e", point) == np.float16(point).tobytes()


def nearest_bfloat(value):
    """By exact arithmetic, ties to even, for a finite positive value."""
    exact = Fraction(value)
    bits = np.arange(0x7f81, dtype=np.uint16)
    finite = bfloat_values(bits[:0x7f80])
    low = int(np.searchsorted(finite, value, "right")) - 1
    candidates = [Fraction(float(finite[low])),
                  Fraction(float(finite[low + 1])) if low < 0x7f7f else Fraction(2)**128]
    below, above = exact - candidates[0], candidates[1] - exact
    if below == above:
        return low + (low & 1)
    return low if below < above else low + 1


def test_bfloats_round_to_nearest_even():
    values = bfloat_values(np.arange(0x7f80, dtype=np.uint16))
    middle = around_midpoints(values)
    low = np.tile(np.arange(0x7f7f), 3)
    size = 0x7f7f
    expected = low + np.concatenate([
        low[:size] & 1, np.zeros(size, np.int64), np.ones(size, np.int64)])
    assert np.array_equal(rounded("bf16", middle), expected)
    assert np.array_equal(rounded("bf16", -middle), expected | 0x8000)

    random = np.random.default_rng(2)
    points = np.abs(random.standard_normal(500)) * 2.0**random.integers(-140, 127, 500)
    assert rounded("bf16", points).tolist() == [nearest_bfloat(point) for point in points]


def test_bfloat_rounds_once():
    """Through fp32 this would round to 1.0 by two ties."""
    assert rounded("bf16", [1 + 2.0**-8 + 2.0**-40]).tolist() == [0x3f81]


def test_bfloat_overflow_is_infinity():
    most = float(bfloat_values(np.array([0x7f7f], np.uint16))[0])
    tie = (most + 2.0**128) / 2
    assert rounded("bf16", [most, np.nextafter(tie, 0), tie, 1e300, math.inf, -tie]).tolist() == \
        [0x7f7f, 0x7f7f, 0x7f80, 0x7f80, 0x7f80, 0xff80]


def test_fp16_overflow():
    kernel = make_kernel("i32, h: fp16")
    for value in (65520.0, -65520.0, 1e6, 1e300):
        error = refused(
            lj.ArgumentRangeError,
            f"argument 1 ('h', fp16): {value} does not fit; the largest fp16 is 65504",
            kernel, 0, value)
        assert error.argument == 1
        with pytest.raises(OverflowError):
            struct.pack("<e", value)
    assert parameters(kernel, 0, math.nextafter(65520, 0))[1] == struct.pack("<e", 65504)
    assert parameters(kernel, 0, math.inf)[1] == struct.pack("<e", math.inf)


def test_pointers():
    kernel = make_kernel("p: *fp32", check_memory=False)
    for address in (0, 1, 0x7f0000000000, 2**63, 2**64 - 1):
        packed = struct.pack("<Q", address)
        assert parameters(kernel, address) == [packed]
        assert parameters(kernel, Tensor(address)) == [packed]
    assert parameters(kernel, None) == [bytes(8)]
    for value in (-1, 2**64, Tensor(-1), Tensor(2**64)):
        number = value.address if isinstance(value, Tensor) else value
        refused(lj.ArgumentRangeError,
                f"argument 0 ('p', *fp32): {number} does not fit; allowed is 0 to "
                f"{2**64 - 1}", kernel, value)
    for value in (True, 1.0, "1", b"12345678", [], Index(5), np.int64(5), np.zeros(3), Index):
        refused(lj.ArgumentTypeError,
                f"argument 0 ('p', *fp32): expected {POINTER}, got {type(value).__name__}",
                kernel, value)
    for result in (1.0, None, "1", True):
        refused(lj.ArgumentTypeError,
                "argument 0 ('p', *fp32): expected data_ptr() to return an int, got "
                + type(result).__name__, kernel, Tensor(result))


def test_simple_objects_of_ctypes():
    integers = make_kernel("a: i8, b: u16, c: i32, d: u64")
    assert parameters(integers, ctypes.c_int8(-1), ctypes.c_uint16(2**16 - 1), ctypes.c_long(-5),
                      ctypes.c_uint64(2**64 - 1)) == \
        [b"\xff", b"\xff\xff", struct.pack("<i", -5), b"\xff" * 8]
    refused(lj.ArgumentRangeError, "argument 0 ('a', i8): 128 does not fit; allowed is -128 to 127",
            integers, ctypes.c_int(128), 0, 0, 0)
    floats = make_kernel("a: fp32, b: fp64, c: fp16")
    assert parameters(floats, ctypes.c_float(1.5), ctypes.c_double(-2.5), ctypes.c_int(3)) == \
        [struct.pack("<f", 1.5), struct.pack("<d", -2.5), struct.pack("<e", 3)]
    pointer = make_kernel("p: *fp32")
    assert parameters(pointer, ctypes.c_void_p(2**40)) == [struct.pack("<Q", 2**40)]
    assert parameters(pointer, ctypes.c_void_p()) == [bytes(8)]
    for value in (ctypes.c_char(b"x"), ctypes.c_float(1.5), ctypes.c_char_p(b"text"), ctypes.c_int):
        refused(lj.ArgumentTypeError,
                f"argument 0 ('a', i8): expected an int, got {type(value).__name__}",
                integers, value, 0, 0, 0)
    refused(lj.ArgumentTypeError, "argument 0 ('a', fp32): expected a number, got c_char_p",
            floats, ctypes.c_char_p(b"text"), 0, 0)


def test_what_an_argument_raises_comes_through():
    for signature in ("i32", "fp32", "*i8"):
        kernel = make_kernel(signature)
        for exception in (KeyError("inside"), RuntimeError("inside"), KeyboardInterrupt()):
            with pytest.raises(type(exception)) as info:
                kernel.launch(1, 0, Raises(exception))
            assert info.value is exception
    for exception in (AttributeError("inside"), TypeError("inside")):
        with pytest.raises(type(exception)) as info:
            make_kernel("*i8").launch(1, 0, Raises(exception))
        assert info.value is exception
    assert CUDA or lj.driver.recorded() == []


def test_structs():
    kernel = make_kernel("s: struct<12,4>, n: i32")
    data = bytes(range(12))

    class Three(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_int), ("c", ctypes.c_int)]

    for given in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.int32),
                  np.frombuffer(data, np.dtype("i4, i8")), Three.from_buffer_copy(data)):
        assert parameters(kernel, given, 7) == [data, struct.pack("<i", 7)]
    for size in (0, 11, 13):
        refused(lj.ArgumentValueError,
                f"argument 0 ('s', struct<12,4>): expected 12 bytes, got {size}",
                kernel, bytes(size), 7)
    for wrong in ("a" * 12, 12, None):
        refused(lj.ArgumentTypeError,
                "argument 0 ('s', struct<12,4>): expected a bytes-like object of 12 bytes, got "
                + type(wrong).__name__, kernel, wrong, 7)
    refused(lj.ArgumentValueError,
            "argument 0 ('s', struct<12,4>): its bytes are not contiguous",
            kernel, np.zeros(24, np.uint8)[::2], 7)
    released = bytearray(12)
    parameters(kernel, released, 7)
    released.append(1)  # a BufferError if the launch had kept the buffer


@pytest.mark.parametrize("name, align", [("nvTmaDesc", 64), ("nvTmaDesc<128>", 128)])
def test_tensor_maps(name, align):
    kernel = make_kernel(f"i8, {name}, i8")
    data = bytes(range(128))
    assert kernel.signature.parameters[1].offset == align
    assert parameters(kernel, 1, data, 2) == [b"\1", data, b"\2"]
    error = refused(lj.ArgumentValueError,
                    f"argument 1 ({kernel.signature.parameters[1].type}): expected 128 bytes, "
                    "got 64", kernel, 1, data[:64], 2)
    assert error.argument == 1


def test_tuples():
    kernel = make_kernel("a: i8, pair: (i32, (*fp16, constexpr, fp32)), none: (), b: i8")
    expected = [b"\1", struct.pack("<i", 2), struct.pack("<Q", 3), struct.pack("<f", 4), b"\5"]
    assert parameters(kernel, 1, (2, (3, "constexpr", 4)), (), 5) == expected

    class Named(tuple):
        pass

    assert parameters(kernel, 1, Named((2, Named((3, None, 4)))), Named(), 5) == expected
    pair = "argument 1 ('pair', (i32, (*fp16, constexpr, fp32))): "
    refused(lj.ArgumentTypeError, pair + "expected a tuple of 2, got one of 1",
            kernel, 1, (2,), (), 5)
    refused(lj.ArgumentTypeError, pair + "expected a tuple of 3, got one of 2",
            kernel, 1, (2, (3, 4)), (), 5)
    refused(lj.ArgumentTypeError, pair + "expected a tuple of 2, got int",
            kernel, 1, 2, (), 5)
    refused(lj.ArgumentTypeError, pair + "expected a tuple of 2, got list",
            kernel, 1, [2, (3, None, 4)], (), 5)
    refused(lj.ArgumentTypeError, "argument 4 ('none', ()): expected a tuple of 0, got one of 1",
            kernel, 1, (2, (3, None, 4)), (9,), 5)
    error = refused(lj.ArgumentRangeError,
                    "argument 1 ('pair[0]', i32): 4294967296 does not fit; allowed is "
                    "-2147483648 to 2147483647", kernel, 1, (2**32, (3, None, 4)), (), 5)
    assert error.argument == 1


def test_constexpr():
    kernel = make_kernel("constexpr, n: i32, BLOCK: constexpr, 64")
    for anything in (None, object(), 10**100, "text"):
        assert parameters(kernel, anything, 7, anything, anything) == [struct.pack("<i", 7)]
    refused(lj.ArgumentTypeError, "argument 0 ('n', i32): expected an int, got str",
            kernel, 0, "7", 0, 0)


def test_hidden_parameters_are_null():
    kernel = make_kernel(lj.Signature("i32", scratch="gp"))
    assert parameters(kernel, 7) == [struct.pack("<i", 7), bytes(8), bytes(8)]


def test_every_type_at_once():
    types = [*INTS, "i1", "u1", *FLOATS, "*void", "struct<3,1>", "nvTmaDesc"]
    signature = ", ".join(types)
    values = [-7, -7, -7, -7, 7, 7, 7, 7, True, 1, 1.5, 1.5, 1.5, 1.5, 2**40, b"abc", b"m" * 128]
    expected = [struct.pack("<" + INTS[name], value) for name, value in zip(INTS, values)]
    expected += [b"\1", b"\1", struct.pack("<e", 1.5), b"\xc0\x3f", struct.pack("<f", 1.5),
                 struct.pack("<d", 1.5), struct.pack("<Q", 2**40), b"abc", b"m" * 128]
    assert parameters(make_kernel(signature), *values) == expected


@pytest.mark.parametrize("count", [0, 1, 127, 128, 129, 1000])
def test_many_parameters(count):
    """Above 128, the launcher of a python entry is the interpreted one."""
    kernel = make_kernel(", ".join((["i32", "u16"] * count)[:count]))
    layouts = (["<i", "<H"] * count)[:count]
    assert parameters(kernel, *range(count)) == \
        [struct.pack(*pair) for pair in zip(layouts, range(count))]


def test_large_parameters():
    signature = lj.Signature("struct<32000,8>, i32", large_parameters=True)
    data = bytes(range(250)) * 128
    assert parameters(make_kernel(signature), data, 7) == [data, struct.pack("<i", 7)]
