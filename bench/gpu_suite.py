# SPDX-License-Identifier: Apache-2.0
"""Checks, then times the suite on a CUDA device: ours, PyTorch eager and torch.compile in one run, on the same tensors.

Every case: compile, run into poisoned outputs between guard zones, compare with PyTorch in float64; the same on small integers, where a
float32 result must equal the reference bit for bit as long as every number on the way is an integer below 2^24. Kernel time is the median over
replays of a CUDA graph that holds several calls; the peers are timed alike. A case that crashes or hangs costs only itself: cases run in a child
process, which is started anew after one. Prints a table; writes one JSON line per case and the CUDA text of each to --out.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import selectors
import subprocess
import sys
import time

import torch

import suite
from tc_library import Library

REPLAYS = 15
WORK_PER_GRAPH_US = 400.0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default="build-static/lib/libtc.so")
    parser.add_argument("--out", default="gpu-results")
    parser.add_argument("--only", default="", help="comma-separated parts of case names")
    parser.add_argument("--skip", default="", help="comma-separated parts of case names")
    parser.add_argument("--options", default="default", help="named set, or a JSON object")
    parser.add_argument("--options-from", help="options.jsonl of bench/gpu_tune.py; cases that it lacks take --options")
    parser.add_argument("--compiled-peer", action="store_true", help="also time torch.compile")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--timeout", type=float, default=90, help="seconds without a result before the child counts as hung")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def chosen(arguments) -> list[suite.Case]:
    parts, skipped = [p for p in arguments.only.split(",") if p], [p for p in arguments.skip.split(",") if p]
    return [c for c in suite.CASES if (not parts or any(p in c.name for p in parts)) and not any(p in c.name for p in skipped)]


def tuned_options(arguments) -> dict[str, dict]:
    if not arguments.options_from:
        return {}
    rows = [json.loads(line) for line in pathlib.Path(arguments.options_from).read_text().splitlines()]
    return {row["case"]: row["options"] for row in rows}


def median_us(run) -> float:
    """Median microseconds of one call, over replays of a graph of several."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
        run()
        stream.synchronize()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        stream.synchronize()
        once = max(start.elapsed_time(end) * 1e3, 1.0)
        calls = int(min(max(WORK_PER_GRAPH_US / once, 1), 100))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                run()
        times = []
        graph.replay()
        for _ in range(REPLAYS if once < 2e4 else 3):
            start.record()
            graph.replay()
            end.record()
            stream.synchronize()
            times.append(start.elapsed_time(end) * 1e3 / calls)
    return sorted(times)[len(times) // 2]


def as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def precise(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


def integer_inputs(case: suite.Case, generator) -> list[torch.Tensor]:
    inputs = []
    for tensor in case.tensors:
        if tensor.kind[0] == "index":
            inputs.append(tensor.make(generator))
        else:
            dtype = getattr(torch, tensor.dtype)
            inputs.append(torch.randint(-2, 3, tensor.shape, generator=generator, device="cuda").to(dtype))
    return inputs


def compare(case, executor, inputs) -> dict:
    """Runs once into poisoned, guarded outputs and compares with the peer in float64."""
    outputs, blocks = executor.guarded_outputs()
    executor.bind(inputs, outputs)()
    torch.cuda.synchronize()
    if not executor.guards_hold(blocks):
        return {"ok": False, "problem": "memory around an output was written"}
    references = as_tuple(case.peer(*[precise(tensor) for tensor in inputs]))
    worst, whole, equal = 0.0, True, True
    for output, reference in zip(outputs, references, strict=True):
        reference = reference.reshape(output.shape)
        difference = torch.linalg.vector_norm(output.double() - reference.double())
        error = float(difference / (torch.linalg.vector_norm(reference.double()) + 1e-300))
        if math.isnan(error):
            return {"ok": False, "problem": f"NaN in the result ({int(output.isnan().sum())} of {output.numel()})"}
        worst = max(worst, error)
        exact = reference.double()
        whole = whole and bool((exact == exact.round()).all()) and float(exact.abs().max() if exact.numel() else 0) < 2**24
        equal = equal and bool((output == reference.to(output.dtype)).all())
    return {"ok": worst <= case.tolerance, "error": worst, "whole": whole, "equal": equal}


def compiled_peer(case, inputs):
    torch._dynamo.reset()
    function = torch.compile(case.peer, fullgraph=True, dynamic=False)
    function(*inputs)
    return lambda: function(*inputs)


def measure(case: suite.Case, library: Library, arguments, out: pathlib.Path) -> dict:
    row = {"case": case.name, "group": case.group}
    generator = torch.Generator("cuda").manual_seed(arguments.seed)
    inputs = [tensor.make(generator) for tensor in case.tensors]
    executor = library.compile_cuda(case.text, inputs, tuned_options(arguments).get(case.name, arguments.options))
    row["compile_ms"] = round(executor.compile_ms(), 1)
    (out / f"{case.name}.cu").write_text(executor.stage("cuda"))
    row["kernels"] = executor.resources()
    row["check"] = compare(case, executor, inputs)
    row["integers"] = compare(case, executor, integer_inputs(case, generator))
    outputs, _ = executor.guarded_outputs()
    row["ours_us"] = median_us(executor.bind(inputs, outputs))
    if not arguments.no_peers:
        row["eager_us"] = median_us(lambda: case.peer(*inputs))
    if arguments.compiled_peer:
        try:
            row["compiled_us"] = median_us(compiled_peer(case, inputs))
        except Exception as error:  # what the peer cannot do is no failure of ours
            row["compiled_problem"] = str(error)[:200]
    return row


def child(arguments) -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    out = pathlib.Path(arguments.out)
    library = Library(arguments.library)
    for case in chosen(arguments):
        print(json.dumps({"begin": case.name}), flush=True)
        try:
            row = measure(case, library, arguments, out)
        except Exception as error:
            row = {"case": case.name, "group": case.group, "problem": f"{type(error).__name__}: {error}"[:600]}
        print(json.dumps(row), flush=True)
        torch.cuda.empty_cache()
        if "CUDA" in row.get("problem", "") or "illegal" in row.get("problem", ""):
            sys.exit(3)  # the context may be lost


def parent(arguments) -> list[dict]:
    names = [case.name for case in chosen(arguments)]
    rows: dict[str, dict] = {}
    while remaining := [name for name in names if name not in rows]:
        command = [sys.executable, __file__, "--child", *sys.argv[1:], "--only", ",".join(remaining)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        current, deadline = None, time.monotonic() + arguments.timeout
        selector = selectors.DefaultSelector()
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(max(deadline - time.monotonic(), 0)):
                process.kill()
                break
            line = process.stdout.readline()
            if not line:
                break
            deadline = time.monotonic() + arguments.timeout
            row = json.loads(line)
            if "begin" in row:
                current = row["begin"]
            else:
                rows[row["case"]] = row
        process.wait()
        if current is None:
            break  # it does not even start
        if current not in rows:
            rows[current] = {"case": current, "group": "", "problem": f"the process ended ({process.returncode})"}
    return [rows[name] for name in names if name in rows]


def report(rows: list[dict], arguments) -> None:
    ratios: dict[str, list[tuple[float, str]]] = {}
    print(f"{'case':26} {'ours us':>9} {'eager':>9} {'compiled':>9} {'ratio':>6} {'error':>9} int  {'regs':>4} {'local':>5} {'smem':>6} {'ms':>6}")
    for row in rows:
        if "problem" in row:
            print(f"{row['case']:26} FAILED {row['problem'][:140]}")
            continue
        check, whole = row["check"], row["integers"]
        peers = [row[key] for key in ("eager_us", "compiled_us") if key in row]
        ratio = min(peers) / row["ours_us"] if peers else 0
        if peers:
            ratios.setdefault(row["group"], []).append((ratio, row["case"]))
        verdict = f"{check.get('error', math.nan):9.1e}" if check["ok"] else f"WRONG {check.get('problem', check.get('error'))}"
        exact = "-" if not whole.get("whole") else "=" if whole["equal"] else "DIFF"
        if "problem" in whole:
            exact = whole["problem"]
        kernels = row["kernels"]
        most = {key: max(k[key] for k in kernels) for key in ("registers", "local_bytes", "shared_bytes")}
        print(f"{row['case']:26} {row['ours_us']:9.1f} {row.get('eager_us', 0):9.1f} {row.get('compiled_us', 0):9.1f} {ratio:6.2f} {verdict} {exact:4}"
              f" {most['registers']:4} {most['local_bytes']:5} {most['shared_bytes']:6} {row['compile_ms']:6.0f}")
    for group, list_ in ratios.items():
        mean = math.exp(sum(math.log(r) for r, _ in list_) / len(list_))
        worst = ", ".join(f"{name} {ratio:.2f}" for ratio, name in sorted(list_)[:5])
        print(f"{group}: {len(list_)} cases, geometric mean of best peer / ours {mean:.2f}; worst: {worst}")


def main() -> int:
    arguments = parse_arguments()
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    if arguments.child:
        child(arguments)
        return 0
    rows = parent(arguments)
    (out / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report(rows, arguments)
    good = all("problem" not in r and r["check"]["ok"] and (not r["integers"].get("whole") or r["integers"]["equal"]) for r in rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
