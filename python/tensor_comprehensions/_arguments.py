# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments: an error names the argument, what it is and what is expected."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import ArgumentError


def refuse(value: Any, what: str, expected: str) -> ArgumentError:
    shown = repr(value)
    if len(shown) > 60:
        shown = f"{shown[:57]}..."
    return ArgumentError(f"{what} is {shown} ({type(value).__name__}) where {expected} is expected")


def text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise refuse(value, what, "a text")
    return value


def whole(value: Any, what: str) -> int:
    """A Python or NumPy integer; no bool, no float."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise refuse(value, what, "a whole number")


def flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise refuse(value, what, "True or False")
    return value


def function(value: Any, what: str, expected: str = "a function") -> Any:
    if not callable(value):
        raise refuse(value, what, expected)
    return value


def keywords(name: str, parameters: Iterable[str], known: Iterable[str], given: Mapping[str, Any]) -> dict[str, int]:
    """The sizes among the keyword arguments of a call of `name`, after a check of all of them."""
    sizes = {}
    for key, value in given.items():
        if key in parameters or key == "outputs":
            continue
        if key == "unchecked":
            flag(value, f"'unchecked' of '{name}'")
        elif key in known:
            sizes[key] = whole(value, f"size '{key}' of '{name}'")
        else:
            raise ArgumentError(f"'{name}' has neither a parameter nor a size '{key}'")
    return sizes
