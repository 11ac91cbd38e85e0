# SPDX-License-Identifier: Apache-2.0
"""`make demo`: what it prints is clean, and names what each time is."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def test_demo(tensorc_path, tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("PIL")
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, ROOT / "demo" / "run_demo.py", "--tensorc", tensorc_path, "--out", tmp_path / "out"],
                          capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    # Time of the first call and of a warm one are told apart, and NumPy's is a warm one too.
    assert len(re.findall(r"(?:compiled|loaded from the cache) in \d+ ms, then \d+ us a warm call", done.stdout)) == 3, done.stdout
    assert len(re.findall(r"NumPy in float64 \d+ us a warm call", done.stdout)) == 2, done.stdout
    assert "verified against the interpreter: yes" in done.stdout
