# SPDX-License-Identifier: Apache-2.0
"""The environment variables of the package, read once, and the session that they configure."""

from __future__ import annotations

import functools
import os
import sysconfig

from . import _tc


def cache_directory() -> str:
    """Folder of the compile cache: TC_CACHE_DIR, or `tensor_comprehensions` in the user's cache folder; empty: memory only."""
    if given := os.environ.get("TC_CACHE_DIR"):
        return given
    if base := os.environ.get("XDG_CACHE_HOME"):
        return os.path.join(base, "tensor_comprehensions")
    if home := os.environ.get("HOME"):
        return os.path.join(home, ".cache", "tensor_comprehensions")
    return ""


def _cpu_target() -> str:
    target = os.environ.get("TC_TARGET", "cpu")
    return target if target.startswith("cpu") else "cpu"


def make_session(directory: str | None = None) -> _tc.Session:
    """A session with its own cache in `directory`; None: as the environment says."""
    return _tc.open_session(
        cache_dir=cache_directory() if directory is None else directory,
        cached=directory is not None or os.environ.get("TC_CACHE") != "off",
        dump_dir=os.environ.get("TC_DUMP_DIR", ""),
        cuda_path=os.environ.get("TC_CUDA_PATH", ""),
        # NVRTC may come as a package beside this one.
        site_packages=sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}),
        cpu=_cpu_target(),
    )


@functools.cache
def session() -> _tc.Session:
    return make_session()
