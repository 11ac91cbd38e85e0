# SPDX-License-Identifier: Apache-2.0
"""What a warm call costs the host: the median over short rounds that take turns between all calls of one process, nothing waited for."""

from __future__ import annotations

import random
import statistics
import time

import numpy as np
import torch

import tensor_comprehensions as tc
from python_checks.base import close

TEXT = """
def copy(float(M,N) A) -> (C) { C(m,n) = A(m,n) }
def add(float(M,N) A, float(M,N) B) -> (C) { C(m,n) = A(m,n) + B(m,n) }
def fma(float(M,N) A, float(M,N) B, float(M,N) D) -> (C) { C(m,n) = A(m,n) + B(m,n) * D(m,n) }
def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }
"""
SIZE = 16
CALLS = 40  # of a round: fewer than a stream takes before it makes the host wait

RAW = r"""
extern "C" __global__ void add(const float* a, const float* b, float* c) {
  const int i = threadIdx.x;
  c[i] = a[i] + b[i];
}
extern "C" __global__ void matmul(const float* a, const float* b, float* c) {
  const int m = threadIdx.x / 16, n = threadIdx.x % 16;
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += a[m * 16 + k] * b[k * 16 + n];
  c[threadIdx.x] = sum;
}"""


def torch_calls(device):
    """(operation, who, call)"""
    program = tc.define(TEXT)
    a, b, d, out = (torch.randn(SIZE, SIZE, device=device) for _ in range(4))
    add, matmul = program.add.compile(a, b), program.matmul.compile(a, b)
    return [
        ("1 input", "ours, torch", lambda: program.copy(a)), ("1 input", "torch: clone", lambda: torch.clone(a)),
        ("1 input", "torch: relu", lambda: torch.relu(a)),
        ("add", "ours, torch", lambda: program.add(a, b)), ("add", "torch: add", lambda: torch.add(a, b)),
        ("add", "ours, torch, executor", lambda: add(a, b)),
        ("add, given output", "ours, torch", lambda: program.add(a, b, outputs=out)),
        ("add, given output", "ours, torch, unchecked", lambda: program.add(a, b, outputs=out, unchecked=True)),
        ("add, given output", "torch: add(out=)", lambda: torch.add(a, b, out=out)),
        ("3 inputs", "ours, torch", lambda: program.fma(a, b, d)), ("3 inputs", "torch: addcmul", lambda: torch.addcmul(a, b, d)),
        ("matmul", "ours, torch", lambda: program.matmul(a, b)), ("matmul", "torch: mm", lambda: torch.mm(a, b)),
        ("matmul", "ours, torch, executor", lambda: matmul(a, b)),
    ]


def triton_calls(device):
    from python_checks import triton_kernels

    a, b, out = (torch.randn(SIZE, SIZE, device=device) for _ in range(3))
    calls = [
        ("add, given output", "Triton kernel", lambda: triton_kernels.add[(1,)](a, b, out, BLOCK=SIZE * SIZE)),
        ("add", "Triton kernel + empty_like", lambda: triton_kernels.add[(1,)](a, b, torch.empty_like(a), BLOCK=SIZE * SIZE)),
        ("matmul", "Triton kernel + empty_like", lambda: triton_kernels.matmul[(1,)](a, b, torch.empty_like(a), SIZE=SIZE)),
    ]
    calls[0][2]()
    close(out.cpu().numpy(), (a + b).cpu().numpy(), "Triton's add")
    triton_kernels.matmul[(1,)](a, b, out, SIZE=SIZE)
    close(out.cpu().numpy(), (a.double() @ b.double()).cpu().numpy(), "Triton's matmul")
    return calls


def cupy_calls(device):
    import cupy

    program = tc.define(TEXT)
    a, b, out = (cupy.asarray(np.random.default_rng(seed).standard_normal((SIZE, SIZE)).astype(np.float32)) for seed in range(3))
    module = cupy.RawModule(code=RAW)
    add, matmul = module.get_function("add"), module.get_function("matmul")
    block = (SIZE * SIZE,)
    calls = [
        ("add, given output", "ours, CuPy", lambda: program.add(a, b, outputs=out)),
        ("add, given output", "ours, CuPy, unchecked", lambda: program.add(a, b, outputs=out, unchecked=True)),
        ("add, given output", "CuPy RawKernel", lambda: add((1,), block, (a, b, out))),
        ("add, given output", "CuPy: add(out=)", lambda: cupy.add(a, b, out=out)),
        ("add", "ours, CuPy", lambda: program.add(a, b)), ("add", "CuPy: add", lambda: cupy.add(a, b)),
        ("add", "CuPy RawKernel + empty_like", lambda: add((1,), block, (a, b, cupy.empty_like(a)))),
        ("matmul", "ours, CuPy", lambda: program.matmul(a, b)), ("matmul", "CuPy: matmul", lambda: cupy.matmul(a, b)),
        ("matmul", "CuPy RawKernel + empty_like", lambda: matmul((1,), block, (a, b, cupy.empty_like(a)))),
    ]
    matmul((1,), block, (a, b, out))
    close(cupy.asnumpy(out), cupy.asnumpy(a).astype(np.float64) @ cupy.asnumpy(b), "the raw kernel's matmul")
    return calls


def numpy_calls(_):
    program = tc.define(TEXT)
    a, b, out = (np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32) for _ in range(3))
    return [
        ("add", "ours, NumPy", lambda: program.add(a, b)), ("add", "NumPy: add", lambda: np.add(a, b)),
        ("add, given output", "ours, NumPy", lambda: program.add(a, b, outputs=out)), ("add, given output", "NumPy: add(out=)", lambda: np.add(a, b, out=out)),
        ("matmul", "ours, NumPy", lambda: program.matmul(a, b)), ("matmul", "NumPy: matmul", lambda: np.matmul(a, b)),
    ]


def jax_calls(_):
    import jax

    program = tc.define(TEXT)
    a, b = (jax.numpy.asarray(np.random.default_rng(seed).standard_normal((SIZE, SIZE)).astype(np.float32)) for seed in range(2))
    calls = []
    for operation, theirs in (("add", jax.numpy.add), ("matmul", jax.numpy.matmul)):
        ours, reference = jax.jit(program[operation]), jax.jit(theirs)
        calls += [(operation, "ours, JAX, jit", lambda f=ours: f(a, b)), (operation, "JAX, jit", lambda f=reference: f(a, b)),
                  (operation, "ours, JAX, eager", lambda f=program[operation]: f(a, b))]
    return calls


def measure(device: str, seconds: float) -> tuple[list[dict], list[str]]:
    """Rows (operation, who, median and tenth percentile in microseconds), and what could not be measured."""
    torch.set_num_threads(1)
    calls, problems = [], []
    for make in (torch_calls, *((triton_calls, cupy_calls) if device == "cuda" else (numpy_calls,)), jax_calls):
        try:
            made = make(device)
        except Exception as error:  # noqa: BLE001 - the others are still measured
            problems.append(f"{make.__name__}: {type(error).__name__}: {error}")
            continue
        for operation, who, call in made:
            try:
                for _ in range(20):
                    call()
            except Exception as error:  # noqa: BLE001 - the others are still measured
                problems.append(f"{who}, {operation}: {type(error).__name__}: {error}")
            else:
                calls.append((operation, who, call))

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    wall, cpu = {index: [] for index in range(len(calls))}, {index: [] for index in range(len(calls))}
    end, order = time.monotonic() + seconds, list(range(len(calls)))
    while time.monotonic() < end or len(wall[0]) < 5:
        random.shuffle(order)
        for index in order:
            call = calls[index][2]
            wait()
            call()
            cpu_start, start = time.thread_time_ns(), time.perf_counter_ns()
            for _ in range(CALLS):
                call()
            stop, cpu_stop = time.perf_counter_ns(), time.thread_time_ns()
            wall[index].append((stop - start) / CALLS / 1000)
            cpu[index].append((cpu_stop - cpu_start) / CALLS / 1000)
        wait()
    rows = [
        {
            "operation": operation, "call": who, "wall_us": round(statistics.median(wall[index]), 3),
            "wall_us_p10": round(float(np.quantile(wall[index], 0.1)), 3), "cpu_us": round(statistics.median(cpu[index]), 3), "rounds": len(wall[index]),
        }
        for index, (operation, who, _) in enumerate(calls)
    ]
    return rows, problems


def table(rows: list[dict]) -> str:
    lines = ["| operation on 16x16 float32 | call | median, us | tenth percentile, us | time of the thread, us |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row["operation"], row["wall_us"])):
        lines.append(f"| {row['operation']} | {row['call']} | {row['wall_us']:.2f} | {row['wall_us_p10']:.2f} | {row['cpu_us']:.2f} |")
    return "\n".join(lines) + "\n"
