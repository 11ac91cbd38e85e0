# SPDX-License-Identifier: Apache-2.0
"""`python -m tensor_comprehensions info`: version, targets, libraries, cache."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from typing import Any

from . import _environment, _tc
from ._errors import ArgumentError, Error

_LIBRARIES = ("numpy", "torch", "jax", "cupy", "tensorflow", "tqdm")


def _target(name: str) -> dict[str, str]:
    try:
        return {"facts": _tc.target_facts(_environment.session(), name)}
    except Error as error:
        return {"missing": str(error)}


def _information() -> dict[str, Any]:
    return {
        "version": _tc.version(),
        "build": _tc.build_identity(),
        "python": sys.version.split()[0],
        "module": _tc.__file__,
        "targets": {name: _target(name) for name in ("cpu", "cuda")},
        "libraries": [name for name in _LIBRARIES if importlib.util.find_spec(name) is not None],
        "cache": {"path": _environment.cache_directory(), "enabled": _environment.cache_enabled()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tensor_comprehensions")
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="version, targets found, libraries, cache")
    info.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    try:
        found = _information()
    except ArgumentError as error:
        print(f"tensor_comprehensions: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(found))
        return 0
    print(f"tensor_comprehensions {found['version']}, build {found['build']}, Python {found['python']}, {found['module']}")
    for name, target in found["targets"].items():
        print(f"target {name}: {target.get('facts') or target['missing']}")
    print(f"libraries: {', '.join(found['libraries']) or 'none'}")
    print(f"cache: {found['cache']['path'] or 'memory only'}{'' if found['cache']['enabled'] else ', switched off by TC_CACHE'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
