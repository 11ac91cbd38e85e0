# SPDX-License-Identifier: Apache-2.0
"""The results of bench/gpu_suite.py as the Markdown table of bench/results.

    python3 bench/gpu_table.py gpu-results/results.jsonl [--mark REGEX]

--mark puts a star behind the cases whose name matches, and gives a geometric mean without them.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re

HEAD = "| group | case | ours us | eager us | torch.compile us | ratio | error | int | registers | shared bytes | compile ms |\n|---|---|--:|--:|--:|--:|--:|---|--:|--:|--:|"


def line(row: dict, star: str) -> str:
    if "problem" in row:
        return f"| {row['group']} | {row['case']}{star} | failed: {row['problem'].splitlines()[0]} | | | | | | | | |"
    check, integers, kernels = row["check"], row["integers"], row["kernels"]
    exact = "-" if not integers.get("whole") else "=" if integers["equal"] else "DIFFERENT"
    error = f"{check['error']:.1e}" if check["ok"] else f"WRONG {check.get('problem', check.get('error'))}"
    peers = [f"{row[key]:.1f}" if key in row else "-" for key in ("eager_us", "compiled_us")]
    most = {key: max(kernel[key] for kernel in kernels) for key in ("registers", "shared_bytes")}
    return (f"| {row['group']} | {row['case']}{star} | {row['ours_us']:.1f} | {peers[0]} | {peers[1]} | {ratio(row):.2f} | {error} | {exact} |"
            f" {most['registers']} | {most['shared_bytes']} | {row['compile_ms']:.0f} |")


def ratio(row: dict) -> float:
    peers = [row[key] for key in ("eager_us", "compiled_us") if key in row]
    return min(peers) / row["ours_us"] if peers else math.nan


def mean_line(title: str, rows: list[dict]) -> str:
    if not rows:
        return f"* {title}: no case."
    mean = math.exp(sum(math.log(ratio(row)) for row in rows) / len(rows))
    worst = ", ".join(f"{row['case']} {ratio(row):.2f}" for row in sorted(rows, key=ratio)[:5])
    return f"* {title}: {len(rows)} cases, geometric mean of the ratio {mean:.2f}; worst: {worst}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("--mark", default="(?!)")
    arguments = parser.parse_args()
    rows = [json.loads(text) for text in pathlib.Path(arguments.results).read_text().splitlines()]
    print(HEAD)
    for row in rows:
        print(line(row, " *" if re.search(arguments.mark, row["case"]) else ""))
    timed = [row for row in rows if "problem" not in row and not math.isnan(ratio(row))]
    print()
    for group in dict.fromkeys(row["group"] for row in timed):
        print(mean_line(group, [row for row in timed if row["group"] == group]))
    print(mean_line("without the marked cases", [row for row in timed if not re.search(arguments.mark, row["case"])]))


if __name__ == "__main__":
    main()
