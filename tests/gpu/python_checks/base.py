# SPDX-License-Identifier: Apache-2.0
"""Programs of the checks, what they compute in float64, and comparisons."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import tensor_comprehensions as tc

# Bound of errors, of the largest value of the reference.
RELATIVE = 1e-4
STEPS = 8

TEXT = f"""
def matmul(float(M,K) A, float(K,N) B) -> (C) {{ C(m,n) +=! A(m,r_k) * B(r_k,n) }}
def matmul_backward(float(M,K) A, float(K,N) B, float(M,N) dC) -> (dA, dB) {{
  dA(m,k) +=! dC(m,r_n) * B(k,r_n)
  dB(k,n) +=! A(r_m,k) * dC(r_m,n)
}}
def softmax(float(N,D) X) -> (Y) {{
  m(n) max=! X(n,r_d)
  e(n,d) = exp(X(n,d) - m(n))
  s(n) +=! e(n,r_d)
  Y(n,d) = e(n,d) / s(n)
}}
def heat(float(N,M) u0) -> (u) {{
  s(0,i,j) = u0(i,j) where i in 0:N, j in 0:M
  for t in 1:{STEPS + 1} {{
    s(t,i,j) = 0.25 * (s(t-1, max(i-1, 0), j) + s(t-1, min(i+1, N-1), j) + s(t-1, i, max(j-1, 0)) + s(t-1, i, min(j+1, M-1)))
        where i in 0:N, j in 0:M
  }}
  u(i,j) = s({STEPS},i,j)
}}
def scaled(float s, float(N) x) -> (y, z) {{
  y(i) = s * x(i)
  z(i) = s + x(i)
}}
def update(const float a, float(N) x, float(N) y) -> (y) {{ y(i) = y(i) + a * x(i) }}
def lookup(float(V,D) W, int32(N) I) -> (Y) {{ Y(n,d) = W(I(n), d) }}
def total(float(N) x) -> (s) {{ s +=! x(r_i) }}
def unflatten(float(N*M) x) -> (y) {{ y(i,j) = x(i*M + j) where i in 0:N, j in 0:M }}
"""


def program() -> Any:
    return tc.define(TEXT)


def heat(u: np.ndarray) -> np.ndarray:
    for _ in range(STEPS):
        p = np.pad(u, 1, mode="edge")
        u = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    return u


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class Case:
    """A def, shapes of its float32 inputs, and its result in float64."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    reference: Callable[..., np.ndarray]


CASES = (
    Case("matmul", ((65, 48), (48, 33)), lambda a, b: a @ b),
    Case("matmul", ((256, 192), (192, 320)), lambda a, b: a @ b),
    Case("softmax", ((130, 515),), softmax),
    Case("heat", ((96, 71),), heat),
    Case("total", ((10007,),), lambda x: x.sum()),
)


def floats(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def arrays(case: Case, seed: int) -> list[np.ndarray]:
    return [floats(100 * seed + position, *shape) for position, shape in enumerate(case.shapes)]


def wanted(case: Case, inputs: list[np.ndarray]) -> np.ndarray:
    return case.reference(*(entry.astype(np.float64) for entry in inputs))


def expect(condition: Any, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def close(got: np.ndarray, reference: Any, what: str, relative: float = RELATIVE) -> None:
    reference = np.asarray(reference, np.float64)
    got = np.asarray(got, np.float64)
    expect(got.shape == reference.shape, f"{what}: shape {got.shape} where {reference.shape} is expected")
    if reference.size == 0:
        return
    error = float(np.abs(got - reference).max())
    bound = relative * max(float(np.abs(reference).max()), 1.0)
    expect(error <= bound, f"{what}: largest error {error:.3g}, bound {bound:.3g}")  # false for NaN, too


def message_of(call: Callable[[], Any], kind: type = tc.ArgumentError, *parts: str) -> str:
    """The message of the error that a call must raise; it holds each of `parts`."""
    try:
        call()
    except kind as error:
        for part in parts:
            expect(part in str(error), f"the message lacks {part!r}: {error}")
        return str(error)
    raise AssertionError(f"no {kind.__name__} where one that names {parts} is expected")


def gpu_only(check: Callable) -> Callable:
    check.gpu_only = True
    return check
