# SPDX-License-Identifier: Apache-2.0
"""Run times of the suite on this machine: ours, PyTorch eager, torch.compile and NumPy, on the same tensors in one run.

    .venv/bin/python bench/cpu_suite.py [--compiled] [--numpy] [--cases REGEX] [--out FILE.md]

They run in turns (ours, peer, ours, ...), medians are reported. Outputs are poisoned; they are compared with the peer computed in
float64, in float32 where that is too large. NumPy gets 16-bit floats as float32 and is checked too.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import platform
import re
import statistics
import sys
import time

import numpy
import torch

import numpy_peers
from suite import CASES
from tc_library import Library

# Pools of threads wait actively for more work (OpenMP runtimes up to 200 ms), which would take the cores from the next one's.
ASLEEP_SECONDS = 0.25
# A turn is so many runs, or so many seconds of them.
TURN_RUNS = 20
TURN_SECONDS = 0.05


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def turn(run) -> list[float]:
    """Times of one run after another, once the threads of the others are asleep and its own are awake."""
    time.sleep(ASLEEP_SECONDS)
    run()
    times = [seconds(run)]
    while len(times) < TURN_RUNS and sum(times) < TURN_SECONDS:
        times.append(seconds(run))
    return times


def interleaved(runs: dict, budget: float, limit: int = 15) -> dict:
    """Median seconds of each, in turns; at least three rounds unless one round alone takes four times the budget."""
    times = {name: [] for name in runs}
    start = time.perf_counter()
    for number in range(1, limit + 1):
        for name, run in runs.items():
            times[name] += turn(run)
        spent = time.perf_counter() - start - number * len(runs) * ASLEEP_SECONDS
        if spent > budget and (number >= 3 or spent > 4 * budget):
            break
    return {name: statistics.median(values) for name, values in times.items()}


def reference(case, inputs):
    """The peer in float64, or in float32 where that would take too much memory or time."""
    is_large = sum(t.numel() for t in inputs) > 1 << 27 or case.work > 2e11
    precise = torch.float32 if is_large else torch.float64
    return case.peer(*[t.to(precise) if t.is_floating_point() else t for t in inputs])


def relative_error(outputs, expected) -> float:
    expected = expected if isinstance(expected, tuple) else (expected,)
    worst = 0.0
    for ours, right in zip(outputs, expected, strict=True):
        if tuple(ours.shape) != tuple(right.shape) or not bool(torch.isfinite(ours).all()):
            return math.inf
        scale = float(right.abs().max()) or 1.0
        worst = max(worst, float((ours.to(right.dtype) - right).abs().max()) / scale)
    return worst


def numpy_run(case, inputs, expected):
    """The NumPy form on the same memory, 16-bit floats widened before the clock starts; RuntimeError when its result is wrong."""
    arrays = [(t.float() if t.dtype in (torch.bfloat16, torch.float16) else t).numpy() for t in inputs]
    form = numpy_peers.peer(case.name)
    results = form(*arrays)
    tensors = [torch.as_tensor(r) for r in (results if isinstance(results, tuple) else (results,))]
    error = relative_error(tensors, expected)
    if not error <= max(case.tolerance, 1e-4):
        raise RuntimeError(f"NumPy's result differs by {error:.1e}")
    return lambda: form(*arrays)


def measure(library, case, budget, with_compiled, with_numpy):
    generator = torch.Generator().manual_seed(0)
    inputs = [tensor.make(generator) for tensor in case.tensors]
    start = time.perf_counter()
    executor = library.compile(case.text, inputs)
    compile_ms = (time.perf_counter() - start) * 1e3
    outputs = executor.outputs()
    run = executor.bind(inputs, outputs)
    run()
    expected = reference(case, inputs)
    error = relative_error(outputs, expected)
    runs = {"ours": run, "eager": lambda: case.peer(*inputs)}
    if with_compiled:
        compiled = torch.compile(case.peer)
        compiled(*inputs)
        runs["compiled"] = lambda: compiled(*inputs)
    if with_numpy:
        runs["numpy"] = numpy_run(case, inputs, expected)
    with torch.no_grad():
        times = interleaved(runs, budget)
    peer = min(value for name, value in times.items() if name != "ours")
    return {"compile_ms": compile_ms, "error": error, "ok": error <= case.tolerance, "times": times, "ratio": peer / times["ours"],
            "gflops": case.work / times["ours"] / 1e9}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/lib/libtc.so")
    parser.add_argument("--tensorc", help="program of the same build; its folder is where the library is looked for")
    parser.add_argument("--cases", default="", help="regular expression on case names")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds per case")
    parser.add_argument("--compiled", action="store_true", help="also time torch.compile")
    parser.add_argument("--numpy", action="store_true", help="also time NumPy")
    parser.add_argument("--out", help="Markdown file for the table")
    arguments = parser.parse_args()
    path = arguments.library
    if arguments.tensorc:
        path = str(pathlib.Path(arguments.tensorc).resolve().parent.parent / "lib" / "libtc.so")
    library = Library(path)
    header = f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}, NumPy {numpy.__version__}"
    lines = [header, "", "| case | ours us | eager us | compiled us | NumPy us | best peer / ours | GFLOP/s | compile ms | error |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    print("\n".join(lines), flush=True)
    ratios, failures = [], []
    for case in CASES:
        if not re.search(arguments.cases, case.name):
            continue
        try:
            result = measure(library, case, arguments.budget, arguments.compiled, arguments.numpy)
        except RuntimeError as error:
            failures.append(case.name)
            lines.append(f"| {case.name} | failed: {str(error).splitlines()[0]} | | | | | | | |")
            print(lines[-1], flush=True)
            continue
        if not result["ok"]:
            failures.append(case.name)
        ratios.append(result["ratio"])
        times = {name: f"{value * 1e6:.0f}" for name, value in result["times"].items()}
        mark = "" if result["ok"] else " WRONG"
        lines.append(
            f"| {case.name} | {times['ours']} | {times['eager']} | {times.get('compiled', '-')} | {times.get('numpy', '-')} | {result['ratio']:.2f} |"
            f" {result['gflops']:.1f} | {result['compile_ms']:.0f} | {result['error']:.1e}{mark} |"
        )
        print(lines[-1], flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines += ["", f"geometric mean of best peer / ours: {mean:.2f}; worst: {min(ratios):.2f}; wrong or failed: {failures or 'none'}"]
        print("\n".join(lines[-2:]))
    if arguments.out:
        pathlib.Path(arguments.out).write_text("\n".join(lines) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
