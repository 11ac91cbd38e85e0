# SPDX-License-Identifier: Apache-2.0
"""Differentiable functions from a forward and a backward comprehension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._errors import ArgumentError


# Forward and backward functions by number: PyTorch's tracer finds them here where it cannot look into closures.
_pairs: list[tuple[Callable[..., Any], Callable[..., Any]]] = []


def make_autograd(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """A function of PyTorch tensors that runs `forward` and is differentiated by `backward`.

    `forward` and `backward` are comprehensions, or functions of tensors that call some. `backward` takes the inputs of `forward` and
    the gradients of its outputs, and returns the gradients of the inputs: of all, or of the floating-point tensors among them.
    Derivatives of the second order are an error.
    """
    import torch

    number_of_pair = len(_pairs)
    _pairs.append((forward, backward))

    class Comprehension(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*inputs: Any) -> Any:
            return _pairs[number_of_pair][0](*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            ctx.save_for_backward(*(entry for entry in inputs if isinstance(entry, torch.Tensor)))
            ctx.numbers = tuple(None if isinstance(entry, torch.Tensor) else entry for entry in inputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *gradients: Any) -> Any:
            saved = list(ctx.saved_tensors)
            inputs = [saved.pop(0) if number is None else number for number in ctx.numbers]
            made = _pairs[number_of_pair][1](*inputs, *gradients)
            return _by_input(inputs, made if isinstance(made, (tuple, list)) else (made,))

    def _by_input(inputs: list, made: tuple) -> tuple:
        if len(made) == len(inputs):
            return tuple(made)
        floating = [isinstance(entry, torch.Tensor) and entry.is_floating_point() for entry in inputs]
        if len(made) != sum(floating):
            raise ArgumentError(f"the backward function gives {len(made)} gradients for {len(inputs)} inputs, {sum(floating)} of them floating-point tensors")
        remaining = list(made)
        return tuple(remaining.pop(0) if is_floating else None for is_floating in floating)

    def differentiable(*inputs: Any) -> Any:
        return Comprehension.apply(*inputs)

    return differentiable
