# SPDX-License-Identifier: Apache-2.0
"""Corners of the language against NumPy, through the program and several sets of options.

The interpreter shares the front end with the compiler, so what the front end makes of a text is checked here by values that
come from elsewhere."""

import json
import os
import subprocess

import numpy as np
import pytest

OPTIONS = {
    "default": [],
    "naive": ["--options", "naive"],
    "small tiles": ["--fusion", "min", "--tile", "3,5", "--tasks", "3", "--vector-bits", "128"],
}
RANDOM = np.random.default_rng(20)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def bools(*shape):
    return RANDOM.random(shape) < 0.5


X = floats(13)
A = bools(20)
B = bools(20)

# name: text, sizes and consts, inputs, reference
CASES = {
    "order of bools": (
        "def f(bool(N) a, bool(N) b) -> (lt, le, gt, ge, eq, ne) {"
        " lt(i) = a(i) < b(i)  le(i) = a(i) <= b(i)  gt(i) = a(i) > b(i)  ge(i) = a(i) >= b(i)  eq(i) = a(i) == b(i)  ne(i) = a(i) != b(i) }",
        {}, {"a": A, "b": B},
        lambda a, b: {"lt": ~a & b, "le": ~a | b, "gt": a & ~b, "ge": a | ~b, "eq": a == b, "ne": a != b}),
    "arithmetic of bools guards nothing": (
        "def f(bool(N) a, bool(N) b) -> (s, p, l, h) { s(i) = a(i) + b(i+1)  p(i) = a(i) * b(i+1)  l(i) = min(a(i), b(i+1))  h(i) = max(a(i), b(i+1)) }",
        {}, {"a": A, "b": B},
        lambda a, b: {"s": a[:-1] | b[1:], "p": a[:-1] & b[1:], "l": a[:-1] & b[1:], "h": a[:-1] | b[1:]}),
    "order of comparisons": (
        "def f(float(N) x) -> (y) { y(i) = (x(i) > 0) < (i > 3) || (x(i) > 1) >= (x(N-1-i) > 0) }", {}, {"x": X},
        lambda x: {"y": ((x > 0) < (np.arange(13) > 3)) | ((x > 1) >= (x[::-1] > 0))}),
    "conditions that compare conditions": (
        "def f(float(N,N) x) -> (a, b, c) { a(i) +=! x(i,j) where (i < 3) == (j < 5)  b(i) +=! x(i,j) where (i < 3) != (j%2 == 0)"
        "  c +=! x(i,j) where (i < 3) < (j > 1), min(i > 0, j > i) }",
        {}, {"x": floats(9, 9)},
        lambda x: {
            "a": [x[i][(np.arange(9) < 5) == (i < 3)].sum() for i in range(9)],
            "b": [x[i][(np.arange(9) % 2 == 0) != (i < 3)].sum() for i in range(9)],
            "c": sum(x[i, j] for i in range(9) for j in range(9) if (i < 3) < (j > 1) and i > 0 and j > i)}),
    "remainder by a size on the left": (
        "def f(float(N) x, const int32 M) -> (y, z) { y((i+1)%N) = x(i)  z(i%M) +=! x(i) }", {"M": 4}, {"x": X},
        lambda x: {"y": np.roll(x, 1), "z": [x[m::4].sum() for m in range(4)]}),
    "reshape by a size": (
        "def f(float(N,M) x) -> (y) { y(k/N,k%N) = x(k/M,k%M) where k in 0:N*M }", {}, {"x": floats(4, 7)},
        lambda x: {"y": x.reshape(7, 4)}),
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", CASES)
def test_corner(name, options, tmp_path):
    text, defines, inputs, reference = CASES[name]
    (tmp_path / "f.tc").write_text(text)
    command = [os.environ["TENSORC"], "run", "f.tc", "--verify", "--json", "--repeat", "1", *OPTIONS[options]]
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
