# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests beside a real Triton, whose own launchers are the oracle, over the tests'
libcuda.so.1. `tools/dev triton` runs them for each version in an environment of
its own: its compiler made Triton's launchers, which ours must agree with."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Python")]
os.environ.update(LAUNCHJIT_DRIVER="cuda", LAUNCHJIT_CACHE="off", LAUNCHJIT_RECORDING="90,2",
                  TRITON_DEFAULT_FP_FUSION="1")

from worlds import VERSION

if VERSION < (3, 8):
    sys.path.insert(0, str(HERE / "standin"))
