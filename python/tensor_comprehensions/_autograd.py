# SPDX-License-Identifier: Apache-2.0
"""Differentiable functions from a forward and a backward comprehension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _arguments, _frameworks
from ._errors import ArgumentError

# Forward and backward functions by number: PyTorch's tracer finds them here where it cannot look into closures.
_pairs: list[tuple[Callable[..., Any], Callable[..., Any]]] = []


def make_autograd(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors of PyTorch or JAX that runs `forward` and is differentiated by `backward`.

    `forward` and `backward` are comprehensions, or functions of tensors that call some. `backward` takes the inputs of `forward` and
    the gradients of its outputs, and returns the gradients of the inputs: of all, or of the floating-point tensors among them.
    Derivatives of the second order are an error.
    """
    _arguments.function(forward, "forward")
    _arguments.function(backward, "backward")
    functions: dict[str, Callable[..., Any]] = {}

    def differentiable(*inputs: Any) -> Any:
        library = "jax" if _frameworks.has_jax(inputs) else "torch"
        if library not in functions:
            functions[library] = _make_jax(forward, backward) if library == "jax" else _make_torch(forward, backward)
        return functions[library](*inputs)

    if _frameworks.loaded("torch"):
        # Before anything is traced.
        functions["torch"] = _make_torch(forward, backward)
    return differentiable


def _by_input(floating: list[bool], made: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradient of each input: as given, or None for those that are no floating-point tensors."""
    if len(made) == len(floating):
        return tuple(made)
    if len(made) != sum(floating):
        counts = f"{len(floating)} inputs, {sum(floating)} of them floating-point tensors"
        raise ArgumentError(f"the backward function gives {len(made)} gradients for {counts}")
    remaining = list(made)
    return tuple(remaining.pop(0) if is_floating else None for is_floating in floating)


def _make_jax(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    from . import _jax

    return _jax.differentiable(forward, backward, _by_input)


def _autocast_state(inputs: tuple[Any, ...]) -> tuple[str, bool, Any]:
    """Device, whether autocast is on, and its type."""
    import torch

    from . import _torch

    device = next((entry.device.type for entry in inputs if isinstance(entry, torch.Tensor)), "cpu")
    if device not in _torch.AUTOCAST_DEVICES:
        return device, False, None
    return device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)


def _run_backward(backward: Callable[..., Any], arguments: list[Any], autocast: tuple[str, bool, Any]) -> Any:
    """The backward pass under the autocast of the forward pass."""
    import torch

    from . import _torch

    device, enabled, kind = autocast
    traced = getattr(backward, "_traced", None)
    if enabled and traced is not None:
        return backward(*(_torch.autocast_arguments(traced, arguments, always=True) or arguments))
    if enabled and not torch.compiler.is_compiling():  # which cannot trace the context here
        with torch.autocast(device, dtype=kind):
            return backward(*arguments)
    return backward(*arguments)


def _make_torch(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    from . import _torch

    number_of_pair = len(_pairs)
    _pairs.append((forward, backward))

    class Comprehension(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*inputs: Any) -> Any:
            return _pairs[number_of_pair][0](*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.save_for_backward(*(entry for entry in inputs if isinstance(entry, torch.Tensor)))
            ctx.numbers = tuple(None if isinstance(entry, torch.Tensor) else entry for entry in inputs)
            ctx.autocast = _autocast_state(inputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *gradients: Any) -> Any:
            saved = list(ctx.saved_tensors)
            inputs = [saved.pop(0) if number is None else number for number in ctx.numbers]
            made = _run_backward(_pairs[number_of_pair][1], [*inputs, *gradients], ctx.autocast)
            floating = [isinstance(entry, torch.Tensor) and entry.is_floating_point() for entry in inputs]
            return _by_input(floating, tuple(made) if isinstance(made, (tuple, list)) else (made,))

    traced = getattr(forward, "_traced", None)

    def apply(*inputs: Any) -> Any:
        # Casts are seen by autograd here, so that each gradient has the type of its input.
        casted = _torch.autocast_arguments(traced, list(inputs)) if traced is not None and len(inputs) == len(traced.parameters) else None
        return Comprehension.apply(*(inputs if casted is None else casted))

    return apply
