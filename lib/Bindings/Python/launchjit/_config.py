# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launch configurations: from keywords to the library's options."""

from __future__ import annotations

import ctypes
import struct

from . import _lib
from ._errors import ArgumentRangeError, ArgumentTypeError, ArgumentValueError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Mapping, Sequence, TypedDict

    Dim3 = int | Sequence[int]

    class Config(TypedDict, total=False):
        block: Dim3
        shared: int
        cluster: Dim3 | None
        preferred_cluster: Dim3 | None
        cluster_scheduling_policy: Literal["spread", "load_balancing"] | int | None
        nonportable_cluster: bool
        cooperative: bool
        pdl: bool
        priority: int | None
        mem_sync_domain: Literal["default", "remote"] | int | None
        mem_sync_domain_map: tuple[int, int] | None
        shared_memory_carveout: int | None
        attributes: Sequence[tuple[int, bytes]]
        device: int
        check_memory: bool
        peer_access: bool
        strict: bool


_DEFAULTS: dict[str, Any] = {
    "block": (1, 1, 1),
    "shared": 0,
    "attributes": (),
    "device": 0,
    "nonportable_cluster": False,
    "check_memory": True,
    "peer_access": False,
    "strict": False,
}


def _pack(what: str, layout: str, *values) -> bytes:
    """The values in C's layout; errors name the option."""
    try:
        return struct.pack(layout, *values)
    except struct.error:
        shown = values[0] if len(values) == 1 else values
        if all(hasattr(value, "__index__") for value in values):
            raise ArgumentRangeError(f"{what}: {shown!r} does not fit") from None
        raise ArgumentTypeError(f"{what}: expected an int, got {shown!r}") from None


def dim3(what: str, value) -> tuple[int, int, int]:
    """Three ints of one to three."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(values) <= 3:
        raise ArgumentTypeError(f"{what}: expected 1 to 3 ints, got {len(values)}")
    _pack(what, f"={len(values)}I", *values)
    x, y, z = map(int, values + (1,) * (3 - len(values)))
    return x, y, z


def _dim3(what, value):
    return struct.pack("=3I", *dim3(what, value))


def _int(what, value):
    return _pack(what, "=i", value)


def _choice(**choices):
    def pack(what, value):
        if isinstance(value, str):
            if value not in choices:
                names = " or ".join(map(repr, choices))
                raise ArgumentValueError(f"{what}: expected {names}, got {value!r}")
            value = choices[value]
        return _pack(what, "=i", value)

    return pack


def _domain_map(what, value):
    try:
        default, remote = value
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{what}: expected the default's and the remote domain's number, got {value!r}"
        ) from None
    return _pack(what, "=2B", default, remote)


# The driver's id of each attribute that has a keyword, and what makes its bytes.
_ATTRIBUTES = {
    "cooperative": (2, _int),
    "cluster": (4, _dim3),
    "cluster_scheduling_policy": (5, _choice(spread=1, load_balancing=2)),
    "pdl": (6, _int),
    "priority": (8, _int),
    "mem_sync_domain_map": (9, _domain_map),
    "mem_sync_domain": (10, _choice(default=0, remote=1)),
    "preferred_cluster": (11, _dim3),
    "shared_memory_carveout": (14, _int),
}
_FLAGS = ("cooperative", "pdl")


def complete(config: Mapping[str, Any], function: str, base: dict = _DEFAULTS) -> dict:
    """The options of `base` with those of `config` in their place; `function`
    is for the message about an unknown one."""
    for name in config:
        if name not in _DEFAULTS and name not in _ATTRIBUTES:
            raise ArgumentTypeError(
                f"{function}() got an unexpected keyword argument {name!r}"
            )
    result = {**base, **config}
    result["block"] = dim3("block", result["block"])
    return result


def attributes(config: dict) -> list[tuple[int, bytes]]:
    """The launch attributes, as ids and values."""
    result = []
    for name, (number, pack) in _ATTRIBUTES.items():
        value = config.get(name)
        if name in _FLAGS:
            value = 1 if value else None
        if value is not None:
            result.append((number, pack(name, value)))
    for item in config["attributes"]:
        try:
            number, value = item
            value = bytes(memoryview(value))
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"attributes: expected pairs of an id and bytes, got {item!r}"
            ) from None
        if len(value) > 64:
            raise ArgumentValueError(
                f"attributes: the value of {number} has {len(value)} bytes; 64 are allowed"
            )
        result.append((number, value))
    return result


def checks(config: dict) -> int:
    """The bits of lj_python_checks."""
    return (bool(config["check_memory"]) | (not config["peer_access"]) << 1
            | bool(config["strict"]) << 2)


def to_options(config: dict) -> _lib.KernelOptions:
    options = _lib.KernelOptions()
    options.block[:] = config["block"]
    (options.shared,) = struct.unpack("=I", _pack("shared", "=I", config["shared"]))
    (options.device,) = struct.unpack("=i", _pack("device", "=i", config["device"]))
    options.nonportable_cluster = bool(config["nonportable_cluster"])
    packed = b"".join(
        _pack("attributes", "=I4x", number) + value.ljust(64, b"\0")
        for number, value in attributes(config)
    )
    options.attributes = packed
    options.num_attributes = len(packed) // ctypes.sizeof(_lib.Attribute)
    return options
