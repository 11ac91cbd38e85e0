# SPDX-License-Identifier: Apache-2.0
"""Corners of the language against NumPy, through the program and several sets of options.

The interpreter shares the front end with the compiler, so what the front end makes of a text is checked here by values that
come from elsewhere."""

import json
import os
import subprocess

import numpy as np
import pytest
from corner_cases import CASES

OPTIONS = {
    "default": [],
    "naive": ["--options", "naive"],
    "small tiles": ["--fusion", "min", "--tile", "3,5", "--tasks", "3", "--vector-bits", "128"],
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", CASES)
def test_corner(name, options, tmp_path):
    text, defines, inputs, reference = CASES[name]
    (tmp_path / "f.tc").write_text(text)
    command = [os.environ["TENSORC"], "run", "f.tc", "-f", "f", "--verify", "--json", "--repeat", "1", *OPTIONS[options]]
    for key, value in defines.items():
        command += ["-D", f"{key}={value}"]
    for key, value in inputs.items():
        np.save(tmp_path / f"{key}.npy", value)
        command += ["--input", f"{key}={key}.npy"]
    expected = reference(**inputs)
    for key in expected:
        command += ["--output", f"{key}={key}.out.npy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "TC_CACHE": "off"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verify"]["ok"]
    for key, value in expected.items():
        found = np.load(tmp_path / f"{key}.out.npy")
        assert found.shape == np.shape(value), key
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-5, err_msg=key)
