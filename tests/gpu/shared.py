# SPDX-License-Identifier: Apache-2.0
"""What the runs on a device share: which checks run, programs with references, comparisons, threads, streams and graphs of PyTorch."""

from __future__ import annotations

import ast
import dataclasses
import pathlib
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

# Bound of errors, of the largest value of the reference.
RELATIVE = 1e-4
SLEEP_CYCLES = 400_000_000  # a fifth of a second: far more than the host needs to enqueue a call
TRIES = 3  # a host that was held up says nothing; the next try does


# ---- which checks run

def names_of(file: pathlib.Path) -> list[str]:
    """The checks that a file lists, without an import of the libraries that they need."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["CHECKS"]:
            return [short_name(entry.id) for entry in node.value.elts]
    raise SystemExit(f"{file} has no list CHECKS")


def short_name(function_name: str) -> str:
    return function_name.removeprefix("check_")


def select(names: Iterable[str], only: str) -> list[str]:
    """The names that a comma-separated list asks for: by name, by the last part of it, by the group before that, or by any part of it.
    An entry that asks for nothing is an error, so that a run that checks nothing does not pass."""
    names, entries = list(names), [entry.strip() for entry in only.split(",") if entry.strip()]
    chosen = set(names) if not entries else set()
    for entry in entries:
        found = [name for name in names if entry in (name, name.rpartition(".")[2], name.rpartition(".")[0])]
        found = found or [name for name in names if entry in name]
        if not found:
            raise SystemExit(f"--only: no check is called '{entry}'; checks are {', '.join(names)}")
        chosen.update(found)
    return [name for name in names if name in chosen]


# ---- programs

MATMUL = "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }"
SOFTMAX = """
def softmax(float(N,D) X) -> (Y) {
  m(n) max=! X(n,r_d)
  e(n,d) = exp(X(n,d) - m(n))
  s(n) +=! e(n,r_d)
  Y(n,d) = e(n,d) / s(n)
}"""
STEPS = 8
HEAT = f"""
def heat(float(N,M) u0) -> (u) {{
  s(0,i,j) = u0(i,j) where i in 0:N, j in 0:M
  for t in 1:{STEPS + 1} {{
    s(t,i,j) = 0.25 * (s(t-1, max(i-1, 0), j) + s(t-1, min(i+1, N-1), j) + s(t-1, i, max(j-1, 0)) + s(t-1, i, min(j+1, M-1)))
        where i in 0:N, j in 0:M
  }}
  u(i,j) = s({STEPS},i,j)
}}"""
TOTAL = "def total(float(N) x) -> (s) { s +=! x(r_i) }"


def _library(array: Any) -> Any:
    """NumPy or PyTorch, which name what the references need alike."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def softmax(x: Any) -> Any:
    xp = _library(x)
    e = xp.exp(x - xp.amax(x, axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def heat(u: Any) -> Any:
    xp = _library(u)
    for _ in range(STEPS):
        rows = xp.concatenate([u[:1], u, u[-1:]], axis=0)
        columns = xp.concatenate([u[:, :1], u, u[:, -1:]], axis=1)
        u = 0.25 * (rows[:-2] + rows[2:] + columns[:, :-2] + columns[:, 2:])
    return u


@dataclasses.dataclass(frozen=True)
class Case:
    """A def, shapes of its float32 inputs, and its result in float64."""

    text: str
    shapes: tuple[tuple[int, ...], ...]
    reference: Callable[..., Any]

    @property
    def name(self) -> str:
        return self.text.split("def ", 1)[1].partition("(")[0]

    def arrays(self, seed: int) -> list[np.ndarray]:
        return [floats(100 * seed + position, *shape) for position, shape in enumerate(self.shapes)]


def floats(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def matmul_case(m: int, k: int, n: int) -> Case:
    return Case(MATMUL, ((m, k), (k, n)), lambda a, b: a @ b)


def softmax_case(n: int, d: int) -> Case:
    return Case(SOFTMAX, ((n, d),), softmax)


def heat_case(n: int, m: int) -> Case:
    return Case(HEAT, ((n, m),), heat)


# ---- what a check expects

def expect(condition: Any, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def close(got: Any, reference: Any, what: str, relative: float = RELATIVE) -> None:
    """Two arrays of float64 of NumPy or PyTorch."""
    expect(tuple(got.shape) == tuple(reference.shape), f"{what}: shape {tuple(got.shape)} where {tuple(reference.shape)} is expected")
    if 0 in reference.shape:
        return
    error = float(abs(got - reference).max())
    bound = relative * max(float(abs(reference).max()), 1.0)
    expect(error <= bound, f"{what}: largest error {error:.3g}, bound {bound:.3g}")  # false for NaN, too


def message_of(call: Callable[[], Any], kind: type[BaseException], *parts: str) -> str:
    """The message of the error that a call must raise; it holds each of `parts`."""
    try:
        call()
    except kind as error:
        for part in parts:
            expect(part in str(error), f"the message lacks {part!r}: {error}")
        return str(error)
    raise AssertionError(f"no {kind.__name__} where one that names {parts} is expected")


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """`work` with the number of each thread; what went wrong in one is told with its number."""
    problems = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except Exception as error:  # noqa: BLE001 - reported by the main thread
            problems.append(f"thread {number}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not problems, "; ".join(problems))


# ---- PyTorch's streams and graphs

def returns_while_asleep(stream: Any, run: Callable[[], None], before: Callable[[], None] = lambda: None) -> bool:
    """Whether `run`, which enqueues on `stream`, comes back while that still sleeps. `before` is enqueued behind the sleep."""
    import torch

    for _ in range(TRIES):
        done = torch.cuda.Event()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLEEP_CYCLES)
            before()
            done.record(stream)
        run()
        asleep = not done.query()
        stream.synchronize()
        if asleep:
            return True
    return False


def captured(run: Callable[..., Any], *arguments: Any, stream: Any = None) -> tuple[Any, Any]:
    """A graph of a call, and the call's results, which replays write."""
    import torch

    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        made = run(*arguments)
    return graph, made
