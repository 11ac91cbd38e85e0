# SPDX-License-Identifier: Apache-2.0
"""The environment variables of the package (docs/environment.md), read once, and the session that they configure."""

from __future__ import annotations

import functools
import importlib.util
import os
import sysconfig
import warnings

from . import _tc
from ._errors import ArgumentError, CacheWarning


def cache_directory() -> str:
    """Folder of the compile cache: TC_CACHE_DIR, or `tensor_comprehensions` in the user's cache folder; empty: memory only."""
    if given := os.environ.get("TC_CACHE_DIR"):
        return given
    if base := os.environ.get("XDG_CACHE_HOME"):
        return os.path.join(base, "tensor_comprehensions")
    if home := os.environ.get("HOME"):
        return os.path.join(home, ".cache", "tensor_comprehensions")
    return ""


def cache_enabled() -> bool:
    """Whether TC_CACHE leaves the cache on."""
    value = os.environ.get("TC_CACHE", "")
    if value not in ("", "on", "off"):
        raise ArgumentError(f"TC_CACHE={value}: unknown value; accepted are on, off")
    return value != "off"


def _cpu_target() -> str:
    target = os.environ.get("TC_TARGET") or "cpu"
    # Whether a call runs on a GPU is said by its tensors.
    if target == "cuda" or target.startswith(("cuda:", "cuda-")):
        return "cpu"
    return target


def _dump_directory() -> str:
    folder = os.environ.get("TC_DUMP_DIR", "")
    if folder:
        try:
            os.makedirs(folder, exist_ok=True)
            if not os.access(folder, os.W_OK):
                raise PermissionError("permission denied")
        except OSError as error:
            raise ArgumentError(
                f"TC_DUMP_DIR={folder}: no files can be written there: {error.strerror or error}; it takes a folder, which is made if it is missing"
            ) from None
    return folder


def _package_folders() -> list[str]:
    """Where NVRTC may come as a package: beside this one, and wherever Python finds them."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    found = importlib.util.find_spec("nvidia")
    if found is not None:
        folders += [os.path.dirname(folder) for folder in found.submodule_search_locations or ()]
    return list(dict.fromkeys(folders))


def make_session(directory: str | None = None) -> _tc.Session:
    """A session with its own cache in `directory`; None: as the environment says."""
    cache_dir = cache_directory() if directory is None else directory
    cpu = _cpu_target()
    found = _tc.open_session(
        cache_dir=cache_dir,
        cached=directory is not None or cache_enabled(),
        dump_dir=_dump_directory(),
        cuda_path=os.environ.get("TC_CUDA_PATH", ""),
        site_packages=_package_folders(),
        cpu=cpu,
    )
    try:
        _tc.target_facts(found, cpu)
    except ArgumentError as error:
        raise ArgumentError(f"TC_TARGET={cpu}: {error}") from None
    if problem := _tc.cache_problem(found):
        warnings.warn(
            f"the compile cache in '{cache_dir}' cannot be written: {problem}; compiled code is not kept"
            " (TC_CACHE_DIR names another folder, TC_CACHE=off uses none)",
            CacheWarning,
            stacklevel=2,
        )
    return found


@functools.cache
def session() -> _tc.Session:
    return make_session()
