# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's eager tensors through DLPack: `make test-tensorflow`, in a virtual environment of its own."""

import numpy as np
import pytest
import tensorflow as tf

import tensor_comprehensions as tc

PROGRAM = """
def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }
def scaled(float s, float(N) x) -> (y, z) {
  y(i) = s * x(i)
  z(i) = s + x(i)
}
def update(const float a, float(N) x, float(N) y) -> (y) { y(i) = y(i) + a * x(i) }
def total(float(N) x) -> (s) { s +=! x(r_i) }
"""


@pytest.fixture(scope="module")
def program():
    return tc.define(PROGRAM)


def floats(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("m,k,n", [(1, 1, 1), (5, 7, 3), (64, 65, 66), (0, 4, 3)])
def test_tensors_in_tensors_out(program, m, k, n):
    a, b = floats(0, m, k), floats(1, k, n)
    c = program.matmul(tf.constant(a), tf.constant(b))
    assert isinstance(c, tf.Tensor) and c.dtype == tf.float32 and c.shape == (m, n)
    np.testing.assert_allclose(c.numpy(), a.astype(np.float64) @ b, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose((c + 1).numpy(), c.numpy() + 1)  # as TensorFlow's own


def test_numbers_and_several_results(program):
    x = floats(0, 9)
    for s in (2.5, np.float32(2.5), tf.constant(2.5)):
        y, z = program.scaled(s, tf.constant(x))
        np.testing.assert_allclose(y.numpy(), 2.5 * x, rtol=1e-6)
        np.testing.assert_allclose(z.numpy(), 2.5 + x, rtol=1e-6)
    assert program.total(tf.constant(x)).shape == ()


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"])
def test_element_types(kind):
    copy = tc.op(f"def copy({kind}(N) x) -> ({kind}(N) y) {{ y(i) = x(i) }}")
    x = tf.cast(tf.range(7), kind)
    y = copy(x)
    assert y.dtype == x.dtype and (y.numpy() == x.numpy()).all()


def test_what_is_refused(program):
    a, b = tf.constant(floats(0, 5, 7)), tf.constant(floats(1, 7, 3))
    with pytest.raises(tc.ArgumentError, match="'A' of 'matmul' is a tensor of tensorflow and argument 'B' of 'matmul' one of numpy"):
        program.matmul(a, b.numpy())
    with pytest.raises(tc.ArgumentError, match="immutable"):
        program.matmul(a, b, outputs=tf.zeros((5, 3)))
    with pytest.raises(tc.ArgumentError, match="immutable"):
        program.update(2.0, a[0], a[1])
    with pytest.raises(tc.ArgumentError, match="K = 7 is expected"):
        program.matmul(a, a)
    with pytest.raises(tc.ArgumentError, match="'A' of 'matmul' is .*Variable.* where a tensor"):
        program.matmul(tf.Variable(a), b)


def test_inside_of_a_graph_function(program):
    """Symbolic tensors hold no memory; tf.py_function gives eager ones."""
    a, b = tf.constant(floats(0, 5, 7)), tf.constant(floats(1, 7, 3))
    with pytest.raises(Exception, match="'A' of 'matmul' is"):
        tf.function(lambda a, b: program.matmul(a, b))(a, b)
    made = tf.function(lambda a, b: tf.py_function(program.matmul, [a, b], tf.float32))(a, b)
    np.testing.assert_allclose(made.numpy(), a.numpy() @ b.numpy(), rtol=1e-5, atol=1e-5)
