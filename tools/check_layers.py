# SPDX-License-Identifier: Apache-2.0
"""Fails when a room includes a header of a room that it may not use, or when a file holds more than one responsibility's worth of lines."""

import pathlib
import re
import subprocess
import sys

# Room -> rooms that it may use (docs/architecture.md). A room may always use itself.
LAYERS = {
    "support": set(),
    "sets": {"support"},
    "math": {"support"},
    "lang": {"support", "sets", "math"},
    "poly": {"support", "sets", "lang"},
    "kernel": {"support"},
    "emulation": {"support", "kernel"},
    "tile": {"support", "lang", "poly", "kernel"},
    "lower/op": {"support", "kernel", "tile"},
    "lower/cpu": {"support", "kernel", "tile", "lower/op"},
    "lower/cuda": {"support", "kernel", "tile", "lower/op"},
    "codegen/llvm": {"support", "kernel", "math"},
    "codegen/cuda": {"support", "kernel", "math"},
    "runtime/cpu": {"support", "kernel", "math"},
    "runtime/cuda": {"support", "kernel"},
    "compiler": {"support", "sets", "math", "lang", "poly", "kernel", "tile", "lower/cpu", "lower/cuda", "codegen/llvm",
                 "codegen/cuda", "runtime/cpu", "runtime/cuda", ""},
    "tuner": {"support", "sets", "lang", "poly", "kernel", "tile", "runtime/cpu", "runtime/cuda", "compiler", ""},
}
MAX_LINES = 700
ROOT = pathlib.Path(__file__).resolve().parent.parent


def room_of(path: str) -> str | None:
    """The room of a path below tc/, '' for the public headers directly in tc/, None outside."""
    if not path.startswith("tc/"):
        return None
    folder = str(pathlib.PurePosixPath(path).parent)[3:]
    return folder if folder in LAYERS else ""


def main() -> int:
    files = subprocess.run(["git", "ls-files", "*.cpp", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    problems = []
    for file in files:
        text = (ROOT / file).read_text()
        lines = text.count("\n")
        if lines > MAX_LINES:
            problems.append(f"{file}: {lines} lines, more than {MAX_LINES}")
        room = room_of(file)
        if not room:
            continue
        for included in re.findall(r'#include "(tc/[^"]+)"', text):
            target = room_of(included)
            if target != room and target not in LAYERS[room]:
                problems.append(f"{file}: room {room} may not include {included}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
