# SPDX-License-Identifier: Apache-2.0
"""What a short search finds over the defaults on this CPU: ten comprehensions, tuned by each search, then all results timed in turns.

    python3 bench/tuner_bench.py --tensorc build/bin/tensorc [--budget 20] [--search model] [--cases REGEX] [--out FOLDER]
    python3 bench/tuner_bench.py --search random,evolutionary,model --trials 60

Each search starts from nothing, in a cache of its own: with --trials N it tries so many candidates, else it has --budget seconds. Default and results
then run in turns in one process (`tensorc tune --search seeds`), --rounds times; medians of these decide. Run it where nothing else runs.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import sys
import tempfile

import gpu_tune

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
# Seconds that a search which counts candidates may take at most.
MOST_SECONDS = 300

# (name, file, def, sizes)
CASES = [
    ("matmul_512", "matmul.tc", "matmul_nn", {"M": 512, "N": 512, "K": 512}),
    ("matmul_tn_300", "matmul.tc", "matmul_tn", {"M": 300, "N": 200, "K": 1000}),
    ("batched_matmul", "batched_matmul.tc", "", {"B": 200, "M": 26, "N": 72, "K": 26}),
    ("softmax", "softmax.tc", "softmax", {"N": 1024, "D": 1000}),
    ("layer_norm", "layer_norm.tc", "", {"N": 2048, "D": 768}),
    ("moments", "moments.tc", "", {"N": 128, "K": 65536}),
    ("rms_norm", "rms_norm.tc", "", {"N": 2048, "D": 1024}),
    ("mttkrp", "mttkrp.tc", "", {"I": 128, "J": 64, "K": 64, "R": 32}),
    ("mlp2", "mlp.tc", "mlp2", {"B": 128, "M": 256, "N": 128, "O": 64}),
    ("tensordot", "tensordot.tc", "", {"N": 8, "C1": 64, "C2": 16, "C3": 16, "H": 28, "W": 28}),
]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorc", default="build/bin/tensorc")
    parser.add_argument("--cases", default="", help="regular expression on case names")
    parser.add_argument("--budget", type=float, default=20, help="seconds")
    parser.add_argument("--trials", type=int, default=0, help="candidates instead of a time")
    parser.add_argument("--search", default="model", help="one or several, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", help="folder that keeps table, results and log")
    arguments = parser.parse_args()
    arguments.target, arguments.devices, arguments.cache, arguments.limit_seconds = "cpu", "0", None, math.inf
    arguments.jobs = 0
    return arguments


def compared(machine: gpu_tune.Machine, work: gpu_tune.Work, searches: list[str], arguments) -> dict:
    found, reports = {}, {}
    for search in searches:
        more = ("--search", search, *(("--trials", str(arguments.trials)) if arguments.trials else ()))
        with tempfile.TemporaryDirectory() as cache:
            reports[search] = machine.tune(work, MOST_SECONDS if arguments.trials else arguments.budget, pathlib.Path(cache), more)
        found[search] = reports[search]["options"]
    times = machine.compare(work, list(found.values()), arguments.rounds)
    report = reports[searches[0]]
    return {
        "case": work.name, "options": found, "default_us": gpu_tune.first_of(times, report),
        "us": {search: times[gpu_tune.key(options)] for search, options in found.items()},
        "trials": {search: gpu_tune.new_trials(reports[search]) for search in searches},
        "failures": {search: reports[search]["failures"] for search in searches},
    }


def table(rows: list[dict], searches: list[str]) -> str:
    lines = ["| case | default us | " + " | ".join(f"{search} us | default / {search} | candidates" for search in searches) + " |",
             "|---|--:|" + "--:|--:|--:|" * len(searches)]
    for row in rows:
        us = row["us"]
        cells = [f"{us[search]:.1f} | {row['default_us'] / us[search]:.2f} | {row['trials'][search]}" for search in searches]
        lines.append(f"| {row['case']} | {row['default_us']:.1f} | " + " | ".join(cells) + " |")
    lines.append("")
    for search in searches:
        gains = [row["default_us"] / row["us"][search] for row in rows]
        if gains:
            lines.append(f"* {search}: default over tuned {gpu_tune.mean(gains):.2f} in geometric mean, {min(gains):.2f} at least, {len(gains)} cases.")
    return "\n".join(lines) + "\n"


def main() -> int:
    arguments = parse_arguments()
    searches = arguments.search.split(",")
    rows, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        arguments.out = arguments.out or folder
        machine = gpu_tune.Machine(arguments)
        for name, file, definition, sizes in CASES:
            if not re.search(arguments.cases, name):
                continue
            work = gpu_tune.Work(name, (EXAMPLES / file).read_text(), sizes, definition)
            try:
                rows.append(compared(machine, work, searches, arguments))
            except (gpu_tune.CommandFailed, KeyError) as problem:
                failed.append(name)
                print(f"{name}: {problem}", flush=True)
                continue
            print(f"{name}: default {rows[-1]['default_us']:.1f} us, {rows[-1]['us']}, candidates {rows[-1]['trials']}", flush=True)
            gpu_tune.add_row(machine, rows[-1])
            (machine.out / "table.md").write_text(table(rows, searches))
        print(table(rows, searches))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
