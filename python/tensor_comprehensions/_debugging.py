# SPDX-License-Identifier: Apache-2.0
"""Switches of the published package for what is shown while it works. They change nothing here, and say where it is shown instead."""

from __future__ import annotations

import warnings

from ._errors import OptionWarning

_STAGES = "stages of a compilation are in Executor.stage(name) and explain(), and TC_DUMP_DIR keeps them all"


def _switch(name: str, instead: str) -> None:
    warnings.warn(f"{name}() changes nothing: {instead}", OptionWarning, stacklevel=3)


def logtostderr(on: bool) -> None:
    _switch("logtostderr", "there is no log; errors and warnings are Python's")


def debug_lang(on: bool) -> None:
    _switch("debug_lang", _STAGES)


def debug_halide(on: bool) -> None:
    _switch("debug_halide", _STAGES)


def debug_tc_mapper(on: bool) -> None:
    _switch("debug_tc_mapper", _STAGES)


def debug_tuner(on: bool) -> None:
    _switch("debug_tuner", "every candidate is in the trials of what autotune returns")


def dump_cuda(on: bool) -> None:
    _switch("dump_cuda", "the generated code is Executor.source")


def dump_ptx(on: bool) -> None:
    _switch("dump_ptx", 'PTX is Executor.stage("ptx")')
