# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All tests launch into the recording driver, with the JIT or, where
LAUNCHJIT_JIT=off says so, with the interpreted launchers: test_interpreted.py
runs them so once more."""

import os

os.environ["LAUNCHJIT_DRIVER"] = "recording"
os.environ.pop("LAUNCHJIT_RECORDING", None)
os.environ.setdefault("LAUNCHJIT_CACHE", "off")

import launchjit as lj
import pytest


@pytest.fixture(autouse=True)
def nothing_recorded():
    lj.driver.recorded()
