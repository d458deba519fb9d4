# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton without a C compiler: its launchers and driver helpers made by launchjit.

    import launchjit.triton
    launchjit.triton.install()

or, for a program that nobody wants to edit, `python -m launchjit.triton
script.py args...`, or LAUNCHJIT_TRITON=1 in the environment (for child processes
too, where the package was installed from its wheel; LAUNCHJIT_TRITON=require
makes it an error where Triton's version is unknown).

Neither importing nor installing it starts CUDA or makes Triton's driver.
"""

from __future__ import annotations

import os
import re
import sys
import threading

from .._errors import Error

__all__ = ["KNOWN_VERSIONS", "install", "installed", "uninstall"]

KNOWN_VERSIONS = ("3.4", "3.5", "3.6", "3.7", "3.8", "3.9")

_DRIVER, _COMPILER = "triton.backends.nvidia.driver", "triton.compiler.compiler"
# What was replaced: (object, attribute) to what was there before.
_originals: dict[tuple[object, str], object] = {}
_lock = threading.RLock()
_ABSENT = object()


def _replace(owner, name, value) -> None:
    key = owner, name
    if key not in _originals:
        _originals[key] = owner.__dict__.get(name, _ABSENT)
    setattr(owner, name, value)


def _version(treat_as=None) -> tuple[int, int]:
    """The contract for the Triton that is loaded."""
    text = treat_as or sys.modules["triton"].__version__
    match = re.match(r"(\d+\.\d+)", str(text))
    if not match or match[1] not in KNOWN_VERSIONS:
        raise Error(f"launchjit.triton does not know Triton {text}; known are "
                    + ", ".join(KNOWN_VERSIONS)
                    + (". install(treat_as=\"3.9\") takes it for one of these" if not treat_as
                       else ""))
    major, minor = match[1].split(".")
    return int(major), int(minor)


def _find_libcuda() -> list[str]:
    """Folders that have libcuda.so.1, in place of Triton's search by ldconfig."""
    from triton import knobs

    if knobs.nvidia.libcuda_path:
        return [knobs.nvidia.libcuda_path]
    return [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":")
            if folder and os.path.exists(os.path.join(folder, "libcuda.so.1"))]


def _launch_metadata(theirs, knobs):
    """CompiledKernel.launch_metadata that builds nothing when nobody listens."""
    chain = getattr(knobs, "HookChain", None)  # since 3.5

    def is_silent(hook):
        return hook is None or (type(hook) is chain and not hook.calls)

    def launch_metadata(self, grid, stream, *args):
        runtime = knobs.runtime  # which may be replaced
        if not (is_silent(runtime.launch_enter_hook) and is_silent(runtime.launch_exit_hook)):
            return theirs(self, grid, stream, *args)
        if chain and self.module is None:
            self._init_handles()  # as theirs does: another thread may be in the midst of it
        return None

    return launch_metadata


def _patch(module, treat_as=None) -> None:
    """Patches one of the two modules, once."""
    version = _version(treat_as)
    with _lock:
        if module.__name__ == _COMPILER:
            kernel = module.CompiledKernel
            if (kernel, "launch_metadata") not in _originals:
                _replace(kernel, "launch_metadata",
                         _launch_metadata(kernel.launch_metadata, module.knobs))
            return
        if (module, "CudaLauncher") in _originals:
            return
        from ._launcher import launcher_class
        from ._utils import make_utils

        launcher, utils = launcher_class(module, version), make_utils(module, version)
        for name in ("PyCUtensorMap", "PyKernelArg", "ARG_CONSTEXPR", "ARG_KERNEL", "ARG_TUPLE"):
            if hasattr(module, name):  # CudaUtils sets them
                _replace(module, name, getattr(module, name))
        _replace(module, "libcuda_dirs", _find_libcuda)
        _replace(module, "CudaUtils", utils)
        _replace(module, "CudaLauncher", launcher)


def _made_drivers(module):
    """Triton's drivers for CUDA that have been made: at most the default one and
    the active one."""
    config = sys.modules["triton.runtime.driver"].driver
    if "default" in config.__dict__:  # 3.4: proxies
        made = [getattr(each, "_obj", each) for each in (config.default, config.active)]
    else:
        made = [config._default, config._active]
    return {id(each): each for each in made if isinstance(each, module.CudaDriver)}.values()


def install(treat_as: str | None = None) -> None:
    """Replaces the launcher and the driver helpers of the Triton of this process.

    Works before and after Triton made its driver; kernels that were launched
    before keep their launchers, but cannot take tensor descriptors by value until
    uninstall(): each side's launchers know their own tensor maps only. Without an
    effect where it is installed. Thread-safe.

    treat_as: one of KNOWN_VERSIONS, whose contract serves a Triton of another
    version. Raises ImportError without Triton, lj.Error for a version that is not
    known.
    """
    import triton  # noqa: F401

    _version(treat_as)
    import triton.backends.nvidia.driver as driver
    import triton.compiler.compiler as compiler

    with _lock:
        for module in (driver, compiler):
            _patch(module, treat_as)
        for made in _made_drivers(driver):
            if not isinstance(made.utils, driver.CudaUtils):
                _replace(made, "utils", driver.CudaUtils())
                _replace(made, "launcher_cls", driver.CudaLauncher)


def uninstall() -> None:
    """Undoes install(): later kernels get Triton's own launchers, and those that
    were launched keep theirs (see install() on tensor descriptors). A driver that
    Triton made meanwhile is dropped, and made anew when it is needed.
    Thread-safe."""
    with _lock:
        driver = sys.modules.get(_DRIVER)
        if (driver, "CudaLauncher") in _originals:
            config = sys.modules["triton.runtime.driver"].driver
            for made in _made_drivers(driver):
                if (made, "utils") in _originals:
                    continue
                if "default" in config.__dict__:
                    config.default._obj = None
                for name in ("_default", "_active"):
                    if config.__dict__.get(name) is made:
                        setattr(config, name, None)
        for (owner, name), value in _originals.items():
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        _originals.clear()


def installed() -> bool:
    """Whether install() is in force."""
    return (sys.modules.get(_DRIVER), "CudaLauncher") in _originals
