# SPDX-License-Identifier: Apache-2.0
"""The identity of the compiler's code: part of the key of cached kernels, so another lowering never serves them."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def identity(folder):
    script = ROOT / "cmake" / "SourceIdentity.cmake"
    return subprocess.run(["cmake", "-D", f"ROOT={folder}", "-P", script], capture_output=True, text=True, check=True).stdout.strip()


def test_of_the_program_is_that_of_its_sources(tensorc):
    found = json.loads(tensorc("info", "--json").stdout)
    assert found["build"] == identity(ROOT / "tc")


def test_follows_the_code_and_nothing_else(tmp_path):
    for copy in ("one", "two"):
        shutil.copytree(ROOT / "tc" / "lower", tmp_path / copy / "lower")
        shutil.copytree(ROOT / "tc" / "tuner", tmp_path / copy / "tuner")
    one, two = tmp_path / "one", tmp_path / "two"
    before = identity(one)
    assert len(before) == 16 and before == identity(two)
    # Neither time stamps nor the tuner, which makes no code.
    (two / "lower" / "cuda" / "lower.cpp").touch()
    (two / "tuner" / "model.cpp").write_text("// other\n")
    assert identity(two) == before
    source = two / "lower" / "cuda" / "lower.cpp"
    source.write_text(source.read_text() + "// other\n")
    assert identity(two) != before
    shutil.copy2(one / "lower" / "cuda" / "lower.cpp", source)
    assert identity(two) == before
    # A file more, or another name.
    (two / "lower" / "new.cuh").write_text("")
    assert identity(two) != before


def test_another_identity_is_another_key(tensorc, tensorc_path, tmp_path):
    """A program of other code, here the same one with another identity, does not take the cached kernels."""
    (tmp_path / "f.tc").write_text("def f(float(N) x) -> (y) { y(i) = x(i) + 1 }\n")
    run = ["run", "f.tc", "-D", "N=5", "--json"]
    assert [json.loads(tensorc(*run).stdout)["cache"] for _ in range(2)] == ["miss", "disk"]
    code = pathlib.Path(tensorc_path).read_bytes()
    found = identity(ROOT / "tc").encode()
    if code.count(found) != 1:
        pytest.skip("the compiler is in a library of its own")
    other = tmp_path / "tensorc"
    other.write_bytes(code.replace(found, found[::-1]))
    other.chmod(0o755)
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}
    changed = [json.loads(subprocess.run([other, *run], capture_output=True, check=True, cwd=tmp_path, env=environment).stdout)["cache"] for _ in range(2)]
    assert changed == ["miss", "disk"]
    assert json.loads(tensorc(*run).stdout)["cache"] == "disk"
