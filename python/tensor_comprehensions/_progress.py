# SPDX-License-Identifier: Apache-2.0
"""A sign of life while the compiler works for more than a second: on a terminal or in a notebook, and only with tqdm installed."""

from __future__ import annotations

import sys
import threading
from typing import Any

_PATIENCE = 1.0  # seconds before anything is shown
_PERIOD = 0.2  # seconds between updates


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    instance = shell.get_ipython() if shell is not None else None
    return instance is not None and type(instance).__name__ == "ZMQInteractiveShell"


class compiling:  # noqa: N801 - used like a function
    """Shows `compiling NAME for TARGET` with the time that it takes, until finished() is called."""

    def __init__(self, name: str, target: str):
        self._timer: threading.Timer | None = None
        if not (_in_notebook() or (sys.stderr is not None and sys.stderr.isatty())):
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
