# SPDX-License-Identifier: Apache-2.0
"""Calls with arrays of JAX: eager code, jit, vmap, grad."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import tensor_comprehensions as tc
from python_checks.base import CASES, arrays, close, expect, floats, message_of, program, softmax, wanted
from shared import in_threads


class Session:
    def __init__(self, device: str):
        self.platform = "gpu" if device == "cuda" else "cpu"
        self.device = jax.devices(self.platform)[0]
        jax.config.update("jax_default_device", self.device)
        self.program = program()

    def put(self, array):
        return jax.device_put(array, self.device)

    def inputs(self, case, seed=0):
        return [self.put(entry) for entry in arrays(case, seed)]

    def usable(self) -> bool:
        try:
            return float(jnp.ones(3).sum()) == 3
        except Exception:  # noqa: BLE001 - whatever it is
            return False


def on_device(session, array, what):
    expect({device.platform for device in array.devices()} == {session.platform}, f"{what}: the result is on {array.devices()}")
    return np.asarray(array)


def check_eager(session):
    for case in CASES:
        made = session.program[case.name](*session.inputs(case))
        expect(isinstance(made, jax.Array), f"{case.name} gives {type(made)}")
        close(on_device(session, made, case.name), wanted(case, arrays(case, 0)), case.name)


def check_jit(session):
    for case in CASES:
        traced = jax.jit(lambda *inputs, name=case.name: session.program[name](*(entry + 0 for entry in inputs)) * 2)
        for seed in (0, 1):
            close(on_device(session, traced(*session.inputs(case, seed)), case.name), 2 * wanted(case, arrays(case, seed)), f"{case.name} under jit")
    x = floats(5, 24)
    y, z = jax.jit(lambda x: session.program.scaled(3, x))(session.put(x))
    close(np.asarray(y), 3 * x, "a number under jit")
    close(np.asarray(z), 3 + x, "a number under jit")
    close(np.asarray(jax.jit(lambda x: session.program.unflatten(x, M=4))(session.put(x))), x.reshape(6, 4), "a size under jit")


def check_order_in_one_program(session):
    """Calls between XLA's own kernels, in a loop of the program."""
    a = floats(0, 64, 64) / 16

    def step(carry, _):
        return session.program.matmul(carry, carry) * 0.5 + 0.1 * carry, carry[0, 0]

    made, _ = jax.jit(lambda a: jax.lax.scan(step, a, None, length=6))(session.put(a))
    reference = a.astype(np.float64)
    for _ in range(6):
        reference = reference @ reference * 0.5 + 0.1 * reference
    close(on_device(session, made, "scan"), reference, "scan")


def check_updates_make_new_arrays(session):
    x, y = floats(0, 99), floats(1, 99)
    given = session.put(y)
    for update in (session.program.update, jax.jit(session.program.update, static_argnums=0)):
        close(on_device(session, update(2.0, session.put(x), given), "update"), y + 2 * x, "the new array")
        close(np.asarray(given), y, "the old array")
    donated = jax.jit(lambda x, y: session.program.update(2.0, x, y), donate_argnums=1)
    close(np.asarray(donated(session.put(x), session.put(y.copy()))), y + 2 * x, "a donated array")


def check_vmap(session):
    a, b = floats(0, 4, 25, 17), floats(1, 17, 4, 13)
    for transform in (lambda f: f, jax.jit):
        made = transform(jax.vmap(session.program.matmul, (0, 1)))(session.put(a), session.put(b))
        close(on_device(session, made, "vmap"), a.astype(np.float64) @ b.transpose(1, 0, 2), "matmul")
    x = floats(2, 3, 20, 9)
    close(np.asarray(jax.vmap(session.program.softmax)(session.put(x))), np.stack([softmax(row.astype(np.float64)) for row in x]), "softmax")


def check_grad(session):
    matmul = tc.make_autograd(session.program.matmul, session.program.matmul_backward)
    a, b = floats(0, 25, 17), floats(1, 17, 13)
    product = a.astype(np.float64) @ b
    expected = np.cos(product) @ b.T, a.T @ np.cos(product)
    for name, transform in (("grad", lambda f: f), ("jit of grad", jax.jit)):
        made = transform(jax.grad(lambda a, b: jnp.sin(matmul(a, b)).sum(), (0, 1)))(session.put(a), session.put(b))
        for got, reference in zip(made, expected):
            close(on_device(session, got, name), reference, name)


def check_element_types(session):
    kinds = ["bool", "int8", "int32", "uint8", "uint32", "float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2"]
    for kind in kinds:
        copy = tc.op(f"def copy({kind}(N) x) -> ({kind}(N) y) {{ y(i) = x(i) }}")
        x = jnp.arange(7).astype(kind)
        for made in (copy(x), jax.jit(copy)(x)):
            expect(made.dtype == x.dtype and bool((made == x).all()), kind)
    return f"{len(kinds)} types"


def check_executor(session):
    executor = session.program.matmul.compile(session.put(floats(0, 16, 16)), session.put(floats(1, 16, 16)))
    expect(executor.target == ("cuda" if session.platform == "gpu" else "cpu"), executor.target)
    expect("matmul" in executor.source, "the source lacks the kernel")


def check_errors(session):
    a, b = session.put(floats(0, 8, 8)), floats(1, 8, 8)
    message_of(lambda: session.program.matmul(a, b), tc.ArgumentError, "'B' of 'matmul'", "one library")
    message_of(lambda: jax.jit(session.program.matmul)(a, a[:3]), tc.ArgumentError, "K = 8 is expected")
    message_of(lambda: session.program.matmul(a, a, outputs=a), tc.ArgumentError, "immutable")
    shift = tc.op("def shift(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }")
    message_of(lambda: jax.jit(shift)(a[0]), tc.CompileError, "E0410")
    close(np.asarray(session.program.matmul(a, a)), np.asarray(a, np.float64) @ np.asarray(a), "after errors")


def check_threads(session):
    traced = {case: jax.jit(session.program[case.name]) for case in CASES}

    def work(number):
        for turn in range(10):
            case = CASES[(number + turn) % len(CASES)]
            close(np.asarray(traced[case](*session.inputs(case, number))), wanted(case, arrays(case, number)), case.name)

    in_threads(4, work)


CHECKS = [
    check_eager, check_jit, check_order_in_one_program, check_updates_make_new_arrays, check_vmap, check_grad, check_element_types,
    check_executor, check_errors, check_threads,
]
