# SPDX-License-Identifier: Apache-2.0
"""A sign of life while the compiler or the tuner works for more than a second: on a terminal or in a notebook, and only with tqdm installed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

_PATIENCE = 1.0  # seconds before anything is shown
_PERIOD = 0.2  # seconds between updates


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    instance = shell.get_ipython() if shell is not None else None
    return instance is not None and type(instance).__name__ == "ZMQInteractiveShell"


def _is_seen() -> bool:
    """Whether somebody may be looking."""
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


class compiling:  # noqa: N801 - used like a function
    """Shows `compiling NAME for TARGET` with the time that it takes, until finished() is called."""

    def __init__(self, name: str, target: str):
        self._timer: threading.Timer | None = None
        if not _is_seen():
            return
        self._done = threading.Event()
        self._label = f"compiling {name} for {target}"
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True
        self._timer.start()

    def _show(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        bar: Any = tqdm(desc=self._label, bar_format="{desc}: {elapsed}", leave=False)
        while not self._done.wait(_PERIOD):
            bar.update()
        bar.close()

    def finished(self) -> None:
        if self._timer is None:
            return
        self._done.set()
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()


class tuning:  # noqa: N801 - used like a function
    """A bar of a search, over its seconds or its candidates; with the best time so far."""

    def __init__(self, name: str, seconds: float, trials: int):
        self._name, self._seconds, self._trials = name, seconds, trials
        self._bar: Any = None

    def __enter__(self) -> Callable[[dict[str, Any]], None] | None:
        if not _is_seen():
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        unit, total = ("candidates", self._trials) if self._trials else ("s", round(self._seconds))
        shape = "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total:.0f} " + unit + "{postfix}"
        self._bar = tqdm(desc=f"tuning {self._name}", total=total or None, bar_format=shape if total else "{desc}: {elapsed}{postfix}", leave=False)
        return self.show

    def show(self, now: dict[str, Any]) -> None:
        self._bar.n = min(now["candidates"], self._trials) if self._trials else min(now["seconds"], self._seconds or now["seconds"])
        self._bar.set_postfix_str(summary(now), refresh=False)
        self._bar.refresh()

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def summary(now: dict[str, Any]) -> str:
    """What a search has done so far, in a line."""
    parts = [f"best {now['best_us']:.4g} us" if now["best_us"] else "nothing measured yet"]
    if now["default_us"]:
        parts.append(f"start {now['default_us']:.4g} us")
    parts.append(f"{now['candidates'] + now['resumed']} tried")
    if now["failures"]:
        parts.append(", ".join(f"{count} {reason}" for reason, count in now["failures"].items()))
    return ", ".join(parts)
