#!/usr/bin/env python3
# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a launch from Python costs the host, beside its peers in one run.

    tools/dev bench python [--json FILE] [--plot FILE.png] [--quick]

Times are microseconds a launch of an empty kernel, minimum and median of many
loops, the empty loop taken off. With a GPU the floor is cuLaunchKernelEx called
from a loop in C; without one LAUNCHJIT_DRIVER=null shows the host's part alone,
beside tvm-ffi's call of an empty function with the same arguments. Peers that
are not installed are left out.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time

CASES = {  # pointers, floats, ints
    "4": (3, 0, 1),
    "19": (9, 4, 6),
    "58": (29, 0, 29),
}
INNER = 1000

# What, of which case, over which row, microseconds or times, at most.
GOALS = (
    ("launch, torch tensors", "4", "driver", 0.3),
    ("launch, torch tensors", "19", "driver", 0.8),
    ("bound launch", "4", "driver", 0.1),
    ("batch of 100, one set", "4", None, 5.0),
    ("launchjit.triton launcher.__call__", "4", "driver", 0.4),
    ("launchjit.triton launcher.__call__", "19", "driver", 1.0),
    ("launchjit.triton kernel[grid]", "4", "driver", 1.5),
    ("launch, torch tensors", "4", "tvm-ffi", 0.5),
    ("launch, torch tensors", "19", "tvm-ffi", 0.5),
)


def signature(case):
    pointers, floats, ints = CASES[case]
    return ", ".join(["*fp32"] * pointers + ["fp32"] * floats + ["i32"] * ints)


def ptx(parameters):
    text = ", ".join(f".param .align {p.align} .b8 p{i}[{p.size}]"
                     for i, p in enumerate(parameters))
    return (".version 7.8\n.target sm_80\n.address_size 64\n"
            f".visible .entry empty({text})\n{{\nret;\n}}\n").encode()


class Pointer:
    """A tensor of a framework that has no DLPack exchange."""

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


class Objects:
    """The same arguments in the ways that a contender wants them."""

    def __init__(self, case, torch):
        pointers, floats, ints = CASES[case]
        if torch:
            device = "cuda" if torch.cuda.is_available() else "cpu"
            self.tensors = [torch.zeros(16, device=device) for _ in range(pointers)]
        else:
            self.tensors = [Pointer(0x1000 * (i + 1)) for i in range(pointers)]
        self.scalars = [1.5] * floats + list(range(ints))

    @property
    def as_tensors(self):
        return (*self.tensors, *self.scalars)

    @property
    def as_data_ptr(self):
        return (*(Pointer(tensor.data_ptr()) for tensor in self.tensors), *self.scalars)

    @property
    def as_ints(self):
        return (*(tensor.data_ptr() for tensor in self.tensors), *self.scalars)


def measure(function, args, repeats, between):
    """Microseconds of one call, in each of the loops."""
    inner = range(INNER)
    for _ in range(100):
        function(*args)
    between()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in inner:
            function(*args)
        middle = time.perf_counter()
        for _ in inner:
            pass
        end = time.perf_counter()
        times.append(((middle - start) - (end - middle)) / INNER * 1e6)
        between()
    return times


# --- ours -------------------------------------------------------------------------

def ours(case, objects, torch):
    import launchjit as lj

    s = lj.Signature(signature(case))
    module = lj.Module.from_bytes(ptx(s.parameters))
    kernel = module.get_kernel("empty", s, block=128)
    grid = (1,)
    tensors = objects.as_tensors
    if torch:
        yield "launch, torch tensors", kernel.launch, (grid, 0, *tensors)
        yield "launch, current stream", kernel.launch, (grid, None, *tensors)
        yield "kernel[grid], torch tensors", lambda *args: kernel[grid](*args), tensors
    yield "launch, data_ptr()", kernel.launch, (grid, 0, *objects.as_data_ptr)
    yield "launch, ints", kernel.launch, (grid, 0, *objects.as_ints)
    if torch:
        unchecked = kernel.with_config(check_memory=False, peer_access=True)
        yield "launch, torch tensors, unchecked", unchecked.launch, (grid, 0, *tensors)
    yield "bound launch", kernel.bind(grid, 0, *tensors).launch, ()
    last = kernel.bind(grid, 0, *tensors)
    batch = lj.Batch([*(kernel.bind(grid, 0, *tensors) for _ in range(99)), last])
    index = len(objects.tensors)
    value = objects.scalars[0]

    def set_and_launch():
        last.set(index, value)
        batch.launch(0)

    yield "batch of 100, one set", set_and_launch, ()


# --- peers --------------------------------------------------------------------------

def tvm_ffi(case, objects, cuda):
    import tvm_ffi

    yield "tvm-ffi", tvm_ffi.get_global_func("testing.nop"), objects.as_tensors


def triton(case, objects, cuda):
    if not cuda:
        return
    import tempfile

    import triton

    names = [f"a{i}" for i in range(len(objects.as_tensors))]
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(f"import triton\n@triton.jit\ndef empty({', '.join(names)}):\n    pass\n")
    import importlib.util

    import torch

    import launchjit.triton

    args = objects.as_tensors
    stream = torch.cuda.current_stream().cuda_stream
    triton.runtime.driver.active.utils  # made before ours is installed
    for who, prepare in (("Triton", launchjit.triton.uninstall),
                         ("launchjit.triton", launchjit.triton.install)):
        prepare()
        spec = importlib.util.spec_from_file_location("launchjit_bench_triton", file.name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield (f"{who} kernel[grid]", lambda *a, jit=module.empty: jit[(1,)](*a), args, prepare)
        compiled = module.empty[(1,)](*args)
        run = compiled.run
        launch_metadata = compiled.launch_metadata((1, 1, 1), stream, *args)
        call = (1, 1, 1, stream, compiled.function, compiled.packed_metadata, launch_metadata,
                None, None, *args)
        yield f"{who} launcher.__call__", run, call
        if who == "Triton":
            # What it gives to its C function differs from version to version.
            seen = []
            launch = run.launch
            run.launch = lambda *a: seen.append(a)
            run(*call)
            run.launch = launch
            yield "Triton C launch", launch, seen[0]
    launchjit.triton.uninstall()
    os.unlink(file.name)


def cuda_core(case, objects, cuda):
    if not cuda:
        return
    import launchjit as lj
    try:
        from cuda.core import Device, LaunchConfig, ObjectCode, launch
    except ImportError:
        from cuda.core.experimental import Device, LaunchConfig, ObjectCode, launch
    import numpy

    device = Device()
    device.set_current()
    stream = device.default_stream
    kernel = ObjectCode.from_ptx(ptx(lj.Signature(signature(case)).parameters)).get_kernel("empty")
    config = LaunchConfig(grid=1, block=128)
    args = [*objects.as_ints[:len(objects.tensors)],
            *(numpy.float32(v) if isinstance(v, float) else numpy.int32(v)
              for v in objects.scalars)]
    yield "cuda.core launch, ints", launch, (stream, config, kernel, *args)


def cupy(case, objects, cuda):
    if not cuda:
        return
    import cupy
    import launchjit as lj
    import numpy

    text = ptx(lj.Signature(signature(case)).parameters)
    import tempfile

    with tempfile.NamedTemporaryFile("wb", suffix=".ptx", delete=False) as file:
        file.write(text)
    kernel = cupy.RawModule(path=file.name).get_function("empty")
    args = (*(cupy.from_dlpack(tensor) for tensor in objects.tensors),
            *(numpy.float32(v) if isinstance(v, float) else numpy.int32(v)
              for v in objects.scalars))
    yield "CuPy RawKernel", kernel, ((1,), (128,), args)
    os.unlink(file.name)


def numba_cuda(case, objects, cuda):
    if not cuda or case == "58":
        return
    from numba import cuda as numba

    names = [f"a{i}" for i in range(len(objects.as_tensors))]
    scope = {}
    exec(f"def empty({', '.join(names)}):\n    pass\n", scope)
    kernel = numba.jit(scope["empty"])[1, 128]
    args = (*(numba.as_cuda_array(tensor) for tensor in objects.tensors), *objects.scalars)
    yield "numba-cuda", kernel, args


def torch_static(case, objects, cuda):
    if not cuda:
        return
    import tempfile

    import launchjit as lj
    import torch
    from torch._C import _StaticCudaLauncher as launcher

    from cuda.core import Program, ProgramOptions  # a cubin, which it loads from a file

    text = ptx(lj.Signature(signature(case)).parameters).decode()
    cubin = Program(text, "ptx", ProgramOptions(arch="sm_90")).compile("cubin").code
    with tempfile.NamedTemporaryFile("wb", suffix=".cubin", delete=False) as file:
        file.write(cubin)
    function = launcher._load_kernel(file.name, "empty", 0, 0)[0]
    types = "O" * len(objects.tensors) + "".join(
        "f" if isinstance(v, float) else "i" for v in objects.scalars)
    stream = torch.cuda.current_stream().cuda_stream
    yield ("torch static launcher", launcher._launch_kernel,
           (function, 1, 1, 1, 4, 0, types, objects.as_tensors, stream))
    os.unlink(file.name)


PEERS = (tvm_ffi, triton, cuda_core, cupy, numba_cuda, torch_static)


# --- the floor ----------------------------------------------------------------------

def driver_floor(case, objects, repeats):
    """cuLaunchKernelEx from C, as measure has it."""
    import launchjit as lj

    loop = ctypes.CDLL(os.path.join(os.path.dirname(lj._lib.path), "liblaunchjit-bench-loop.so"))
    loop.launchjit_bench_loop.restype = ctypes.c_double
    text = ptx(lj.Signature(signature(case)).parameters)
    times = [loop.launchjit_bench_loop(lj.driver.info()["path"].encode(), text + b"\0",
                                       b"empty", lj.Signature(signature(case)).size, INNER)
             for _ in range(repeats)]
    if min(times) < 0:
        raise RuntimeError("the driver refused the floor's launch")
    return times


# --- report ---------------------------------------------------------------------------

def print_table(results):
    rows = sorted({name for case in results.values() for name in case},
                  key=lambda name: min(case[name][1] for case in results.values()
                                       if name in case))
    print(f"\n{'microseconds, min / median':36}" + "".join(f"{case + ' arguments':>18}"
                                                          for case in results))
    for name in rows:
        cells = [results[case].get(name) for case in results]
        print(f"{name:36}" + "".join(f"{c[0]:>9.3f} /{c[1]:>7.3f}" if c else " " * 18
                                     for c in cells))
    print(f"\n{'goal':54}{'min':>8}{'median':>9}{'at most':>9}")
    for name, case, over, most in GOALS:
        figures = results.get(case, {}).get(name)
        base = results.get(case, {}).get(over) if over else (0, 0)
        if figures is None or base is None:
            continue
        if over == "tvm-ffi" and "driver" in results[case]:
            continue  # its function launches nothing
        if over == "tvm-ffi":
            low, middle = figures[0] / base[0], figures[1] / base[1]
            what = f"{name}, {case} arguments, of tvm-ffi's"
        else:
            low, middle = figures[0] - base[0], figures[1] - base[1]
            what = f"{name}, {case} arguments" + (f", over the {over} call" if over else "")
        verdict = "met" if middle <= most else "met by the min" if low <= most else "MISSED"
        print(f"{what:54}{low:>8.3f}{middle:>9.3f}{most:>9}  {verdict}")


def plot(results, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(results), figsize=(5 * len(results), 5))
    for axis, (case, rows) in zip(axes, results.items()):
        ordered = sorted(rows.items(), key=lambda row: row[1][1], reverse=True)
        axis.barh([name for name, _ in ordered], [times[1] for _, times in ordered])
        axis.set_title(f"{case} arguments")
        axis.set_xlabel("µs a launch, median")
    figure.tight_layout()
    figure.savefig(path)
    print(f"plot: {path}")


def main():
    parser = argparse.ArgumentParser(prog="tools/dev bench python", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE.png")
    parser.add_argument("--quick", action="store_true", help="fewer loops")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        torch = None
        print("torch is not installed: no tensors are passed", file=sys.stderr)
    cuda = torch and torch.cuda.is_available() and os.environ.get("LAUNCHJIT_DRIVER", "cuda") == "cuda"
    if not cuda:
        os.environ["LAUNCHJIT_DRIVER"] = "null"
    import launchjit as lj

    between = torch.cuda.synchronize if cuda else lambda: None
    repeats = 5 if options.quick else 40
    print(f"Python {sys.version.split()[0]}, torch {torch and torch.__version__}, launchjit "
          f"{lj.__version__}, driver {lj.driver.info()['kind']}")
    results = {}
    for case in CASES:
        objects = Objects(case, torch)
        contenders = list(ours(case, objects, torch))
        for peer in PEERS:
            try:
                contenders += peer(case, objects, cuda)
            except Exception as error:  # a peer that is not here, or of another version
                print(f"{peer.__name__}, {case} arguments: {type(error).__name__}: {error}",
                      file=sys.stderr)
        # Two rounds in opposite orders share the machine's moods.
        times = {}
        for which in contenders, contenders[::-1]:
            if cuda:
                times.setdefault("driver", []).extend(driver_floor(case, objects, repeats))
            for name, function, args, *prepare in which:
                for each in prepare:
                    each()
                try:
                    times.setdefault(name, []).extend(measure(function, args, repeats, between))
                except Exception as error:
                    print(f"{name}, {case} arguments: {type(error).__name__}: {error}",
                          file=sys.stderr)
        results[case] = {name: (min(samples), statistics.median(samples))
                         for name, samples in times.items() if samples}
    print_table(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"python": sys.version, "torch": torch and torch.__version__,
                       "launchjit": lj.__version__, "driver": lj.driver.info(),
                       "microseconds": results}, file, indent=1)
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
