# SPDX-License-Identifier: Apache-2.0
"""vmap: defs rewritten with a batch index."""

import pytest
import torch

import tensor_comprehensions as tc
from programs import BASICS
from tensor_comprehensions import _tc

BATCHES = """
def softmax(float(N,D) X) -> (Y) {
  m(n) max=! X(n,r_d)
  e(n,d) = exp(X(n,d) - m(n))
  s(n) +=! e(n,r_d)
  Y(n,d) = e(n,d) / s(n)
}
def weighted(float s, float(N) x, float(N) w) -> (total, scaled) {
  total +=! x(r_i) * w(r_i)
  scaled(i) = s * w(i) where i in 0:N
}
def padded(float(N) x) -> (y) { y(i) = pad(x(i-1), 0.0) + x(i) * x.0 where i in 0:N }
def prefix(float(T,N) x) -> (float(T,N) h) {
  h(0,n) = x(0,n) where n in 0:N
  for t in 1:T { h(t,n) = h(t-1,n) + x(t,n) }
}
def histogram(int32(N) I, float(N) x) -> (float(8) H) {
  H(v) = 0.0 where v in 0:8
  H(I(n)) += x(n)
}
def nearest(float(N,D) P, float(D) q) -> (i) {
  d(n) +=! (P(n,r_d) - q(r_d)) * (P(n,r_d) - q(r_d))
  i argmin=! d(r_n)
}
def clash(float(N) batch, float(N) BATCH) -> (y) { y(i) = batch(i) + BATCH(i) }
def inner(float(N) x) -> (y) { y(i) = x(i) * 2 }
def outer(float(N) x) -> (z) {
  y = inner(x)
  z(i) = y(i) + 1
}
"""


@pytest.fixture(scope="module")
def programs():
    return tc.define(BATCHES)


def each(function, in_dims, *tensors):
    """The results for every element of a batch, one after the other."""
    size = next(tensor.shape[dim] for tensor, dim in zip(tensors, in_dims) if dim is not None)
    rows = [function(*(t if d is None else t.select(d, row) for t, d in zip(tensors, in_dims))) for row in range(size)]
    return torch.stack(rows) if isinstance(rows[0], torch.Tensor) else tuple(torch.stack(column) for column in zip(*rows))


@pytest.mark.parametrize("name,in_dims,shapes", [
    ("softmax", (0,), [(4, 3, 5)]),
    ("softmax", (2,), [(3, 5, 4)]),
    ("weighted", (0, 1, None), [(4,), (6, 4), (6,)]),
    ("weighted", (None, None, 0), [(), (6,), (4, 6)]),
    ("padded", (0,), [(4, 6)]),
    ("prefix", (1,), [(7, 4, 3)]),
    ("nearest", (None, 0), [(9, 3), (4, 3)]),
    ("nearest", (0, None), [(4, 9, 3), (3,)]),
    ("clash", (0, None), [(4, 6), (6,)]),
    ("outer", (0,), [(4, 6)]),
])
def test_vmap_is_what_a_loop_gives(programs, name, in_dims, shapes):
    tensors = [torch.randn(shape) for shape in shapes]
    made = torch.vmap(programs[name], in_dims=in_dims)(*tensors)
    torch.testing.assert_close(made, each(programs[name], in_dims, *tensors))


def test_a_scatter_with_batches_of_subscripts(programs):
    i, x = torch.randint(0, 8, (4, 20), dtype=torch.int32), torch.randn(20)
    made = torch.vmap(programs.histogram, in_dims=(0, None))(i, x)
    torch.testing.assert_close(made, each(programs.histogram, (0, None), i, x))


def test_a_result_that_no_batch_reaches(programs):
    x, w = torch.randn(4, 6), torch.randn(6)
    total, scaled = torch.vmap(programs.weighted, in_dims=(None, 0, None), out_dims=(0, None))(2.0, x, w)
    torch.testing.assert_close(total, x @ w)
    torch.testing.assert_close(scaled, 2 * w)


def test_the_rewritten_text():
    text, results = _tc.batch(BASICS, "matmul", [True, False])
    assert "C(batch,m,n) +=! A(batch,m,r_k) * B(r_k,n) where batch in 0:BATCH" in text.replace(", ", ",").replace("\n", " ")
    assert results == (True,)
    assert "float(BATCH" in text
    with pytest.raises(tc.ArgumentError, match="in place"):
        _tc.batch(BASICS, "update", [True, False])
    with pytest.raises(tc.ArgumentError, match="calls another def"):
        _tc.batch(BATCHES, "outer", [True])


def test_nested_vmap_and_gradients():
    basics = tc.define(BASICS)
    matmul = tc.make_autograd(basics.matmul, basics.matmul_backward)
    a, b = torch.randn(2, 3, 5, 7), torch.randn(3, 7, 4)
    made = torch.vmap(torch.vmap(basics.matmul), in_dims=(0, None))(a, b)
    torch.testing.assert_close(made, a @ b)
    gradients = torch.vmap(torch.func.grad(lambda a, b: matmul(a, b).square().sum()), in_dims=(0, None))(a[:, 0], b[0])
    expected = torch.vmap(torch.func.grad(lambda a, b: (a @ b).square().sum()), in_dims=(0, None))(a[:, 0], b[0])
    torch.testing.assert_close(gradients, expected)


def test_vmap_of_an_update_in_place():
    update = tc.define(BASICS).update
    x, y = torch.randn(4, 9), torch.randn(4, 9)
    expected = y + 2 * x
    torch.vmap(lambda x, y: update(2.0, x, y))(x, y)
    torch.testing.assert_close(y, expected)


def test_vmap_under_compile():
    matmul = tc.define(BASICS).matmul
    a, b = torch.randn(3, 5, 7), torch.randn(7, 4)
    torch.testing.assert_close(torch.compile(torch.vmap(matmul, in_dims=(0, None)), backend="aot_eager", fullgraph=True)(a, b), a @ b)
