# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the package; the extension module raises them too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Diagnostic:
    """One message about a program. Lines and columns count from 1; `str()` is what the command line prints."""

    severity: str
    code: str
    message: str
    line: int
    column: int
    end_line: int
    end_column: int
    notes: tuple[str, ...]
    rendered: str

    def __str__(self) -> str:
        return self.rendered


class Error(Exception):
    """Base of the package's exceptions."""


class CompileError(Error, ValueError):
    """The program is wrong; `diagnostics` says where, and the text of the exception is what the command line prints."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()):
        super().__init__(message)
        self.diagnostics = diagnostics


class MappingError(CompileError):
    """These options cannot be mapped to this target."""


class ArgumentError(Error, TypeError):
    """A tensor, a number or an option of a call does not fit."""


class TargetError(Error, RuntimeError):
    """The target is not available."""


class InternalError(Error, RuntimeError):
    """A defect of the compiler; `reproducer` names a file that `tensorc repro` replays, if one could be written."""

    def __init__(self, message: str, reproducer: str = ""):
        super().__init__(message)
        self.reproducer = reproducer


class ProgramWarning(UserWarning):
    """A program is legal, and probably not what was meant."""


class CacheWarning(UserWarning):
    """The compile cache cannot be written."""


class OptionWarning(UserWarning):
    """An option of the published package has no meaning in this compiler."""


def from_failure(kind: str, message: str, diagnostics: list[tuple[Any, ...]], reproducer: str) -> Error:
    """The exception of a failure of the C++ interface."""
    if kind == "program":
        found = tuple(Diagnostic(*(*entry[:7], tuple(entry[7]), entry[8].rstrip())) for entry in diagnostics)
        return CompileError("\n" + message.rstrip(), found)
    if kind == "argument":
        return ArgumentError(message)
    if kind == "mapping":
        return MappingError(message)
    if kind == "target":
        return TargetError(message)
    return InternalError(message, reproducer)
