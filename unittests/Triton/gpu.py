# Part of launchjit, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On a GPU, with torch: Triton kernels and torch.compile give the same numbers with
launchjit.triton as without it, and a new signature costs milliseconds.

    tools/dev python unittests/Triton/gpu.py [--no-compile]

runs itself twice, without and with launchjit.triton, in processes of their own,
and compares what they print.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.autotune([triton.Config({"M": m, "N": n, "K": 32}, num_warps=w, num_stages=3)
                  for m, n, w in ((64, 64, 4), (128, 64, 4), (64, 128, 8))], key=["size"])
@triton.jit
def matmul(a, b, c, size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, size, K):
        i = k + tl.arange(0, K)
        total += tl.dot(tl.load(a + m[:, None] * size + i[None, :]),
                        tl.load(b + i[:, None] * size + n[None, :]))
    tl.store(c + m[:, None] * size + n[None, :], total)


@triton.jit
def tma(source, target, BLOCK: tl.constexpr):
    at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    target.store(at, source.load(at) * 2)


@triton.jit
def count(total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.where(i < n, i, 0)))


@triton.jit
def barrier(flag, out):
    me = tl.program_id(0)
    tl.atomic_add(flag, 1)
    while tl.atomic_add(flag, 0) < tl.num_programs(0):
        pass
    tl.store(out + me, me)


@triton.jit
def scalars(out, half: tl.float16, brain: tl.bfloat16, single: tl.float32, double: tl.float64,
            small: tl.int8, large: tl.int64):
    tl.store(out + 0, half.to(tl.float64))
    tl.store(out + 1, brain.to(tl.float64))
    tl.store(out + 2, single.to(tl.float64))
    tl.store(out + 3, double)
    tl.store(out + 4, small.to(tl.float64))
    tl.store(out + 5, large.to(tl.float64))


@triton.jit
def nested(arguments, scale):
    tl.store(arguments[0], arguments[1][0] + arguments[1][1] * scale)


def many(pointers, numbers):
    """A kernel of so many arguments, which adds them all up."""
    names = [f"p{i}" for i in range(pointers)] + [f"n{i}" for i in range(numbers)]
    text = "import triton\nimport triton.language as tl\n@triton.jit\n"
    text += f"def kernel(out, {', '.join(names)}):\n    total = 0.0\n"
    text += "".join(f"    total += tl.load(p{i})\n" for i in range(pointers))
    text += "".join(f"    total += n{i}\n" for i in range(numbers))
    text += "    tl.store(out, total)\n"
    path = os.path.join(tempfile.mkdtemp(), "many.py")
    with open(path, "w") as file:
        file.write(text)
    import importlib.util

    spec = importlib.util.spec_from_file_location("many", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def kernels():
    """{what: numbers}"""
    torch.manual_seed(1)
    results = {}
    x, y = torch.randn(2, 5000, device="cuda")
    out = torch.zeros_like(x)
    add[(triton.cdiv(5000, 1024),)](x, y, out, 5000, BLOCK=1024)
    assert torch.equal(out, x + y)
    results["add"] = out.double().sum().item()

    m = torch.randn(37, 200, device="cuda")
    out = torch.zeros_like(m)
    softmax[(37,)](m, out, m.stride(0), 200, BLOCK=256)
    assert torch.allclose(out, m.softmax(1), atol=1e-6)
    results["softmax"] = out.double().pow(2).sum().item()

    a, b = torch.randn(2, 512, 512, device="cuda", dtype=torch.float16)
    c = torch.empty(512, 512, device="cuda")
    matmul[lambda o: (512 // o["M"], 512 // o["N"])](a, b, c, 512)
    assert torch.allclose(c, a.float() @ b.float(), atol=1e-1)
    results["matmul"] = c.double().abs().sum().item()

    source = torch.randn(128, 256, device="cuda")
    target = torch.zeros_like(source)
    tma[(4, 8)](TensorDescriptor(source, source.shape, source.stride(), [32, 32]),
                TensorDescriptor(target, target.shape, target.stride(), [32, 32]), BLOCK=32)
    assert torch.equal(target, source * 2)
    results["tma"] = target.double().sum().item()

    total = torch.zeros(1, dtype=torch.int32, device="cuda")
    count[(10,)](total, 1000, BLOCK=128)
    results["atomics"] = total.item()

    flag = torch.zeros(1, dtype=torch.int32, device="cuda")
    out = torch.zeros(132, dtype=torch.int32, device="cuda")
    barrier[(132,)](flag, out, launch_cooperative_grid=True)
    results["cooperative"] = out.sum().item()

    out = torch.zeros(6, dtype=torch.float64, device="cuda")
    scalars[(1,)](out, 1 / 3, 1.0 + 2**-8 + 2**-10, 1 / 3, 1 / 3, 5, 2**40 + 1)
    results["scalars"] = out.tolist()

    out = torch.zeros(1, device="cuda")
    nested[(1,)]((out, (2.5, 3)), 4)
    results["tuple"] = out.item()

    tensors = [torch.full((1,), float(i), device="cuda") for i in range(30)]
    out = torch.zeros(1, device="cuda")
    many(30, 29)[(1,)](out, *tensors, *range(2, 31))
    results["60 arguments"] = out.item()

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        out = torch.zeros_like(x)
        add[(5,)](x, y, out, 5000, BLOCK=1024)
    stream.synchronize()
    results["side stream"] = out.double().sum().item()

    graph = torch.cuda.CUDAGraph()
    out = torch.zeros_like(x)
    with torch.cuda.graph(graph):
        add[(5,)](x, y, out, 5000, BLOCK=1024)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    results["graph"] = out.double().sum().item()
    try:
        add[(1,)](torch.zeros(4), y, out, 4, BLOCK=1024)
    except ValueError as error:
        results["CPU tensor"] = str(error)
    return results


def compiled():
    """A small model under torch.compile, forward and backward."""
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128),
                                torch.nn.Linear(128, 10), torch.nn.LogSoftmax(1)).cuda()
    x = torch.randn(32, 64, device="cuda", requires_grad=True)
    loss = torch.compile(model)(x)[:, 3].sum()
    loss.backward()
    eager = model(x)[:, 3].sum()
    assert torch.allclose(loss, eager, atol=1e-3)
    return {"forward": loss.item(), "backward": x.grad.double().sum().item(),
            "weights": [p.grad.double().sum().item() for p in model.parameters()]}


def first_launch():
    """What making the launcher of a signature never seen costs, milliseconds."""
    from types import SimpleNamespace

    from triton.runtime import driver

    times = []
    compiled = add[(1,)](*torch.zeros(3, 8, device="cuda"), 8, BLOCK=1024)
    for i in range(5):
        types = ["*fp32"] * (3 + i) + ["i32"] * (7 - i) + ["fp32", "i64"] * i
        src = SimpleNamespace(signature={f"a{j}": type for j, type in enumerate(types)},
                              constants={}, fn=SimpleNamespace(arg_names=[]))
        start = time.perf_counter()
        driver.active.launcher_cls(src, compiled.metadata)
        times.append((time.perf_counter() - start) * 1e3)
    return times


def one(ours):
    if ours:
        import launchjit.triton

        launchjit.triton.install()
    results = {"numbers": kernels()}
    if "--no-compile" not in sys.argv:
        results["compiled"] = compiled()
    results["first launch"] = first_launch()
    results["installed"] = type(driver_launcher()).__mro__[1].__module__
    print("RESULT" + json.dumps(results))


def driver_launcher():
    return add[(1,)](*torch.zeros(3, 8, device="cuda"), 8, BLOCK=1024).run


def main():
    if os.environ.get("LAUNCHJIT_WORLD"):
        one(os.environ["LAUNCHJIT_WORLD"] == "ours")
        return
    results = {}
    for world in ("theirs", "ours"):
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, LAUNCHJIT_WORLD=world, TRITON_CACHE_DIR=folder,
                               LAUNCHJIT_CACHE="off",
                               TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "inductor"))
            if world == "ours":
                # Inductor needs a compiler for the host's code, Triton none.
                if "--no-compile" in sys.argv:
                    environment["CC"] = "/nonexistent/cc"
            done = subprocess.run([sys.executable, __file__, *sys.argv[1:]], env=environment,
                                  stdout=subprocess.PIPE, text=True)
        assert done.returncode == 0, (world, done.stdout)
        results[world] = json.loads(done.stdout.split("RESULT")[1])
    theirs, ours = results["theirs"], results["ours"]
    same = {what: theirs["numbers"][what] == ours["numbers"][what] for what in theirs["numbers"]}
    for what, equal in same.items():
        print(f"{what:16}{'the same' if equal else 'DIFFERS'}   {ours['numbers'][what]}"
              + ("" if equal else f"   Triton: {theirs['numbers'][what]}"))
    if "compiled" in theirs:
        # Inductor's reductions are autotuned, so their last bits vary from run to run.
        numbers = [torch.tensor([each["forward"], each["backward"], *each["weights"]])
                   for each in (theirs["compiled"], ours["compiled"])]
        same["compiled"] = torch.allclose(*numbers, rtol=1e-5, atol=1e-5)
        print("torch.compile  ", "the same" if same["compiled"] else
              f"DIFFERS {theirs['compiled']} {ours['compiled']}")
    for world in results:
        times = results[world]["first launch"]
        print(f"making a launcher of a new signature, {world}: first {times[0]:.2f}, "
              f"median {sorted(times)[len(times) // 2]:.2f} ms")
    # bf16 rounds to the nearest even value with us, and is cut off by Triton.
    same.pop("scalars")
    assert all(same.values())
    assert [a == b for a, b in zip(ours["numbers"]["scalars"], theirs["numbers"]["scalars"])] == [
        True, False, True, True, True, True]


if __name__ == "__main__":
    main()
