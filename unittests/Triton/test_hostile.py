# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callers who change things while a launch is under way, and values that nobody
would think of. What Triton's own launcher does where it survives is the oracle."""

import ctypes
import gc
import sys
import threading
from types import SimpleNamespace

import pytest
import worlds
from worlds import (EARLY, VERSION, Pointer, agree, load, memory, metadata, outcome, packed,
                    recorded)


@pytest.fixture(autouse=True)
def world():
    worlds.made_driver()
    recorded()
    yield
    worlds.enter_world(False)


def make(signature, ours=True, **changes):
    """A launcher; the signature is {name: type} or types."""
    worlds.enter_world(ours)
    if not isinstance(signature, dict):
        signature = {f"a{i}": type for i, type in enumerate(signature)}
    return worlds.made_driver().launcher_cls(
        SimpleNamespace(signature=signature, constants={}), metadata(**changes))


def launch(launcher, text, *args, kmeta=None, enter=None, exit=None, grid=(1, 1, 1)):
    return launcher(*grid, 0, load(text), packed(metadata()) if kmeta is None else kmeta, "meta",
                    enter, exit, *args)


def parameters():
    return [each["parameters"] for each in recorded()]


def both(work):
    """work(ours) agrees in both worlds."""
    theirs, ours = (outcome(lambda: work(False), []), outcome(lambda: work(True), []))
    agree(theirs, ours)
    return ours


# --- what changes during a launch ---------------------------------------------


@pytest.mark.parametrize("change", [
    lambda launcher: setattr(launcher, "launch", lambda *_: None),
    lambda launcher: setattr(launcher, "launch_pdl", True),
    lambda launcher: launcher.__dict__.clear(),
], ids=["launch", "attribute", "everything"])
def test_launcher_changes_in_hook(change):
    """The launch under way ends as it began."""
    launcher = make(["*fp32", "i32"])
    others = []

    def enter(_):
        change(launcher)
        gc.collect()
        others.extend(make(["i64"] * 3) for _ in range(200))

    launch(launcher, "*fp32, i32", memory(), 7, enter=enter)
    assert parameters()[0][:2] == [memory().to_bytes(8, "little").hex(), "07000000"]


def test_changed_launcher_is_heeded():
    seen = []
    launcher = make(["i32"])
    launch(launcher, "i32", 1)
    launcher.launch_pdl = True
    launch(launcher, "i32", 2)
    assert [len(each["attributes"]) for each in recorded()] == [0, 1]
    launcher.launch = lambda *args: seen.append(args)
    launch(launcher, "i32", 3)
    assert len(seen) == 1 and not recorded()


def test_metadata_changes():
    """A tuple of ints is remembered; what can change is read at each launch."""

    class Warps:
        def __init__(self, value):
            self.value = value

        def __index__(self):
            return self.value

    class Computed(tuple):
        warps = 4

        def __iter__(self):
            yield self.warps
            yield from list(tuple.__iter__(self))[1:]

    rest = packed(metadata())[1:]
    launcher = make(["i32"])
    warps = Warps(4)
    kmeta = (warps, *rest)
    launch(launcher, "i32", 1, kmeta=kmeta)
    warps.value = 8
    launch(launcher, "i32", 1, kmeta=kmeta)
    assert [each["block"][0] for each in recorded()] == [128, 256]
    if EARLY:
        return
    for kmeta in ([4, *rest], Computed((4, *rest))):
        launcher = make(["i32"])
        launch(launcher, "i32", 1, kmeta=kmeta)
        if isinstance(kmeta, list):
            kmeta[0] = 8
        else:
            kmeta.warps = 8
        launch(launcher, "i32", 1, kmeta=kmeta)
        assert [each["block"][0] for each in recorded()] == [128, 256]


def test_argument_changes():
    """data_ptr() that empties the list its object is in."""

    class Emptying(Pointer):
        def data_ptr(self):
            items.clear()
            gc.collect()
            return memory()

    items = [Emptying(0), Pointer(memory()), 5]
    launcher = make([("*fp32", "*fp32", "i32")])
    launch(launcher, "(*i8, *i8, i32)", items)
    address = memory().to_bytes(8, "little").hex()
    assert parameters()[0][:3] == [address, address, "05000000"]


def test_launches_in_launches():
    """Hooks, data_ptr() and __index__ that launch the same kernel."""
    launcher = make(["*fp32", "i32"])
    depth = []

    def inner():
        if len(depth) < 20:
            depth.append(0)
            launch(launcher, "*fp32, i32", Launching(0), Index(), enter=lambda _: inner(),
                   exit=lambda _: inner())

    class Launching(Pointer):
        def data_ptr(self):
            inner()
            return memory()

    class Index:
        def __index__(self):
            inner()
            return 9

    inner()
    assert parameters() == [[memory().to_bytes(8, "little").hex(), "09000000",
                             *["00" * 8] * (1 if VERSION == (3, 4) else 2)]] * 20


@pytest.mark.parametrize("where", ["enter", "data_ptr", "exit"])
def test_endless_recursion(where):
    launcher = make(["*fp32", "i32"])

    class Endless(Pointer):
        def data_ptr(self):
            if where == "data_ptr":
                again()
            return memory()

    def again(*_):
        hooks = {where: again} if where != "data_ptr" else {}
        launch(launcher, "*fp32, i32", Endless(0), 1, **hooks)

    with pytest.raises(RecursionError):
        again()
    if where != "exit":
        assert not recorded()


def test_failure_in_failing_launch():
    """The message of a refused launch is not that of the one in its exit."""
    launcher = make(["*fp32"])

    class Refused(Pointer):
        def data_ptr(self):
            with pytest.raises(RuntimeError, match="num_warps is -1"):
                launch(launcher, "*fp32", 0, kmeta=(-1, *packed(metadata())[1:]))
            return memory()

    with pytest.raises(RuntimeError, match="num_warps is 0"):
        launch(launcher, "*fp32", Refused(0), kmeta=(0, *packed(metadata())[1:]))
    assert not recorded()


def test_deleted_launcher():
    """The last reference goes while its hook runs."""
    box = [make(["i32"])]
    launch(box[0], "i32", 7, enter=lambda _: (box.clear(), gc.collect()))
    assert parameters()[0][0] == "07000000"


@pytest.mark.skipif(VERSION == (3, 4), reason="HookChain is of 3.5 and later")
def test_hook_chain_of_anything():
    from triton.knobs import HookChain

    class Calls(list):
        def __bool__(self):
            raise ZeroDivisionError("of the test")

        __len__ = __bool__

    chain = HookChain()
    launcher = make(["i32"])
    launch(launcher, "i32", 1, enter=chain)
    chain.calls = Calls()
    with pytest.raises(ZeroDivisionError):
        launch(launcher, "i32", 1, enter=chain)
    assert len(recorded()) == 1


def test_metaclass_that_raises():
    """No look at a class is in the way of its objects."""
    class Meta(type):
        def __getattr__(cls, name):
            raise LookupError(name)

    class Pointed(Pointer, metaclass=Meta):
        pass

    both(lambda ours: launch(make(["*fp32"], ours), "*fp32", Pointed(memory())))


# --- threads --------------------------------------------------------------------


def test_threads():
    """Many launchers, each first called by several threads at the same time, with
    hooks, pointers and failures in between."""
    launchers = [make(["*fp32", ("i32", "fp32"), "i64"]) for _ in range(30)]
    text = "*i8, (i32, fp32), i64"
    load(text)
    failures, start = [], threading.Barrier(4)

    def work(thread):
        try:
            start.wait()
            for i, launcher in enumerate(launchers):
                for _ in range(5):
                    launch(launcher, text, Pointer(memory()), [thread, 1.5], i,
                           enter=lambda _: None)
                with pytest.raises(OverflowError):
                    launch(launcher, text, None, (2**40, 1), i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    seen = sorted((int.from_bytes(bytes.fromhex(p[1]), "little"),
                   int.from_bytes(bytes.fromhex(p[3]), "little")) for p in parameters())
    assert seen == sorted((t, i) for t in range(4) for i in range(30) for _ in range(5))


# --- odd values -----------------------------------------------------------------


@pytest.mark.parametrize("name", [
    "half", "i32", "float", "int", "const", "void", "constexpr", "nvTmaDesc", "struct",
    "tensordesc", "u8", "size_t", "unsigned", "核", "α", "_", "x"])
def test_names(name):
    """A parameter may be called as a type is, or not be ASCII."""
    both(lambda ours: launch(make({name: "i32"}, ours), "i32", 7))
    both(lambda ours: launch(make({name: "i32", "n": "*fp32"}, ours), "i32, *fp32", 7, None))


@pytest.mark.parametrize("name", ["k\udc80", "k\0x", "", "k" * 10000, 5], ids=repr)
def test_kernel_names(name):
    both(lambda ours: launch(make({"x": "i32"}, ours, name=name), "i32", 7))


@pytest.mark.parametrize("warps,ctas", [(0, 1), (-1, 1), (2**27, 1), (2**31 - 1, 1), (4, 0),
                                        (4, -1), (4, 2**30), (4, -2**31)])
def test_configurations(warps, ctas):
    changes = dict(num_warps=warps, num_ctas=ctas, cluster_dims=(ctas, 1, 1))
    both(lambda ours: launch(make(["i32"], ours, **changes), "i32", 7,
                             kmeta=packed(metadata(**changes))))


def test_warps_beyond_32_bits():
    with pytest.raises(RuntimeError, match="Triton Error"):
        launch(make(["i32"]), "i32", 7, kmeta=(2**27 + 1, *packed(metadata())[1:]))
    assert not recorded()


@pytest.mark.parametrize("value", [b"ab", "ab", bytearray(b"ab"), range(2), {1: 1, 2: 2}, {1, 2},
                                   None, 5, [1], [[1, 2]]], ids=repr)
def test_tuples(value):
    if not EARLY and value == [1]:
        with pytest.raises(TypeError):  # Triton reads behind its end
            launch(make([("i32", "i32")]), "(i32, i32)", value)
        return
    theirs, ours = (outcome(lambda: launch(make([("i32", "i32")], ours), "(i32, i32)", value), [])
                    for ours in (False, True))
    assert ours.launches == theirs.launches
    assert ours.result[:2] == theirs.result[:2]


def test_many_arguments():
    count = 2000
    types = ["*fp32", "i32"] * (count // 2)
    launch(make(types), ", ".join(types), *[memory(), 5] * (count // 2))
    assert parameters()[0][:count] == [memory().to_bytes(8, "little").hex(),
                                       "05000000"] * (count // 2)
    with pytest.raises(TypeError):
        launch(make(types), ", ".join(types), *[memory(), 5] * (count // 2 - 1))


@pytest.mark.skipif(VERSION < (3, 8), reason="of 3.8 and later")
def test_unloaded_modules_are_forgotten():
    from launchjit.triton import _launcher
    from test_utils import SOURCE

    worlds.enter_world(True)
    utils = worlds.made_driver().utils
    before = len(_launcher.devices)
    for _ in range(10):
        module, function, *_ = utils.load_binary("first", SOURCE.encode() + b"\0", 0, 0)
        assert _launcher.devices[function] == 0
        utils.unload_module(module)
    assert len(_launcher.devices) == before


# --- tensor maps ----------------------------------------------------------------


def fill(ours, *args):
    worlds.enter_world(ours)
    utils = worlds.made_driver().utils
    if VERSION == (3, 4):
        storage = ctypes.create_string_buffer(256)
        utils.fill_tma_descriptor(-(-ctypes.addressof(storage) // 128) * 128, *args)
    else:
        getattr(utils, "fill_tma_descriptor" + ("" if EARLY else "_tiled"))(*args, 0)


@pytest.mark.parametrize("args", [
    (2**40, 0, 4, 7, [16, 16], [16, 2**62], [16, 1]),
    (2**40, 0, 4, 7, [16, 16], [2**63 - 1, 16], [16, 1]),
    (2**40, 0, 4, 7, [16, 16], [-2**63, 16], [16, 1]),
    (2**40, 0, 4, 7, [16, 16], [16, 16], [-16, 1]),
    (2**40, 0, 4, 7, [16, -1], [16, 16], [16, 1]),
    (2**40, 0, 4, 7, [16, 2**31], [16, 16], [16, 1]),
    (2**40, 0, -4, 7, [16, 16], [16, 16], [16, 1]),
    (2**40, 0, 0, 7, [16, 16], [16, 16], [16, 1]),
    (2**64 - 16, 0, 4, 7, [16, 16], [16, 16], [16, 1]),
    (-16, 0, 4, 7, [16, 16], [16, 16], [16, 1]),
    (2**40, 0, 4, 7, [16, 16], [16, 16], [2**63 - 1, 1]),
    # Of two errors, the first; the last stride is not looked at.
    (2**40, 0, 4, 7, [16, 16], [1.5], [16, 1]),
    (2**40, 0, 4, 7, [16, 16], [16, 16], ["x", 1, 1]),
    (2**40, 0, 4, 7, [16], [16], [None]),
], ids=repr)
def test_tensor_map(args):
    both(lambda ours: fill(ours, *args))


@pytest.mark.parametrize("args,error", [
    # Cut to 32 or 64 bits these would be good.
    ((2**40, 0, 4, 7, [16, 2**32 + 16], [16, 16], [16, 1]), RuntimeError),
    ((2**40, 0, 4, 7, [16, 16], [16, 16], [2**62 + 16, 1]), RuntimeError),
    ((2**40, 0, 4, 7, [16, 16], [16, 16], [2**64 + 16, 1]), OverflowError),
    # More dimensions than Triton has room for.
    ((2**40, 0, 4, 7, [1] * 6, [1] * 6, [1] * 6), RuntimeError),
    ((2**40, 0, 4, 7, [1] * 10**6, [1] * 10**6, [1] * 10**6), RuntimeError),
], ids=["block", "stride", "long stride", "rank 6", "rank 10**6"])
def test_bad_tensor_map(args, error):
    with pytest.raises(error):
        fill(True, *args)


@pytest.mark.skipif(VERSION < (3, 8), reason="of 3.8 and later")
@pytest.mark.parametrize("block", [[2**32 + 16, 16], [16, 2**32 + 16], [-2**32 + 16, 16]], ids=repr)
def test_im2col_block(block):
    """As above; Triton cuts them."""
    worlds.enter_world(True)
    with pytest.raises(RuntimeError, match="Failed to create im2col"):
        worlds.made_driver().utils.fill_tma_descriptor_im2col(
            2**40, 0, 4, 7, block, [2, 16, 16, 64], [16384, 1024, 64, 1], 0, [0, 0], [0, 0],
            [1] * 4)


@pytest.mark.skipif(VERSION != (3, 4), reason="of 3.4")
def test_tensor_map_at_null():
    def work(ours):
        worlds.enter_world(ours)
        return worlds.made_driver().utils.fill_tma_descriptor(0, 2**40, 0, 4, 7, [16], [16], [1])

    both(work)


@pytest.mark.skipif(VERSION == (3, 4), reason="of 3.5 and later")
def test_tensor_map_type():
    """One that nobody filled is zero; the maps do not share memory."""
    worlds.enter_world(True)
    cls = worlds.driver_module().PyCUtensorMap
    maps = [cls() for _ in range(100)]
    for each in maps:
        launch(make(["nvTmaDesc"]), "nvTmaDesc", each)
    assert {p[0] for p in parameters()} == {"00" * 128}
    with pytest.raises(TypeError):
        type("Sub", (cls,), {})
    with pytest.raises(TypeError):
        cls(1)

