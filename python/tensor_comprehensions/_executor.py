# SPDX-License-Identifier: Apache-2.0
"""A compiled comprehension for fixed types, shapes and strides."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from . import _arguments, _tc
from ._options import MappingOptions


@dataclass(frozen=True)
class TensorInfo:
    """Type, shape and strides (in elements) of an input or output."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    in_place_of: str | None = None

    def __str__(self) -> str:
        place = f", updates {self.in_place_of}" if self.in_place_of else ""
        return f"{self.name}: {self.dtype}{list(self.shape)}, strides {list(self.strides)}{place}"


def _info(entry: dict[str, Any]) -> TensorInfo:
    return TensorInfo(entry["name"], entry["dtype"], tuple(entry["shape"]), tuple(entry["strides"]), entry.get("in_place_of"))


class Executor(_tc.Launcher):
    """What `compile` returns. Calls take tensors of the very types, shapes and strides that it was compiled for.

    `outputs=` names the memory that results are written to; with `unchecked=True` overlap of memory is not looked for.
    """

    def __init__(self, interface: _tc.Interface, kernel: _tc.Kernel):
        super().__init__(interface, kernel)
        self._interface = interface
        self._known: dict[str, Any] = json.loads(self._report())

    @property
    def name(self) -> str:
        return self._known["def"]

    @property
    def target(self) -> str:
        """`cpu` or `cuda`."""
        return self._known["target"]

    @property
    def options(self) -> MappingOptions:
        return MappingOptions(json.dumps(self._known["options"]))

    @property
    def kernels(self) -> int:
        """Launches of one run; a loop around launches counts once."""
        return self._known["kernels"]

    @property
    def cache(self) -> str:
        """Where the code came from: miss, disk or memory."""
        return self._known["cache"]

    @property
    def compile_ms(self) -> float:
        return self._known["compile_ms"]

    @property
    def scratch_bytes(self) -> int:
        return self._known["scratch_bytes"]

    @property
    def resources(self) -> list[dict[str, Any]]:
        """What each kernel takes of a GPU: registers, shared memory, spills. Empty on a CPU."""
        return self._known["resources"]

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        return tuple(map(_info, self._known["inputs"]))

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return tuple(map(_info, self._known["outputs"]))

    @property
    def source(self) -> str:
        """The generated code: CUDA C++, or LLVM's on a CPU."""
        return self.stage("cuda" if self.target == "cuda" else "llvm")

    def stage(self, name: str) -> str:
        """Text of a stage of the compilation: typed, schedule, tile, kernel, and llvm, asm or cuda, ptx."""
        return self._stage(_arguments.text(name, "the stage"))

    def check(self) -> str | None:
        """With the option `bounds=error`: the first access of the last run that was out of range. Waits for a CUDA stream."""
        return self._check()

    def explain(self) -> str:
        """A report: what runs where, with which options, and the schedule and tile program that were chosen."""
        return "\n".join([*(f"{label}: {text}" for label, text in self._facts()), "", "schedule:", self.stage("schedule"), "tile program:",
                          self.stage("tile")])

    def _facts(self) -> list[tuple[str, str]]:
        default = MappingOptions().to_dict(self.target)
        chosen = {name: value for name, value in self._known["options"].items() if default.get(name, value) != value}
        facts = [("def", self.name), ("target", self._known["facts"])]
        facts += [("input", str(info)) for info in self.inputs] + [("output", str(info)) for info in self.outputs]
        facts.append(("options", json.dumps(chosen) if chosen else "default"))
        facts.append(("kernels", str(self.kernels)))
        facts.append(("scratch", f"{self.scratch_bytes} bytes"))
        facts.append(("compiled", f"in {self.compile_ms:.1f} ms, {self.cache}"))
        for entry in self.resources:
            facts.append(("kernel", ", ".join(f"{name} {value}" for name, value in entry.items())))
        return facts

    def __copy__(self) -> Executor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Executor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("an executor belongs to its process: pickle the comprehension, or its text and options, and compile again")

    def __repr__(self) -> str:
        shapes = ", ".join(f"{info.dtype}{list(info.shape)} {info.name}" for info in self.inputs)
        return f"<executor of {self.name}({shapes}) on {self.target}, {self.kernels} kernels>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(label)}</th><td>{html.escape(text)}</td></tr>" for label, text in self._facts())
        parts = [f"<table>{rows}</table>", f"<pre>{html.escape(self._interface.text.strip())}</pre>"]
        stages = [("ranges", "typed"), ("schedule", "schedule"), ("tile program", "tile"), ("source", None)]
        for label, stage in stages:
            text = self.source if stage is None else self.stage(stage)
            parts.append(f"<details><summary>{label}</summary><pre>{html.escape(text)}</pre></details>")
        return "<div class='tensor-comprehension'>" + "".join(parts) + "</div>"
