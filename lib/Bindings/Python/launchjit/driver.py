# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA driver that launches go to, and what a recording one recorded.

kind: "cuda", "recording" or "null", as LAUNCHJIT_DRIVER has it. Asking for it
opens the driver; importing this module does not.
"""

from __future__ import annotations

from ctypes import c_void_p

from . import _lib
from ._errors import check
from ._lib import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    kind: str


def info() -> dict:
    """What the driver is: "kind", "path" of its library ("" where there is
    none), "version" (13000 is CUDA 13.0), "num_devices". Opens the driver;
    raises CudaError where there is none."""
    result = _lib.DriverInfo()
    check(lib.lj_driver_get_info(result))
    return {
        "kind": result.kind.decode(),
        "path": str(result.path),
        "version": result.version,
        "num_devices": result.num_devices,
    }


def recorded() -> list[dict]:
    """The launches that the recording driver kept since the last call, oldest
    first.

    Each is a dict: "kernel", "grid" and "block" (three ints each), "shared"
    (dynamic, bytes), "stream" (the handle), "device", "attributes" (a list of
    (id, 64 bytes)) and "parameters" (a list of each parameter's bytes). Raises
    Error with another driver.
    """
    handle = c_void_p()
    check(lib.lj_driver_take_recorded(handle))
    try:
        return [_launch(handle, i) for i in range(lib.lj_recorded_count(handle))]
    finally:
        lib.lj_recorded_delete(handle)


def _launch(handle, index) -> dict:
    launch = _lib.RecordedLaunch()
    check(lib.lj_recorded_get(handle, index, launch))
    return {
        "kernel": str(launch.kernel),
        "grid": tuple(launch.grid),
        "block": tuple(launch.block),
        "shared": launch.shared,
        "stream": launch.stream,
        "device": launch.device,
        "attributes": [
            (launch.attributes[i].id, bytes(launch.attributes[i].value))
            for i in range(launch.num_attributes)
        ],
        "parameters": [
            launch.parameters[i].bytes() for i in range(launch.num_parameters)
        ],
    }


def __getattr__(name):
    if name == "kind":
        return info()["kind"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
