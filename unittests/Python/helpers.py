# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of any signature, and what a launch of them recorded."""

import os
import subprocess
import sys
from pathlib import Path

import launchjit as lj
import pytest

TREE = Path(__file__).resolve().parents[2]
BUNDLED = TREE / "tools" / "launchjit" / "kernels" / "kernels.ptx"
JIT = os.environ.get("LAUNCHJIT_JIT") != "off"


def ptx(signature, name="axpy"):
    """PTX of an empty kernel that has the signature's parameters."""
    parameters = ",\n".join(
        f".param .align {p.align} .b8 {name}_param_{i}[{p.size}]"
        for i, p in enumerate(signature.parameters)
    )
    return (".version 7.8\n.target sm_90\n.address_size 64\n"
            f".visible .entry {name}({parameters})\n{{\nret;\n}}\n").encode()


def make_kernel(signature, name="axpy", **config):
    if isinstance(signature, str):
        signature = lj.Signature(signature)
    return lj.Module.from_bytes(ptx(signature, name)).get_kernel(name, signature, **config)


def launched(kernel, *args, grid=1, stream=0):
    """What one launch recorded."""
    assert kernel.launch(grid, stream, *args) is None
    (launch,) = lj.driver.recorded()
    return launch


def parameters(kernel, *args):
    """The bytes of each of the kernel's parameters."""
    return launched(kernel, *args)["parameters"]


def refused(exception, message, kernel, *args, grid=1, stream=0):
    """Checks that a launch raises just that, and that nothing is launched; gives
    the exception."""
    with pytest.raises(lj.Error if issubclass(exception, lj.Error) else exception) as info:
        kernel.launch(grid, stream, *args)
    assert type(info.value) is exception
    assert str(info.value) == message
    assert lj.driver.recorded() == []
    return info.value


def run_python(code, **environment):
    """Runs code in a Python of its own, which can import this module; None
    removes a variable. Gives what the code printed."""
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), **environment}
    env = {name: value for name, value in env.items() if value is not None}
    done = subprocess.run([sys.executable, "-c", code], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return done.stdout
