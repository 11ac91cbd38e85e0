# SPDX-License-Identifier: Apache-2.0
"""Comparison with a bound that follows from the number of operations."""

from __future__ import annotations

from typing import Any

from . import _arguments

_EPSILON = {"complex128": 2.0**-52, "complex64": 2.0**-23, "float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def _as_array(tensor: Any, what: str) -> Any:
    import numpy

    if isinstance(tensor, (str, bytes)) or tensor is None:
        raise _arguments.refuse(tensor, what, "a tensor")

    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
        if str(tensor.dtype) == "torch.bfloat16":
            return tensor.float().numpy().astype(numpy.float64), "bfloat16"
    elif type(tensor).__module__.startswith("cupy"):
        tensor = tensor.get()
    array = numpy.asarray(tensor)
    wide = numpy.complex128 if array.dtype.kind == "c" else numpy.float64
    return array.astype(wide), array.dtype.name


def assert_almost_equal(actual: Any, expected: Any, *inputs: Any, operations: int = 1, precision: float | None = None) -> None:
    """Raises AssertionError unless every element of `actual - expected` is at most operations * precision * max |inputs|.

    `inputs` are the tensors that the result was computed from, `operations` the number of roundings on the way to one element, such as
    the length of a sum. `precision` defaults to that of the type of `actual`. A difference may be given instead, with its inputs: a
    tensor or a tuple of tensors, as in `assert_almost_equal(diff, (A, B))`.
    """
    import numpy

    _arguments.whole(operations, "operations")
    if precision is not None and (isinstance(precision, bool) or not isinstance(precision, (int, float))):
        raise _arguments.refuse(precision, "precision", "a number or None")
    values, kind = _as_array(actual, "actual")
    if inputs:
        wanted = _as_array(expected, "expected")[0]
        if wanted.shape not in ((), values.shape):
            raise AssertionError(f"the result has shape {values.shape} where {wanted.shape} is expected")
        with numpy.errstate(invalid="ignore"):
            # Infinities that are expected are no difference.
            values = numpy.where(values == wanted, 0, values - wanted)
    if precision is None:
        precision = _EPSILON.get(kind, 0.0)
    given = inputs or (expected if isinstance(expected, (tuple, list)) else (expected,))
    tensors = list(given)
    largest = max((float(numpy.abs(_as_array(tensor, "a tensor of inputs")[0]).max(initial=0.0)) for tensor in tensors), default=0.0)
    bound = operations * precision * largest
    worst = float(numpy.abs(values).max(initial=0.0)) if not numpy.isnan(values).any() else float("nan")
    if not worst <= bound:
        raise AssertionError(f"the largest difference is {worst:g} where {bound:g} = {operations} * {precision:g} * {largest:g} is allowed")
