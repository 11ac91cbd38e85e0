# SPDX-License-Identifier: Apache-2.0
"""Mapping options: chainable setters made from the compiler's schema, and the setters of the published package."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterable
from typing import Any

from . import _arguments, _tc
from ._errors import ArgumentError, OptionWarning

_FIELDS: list[tuple[str, str, str]] = _tc.option_fields()
_NAMES = tuple(name for name, _, _ in _FIELDS)


class MappingOptions:
    """How a program is mapped to the machine.

    `MappingOptions()` and `MappingOptions("default")` leave every choice to the compiler's model, `MappingOptions("naive")` makes the
    plainest choices. Setters change the object and return it: `MappingOptions().tile([32, 32]).fusion("min")`. Each option of
    docs/options.md is a setter; `options["tile"]` reads one, `to_dict()` all of them.
    """

    def __init__(self, base: str | dict[str, Any] | MappingOptions = "default"):
        self._base: str = "default"
        self._changes: dict[str, Any] = {}
        if isinstance(base, MappingOptions):
            self._base, self._changes = base._base, dict(base._changes)
        elif isinstance(base, dict):
            for name, value in base.items():
                if name != "version":
                    self.set(name, value)
        elif not isinstance(base, str):
            raise _arguments.refuse(base, "MappingOptions(base)", "a name, JSON, a dictionary or a MappingOptions")
        elif base.lstrip().startswith("{"):
            complete = json.loads(_tc.complete_options(base, "cpu"))
            self._changes = {name: complete[name] for name in _NAMES}
        else:
            _tc.complete_options(base, "cpu")
            self._base = base

    def set(self, name: str, value: Any) -> MappingOptions:
        """Sets one option of docs/options.md by name."""
        if name not in _NAMES:
            raise ArgumentError(f"there is no option '{name}'; options are {', '.join(_NAMES)}")
        if isinstance(value, Iterable) and not isinstance(value, str):
            value = [_arguments.whole(entry, f"an element of option '{name}'") for entry in value]
        previous = dict(self._changes)
        self._changes[name] = value
        try:
            self.to_json("cpu")
        except ArgumentError:
            self._changes = previous
            raise
        return self

    def __getitem__(self, name: str) -> Any:
        if name not in _NAMES:
            raise ArgumentError(f"there is no option '{name}'; options are {', '.join(_NAMES)}")
        return self.to_dict()[name]

    def to_dict(self, target: str = "cpu") -> dict[str, Any]:
        """Every option; named sets differ a little between the targets cpu and cuda."""
        values = json.loads(self.to_json(target))
        values.pop("version", None)
        return values

    def to_json(self, target: str = "cpu") -> str:
        """What `tensorc run --options FILE.json` reads."""
        if target not in ("cpu", "cuda"):
            raise _arguments.refuse(target, "target", "'cpu' or 'cuda'")
        complete = json.loads(_tc.complete_options(self._base, target))
        complete.update(self._changes)
        try:
            request = json.dumps(complete)
        except TypeError:
            odd = next(name for name, value in self._changes.items() if not isinstance(value, (bool, int, float, str, list)))
            raise _arguments.refuse(self._changes[odd], f"option '{odd}'", "a number, a name or a list of numbers") from None
        return _tc.complete_options(request, target)

    def _request(self, target: str) -> str:
        return self._base if not self._changes else self.to_json(target)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MappingOptions) and all(self.to_json(t) == other.to_json(t) for t in ("cpu", "cuda"))

    def __hash__(self) -> int:
        return hash(self.to_json("cpu"))

    def __str__(self) -> str:
        return self.to_json()

    def __repr__(self) -> str:
        changes = "".join(f".{name}({value!r})" for name, value in self._changes.items())
        return f"MappingOptions({self._base!r}){changes}"

    # ---- setters of the published package ----

    def mapToThreads(self, *threads: Any) -> MappingOptions:  # noqa: N802
        """Threads of a block along each dimension; their product counts here."""
        return self.set("threads", math.prod(_flat(threads)))

    def mapToBlocks(self, *blocks: Any) -> MappingOptions:  # noqa: N802
        """Blocks along each dimension; their product is the number of parallel tasks aimed at."""
        return self.set("tasks", math.prod(_flat(blocks)))

    def useSharedMemory(self, use: bool) -> MappingOptions:  # noqa: N802
        return self.set("stage", _arguments.flag(use, "use"))

    def maxSharedMemory(self, size: int) -> MappingOptions:  # noqa: N802
        return self.set("local_bytes", _arguments.whole(size, "size"))

    def scheduleFusionStrategy(self, strategy: str) -> MappingOptions:  # noqa: N802
        """Max, Preserve3Coincident or Min."""
        known = {"Max": "max", "Preserve3Coincident": "preserve3", "Min": "min"}
        if _arguments.text(strategy, "strategy") not in known:
            raise ArgumentError(f"there is no fusion strategy '{strategy}'; strategies are {', '.join(known)}")
        return self.set("fusion", known[strategy])

    def outerScheduleFusionStrategy(self, strategy: str) -> MappingOptions:  # noqa: N802
        return self.scheduleFusionStrategy(strategy)

    def serialize(self) -> bytes:
        return self.to_json().encode()


def _flat(values: tuple[Any, ...]) -> list[int]:
    if len(values) == 1 and isinstance(values[0], Iterable):
        values = tuple(values[0])
    return [_arguments.whole(value, "a size") for value in values]


def _make_setter(name: str, domain: str, doc: str) -> Any:
    def setter(self: MappingOptions, *value: Any) -> MappingOptions:
        single = len(value) == 1 and (name != "tile" or isinstance(value[0], Iterable))
        return self.set(name, value[0] if single else list(value))

    setter.__name__ = name
    setter.__qualname__ = f"MappingOptions.{name}"
    setter.__doc__ = f"{doc[0].upper()}{doc[1:]}. Values: {domain}."
    return setter


def _make_empty_setter(name: str, reason: str) -> Any:
    def setter(self: MappingOptions, *value: Any) -> MappingOptions:
        warnings.warn(f"MappingOptions.{name} changes nothing: {reason}", OptionWarning, stacklevel=2)
        return self

    setter.__name__ = name
    setter.__qualname__ = f"MappingOptions.{name}"
    setter.__doc__ = f"Changes nothing, with a warning: {reason}."
    return setter


for _name, _domain, _doc in _FIELDS:
    setattr(MappingOptions, _name, _make_setter(_name, _domain, _doc))

# Setters of the published package whose choice the compiler makes by itself.
for _name, _reason in {
    "unroll": "the lowering unrolls what fits the registers",
    "unrollCopyShared": "copies are laid out and unrolled by the lowering",
    "usePrivateMemory": "values live in registers wherever they fit",
    "useReadOnlyCache": "loads of read-only memory use the read-only path wherever it is legal",
    "matchLibraryCalls": "no library is called; contractions are compiled",
    "fixParametersBeforeScheduling": "sizes are always fixed before scheduling",
    "tileImperfectlyNested": "tiles follow the groups of fused statements",
    "intraTileScheduleFusionStrategy": "there is one fusion strategy",
}.items():
    setattr(MappingOptions, _name, _make_empty_setter(_name, _reason))
