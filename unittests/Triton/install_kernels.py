# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that test_install.py launches."""

import triton

calls = []


def metadata(grid, metadata, arguments):
    calls.append(grid)
    return {"arguments": dict(arguments)}


@triton.jit
def empty(n):
    pass


@triton.jit(launch_metadata=metadata)
def noted(n):
    pass
