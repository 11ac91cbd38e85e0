# SPDX-License-Identifier: Apache-2.0
"""The vocabulary in which references.py describes the examples."""

from __future__ import annotations

import json
import pathlib
import re
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

NUMPY_TYPES = {
    "float": np.float32, "double": np.float64, "half": np.float16,
    "int8": np.int8, "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "bool": np.bool_,
}

# Values of the sizes and const parameters of each def, shared with the tests in C++.
SIZES = json.loads((pathlib.Path(__file__).resolve().parents[1] / "cases" / "examples.json").read_text())


@dataclass(frozen=True)
class Integers:
    """An integer tensor drawn from [low, high); dimensions and bounds are expressions over sizes."""

    kind: str
    low: str | int
    high: str | int


@dataclass
class Example:
    file: str
    definition: str
    inputs: dict[str, str | Integers | Callable]
    reference: Callable
    consts: tuple[str, ...] = ()  # sizes that are passed as const parameters with -D
    rtol: float = 1e-4
    atol: float = 1e-4
    id: str = field(init=False)
    sizes: list[dict[str, int]] = field(init=False)  # a typical small one, one odd, one with a 1

    def __post_init__(self):
        self.id = self.definition
        self.sizes = SIZES[self.definition]["sizes"]

    def make_inputs(self, sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
        """The inputs of one run; floats are standard normal and exact in the tensor's type."""
        random = np.random.default_rng(seed)
        return {name: _make(spec, sizes, random) for name, spec in self.inputs.items()}

    def expected(self, inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
        """Outputs by name. Floating inputs reach the reference as float64."""
        wide = {name: a.astype(np.float64) if a.dtype.kind == "f" else a for name, a in inputs.items()}
        return self.reference(**wide, **{name: sizes[name] for name in self.consts})


def _make(spec, sizes, random):
    if callable(spec):
        return spec(random, sizes)
    kind = spec.kind if isinstance(spec, Integers) else spec
    element, dims = re.fullmatch(r"(\w+)(?:\((.*)\))?", kind).groups()
    value = lambda text: eval(str(text), {"__builtins__": {}}, dict(sizes))  # our own constants only
    shape = value(f"({dims},)") if dims else ()
    if isinstance(spec, Integers):
        return random.integers(value(spec.low), value(spec.high), shape).astype(NUMPY_TYPES[element])
    return np.asarray(random.standard_normal(shape), NUMPY_TYPES[element])


REGISTRY: list[Example] = []


def example(file: str, *, inputs, consts=(), **tolerance):
    """Registers the decorated function as the reference of the def of its name in `file`."""

    def register(function):
        REGISTRY.append(Example(file, function.__name__, inputs, function, consts, **tolerance))
        return function

    return register
