# SPDX-License-Identifier: Apache-2.0
"""Every def of examples/ on a CUDA device against the reference interpreter, plain or under a tool of compute-sanitizer.

usage: python3 tests/gpu/run_examples.py --tensorc build-static/bin/tensorc [--tool memcheck|racecheck|synccheck|initcheck] [--options default,naive]
Each run draws fresh inputs, poisons the outputs and verifies (`tensorc run --verify`); exit status 1 when one fails.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


def defs() -> dict[str, pathlib.Path]:
    found = {}
    for file in sorted((ROOT / "examples").glob("*.tc")):
        for name in re.findall(r"^def (\w+)", file.read_text(), re.MULTILINE):
            found[name] = file
    return found


def run(job) -> tuple[str, str]:
    """The name of the run and what went wrong, empty if nothing."""
    arguments, name, file, entry, sizes, options, seed = job
    title = f"{name} {sizes} {options}"
    command = [arguments.tensorc, "run", str(file), "-f", name, "--target", arguments.target, "--verify", "--json", "--options", options, "--seed", str(seed)]
    for size, value in sizes.items():
        command += ["-D", f"{size}={value}"]
    if arguments.tool:
        command = ["compute-sanitizer", "--tool", arguments.tool, "--error-exitcode", "99", "--launch-timeout", "120", *command]
    with tempfile.TemporaryDirectory() as folder:
        for tensor, below in entry.get("distinct", {}).items():
            count = next(iter(sizes.values()))
            array = np.random.default_rng(seed).permutation(sizes[below])[:count].astype(np.int32)
            np.save(f"{folder}/{tensor}.npy", array)
            command += ["--input", f"{tensor}={folder}/{tensor}.npy"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        except subprocess.TimeoutExpired:
            return title, "no end within 240 s"
    if done.returncode == 0:
        return title, ""
    return title, f"exit status {done.returncode}: {(done.stderr or done.stdout)[-700:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorc", default=str(ROOT / "build-static/bin/tensorc"))
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--tool", default="")
    parser.add_argument("--options", default="default,naive")
    parser.add_argument("--sizes", type=int, default=3, help="of the three sizes of each def, how many")
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    entries = json.loads((ROOT / "tests/cases/examples.json").read_text())
    files = defs()
    jobs = [
        (arguments, name, files[name], entry, sizes, options, arguments.seed + number)
        for name, entry in entries.items()
        for number, sizes in enumerate(entry["sizes"][: arguments.sizes])
        for options in arguments.options.split(",")
    ]
    failed = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for title, problem in pool.map(run, jobs):
            if problem:
                failed.append(title)
                print(f"FAILED {title}: {problem}", flush=True)
    tool = f" under {arguments.tool}" if arguments.tool else ""
    print(f"{len(jobs) - len(failed)} of {len(jobs)} runs passed{tool}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
