# SPDX-License-Identifier: Apache-2.0
"""Every def of examples/ against its NumPy reference, through the command line: shapes, types and values.

The program is $TENSORC or build/bin/tensorc of the checkout. `--verify` makes each run also compare the compiled kernel
with the reference interpreter, so three independent computations must agree.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

from references import EXAMPLES

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENSORC = os.environ.get("TENSORC", str(ROOT / "build" / "bin" / "tensorc"))
RUNS = [pytest.param(e, s, id=f"{e.id}-{n}") for e in EXAMPLES for n, s in zip(("typical", "odd", "one"), e.sizes)]


def run(case, sizes, inputs, names, folder):
    command = [TENSORC, "run", str(ROOT / "examples" / case.file), "-f", case.definition, "--verify"]
    for name in case.consts:
        command += ["-D", f"{name}={sizes[name]}"]
    for name, array in inputs.items():
        np.save(folder / f"in_{name}.npy", array)
        command += ["--input", f"{name}={folder / f'in_{name}.npy'}"]
    for name in names:
        command += ["--output", f"{name}={folder / f'out_{name}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\nexit status {done.returncode}\n{done.stderr}"
    return {name: np.load(folder / f"out_{name}.npy") for name in names}


@pytest.mark.parametrize("case, sizes", RUNS)
def test_example(case, sizes, tmp_path):
    inputs = case.make_inputs(sizes, seed=sum(map(ord, case.definition)))
    expected = case.expected(inputs, sizes)
    outputs = run(case, sizes, inputs, expected, tmp_path)
    for name, want in expected.items():
        got, want = outputs[name], np.asarray(want)
        assert got.shape == want.shape, name
        assert got.dtype.kind == want.dtype.kind, name
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.atol, err_msg=name)
        else:
            assert got.dtype == want.dtype, name
            np.testing.assert_array_equal(got, want, err_msg=name)


def test_every_def_has_a_reference():
    written = set()
    for file in sorted((ROOT / "examples").glob("*.tc")):
        written |= {(file.name, name) for name in re.findall(r"^def (\w+)", file.read_text(), re.MULTILINE)}
    assert written == {(e.file, e.definition) for e in EXAMPLES}


def test_layout_is_the_formatters():
    files = sorted(str(file) for file in (ROOT / "examples").glob("*.tc"))
    for file in files:
        done = subprocess.run([TENSORC, "fmt", file, "--check"], capture_output=True, text=True)
        assert done.returncode == 0, f"{file}: {done.stderr}"


def test_three_sizes_each():
    for e in EXAMPLES:
        assert len(e.sizes) == 3, e.id
