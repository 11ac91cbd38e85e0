# SPDX-License-Identifier: Apache-2.0
"""What the tests of whole programs share: where the build is, and a runner of tensorc with a cache of its own."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def build_folder():
    return pathlib.Path(os.environ.get("TC_BUILD_DIR", ROOT / "build"))


@pytest.fixture(scope="session")
def tensorc_path(build_folder):
    return os.environ.get("TENSORC", str(build_folder / "bin" / "tensorc"))


@pytest.fixture
def tensorc(tensorc_path, tmp_path):
    """Runs tensorc with arguments; returns the finished process. The cache lies in the test's own folder."""
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}

    def run(*arguments, stdin=None, timeout=120, env=None):
        return subprocess.run(
            [tensorc_path, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout, cwd=tmp_path,
            env={**environment, **(env or {})},
        )

    return run
