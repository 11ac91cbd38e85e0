# SPDX-License-Identifier: Apache-2.0
"""Runs comprehensions through the command line, arrays in and arrays out."""

from __future__ import annotations

import json
import pathlib
import subprocess
import tempfile

import numpy as np


class Tensorc:
    """A tensorc program. Errors of the program are raised with its diagnostics."""

    def __init__(self, program: str):
        self.program = str(pathlib.Path(program).resolve())

    def run(self, file, definition, inputs, outputs, *, verify=False, flags=()):
        """Runs `definition` of `file`; returns (arrays by output name, the report of --json).

        inputs: arrays by parameter name; outputs: names of the outputs to fetch.
        """
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            command = [self.program, "run", str(file), "-f", definition, "--json", *flags]
            for name, array in inputs.items():
                np.save(folder / f"in_{name}.npy", np.ascontiguousarray(array))
                command += ["--input", f"{name}={folder / f'in_{name}.npy'}"]
            for name in outputs:
                command += ["--output", f"{name}={folder / f'out_{name}.npy'}"]
            if verify:
                command.append("--verify")
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"tensorc exited with {done.returncode}:\n{done.stderr}")
            return {name: np.load(folder / f"out_{name}.npy") for name in outputs}, json.loads(done.stdout)
