# SPDX-License-Identifier: Apache-2.0
"""JAX: arrays in eager code, under jit, vmap and grad."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_batches import BATCHES

import tensor_comprehensions as tc
from programs import BASICS


@pytest.fixture(scope="module")
def basics():
    return tc.define(BASICS)


def normal(seed, *shape):
    return jax.random.normal(jax.random.key(seed), shape, jnp.float32)


def close(got, reference):
    np.testing.assert_allclose(np.asarray(got), np.asarray(reference), rtol=1e-5, atol=1e-5)


def test_jit(basics):
    a, b = normal(0, 5, 7), normal(1, 7, 3)
    traced = jax.jit(lambda a, b: jnp.maximum(basics.matmul(a + 1, b), 0) * 2)
    close(traced(a, b), jnp.maximum((a + 1) @ b, 0) * 2)
    close(traced(a[:2], b), jnp.maximum((a[:2] + 1) @ b, 0) * 2)


def test_several_results_numbers_and_sizes_under_jit(basics):
    x = normal(0, 12)
    y, z = jax.jit(lambda x: basics.scaled(3, x))(x)
    close(y, 3 * x)
    close(z, 3 + x)
    close(jax.jit(lambda s, x: basics.scaled(s, x)[0])(jnp.float32(2), x), 2 * x)
    close(jax.jit(lambda x: basics.unflatten(x, M=4))(x), x.reshape(3, 4))


def test_a_parameter_that_is_updated_is_a_new_array(basics):
    x, y = normal(0, 9), normal(1, 9)
    before = np.asarray(y).copy()
    for update in (basics.update, jax.jit(basics.update, static_argnums=0)):
        close(update(2.0, x, y), before + 2 * np.asarray(x))
        close(y, before)


def test_scratch_and_large_arrays(basics):
    softmax = tc.define(BATCHES).softmax
    x = normal(0, 300, 500)
    close(jax.jit(softmax)(x), jax.nn.softmax(x, axis=-1))


@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 1), (2, 0)])
def test_vmap(basics, in_axes):
    a, b = normal(0, 4, 5, 7), normal(1, 4, 7, 3)
    a = a[0] if in_axes[0] is None else jnp.moveaxis(a, 0, in_axes[0])
    b = b[0] if in_axes[1] is None else jnp.moveaxis(b, 0, in_axes[1])
    for function in (jax.vmap(basics.matmul, in_axes), jax.jit(jax.vmap(basics.matmul, in_axes))):
        close(function(a, b), jax.vmap(jnp.matmul, in_axes)(a, b))


def test_vmap_of_what_cannot_be_rewritten():
    outer = tc.define(BATCHES).outer
    x = normal(0, 4, 6)
    close(jax.vmap(outer)(x), 2 * x + 1)


def test_nested_vmap(basics):
    a, b = normal(0, 2, 3, 5, 7), normal(1, 3, 7, 4)
    close(jax.vmap(jax.vmap(basics.matmul), (0, None))(a, b), a @ b)


def test_gradients(basics):
    matmul = tc.make_autograd(basics.matmul, basics.matmul_backward)
    a, b = normal(0, 5, 7), normal(1, 7, 3)

    def loss(product):
        return lambda a, b: jnp.sum(jnp.sin(product(a, b)))

    for transform in (lambda f: jax.grad(f, (0, 1)), lambda f: jax.jit(jax.grad(f, (0, 1)))):
        for got, reference in zip(transform(loss(matmul))(a, b), transform(loss(jnp.matmul))(a, b)):
            close(got, reference)
    batch = normal(2, 4, 5, 7)
    close(jax.vmap(jax.grad(loss(matmul)), (0, None))(batch, b), jax.vmap(jax.grad(loss(jnp.matmul)), (0, None))(batch, b))


def test_errors_come_while_tracing(basics):
    with pytest.raises(tc.ArgumentError, match="K = 7 is expected"):
        jax.jit(basics.matmul)(normal(0, 5, 7), normal(1, 6, 3))
    shift = tc.op("def shift(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }")
    with pytest.raises(tc.CompileError, match="E0410"):
        jax.jit(shift)(normal(0, 4))
    with pytest.raises(tc.ArgumentError, match="is const: its value must be known"):
        jax.jit(basics.update)(2.0, normal(0, 4), normal(1, 4))
    with pytest.raises(tc.ArgumentError, match="immutable"):
        jax.jit(lambda a, b: basics.matmul(a, b, outputs=a))(normal(0, 5, 5), normal(1, 5, 5))


def test_options_reach_the_kernels_of_xla():
    asked = []

    def factory(program, name, *inputs):
        asked.append(name)
        return tc.MappingOptions("naive")

    square = tc.define(BASICS, factory).matmul
    close(jax.jit(square)(normal(0, 4, 4), normal(1, 4, 4)), normal(0, 4, 4) @ normal(1, 4, 4))
    assert set(asked) == {"matmul"}
