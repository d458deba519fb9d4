# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All tests launch into the recording driver (on a machine with a GPU
LAUNCHJIT_TEST_DRIVER=cuda runs test_conversions.py there), with the JIT or, where
LAUNCHJIT_JIT=off says so, with the interpreted launchers: test_interpreted.py
runs them so once more."""

import os

os.environ["LAUNCHJIT_DRIVER"] = os.environ.get("LAUNCHJIT_TEST_DRIVER", "recording")
os.environ.pop("LAUNCHJIT_RECORDING", None)
os.environ.setdefault("LAUNCHJIT_CACHE", "off")

import launchjit as lj
import pytest


@pytest.fixture(autouse=True)
def nothing_recorded():
    if os.environ["LAUNCHJIT_DRIVER"] == "recording":
        lj.driver.recorded()
