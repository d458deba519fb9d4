# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Native launchers for GPU kernels, made in the process from a signature.

    import launchjit as lj

    module = lj.Module.from_file("k.cubin")
    kernel = module.get_kernel("axpy", "x: *fp32, y: *fp32, n: i32", block=128)
    kernel[grid](x, y, n)

Importing the package, making launchers and reading binaries never touch the
CUDA driver; the first launch does. Everything may be used from any thread.
"""

from . import cache, driver, hooks
from ._errors import (
    ArgumentRangeError,
    ArgumentTypeError,
    ArgumentValueError,
    CudaError,
    Error,
    SignatureError,
)
from ._lib import llvm_version, version as __version__
from .bound import Batch, BoundLaunch
from .kernel import Kernel
from .launcher import Launcher
from .module import KernelInfo, Module
from .signature import Argument, Parameter, Signature

__all__ = [
    "Argument",
    "ArgumentRangeError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "Batch",
    "BoundLaunch",
    "CudaError",
    "Error",
    "Kernel",
    "KernelInfo",
    "Launcher",
    "Module",
    "Parameter",
    "Signature",
    "SignatureError",
    "cache",
    "driver",
    "hooks",
    "llvm_version",
]
