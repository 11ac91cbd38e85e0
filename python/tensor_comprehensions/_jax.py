# SPDX-License-Identifier: Apache-2.0
"""Defs in programs that JAX compiles: calls through XLA's foreign function interface, under jit, vmap and grad.

Arrays of JAX are immutable: a parameter that a def updates in place is left alone, and the updated array is the result; XLA copies only
where the old array is still needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy

from . import _arguments, _tc
from ._errors import ArgumentError

_TARGET = "tensor_comprehensions_call"


@functools.cache
def _install() -> None:
    cpu, cuda = _tc.xla_handlers()
    jax.ffi.register_ffi_target(_TARGET, cpu, platform="cpu")
    jax.ffi.register_ffi_target(_TARGET, cuda, platform="CUDA")


def _dtype(name: str, what: str) -> Any:
    dtype = jax.numpy.dtype(name)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise ArgumentError(f"{what} is {name}: switch JAX's option jax_enable_x64 on")
    return dtype


def call_operator(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with arrays or tracers of JAX."""
    _install()
    if kwargs.get("outputs") is not None:
        raise ArgumentError(f"outputs= of '{operator.name}': arrays of jax are immutable")
    arrays, values = _bind(operator, args, dict(kwargs))
    # Dtypes are looked up as they are: their names take longer than a small kernel.
    key = (tuple([(array.dtype, array.shape) for array in arrays]), tuple(sorted(values.items())))
    function = operator._jax_functions.get(key)
    if function is None:
        described = tuple((array.dtype.name, tuple(array.shape)) for array in arrays)
        function = operator._jax_functions[key] = _make_function(operator, described, values, arrays)
    results = function(*arrays)
    return results[0] if len(results) == 1 else results


def _bind(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arrays, and the values of const parameters and sizes by name."""
    interface, parameters = operator._interface, operator._parameters
    if len(args) > len(parameters):
        raise ArgumentError(f"'{interface.name}' takes {len(parameters)} arguments, {len(args)} were given")
    arrays, values = [], {}
    for position, (name, kind, const, _) in enumerate(parameters):
        if position >= len(args) and name not in kwargs:
            raise ArgumentError(f"argument '{name}' of '{interface.name}' is missing")
        argument = args[position] if position < len(args) else kwargs.pop(name)
        if const and isinstance(argument, jax.core.Tracer):
            raise ArgumentError(f"argument '{name}' of '{interface.name}' is const: its value must be known when the program is traced")
        if const:
            if not isinstance(argument, (bool, int, float, numpy.generic)):
                raise _arguments.refuse(argument, f"argument '{name}' of '{interface.name}'", f"a number of type {kind}")
            values[name] = argument
        elif isinstance(argument, jax.Array):
            arrays.append(argument)
        elif not isinstance(argument, (bool, int, float, numpy.generic)):
            kinds = f"argument '{name}' of '{interface.name}' is {type(argument).__module__}.{type(argument).__qualname__}"
            raise ArgumentError(f"{kinds} where an array of jax is expected; the tensors of a call come from one library")
        else:
            arrays.append(jax.numpy.asarray(argument, _dtype(kind, f"argument '{name}' of '{interface.name}'")))
    if kwargs:
        values.update(_arguments.keywords(interface.name, (), interface.sizes, kwargs))
    return arrays, values


def _make_function(operator: Any, described: tuple[Any, ...], values: dict[str, Any], arrays: list[Any]) -> Callable[..., tuple[Any, ...]]:
    interface = operator._interface
    for name, _, _, needs_initial, _ in interface.results:
        if needs_initial:
            raise ArgumentError(f"output '{name}' of '{interface.name}' is accumulated onto: make it a parameter to use it with jax")
    shapes = operator._infer(list(described), values)
    number = operator._register_xla(list(described), values, operator._options_text("cpu", arrays), operator._options_text("cuda", arrays))
    # Errors of sizes and mappings come now, with their places, and not from inside XLA.
    _tc.compile_xla(number, "cpu" if _platform(arrays) == "cpu" else "cuda", interface.text)
    structures = [
        jax.ShapeDtypeStruct(shape, _dtype(kind, f"output '{result[0]}' of '{interface.name}'"))
        for (kind, shape), result in zip(shapes, interface.results)
    ]
    aliases = {place: position for position, (_, _, place, _, _) in enumerate(interface.results) if place >= 0}
    target = jax.ffi.ffi_call(_TARGET, structures, input_output_aliases=aliases)

    @jax.custom_batching.custom_vmap
    def function(*operands: Any) -> tuple[Any, ...]:
        return tuple(target(*operands, call=numpy.int64(number)))

    @function.def_vmap
    def batched_call(axis_size: int, in_batched: list[Any], *operands: Any) -> tuple[Any, ...]:
        marks = tuple(bool(mark) for mark in in_batched)
        batched = operator._batched(marks)
        if batched is None:

            def one(row: Any) -> tuple[Any, ...]:
                return function(*(entry[row] if mark else entry for entry, mark in zip(operands, marks)))

            return jax.lax.map(one, jax.numpy.arange(axis_size)), (True,) * len(interface.results)
        rewritten, results = batched
        made = _call_with_values(rewritten, list(operands), values)
        return made, results

    # Compiled by JAX once, so that eager calls do not trace again.
    return jax.jit(function, inline=True)


def _platform(arrays: list[Any]) -> str:
    """Where a call will run: where its arrays lie, or JAX's default while a program is traced."""
    for array in arrays:
        if not isinstance(array, jax.core.Tracer):
            return next(iter(array.devices())).platform
    device = getattr(jax.config, "jax_default_device", None)
    return jax.default_backend() if device is None else getattr(device, "platform", device)


def _call_with_values(operator: Any, arrays: list[Any], values: dict[str, Any]) -> tuple[Any, ...]:
    remaining = list(arrays)
    names = [(name, const) for name, _, const, _ in operator._interface.parameters]
    arguments = {name: values[name] if const else remaining.pop(0) for name, const in names}
    sizes = {name: value for name, value in values.items() if name not in arguments}
    made = call_operator(operator, (), {**arguments, **sizes})
    return made if isinstance(made, tuple) else (made,)


def differentiable(forward: Callable[..., Any], backward: Callable[..., Any], by_input: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
    """`forward` as a function of arrays with the derivative that `backward` computes."""

    @jax.custom_vjp
    def function(*inputs: Any) -> Any:
        return forward(*inputs)

    def run_forward(*inputs: Any) -> tuple[Any, ...]:
        return forward(*inputs), inputs

    def run_backward(inputs: tuple[Any, ...], gradients: Any) -> tuple[Any, ...]:
        made = backward(*inputs, *(gradients if isinstance(gradients, tuple) else (gradients,)))
        floating = [hasattr(entry, "dtype") and jax.numpy.issubdtype(entry.dtype, jax.numpy.floating) for entry in inputs]
        return by_input(floating, made if isinstance(made, (tuple, list)) else (made,))

    function.defvjp(run_forward, run_backward)
    return function
