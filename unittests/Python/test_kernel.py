# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grids, streams, ways to call, launch configurations."""

import ctypes
import pickle
import struct

import launchjit as lj
import numpy as np
import pytest
from helpers import BUNDLED, Index, launched, make_kernel, parameters, refused
from launchjit import _lib

AXPY = "x: *fp32, y: *fp32, n: i32"
GRID = "grid: expected an int or a tuple of 1 to 3 ints, got "


@pytest.fixture
def axpy():
    return make_kernel(AXPY, block=128)


def i32(value):
    return struct.pack("<i", value)


def u64(value):
    return struct.pack("<Q", value)


def the_launch():
    (launch,) = lj.driver.recorded()
    return launch


def test_recorded(axpy):
    launch = launched(axpy.with_config(shared=64), 1, 2, 3, grid=(4, 5), stream=0)
    assert launch == {
        "kernel": "axpy", "grid": (4, 5, 1), "block": (128, 1, 1), "shared": 64,
        "stream": 0, "device": 0, "attributes": [],
        "parameters": [u64(1), u64(2), i32(3)],
    }
    assert lj.driver.recorded() == []


def test_driver():
    assert lj.driver.kind == "recording"
    info = lj.driver.info()
    assert info["kind"] == "recording" and info["num_devices"] == 1 and info["version"] >= 12000
    with pytest.raises(AttributeError):
        lj.driver.no_such_thing


@pytest.mark.parametrize("grid, recorded", [
    (7, (7, 1, 1)), ((7,), (7, 1, 1)), ((7, 8), (7, 8, 1)), ((7, 8, 9), (7, 8, 9)),
    ([7, 8], (7, 8, 1)), (Index(7), (7, 1, 1)), ((Index(7), np.int32(8)), (7, 8, 1)),
    (2**31 - 1, (2**31 - 1, 1, 1)), ((1, 65535, 65535), (1, 65535, 65535)),
])
def test_grids(axpy, grid, recorded):
    assert launched(axpy, 1, 2, 3, grid=grid)["grid"] == recorded
    axpy[grid](1, 2, 3)
    assert the_launch()["grid"] == recorded


@pytest.mark.parametrize("grid", [0, (0,), (1, 0), (5, 6, 0), (0, 2**40, 1)])
def test_empty_grids(axpy, grid):
    assert axpy.launch(grid, 0, 1, 2, 3) is None
    assert lj.driver.recorded() == []
    refused(lj.ArgumentTypeError, "argument 2 ('n', i32): expected an int, got str",
            axpy, 1, 2, "3", grid=grid)


@pytest.mark.parametrize("grid, message", [
    ("7", GRID + "str"), (7.0, GRID + "float"), (None, GRID + "NoneType"), ((), GRID + "0"),
    ((1, 2, 3, 4), GRID + "4"), ([], GRID + "0"), ({1}, GRID + "set"),
    ((1, 2.0), "grid[1]: expected an int, got float"),
    ([1, 2, None], "grid[2]: expected an int, got NoneType"),
])
def test_wrong_grids(axpy, grid, message):
    refused(lj.ArgumentTypeError, message, axpy, 1, 2, 3, grid=grid)


def test_grids_out_of_range(axpy):
    refused(lj.ArgumentRangeError, f"grid: {2**63} does not fit into 64 bits", axpy, 1, 2, 3,
            grid=2**63)
    refused(lj.ArgumentRangeError, f"grid[1]: {-2**63 - 1} does not fit into 64 bits", axpy,
            1, 2, 3, grid=(1, -2**63 - 1))
    for grid, name in (((1, 65536, 1), "y"), ((1, 1, 65536), "z"), (2**31, "x"), (-1, "x"),
                       ((1, -1), "y"), ((2**62, 1, 1), "x")):
        with pytest.raises(lj.ArgumentValueError) as info:
            axpy.launch(grid, 0, 1, 2, 3)
        value = max(grid, key=abs) if isinstance(grid, tuple) else grid
        assert name in str(info.value) and str(value) in str(info.value)
    assert lj.driver.recorded() == []


class CudaStream:
    def __init__(self, *result):
        self.result = result

    def __cuda_stream__(self):
        return self.result


class TorchStream:
    def __init__(self, handle):
        self.cuda_stream = handle


@pytest.mark.parametrize("stream, handle", [
    (0, 0), (None, 0), (1, 1), (2, 2), (CudaStream(0, 2), 2), (TorchStream(1), 1),
])
def test_streams(axpy, stream, handle):
    assert launched(axpy, 1, 2, 3, stream=stream)["stream"] == handle
    axpy[1](1, 2, 3, stream=stream)
    assert the_launch()["stream"] == handle


WANTED = "stream: expected an int, None or an object with __cuda_stream__() or cuda_stream, got "


@pytest.mark.parametrize("exception, stream, message", [
    (lj.ArgumentTypeError, "0", WANTED + "str"),
    (lj.ArgumentTypeError, True, WANTED + "bool"),
    (lj.ArgumentTypeError, 1.0, WANTED + "float"),
    (lj.ArgumentRangeError, -1,
     f"stream: -1 does not fit; allowed is 0 to {2**64 - 1}"),
    (lj.ArgumentTypeError, CudaStream(0),
     "stream: expected __cuda_stream__() to return (version, handle)"),
    (lj.ArgumentTypeError, CudaStream(0, None),
     "stream: expected the stream's handle to be an int, got NoneType"),
    (lj.ArgumentTypeError, TorchStream("1"),
     "stream: expected the stream's handle to be an int, got str"),
])
def test_wrong_streams(axpy, exception, stream, message):
    refused(exception, message, axpy, 1, 2, 3, stream=stream)


@pytest.mark.parametrize("signature, given, message", [
    (AXPY, 0, "axpy() missing 3 required positional arguments: 'x', 'y', and 'n'"),
    (AXPY, 1, "axpy() missing 2 required positional arguments: 'y' and 'n'"),
    (AXPY, 2, "axpy() missing 1 required positional argument: 'n'"),
    (AXPY, 4, "axpy() takes 3 positional arguments but 4 were given"),
    ("i32", 2, "axpy() takes 1 positional argument but 2 were given"),
    ("", 1, "axpy() takes 0 positional arguments but 1 was given"),
    ("i32, constexpr, (i32, i32)", 4, "axpy() takes 3 positional arguments but 4 were given"),
    ("i32, c: constexpr, (i32, i32)", 1, "axpy() missing 2 required positional arguments: "
     "'c' and number 2 ((i32, i32))"),
])
def test_argument_counts(signature, given, message):
    kernel = make_kernel(signature)
    error = refused(lj.ArgumentTypeError, message, kernel, *[0] * given)
    assert error.argument is None
    for way in kernel[1], lambda *args: kernel.bind(1, 0, *args):
        with pytest.raises(lj.ArgumentTypeError) as info:
            way(*[0] * given)
        assert str(info.value) == message
    with pytest.raises(TypeError):
        kernel.launch(1, 0, x=1)


def test_a_launch_without_grid_or_stream(axpy):
    for args, message in (
            ((), "5 required positional arguments: 'grid', 'stream', 'x', 'y', and 'n'"),
            ((1,), "4 required positional arguments: 'stream', 'x', 'y', and 'n'")):
        with pytest.raises(lj.ArgumentTypeError) as info:
            axpy.launch(*args)
        assert str(info.value) == "axpy() missing " + message


def test_arguments_by_name(axpy):
    for args, by_name in (((1, 2, 3), {}), ((1, 2), {"n": 3}), ((1,), {"n": 3, "y": 2}),
                          ((), {"y": 2, "n": 3, "x": 1})):
        assert axpy[2](*args, **by_name) is None
        assert the_launch()["parameters"] == [u64(1), u64(2), i32(3)]


def python_function():
    def axpy(x, y, n):
        pass

    return axpy


@pytest.mark.parametrize("args, by_name", [
    ((1,), {"n": 3}), ((), {"n": 3}), ((1, 2), {"m": 3}), ((1, 2, 3), {"n": 3}),
    ((1, 2, 3), {"x": 3}), ((1, 2), {"y": 5, "n": 3}), ((1, 2, 3, 4, 5), {"n": 3}),
    ((1, 2, 3, 4), {"n": 3}), ((1, 2, 3), {"m": 3}), ((), {"m": 3}),
])
def test_binding_errors_are_pythons(axpy, args, by_name):
    with pytest.raises(TypeError) as expected:
        python_function()(*args, **by_name)
    with pytest.raises(lj.ArgumentTypeError) as info:
        axpy[1](*args, **by_name)
    # From 3.10 on, Python's message has the qualified name.
    assert str(info.value) == str(expected.value).replace("python_function.<locals>.", "")
    assert lj.driver.recorded() == []


def test_unnamed_arguments():
    kernel = make_kernel("*fp32, n: i32")
    kernel[1](1, n=2)
    assert the_launch()["parameters"] == [u64(1), i32(2)]
    with pytest.raises(lj.ArgumentTypeError,
                       match=r"missing 1 required positional argument: number 0 \(\*fp32\)"):
        kernel[1](n=2)


def test_a_parameter_called_stream():
    kernel = make_kernel("stream: i32, grid: i32")
    assert launched(kernel, 5, 6, stream=1) ["parameters"] == [i32(5), i32(6)]
    kernel[1](5, grid=6, stream=2)
    launch = the_launch()
    assert launch["parameters"] == [i32(5), i32(6)] and launch["stream"] == 2


def test_callable_grid(axpy):
    seen = []

    def grid(arguments):
        seen.append(arguments)
        return (arguments["n"] // 128, 2)

    axpy[grid](1, 2, 1024)
    axpy[grid](1, y=2, n=1024)
    for launch in lj.driver.recorded():
        assert launch["grid"] == (8, 2, 1)
        assert launch["parameters"] == [u64(1), u64(2), i32(1024)]
    assert seen == [{"x": 1, "y": 2, "n": 1024}] * 2
    with pytest.raises(lj.ArgumentTypeError, match="missing 2 required"):
        axpy[grid](1)
    with pytest.raises(ZeroDivisionError):
        axpy[lambda arguments: 1 // 0](1, 2, 3)
    with pytest.raises(lj.ArgumentTypeError, match="grid: expected an int"):
        axpy[lambda arguments: "4"](1, 2, 3)
    assert lj.driver.recorded() == []


def test_launch_is_native(axpy):
    launch = axpy.launch
    assert type(launch) is type(len) and launch is axpy.launch
    assert launch.__name__ == "axpy"
    with pytest.raises(AttributeError):
        axpy.signature.no_such_attribute


def test_a_callable_needs_a_kernel_without_overrides(axpy):
    with pytest.raises(lj.Error, match="the kernel is null"):
        _lib.pylib.lj_python_callable(None, 3)

    class Overrides(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_size_t),
                    ("block", ctypes.POINTER(ctypes.c_uint32)),
                    ("shared", ctypes.POINTER(ctypes.c_uint32)),
                    ("attributes", ctypes.c_void_p), ("num_attributes", ctypes.c_size_t)]

    library = ctypes.CDLL(_lib.path)
    library.lj_kernel_storage_size.restype = ctypes.c_size_t
    library.lj_kernel_with.restype = ctypes.c_void_p
    kernel = ctypes.c_void_p(axpy._handle)
    size = library.lj_kernel_storage_size(kernel, ctypes.c_size_t(0))
    storage = (ctypes.c_uint64 * -(-size // 8))()
    overrides = Overrides(ctypes.sizeof(Overrides), (ctypes.c_uint32 * 3)(64, 1, 1))
    overridden = ctypes.c_void_p()
    assert not library.lj_kernel_with(kernel, storage, ctypes.c_size_t(size),
                                      ctypes.byref(overrides), ctypes.byref(overridden))
    with pytest.raises(lj.Error, match="overrides.*lj_kernel_with_config"):
        _lib.pylib.lj_python_callable(overridden, 3)


INT, DIM3 = "<i", "<3I"


@pytest.mark.parametrize("option, number, value", [
    ({"cooperative": True}, 2, struct.pack(INT, 1)),
    ({"cluster": 2}, 4, struct.pack(DIM3, 2, 1, 1)),
    ({"cluster": (2, 2)}, 4, struct.pack(DIM3, 2, 2, 1)),
    ({"cluster_scheduling_policy": "spread"}, 5, struct.pack(INT, 1)),
    ({"cluster_scheduling_policy": "load_balancing"}, 5, struct.pack(INT, 2)),
    ({"pdl": True}, 6, struct.pack(INT, 1)),
    ({"priority": -3}, 8, struct.pack(INT, -3)),
    ({"priority": 0}, 8, struct.pack(INT, 0)),
    ({"mem_sync_domain_map": (1, 3)}, 9, struct.pack("<2B", 1, 3)),
    ({"mem_sync_domain": "remote"}, 10, struct.pack(INT, 1)),
    ({"mem_sync_domain": 0}, 10, struct.pack(INT, 0)),
    ({"shared_memory_carveout": 50}, 14, struct.pack(INT, 50)),
    ({"attributes": [(8, struct.pack(INT, 7))]}, 8, struct.pack(INT, 7)),
])
def test_attributes(option, number, value):
    kernel = make_kernel("i32", **option)
    expected = [(number, value.ljust(64, b"\0"))]
    assert kernel.attributes == expected
    assert launched(kernel, 1, grid=(4, 4))["attributes"] == expected


def test_several_attributes():
    kernel = make_kernel("i32", pdl=True, cluster=(2, 1, 1), preferred_cluster=(4, 1, 1),
                         attributes=[(8, b"\5\0\0\0")])
    assert {number for number, _ in kernel.attributes} == {4, 6, 8, 11}
    assert launched(kernel, 1, grid=8)["attributes"] == kernel.attributes
    assert make_kernel("i32", cooperative=False, pdl=False, cluster=None).attributes == []


def test_configuration():
    kernel = make_kernel("i32", block=(32, 2), shared=1000, nonportable_cluster=True)
    assert (kernel.name, kernel.block, kernel.shared) == ("axpy", (32, 2, 1), 1000)
    launch = launched(kernel, 1)
    assert (launch["block"], launch["shared"]) == ((32, 2, 1), 1000)
    sibling = kernel.with_config(block=64, pdl=True)
    assert (sibling.block, sibling.shared) == ((64, 1, 1), 1000)
    assert len(sibling.attributes) == 1 and kernel.attributes == []
    assert sibling.with_config(pdl=False).attributes == []
    assert launched(sibling, 1)["block"] == (64, 1, 1)
    assert "axpy(i32) block=(64, 1, 1) shared=1000" in repr(sibling)
    assert kernel.load() is None
    with pytest.raises(lj.Error):
        kernel.load(99)


@pytest.mark.parametrize("exception, config, message", [
    (lj.ArgumentTypeError, {"blok": 1},
     "get_kernel() got an unexpected keyword argument 'blok'"),
    (lj.ArgumentTypeError, {"block": "1"}, "block: expected an int, got '1'"),
    (lj.ArgumentTypeError, {"block": (1, 2, 3, 4)}, "block: expected 1 to 3 ints, got 4"),
    (lj.ArgumentRangeError, {"block": -1}, "block: -1 does not fit"),
    (lj.ArgumentRangeError, {"shared": 2**32}, "shared: 4294967296 does not fit"),
    (lj.ArgumentTypeError, {"shared": None}, "shared: expected an int, got None"),
    (lj.ArgumentValueError, {"cluster_scheduling_policy": "random"},
     "cluster_scheduling_policy: expected 'spread' or 'load_balancing', got 'random'"),
    (lj.ArgumentTypeError, {"mem_sync_domain_map": 1},
     "mem_sync_domain_map: expected the default's and the remote domain's number, got 1"),
    (lj.ArgumentRangeError, {"mem_sync_domain_map": (0, 256)},
     "mem_sync_domain_map: (0, 256) does not fit"),
    (lj.ArgumentTypeError, {"global_scratch": (16, 8)},
     "get_kernel() got an unexpected keyword argument 'global_scratch'"),
    (lj.ArgumentTypeError, {"profile_scratch": (16, 8)},
     "get_kernel() got an unexpected keyword argument 'profile_scratch'"),
    (lj.ArgumentTypeError, {"attributes": [1]},
     "attributes: expected pairs of an id and bytes, got 1"),
    (lj.ArgumentValueError, {"attributes": [(8, bytes(65))]},
     "attributes: the value of 8 has 65 bytes; 64 are allowed"),
])
def test_wrong_configuration(exception, config, message):
    with pytest.raises(lj.Error) as info:
        make_kernel("i32", **config)
    assert type(info.value) is exception and str(info.value) == message


def test_no_attribute_twice():
    with pytest.raises(lj.Error, match="8"):
        make_kernel("i32", priority=1, attributes=[(8, b"\2\0\0\0")])


def test_what_the_device_cannot_run(axpy):
    for config, word in (({"block": (2048,)}, "2048"), ({"shared": 1 << 20}, "1048576"),
                         ({"cluster": (64, 1, 1)}, "64")):
        with pytest.raises((lj.CudaError, lj.ArgumentValueError), match=word):
            axpy.with_config(**config).launch(64, 0, 1, 2, 3)
    assert lj.driver.recorded() == []


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    kernel = lj.Module.from_file(BUNDLED).get_kernel(
        "add", "a: *fp32, b: *fp32, c: *fp32, n: i32", block=128, pdl=True)
    kernel.launch(1, 0, 1, 2, 3, 4)
    again = pickle.loads(pickle.dumps(kernel, protocol))
    assert (again.name, again.signature, again.block, again.attributes) == \
        (kernel.name, kernel.signature, kernel.block, kernel.attributes)
    again.launch(1, 0, 1, 2, 3, 4)
    first, second = lj.driver.recorded()
    assert first == second


def test_errors_pickle(axpy):
    for error, *attributes in (
        (lj.CudaError("message", 700, "CUDA_ERROR_ILLEGAL_ADDRESS"), "code", "name"),
        (refused(lj.ArgumentTypeError, "argument 2 ('n', i32): expected an int, got str",
                 axpy, 1, 2, "3"), "argument", "offset"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert [getattr(again, name) for name in attributes] == \
            [getattr(error, name) for name in attributes] != [None, None]


def test_wrong_use(axpy):
    with pytest.raises(TypeError, match="get_kernel"):
        lj.Kernel()
    with pytest.raises(lj.SignatureError):
        make_kernel("*fp33x fp")
    assert parameters(axpy, 1, 2, 3) == [u64(1), u64(2), i32(3)]


def test_bundled_kernels():
    module = lj.Module.from_file(BUNDLED)
    shared = module.get_kernel("shared", "out: *u32, n: i32", block=256, shared=4 * 25600)
    assert launched(shared, 1, 25600)["shared"] == 102400
    cluster = module.get_kernel("cluster", "out: *u32", block=32, cluster=4)
    assert launched(cluster, 1, grid=8)["grid"] == (8, 1, 1)
    cooperative = module.get_kernel("cooperative", "*u32, *u32", block=64, cooperative=True)
    assert launched(cooperative, 1, 2, grid=2)["attributes"] == cooperative.attributes
    types = ["*void", "i32", "i64", "fp32"]
    many = module.get_kernel("params300", ", ".join(types[i % 4] for i in range(300)))
    layouts = ["<Q", "<i", "<q", "<f"]
    assert launched(many, *range(300))["parameters"] == \
        [struct.pack(layouts[i % 4], i) for i in range(300)]


def test_a_launch_of_somebody_elses(axpy):
    class Own(type(axpy)):
        calls = []

        def launch(self, grid, stream, *args):
            self.calls.append((grid, stream, args))

    own = Own._of(ctypes.c_void_p(axpy._handle), axpy.signature, axpy._options, axpy._module)
    own[3](1, 2.0, 3)
    own[lambda names: 4](1, 2.0, 3)
    assert own.calls == [(3, None, (1, 2.0, 3)), (4, None, (1, 2.0, 3))]
    own._handle = None  # it is axpy's
    for other in (lambda *args: seen.append(args), print, "x".join):
        seen = []
        sibling = axpy.with_config()
        sibling.launch = other
        try:
            sibling[3](1, 2.0, 3)
        except TypeError:
            assert other is not print
    assert lj.driver.recorded() == []
