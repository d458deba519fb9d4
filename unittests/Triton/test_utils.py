# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every member of CudaUtils beside Triton's own, which its C compiler made."""

import ctypes
from types import SimpleNamespace

import pytest
import worlds
from worlds import VERSION, agree, outcome

SOURCE = """
.version 8.1
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p) { .shared .align 4 .b8 s[128]; ret; }
.visible .entry second(.param .u32 n@HIDDEN@) .maxntid 256, 1, 1 { ret; }
""".replace("@HIDDEN@", ", .param .u64 g" + (", .param .u64 h" if VERSION >= (3, 5) else ""))


def utils(ours):
    worlds.enter_world(ours)
    return worlds.made_driver().utils


def both(work, same_handles=True):
    """Runs work(utils) in both worlds and compares what comes of it."""
    try:
        theirs = outcome(lambda: work(utils(False)), [])
        ours = outcome(lambda: work(utils(True)), [])
    finally:
        worlds.enter_world(False)
    if not same_handles and theirs.result[0] == ours.result[0] == "returned":
        return theirs.result[1], ours.result[1]
    agree(theirs, ours)
    if theirs.result[0] == "returned":
        assert ours.result[1] == theirs.result[1]
    return None


def test_members():
    """Ours has all that theirs has, and nothing else."""
    try:
        names = [{name for name in dir(utils(ours)) if not name.startswith("_")}
                 for ours in (False, True)]
    finally:
        worlds.enter_world(False)
    assert names[0] == names[1]
    assert utils(False) is not utils(True)
    assert utils(True) is worlds.driver_module().CudaUtils()


def test_globals():
    names = ["PyCUtensorMap"] if VERSION >= (3, 5) else []
    names += ["PyKernelArg", "ARG_CONSTEXPR", "ARG_KERNEL", "ARG_TUPLE"] if VERSION >= (3, 7) else []
    module = worlds.driver_module()
    utils(False)
    before = [getattr(module, name) for name in names]
    utils(True)
    for name, value in zip(names, before):
        ours = getattr(module, name)
        assert ours == value if isinstance(value, int) else ours is not value
        if isinstance(value, type):
            assert (ours.__name__, isinstance(ours, type)) == (value.__name__, True)
    utils(False)
    assert [getattr(module, name) for name in names] == before


@pytest.mark.parametrize("shared", [0, 1000, 49152, 49153, 200000, 2**31 - 1])
@pytest.mark.parametrize("name", ["first", "second"])
def test_load_binary(name, shared):
    theirs, ours = both(lambda u: u.load_binary(name, SOURCE.encode() + b"\0", shared, 0),
                        same_handles=False)
    assert ours[2:] == theirs[2:] and len(ours) == 5
    for function in (theirs[1], ours[1]):
        attribute = ctypes.c_int()
        worlds.call("cuFuncGetAttribute", ctypes.byref(attribute), 8, ctypes.c_void_p(function))
        assert attribute.value == (227 if shared > 49152 else 48) * 1024


@pytest.mark.parametrize("args", [
    ("none", SOURCE.encode() + b"\0", 0, 0), ("first", b"", 0, 0), ("first", b"nonsense\0", 0, 0),
    (5, b"", 0, 0), ("first", 5, 0, 0), ("first", SOURCE.encode(), "x", 0),
    ("first", SOURCE.encode(), 0, None), ("first", SOURCE.encode(), 2**40, 0), (), ("first",),
    ("fi\0rst", SOURCE.encode(), 0, 0),
], ids=repr)
def test_load_binary_badly(args):
    both(lambda u: u.load_binary(*args))


def test_load_binary_of_another_architecture():
    both(lambda u: u.load_binary("first", SOURCE.replace("sm_90", "sm_100").encode() + b"\0", 0,
                                 0))


@pytest.mark.parametrize("device", [0, 1, 2, -1, "x", 1.5, None, 2**40])
def test_devices(device):
    if device in (0, 1):
        both(lambda u: u.get_device_properties(device))
    if VERSION >= (3, 8):
        both(lambda u: u.get_device_capability(device))
        both(lambda u: u.get_default_stream(device))
        both(lambda u: u.set_current_device(device))
        both(lambda u: (u.get_default_stream(0), u.get_current_device()))
        both(lambda u: u.get_current_device())
        worlds.made_driver().set_current_device(0)
    else:
        if not isinstance(device, int) or device > 2**31:
            both(lambda u: u.get_device_properties(device))


@pytest.mark.parametrize("size", [0, 1, 4096, 2**20, -1, "x", 1.5, 2**80], ids=repr)
def test_printf_fifo_size(size):
    both(lambda u: u.set_printf_fifo_size(size))
    value = ctypes.c_size_t()
    worlds.call("cuCtxGetLimit", ctypes.byref(value), 1)
    if isinstance(size, int) and 0 <= size < 2**63:
        assert value.value == size


@pytest.mark.parametrize("cluster", [1, 2, 8, 16, 0, 32, -1, "x"])
@pytest.mark.parametrize("shared", [0, 65536, 2**20, -1, "x"])
def test_clusters(cluster, shared):
    handles = utils(False).load_binary("first", SOURCE.encode() + b"\0", 0, 0)
    dims = (cluster, 1, 1) if VERSION <= (3, 5) else (cluster,)
    both(lambda u: u.cuOccupancyMaxActiveClusters(handles[1], shared, *dims))
    both(lambda u: u.cuOccupancyMaxActiveClusters("x", shared, *dims))
    both(lambda u: u.cuOccupancyMaxActiveClusters(handles[1], shared))


@pytest.mark.skipif(VERSION < (3, 8), reason="of 3.8 and later")
def test_unload_module():
    both(lambda u: u.unload_module(u.load_binary("first", SOURCE.encode() + b"\0", 0, 0)[0]))
    both(lambda u: u.unload_module(0))
    both(lambda u: u.unload_module(12345))
    both(lambda u: u.unload_module("x"))


@pytest.mark.skipif(VERSION < (3, 9), reason="of 3.9")
def test_is_stream_capturing():
    both(lambda u: u.is_stream_capturing(0))
    both(lambda u: u.is_stream_capturing("x"))
    both(lambda u: u.is_stream_capturing(77777))
    stream = ctypes.c_void_p()
    worlds.call("cuStreamCreate", ctypes.byref(stream), 0)
    worlds.call("cuStreamBeginCapture_v2", stream, 0)
    both(lambda u: u.is_stream_capturing(stream.value))
    worlds.call("cuStreamEndCapture", stream, ctypes.byref(ctypes.c_void_p()))


@pytest.mark.skipif(VERSION < (3, 7), reason="of 3.7 and later")
@pytest.mark.parametrize("types", [
    [], ["*fp32", "*kfp32", "*i1"], ["i1", "i8", "i16", "i32", "i64"],
    ["u1", "u8", "u16", "u32", "u64"], ("fp16", "bf16", "fp32", "f32", "fp64", "nvTmaDesc"),
    ["x"], ["fp8"], ["constexpr"], [""], ["*"], [5], 5, "i8"], ids=repr)
def test_signature(types):
    both(lambda u: u.build_signature_metadata(types))


#===------------------------------------------------------------------------===#
# Tensor maps
#===------------------------------------------------------------------------===#


def fill(u, address, swizzle, size, type, block, shape, strides, padding):
    """The map's bytes, read from a launch that gets it."""
    if VERSION == (3, 4):
        storage = ctypes.create_string_buffer(256)
        to = -(-ctypes.addressof(storage) // 128) * 128
        result = u.fill_tma_descriptor(to, address, swizzle, size, type, block, shape, strides)
        return result, ctypes.string_at(to, 128)
    name = "fill_tma_descriptor" if VERSION <= (3, 6) else "fill_tma_descriptor_tiled"
    made = getattr(u, name)(address, swizzle, size, type, block, shape, strides, padding)
    return bytes_of(made)


def bytes_of(made):
    """By way of a kernel's parameter."""
    launcher = worlds.made_driver().launcher_cls(
        SimpleNamespace(signature={0: "nvTmaDesc"}, constants={}), worlds.metadata())
    launcher(1, 1, 1, 0, worlds.load("nvTmaDesc"), worlds.packed(worlds.metadata()), None, None,
             None, made)
    return worlds.recorded()[0]["parameters"][0]


def tiled(rank=2, address=2**40, swizzle=0, size=4, type=7, block=None, shape=None, strides=None,
          padding=0):
    return (address, swizzle, size, type, block or [16] * rank, shape or [16] * rank,
            strides or [16**i for i in reversed(range(rank))], padding)


@pytest.mark.parametrize("args", [
    *(tiled(rank, padding=padding) for rank in range(1, 6) for padding in (0, 1, 2)),
    *(tiled(type=type) for type in range(16)), *(tiled(swizzle=swizzle) for swizzle in range(4)),
    tiled(type=99), tiled(address=4), tiled(address="x"), tiled(swizzle="x"), tiled(size=8),
    tiled(block=[16]), tiled(shape=[64], block=[16, 16], strides=[64, 1]), tiled(strides=[64]), tiled(block=[16, "x"]),
    tiled(shape=["x", 64]), tiled(strides=["x", 1]), tiled(block=5), tiled(shape=None, rank=2),
    tiled(block=(16, 16), shape=(64, 64), strides=(64, 1)), tiled(shape=[2**20, 2**20]),
    tiled(padding="x"), tiled(shape=[128, 255], strides=[255, 1]),
    tiled(shape=[512, 65], strides=[64, 1]), tiled(strides=[64, "x"]),
], ids=repr)
def test_tiled(args):
    if VERSION == (3, 4) and args[-1] == "x":
        pytest.skip("3.4 has no padding")
    both(lambda u: fill(u, *args))


@pytest.mark.skipif(VERSION < (3, 7), reason="of 3.7 and later")
@pytest.mark.parametrize("change", [
    {}, {"lower": [1, 2, 3]}, {"upper": [1]}, {"steps": [1]}, {"steps": [1, 2, 1, 1]},
    {"lower": "x"}, {"steps": 5}, {"block": [16]}, {"block": [16, 16, 16]}, {"strides": [1]},
    {"address": 4}, {"lower": ["x", 0]}, {"padding": 1}], ids=repr)
def test_im2col(change):
    given = dict(address=2**40, swizzle=0, size=4, type=7, block=[16, 32], shape=[2, 16, 16, 64],
                 strides=[16384, 1024, 64, 1], padding=0, lower=[0, -1], upper=[1, 0],
                 steps=[1, 1, 1, 1], **{})
    given.update(change)
    if given["lower"] == [1, 2, 3]:
        given["upper"] = [1, 2, 3]
    extra = [64, 16] if VERSION == (3, 7) else []
    *head, steps = given.values()
    both(lambda u: bytes_of(u.fill_tma_descriptor_im2col(*head, *extra, steps)))


@pytest.mark.skipif(VERSION < (3, 7), reason="of 3.7 and later")
def test_more_than_two_gigabytes():
    """Upstream's 32 bits wrap, and it clears the bit of small tensors."""
    args = tiled(5, shape=[64] * 5, strides=[64**i for i in reversed(range(5))])
    try:
        theirs, ours = fill(utils(False), *args), fill(utils(True), *args)
    finally:
        worlds.enter_world(False)
    assert bytes.fromhex(ours)[10] & 0x20 and not bytes.fromhex(theirs)[10] & 0x20
    assert ours[:20] == theirs[:20]


@pytest.mark.skipif(VERSION < (3, 5), reason="of 3.5 and later")
def test_too_many_dimensions():
    """Upstream writes behind its arrays."""
    try:
        with pytest.raises(RuntimeError, match="1 to 5"):
            fill(utils(True), *tiled(6))
    finally:
        worlds.enter_world(False)


def test_context_of_the_kernels_device():
    """Without a current context a module is loaded on its device, not on 0."""
    u = utils(True)
    try:
        worlds.call("cuCtxSetCurrent", None)
        _, function, *_ = u.load_binary("second", SOURCE.encode() + b"\0", 0, 1)
        device = ctypes.c_int()
        worlds.call("cuCtxGetDevice", ctypes.byref(device))
        assert device.value == 1
        # So is the launch; and afterwards no context is current, as before.
        worlds.call("cuCtxSetCurrent", None)
        meta = worlds.metadata()
        launcher = worlds.made_driver().launcher_cls(
            SimpleNamespace(signature={0: "i32"}, constants={}), meta)
        launcher(1, 1, 1, 0, function, worlds.packed(meta), None, None, None, 5)
        assert [launch["device"] for launch in worlds.recorded()] == [1]
        context = ctypes.c_void_p()
        worlds.call("cuCtxGetCurrent", ctypes.byref(context))
        assert not context
    finally:
        worlds.enter_world(False)
        worlds.made_driver().set_current_device(0)
