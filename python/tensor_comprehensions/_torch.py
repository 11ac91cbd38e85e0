# SPDX-License-Identifier: Apache-2.0
"""Defs as custom operators of PyTorch, so that tracing and transformations see through a call.

Plain tensors do not come this way: they go straight to the extension module. A call under torch.compile, or with tensors that hold no
memory (of vmap, grad, fake tensors), goes through `torch.ops.tensor_comprehensions`.
"""

from __future__ import annotations

import hashlib
import itertools
import warnings
from typing import Any

import torch

from . import _arguments, _operator
from ._errors import ArgumentError, ProgramWarning

_NAMESPACE = "tensor_comprehensions"
_counter = itertools.count()

_DTYPES = {
    "bool": torch.bool, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64, "uint8": torch.uint8,
    "uint16": torch.uint16, "uint32": torch.uint32, "uint64": torch.uint64, "float16": torch.float16, "bfloat16": torch.bfloat16,
    "float32": torch.float32, "float64": torch.float64, "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2,
}
_TYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
# Types that autocast changes into each other.
_AUTOCAST = (torch.float16, torch.bfloat16, torch.float32)
# Devices that kernels run on and autocast knows: torch.amp.is_autocast_available() is opaque to Dynamo before PyTorch 2.13.
AUTOCAST_DEVICES = ("cpu", "cuda")
_INTEGRAL = ("bool", "int", "uint")


def install() -> None:
    """Lets calls know when they are traced. Registers the defs that were there before PyTorch."""
    if _operator._tracing is torch.compiler.is_dynamo_compiling:
        return
    _operator._tracing = torch.compiler.is_dynamo_compiling
    for operator in list(_operator.alive):
        register(operator)


class Traced:
    """A def as a custom operator: tensors and const values in, fresh outputs out; what is updated in place is declared as mutated."""

    def __init__(self, operator: _operator.Operator):
        interface = operator._interface
        # PyTorch keeps an operator for as long as the process lives, and with it what its functions refer to.
        self.operator = operator
        self.name = interface.name
        self.parameters = interface.parameters
        self.parameter_names = tuple(entry[0] for entry in self.parameters)
        self.known_sizes = tuple(interface.sizes)
        self.results = interface.results
        bare = {dim for _, _, _, dims in self.parameters for dim in dims}
        # Only sizes that no shape gives are arguments.
        self.sizes = tuple(size for size in interface.sizes if size not in bare)
        self.tensor_positions = tuple(i for i, (_, _, const, _) in enumerate(self.parameters) if not const)
        self.mutated_positions = tuple(self.tensor_positions[place] for _, _, place, _, _ in self.results if place >= 0)
        self.fresh = tuple(i for i, (_, _, place, _, _) in enumerate(self.results) if place < 0)
        identity = hashlib.sha256(interface.text.encode()).hexdigest()[:8]
        self.qualified_name = f"{_NAMESPACE}::{interface.name}_{identity}_{next(_counter)}"
        self.op = torch.library.custom_op(self.qualified_name, self._run, mutates_args=self._mutated(), schema=self._schema())
        self.op.register_fake(self._fake)
        self.op.register_vmap(self._vmap)

    def _mutated(self) -> list[str]:
        places = {place for _, _, place, _, _ in self.results if place >= 0}
        return [f"in_{self.parameters[i][0]}" for n, i in enumerate(self.tensor_positions) if n in places]

    def _schema(self) -> str:
        mutated, arguments = self._mutated(), []
        for name, kind, const, _ in self.parameters:
            if const:
                scalar = "bool" if kind == "bool" else "int" if kind.startswith(_INTEGRAL) else "float"
                arguments.append(f"{scalar} in_{name}")
            else:
                alias = f"({chr(97 + len(arguments))}!)" if f"in_{name}" in mutated else ""
                arguments.append(f"Tensor{alias} in_{name}")
        arguments += [f"int? size_{size}=None" for size in self.sizes]
        returned = ", ".join("Tensor" for _ in self.fresh)
        return f"({', '.join(arguments)}) -> {returned if len(self.fresh) == 1 else f'({returned})'}"

    def _split(self, flat: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, int]]:
        count = len(self.parameters)
        return flat[:count], {size: value for size, value in zip(self.sizes, flat[count:]) if value is not None}

    def _pick_fresh(self, outputs: Any) -> Any:
        if not isinstance(outputs, (tuple, list)):
            outputs = (outputs,)
        fresh = tuple(outputs[i] for i in self.fresh)
        return fresh[0] if len(fresh) == 1 else (fresh or None)

    def _run(self, *flat: Any) -> Any:
        arguments, sizes = self._split(tuple(map(_without_subclass, flat)))
        return self._pick_fresh(self.operator._call_plain(*arguments, **sizes))

    def _fake(self, *flat: Any) -> Any:
        arguments, values = self._split(flat)
        described, device = [], None
        for (name, _, const, _), argument in zip(self.parameters, arguments):
            if const:
                values[name] = argument
                continue
            device = argument.device
            described.append((_type_name(argument.dtype), tuple(int(size) for size in argument.shape)))
        shapes = self.operator._infer(described, values)
        return self._pick_fresh([torch.empty(shape, dtype=_DTYPES[kind], device=device) for kind, shape in shapes])


    def _vmap(self, info: Any, in_dims: tuple[Any, ...], *flat: Any) -> Any:
        """The def with a batch index, or one element after the other where a def cannot be rewritten."""
        flat = tuple(entry if dim is None else entry.movedim(dim, 0) for entry, dim in zip(flat, in_dims))
        marks = tuple(in_dims[i] is not None for i in self.tensor_positions)
        batched = self.operator._batched(marks)
        if batched is not None:
            operator, results = batched
            return operator._traced.op(*flat), self._pick_fresh([0 if result else None for result in results])
        if any(mark is False for mark, i in zip(marks, self.tensor_positions) if f"in_{self.parameters[i][0]}" in self._mutated()):
            raise ArgumentError(f"'{self.name}' updates a tensor in place that has no batch dimension")
        rows = [self.op(*(entry if dim is None else entry[row] for entry, dim in zip(flat, in_dims))) for row in range(info.batch_size)]
        if not self.fresh:
            return None, None
        if len(self.fresh) == 1:
            return torch.stack(rows), 0
        return tuple(torch.stack(column) for column in zip(*rows)), tuple(0 for _ in self.fresh)


def _without_subclass(entry: Any) -> Any:
    """A tensor of a subclass that changes no operation as a plain one on the same memory."""
    if not isinstance(entry, torch.Tensor) or type(entry) is torch.Tensor:
        return entry
    is_plain = type(entry).__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    return entry.as_subclass(torch.Tensor) if is_plain else entry


def _type_name(dtype: torch.dtype) -> str:
    if dtype not in _TYPE_NAMES:
        raise ArgumentError(f"the language has no element type {dtype}")
    return _TYPE_NAMES[dtype]


def refuse(name: str, parameters: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Errors for tensors that no custom operator takes: without dense memory, or to be differentiated."""
    for parameter, argument in [*zip(parameters, args), *kwargs.items()]:
        if not isinstance(argument, torch.Tensor):
            continue
        what = f"argument '{parameter}' of '{name}'" if parameter in parameters else f"'{parameter}' of '{name}'"
        if argument.is_nested or argument.is_quantized or argument.layout != torch.strided:
            kind = "nested" if argument.is_nested else "quantized" if argument.is_quantized else f"of layout {argument.layout}"
            raise ArgumentError(f"{what} is a tensor that is {kind}: give a dense one")
        recorded = torch.is_grad_enabled() and argument.requires_grad
        if torch._C._functorch.is_gradtrackingtensor(argument) and (recorded or _has_tangent(argument)):
            raise ArgumentError(f"{what} is differentiated, and '{name}' has no derivative: make_autograd gives it one")


def _has_tangent(tensor: torch.Tensor) -> bool:
    forward = torch.autograd.forward_ad
    return forward._current_level >= 0 and forward.unpack_dual(tensor).tangent is not None


def look_at_gradients(name: str, arguments: tuple[Any, ...]) -> None:
    """Tells of gradients that end at a call."""
    tensors = [argument for argument in arguments if isinstance(argument, torch.Tensor)]
    if any(_has_tangent(tensor) for tensor in tensors):
        raise ArgumentError(f"an input of '{name}' has a tangent, and '{name}' has no derivative: make_autograd gives it one")
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        warnings.warn(
            f"an input of '{name}' requires a gradient, its result has none: make_autograd gives a comprehension a derivative,"
            " torch.no_grad() says that none is wanted",
            ProgramWarning,
            stacklevel=4,
        )


def register(operator: _operator.Operator) -> None:
    operator._traced = Traced(operator)


def call_operator(operator: _operator.Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call through the custom operator; Dynamo traces this function."""
    traced = operator._traced
    outputs = kwargs.get("outputs")
    arguments = bind(traced, args, kwargs)
    sizes = _arguments.keywords(traced.name, traced.parameter_names, traced.known_sizes, kwargs)
    arguments = autocast_arguments(traced, arguments) or arguments
    device = None
    for (name, _, _, _), argument in zip(traced.parameters, arguments):
        if isinstance(argument, torch.Tensor):
            if device is not None and argument.device != device:
                raise ArgumentError(f"argument '{name}' of '{traced.name}' lies on {argument.device} and another one on {device}; the tensors of a"
                                    " call lie on one device")
            device = argument.device
    flat = []
    for (name, kind, const, dims), argument in zip(traced.parameters, arguments):
        if not const and not isinstance(argument, torch.Tensor):
            if dims:
                raise ArgumentError(f"argument '{name}' of '{traced.name}' is no tensor of PyTorch")
            argument = torch.full((), argument, dtype=_DTYPES[kind], device=device)
        flat.append(argument)
    for size in traced.sizes:
        flat.append(sizes.get(size))
    made = traced.op(*flat)
    fresh = list(made) if len(traced.fresh) > 1 else [made]
    return _assemble(traced, flat, fresh, outputs)


def bind(traced: Traced, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    names = [name for name, _, _, _ in traced.parameters]
    if len(args) > len(names):
        raise ArgumentError(f"'{traced.name}' takes {len(names)} arguments, {len(args)} were given")
    arguments = list(args)
    for name in names[len(args):]:
        if name not in kwargs:
            raise ArgumentError(f"argument '{name}' of '{traced.name}' is missing")
        arguments.append(kwargs[name])
    return arguments


def autocast_arguments(traced: Traced, arguments: list[Any], always: bool = False) -> list[Any] | None:
    """Under autocast, or `always`: floating-point tensors as the def declares them. None where autocast is off or nothing is to be cast.

    Tensors that the def updates stay as they are, and so does float64, which autocast never touches.
    """
    device = next((entry.device.type for entry in arguments if isinstance(entry, torch.Tensor)), None)
    if device is None or not (always or (device in AUTOCAST_DEVICES and torch.is_autocast_enabled(device))):
        return None
    casted, mutated = list(arguments), set(traced.mutated_positions)
    for position, argument in enumerate(arguments):
        kind = _DTYPES.get(traced.parameters[position][1])
        if not isinstance(argument, torch.Tensor) or position in mutated or argument.dtype == kind:
            continue
        if argument.dtype in _AUTOCAST and kind in _AUTOCAST:
            casted[position] = argument.to(kind)
    return casted if any(new is not old for new, old in zip(casted, arguments)) else None


def _assemble(traced: Traced, flat: list[Any], fresh: list[Any], outputs: Any) -> Any:
    given = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs] * len(traced.results)
    results = []
    for position, (name, _, place, needs_initial, _) in enumerate(traced.results):
        if needs_initial:
            raise ArgumentError(f"output '{name}' of '{traced.name}' is accumulated onto: make it a parameter to use it in traced code")
        if place >= 0:
            results.append(flat[traced.tensor_positions[place]])
            continue
        made = fresh[traced.fresh.index(position)]
        results.append(made if given[position] is None else given[position].copy_(made))
    return results[0] if len(results) == 1 else tuple(results)
