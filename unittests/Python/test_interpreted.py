# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import JIT


@pytest.mark.skipif(not JIT, reason="this is that run")
def test_the_same_without_generated_code():
    """Compiled and interpreted launchers give the same results and errors."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         str(Path(__file__).parent)],
        env={**os.environ, "LAUNCHJIT_JIT": "off"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout)
    assert done.returncode == 0
