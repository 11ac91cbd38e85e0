# SPDX-License-Identifier: Apache-2.0
"""Programs of the checks of the Python package, and what they compute in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tensor_comprehensions as tc
from shared import HEAT, MATMUL, SOFTMAX, TOTAL, Case, expect, floats, heat_case, matmul_case, softmax, softmax_case
from shared import close as close_arrays
from shared import message_of as message_of_error

__all__ = ["CASES", "TEXT", "arrays", "close", "expect", "floats", "gpu_only", "message_of", "program", "softmax", "wanted"]

TEXT = f"""
{MATMUL}
def matmul_backward(float(M,K) A, float(K,N) B, float(M,N) dC) -> (dA, dB) {{
  dA(m,k) +=! dC(m,r_n) * B(k,r_n)
  dB(k,n) +=! A(r_m,k) * dC(r_m,n)
}}
{SOFTMAX}
{HEAT}
{TOTAL}
def scaled(float s, float(N) x) -> (y, z) {{
  y(i) = s * x(i)
  z(i) = s + x(i)
}}
def update(const float a, float(N) x, float(N) y) -> (y) {{ y(i) = y(i) + a * x(i) }}
def lookup(float(V,D) W, int32(N) I) -> (Y) {{ Y(n,d) = W(I(n), d) }}
def unflatten(float(N*M) x) -> (y) {{ y(i,j) = x(i*M + j) where i in 0:N, j in 0:M }}
"""

CASES = (
    matmul_case(65, 48, 33),
    matmul_case(256, 192, 320),
    softmax_case(130, 515),
    heat_case(96, 71),
    Case(TOTAL, ((10007,),), lambda x: x.sum()),
)


def program() -> Any:
    return tc.define(TEXT)


def arrays(case: Case, seed: int) -> list[np.ndarray]:
    return case.arrays(seed)


def wanted(case: Case, inputs: list[np.ndarray]) -> np.ndarray:
    return case.reference(*(entry.astype(np.float64) for entry in inputs))


def close(got: Any, reference: Any, what: str, **bound: float) -> None:
    close_arrays(np.asarray(got, np.float64), np.asarray(reference, np.float64), what, **bound)


def message_of(call: Callable[[], Any], kind: type[BaseException] = tc.ArgumentError, *parts: str) -> str:
    return message_of_error(call, kind, *parts)


def gpu_only(check: Callable) -> Callable:
    check.gpu_only = True
    return check
