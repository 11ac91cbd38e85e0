# SPDX-License-Identifier: Apache-2.0
"""What a short search finds over the defaults: ten comprehensions, tuned and then compared with the defaults in turns.

    python3 bench/tuner_bench.py --tensorc build/bin/tensorc [--budget 20s] [--search model] [--target cpu] [--out FILE.md]

Each case is tuned into a cache of its own. Then default and tuned options run in turns, each in a process of its own; medians of the kernel times
are reported. With --search A,B,... and --trials N the searches are compared at equal trials.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"

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


def call(tensorc, command, case, flags, cache):
    _, file, definition, sizes = case
    line = [tensorc, command, str(EXAMPLES / file)]
    if definition:
        line += ["-f", definition]
    for name, value in sizes.items():
        line += ["-D", f"{name}={value}"]
    done = subprocess.run(line + flags, capture_output=True, text=True, env={**os.environ, "TC_CACHE_DIR": str(cache)})
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}")
    return json.loads(done.stdout)


def compared(tensorc, case, search, arguments):
    """Tunes, then times default and tuned in turns."""
    with tempfile.TemporaryDirectory() as cache:
        flags = ["--json", "--search", search, "--target", arguments.target, "--seed", str(arguments.seed)]
        flags += ["--trials", str(arguments.trials)] if arguments.trials else ["--budget", arguments.budget]
        report = call(tensorc, "tune", case, flags, cache)
        times = {"default": [], "tuned": []}
        for _ in range(arguments.rounds):
            for options in times:
                run = call(tensorc, "run", case, ["--json", "--options", options, "--target", arguments.target], cache)
                times[options].append(run["kernel_us"])
    default, tuned = (statistics.median(times[options]) for options in ("default", "tuned"))
    return {"default": default, "tuned": tuned, "gain": default / tuned, "report": report}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorc", default="build/bin/tensorc")
    parser.add_argument("--cases", default="", help="regular expression on case names")
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--trials", type=int, default=0, help="candidates instead of a time")
    parser.add_argument("--search", default="model", help="one or several, separated by commas")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", help="Markdown file for the table")
    arguments = parser.parse_args()
    lines = ["| case | search | default us | tuned us | default / tuned | candidates | failures |", "|---|---|--:|--:|--:|--:|---|"]
    print("\n".join(lines), flush=True)
    gains, failed = {}, []
    for case in CASES:
        if not re.search(arguments.cases, case[0]):
            continue
        for search in arguments.search.split(","):
            try:
                result = compared(arguments.tensorc, case, search, arguments)
            except RuntimeError as error:
                failed.append(case[0])
                lines.append(f"| {case[0]} | {search} | failed: {error} | | | | |")
            else:
                gains.setdefault(search, []).append(result["gain"])
                failures = ", ".join(f"{count} {reason}" for reason, count in result["report"]["failures"].items()) or "none"
                lines.append(
                    f"| {case[0]} | {search} | {result['default']:.1f} | {result['tuned']:.1f} | {result['gain']:.2f} |"
                    f" {result['report']['candidates']} | {failures} |"
                )
            print(lines[-1], flush=True)
    for search, values in gains.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        lines.append(f"\n{search}: geometric mean {mean:.2f}, least {min(values):.2f}, over {len(values)} cases")
        print(lines[-1], flush=True)
    if arguments.out:
        pathlib.Path(arguments.out).write_text("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
