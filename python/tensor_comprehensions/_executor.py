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


class Executor:
    """What `compile` returns. Calls take tensors of the very types, shapes and strides that it was compiled for."""

    def __init__(self, interface: _tc.Interface, operation: _tc.Operation, kernel: _tc.Kernel):
        self._interface = interface
        self._operation = operation
        self._kernel = kernel
        self._report = kernel.report()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs. `outputs=` names the memory that results are written to; with `unchecked=True` overlap of memory is not looked for."""
        return self._operation.run(self._kernel, *args, **kwargs)

    @property
    def name(self) -> str:
        return self._report["name"]

    @property
    def target(self) -> str:
        """`cpu` or `cuda`."""
        return self._report["target"]

    @property
    def options(self) -> MappingOptions:
        return MappingOptions(self._report["options"])

    @property
    def kernels(self) -> int:
        """Launches of one run; a loop around launches counts once."""
        return self._report["kernels"]

    @property
    def cache(self) -> str:
        """Where the code came from: miss, disk or memory."""
        return self._report["cache"]

    @property
    def compile_ms(self) -> float:
        return self._report["compile_ms"]

    @property
    def scratch_bytes(self) -> int:
        return self._report["scratch_bytes"]

    @property
    def resources(self) -> list[dict[str, Any]]:
        """What each kernel takes of a GPU: registers, shared memory, spills. Empty on a CPU."""
        return self._report["resources"]

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        return tuple(TensorInfo(name, *meta[:3]) for name, meta in zip(self._report["input_names"], self._report["inputs"]))

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        names = self._report["input_names"]
        return tuple(
            TensorInfo(name, meta[0], meta[1], meta[2], names[place] if place >= 0 else None)
            for (name, place, _), meta in zip(self._report["output_roles"], self._report["outputs"])
        )

    @property
    def source(self) -> str:
        """The generated code: CUDA C++, or LLVM's on a CPU."""
        return self.stage("cuda" if self.target == "cuda" else "llvm")

    def stage(self, name: str) -> str:
        """Text of a stage of the compilation: typed, schedule, tile, kernel, and llvm, asm or cuda, ptx."""
        return self._kernel.stage(_arguments.text(name, "the stage"))

    def check(self) -> str | None:
        """With the option `bounds=error`: the first access of the last run that was out of range. Waits for a CUDA stream."""
        return self._kernel.check()

    def explain(self) -> str:
        """A report: what runs where, with which options, and the schedule and tile program that were chosen."""
        return "\n".join([*(f"{label}: {text}" for label, text in self._facts()), "", "schedule:", self.stage("schedule"), "tile program:",
                          self.stage("tile")])

    def _facts(self) -> list[tuple[str, str]]:
        default = MappingOptions().to_dict(self.target)
        chosen = {name: value for name, value in json.loads(self._report["options"]).items() if default.get(name, value) != value}
        facts = [("def", self.name), ("target", self._report["facts"])]
        facts += [("input", str(info)) for info in self.inputs] + [("output", str(info)) for info in self.outputs]
        facts.append(("options", json.dumps(chosen) if chosen else "default"))
        facts.append(("kernels", str(self.kernels)))
        facts.append(("scratch", f"{self.scratch_bytes} bytes"))
        facts.append(("compiled", f"in {self.compile_ms:.1f} ms, {self.cache}"))
        for entry in self.resources:
            facts.append(("kernel", ", ".join(f"{name} {value}" for name, value in entry.items())))
        return facts

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
