# SPDX-License-Identifier: Apache-2.0
"""`tensorc run --json`: the fields that scripts rely on."""

import json

import numpy as np

PROGRAM = """def moments(float(N,K) x, const int32 c) -> (mean, count) {
  mean(n) +=! x(n,r_k) / K
  count(n) = n * c where n in 0:N
}
"""
FIELDS = {"def", "target", "sizes", "options", "outputs", "compile_ms", "cache", "kernel_us", "call_us", "kernels", "verify"}


def report(tensorc, *arguments, status=0):
    done = tensorc("run", *arguments, "--json")
    assert done.returncode == status, done.stderr.decode()
    assert done.stdout.count(b"\n") == 1
    return json.loads(done.stdout, parse_constant=lambda name: refuse_constant(name))


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def test_fields(tensorc, tmp_path):
    (tmp_path / "moments.tc").write_text(PROGRAM)
    call = ["moments.tc", "-D", "N=5", "-D", "K=7", "-D", "c=3", "--options", "naive"]
    found = report(tensorc, *call, "--verify")
    assert FIELDS <= set(found)
    assert found["def"] == "moments"
    assert found["target"] == "cpu"
    assert isinstance(found["arch"], str) and " " not in found["arch"] and isinstance(found["features"], str)
    assert found["sizes"] == {"N": 5, "K": 7}
    assert found["options"]["fusion"] == "min" and found["options"]["version"] == 1
    assert found["outputs"] == [
        {"name": "mean", "dtype": "float32", "shape": [5]},
        {"name": "count", "dtype": "int32", "shape": [5]},
    ]
    assert found["cache"] == "miss" and found["compile_ms"] > 0
    assert found["kernel_us"] > 0 and found["call_us"] > 0 and found["kernels"] >= 1
    verify = found["verify"]
    assert set(verify) >= {"max_abs", "max_rel", "bound", "ok"} and verify["ok"] is True
    assert 0 <= verify["max_abs"] <= verify["bound"] and verify["max_rel"] >= 0
    again = report(tensorc, *call)
    assert again["cache"] == "disk" and again["verify"] is None


def test_values_that_are_not_finite(tensorc, tmp_path):
    (tmp_path / "f.tc").write_text("def f(float(N) x) -> (y, m) {\n  y(i) = x(i) + 1\n  m() max=! x(i)\n}\n")
    np.save(tmp_path / "x.npy", np.array([1, np.nan, np.inf, -np.inf, 3e38], np.float32))
    for options in ("naive", "default"):
        found = report(tensorc, "f.tc", "--input", "x=x.npy", "--verify", "--options", options, "--output", "m=m.npy")
        assert found["verify"]["ok"] is True
        assert np.isnan(np.load(tmp_path / "m.npy"))


def test_empty_and_rank_zero(tensorc, tmp_path):
    (tmp_path / "f.tc").write_text("def f(float(N) x) -> (y, s) {\n  y(i) = x(i)\n  s() +=! x(i)\n}\n")
    found = report(tensorc, "f.tc", "-D", "N=0", "--verify")
    assert found["outputs"] == [{"name": "y", "dtype": "float32", "shape": [0]}, {"name": "s", "dtype": "float32", "shape": []}]
    assert found["verify"]["ok"] is True and found["sizes"] == {"N": 0}


def test_nothing_on_stdout_when_refused(tensorc, tmp_path):
    (tmp_path / "f.tc").write_text("def f(float(N) x) -> (y) { y(i) = x(i+1) where i in 0:N }\n")
    done = tensorc("run", "f.tc", "-D", "N=3", "--json")
    assert done.returncode == 1 and done.stdout == b"" and b"f.tc:1:" in done.stderr
