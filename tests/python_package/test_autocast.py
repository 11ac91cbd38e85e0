# SPDX-License-Identifier: Apache-2.0
"""Autocast of PyTorch: a comprehension gets the types that it declares, whatever autocast made of the tensors before it."""

import pytest
import torch

import tensor_comprehensions as tc
from programs import BASICS

HALVES = """
def product(bfloat16(M,K) A, bfloat16(K,N) B) -> (float(M,N) C) { C(m,n) +=! float(A(m,r_k)) * float(B(r_k,n)) }
def mixed(bfloat16(N) x, float(N) y, int32(N) i) -> (float(N) z) { z(n) = float(x(n)) + y(n) where exists i(n) }
"""


@pytest.fixture(scope="module")
def basics():
    return tc.define(BASICS)


def autocast():
    return torch.autocast("cpu", torch.bfloat16)


def test_tensors_that_autocast_made_are_cast_to_the_declared_types(basics):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    with autocast():
        half = a @ torch.eye(7)
        made = basics.matmul(half, b)
    assert half.dtype == torch.bfloat16 and made.dtype == torch.float32
    torch.testing.assert_close(made, half.float() @ b)


def test_tensors_of_declared_types_stay_as_they_are(basics):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    with autocast():
        made = basics.matmul(a, b)
    torch.testing.assert_close(made, a @ b, rtol=1e-6, atol=1e-6)


def test_defs_of_narrow_types():
    program = tc.define(HALVES)
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    with autocast():
        made = program.product(a, b)
        mixed = program.mixed(a[0], b[:, 0].bfloat16(), torch.zeros(7, dtype=torch.int32))
    torch.testing.assert_close(made, a.bfloat16().float() @ b.bfloat16().float())
    torch.testing.assert_close(mixed, a[0].bfloat16().float() + b[:, 0].bfloat16().float())


def test_without_autocast_types_must_be_those_declared(basics):
    half, b = torch.randn(5, 7).bfloat16(), torch.randn(7, 3)
    for call in (lambda: basics.matmul(half, b), lambda: basics.matmul(half.double(), b)):
        with pytest.raises(tc.ArgumentError, match="where float32 is expected"):
            call()
    with autocast(), pytest.raises(tc.ArgumentError, match="float64 where float32"):
        basics.matmul(half.double(), b)
    with autocast(), torch.autocast("cpu", enabled=False), pytest.raises(tc.ArgumentError, match="bfloat16 where float32"):
        basics.matmul(half, b)


def test_what_is_updated_is_never_cast(basics):
    x, y = torch.randn(9), torch.randn(9)
    with autocast():
        with pytest.raises(tc.ArgumentError, match="'y' of 'update'.*bfloat16 where float32|bfloat16 where float32"):
            basics.update(2.0, x, y.bfloat16())
        expected = y + 2 * x.bfloat16().float()
        assert basics.update(2.0, x.bfloat16(), y) is y
    torch.testing.assert_close(y, expected)


def test_given_outputs(basics):
    a, b, out = torch.randn(5, 7).bfloat16(), torch.randn(7, 3), torch.empty(5, 3)
    with autocast():
        assert basics.matmul(a, B=b, outputs=out) is out
    torch.testing.assert_close(out, a.float() @ b)


@pytest.mark.parametrize("traced", [False, True])
def test_gradients_have_the_types_of_the_inputs(basics, traced):
    matmul = tc.make_autograd(basics.matmul, basics.matmul_backward)
    a, b = torch.randn(5, 7).bfloat16().requires_grad_(), torch.randn(7, 3).requires_grad_()

    def loss(a, b):
        with autocast():
            return matmul(a, b).sin().sum()

    (torch.compile(loss, fullgraph=True, backend="aot_eager") if traced else loss)(a, b).backward()
    assert a.grad.dtype == torch.bfloat16 and b.grad.dtype == torch.float32
    da, db = torch.autograd.grad((a.float() @ b).sin().sum(), (a, b))
    torch.testing.assert_close((a.grad, b.grad), (da, db))


def test_gradients_of_functions_of_comprehensions(basics):
    """The backward pass sees autocast as the forward pass did."""
    matmul = tc.make_autograd(lambda a, b: basics.matmul(a, b), lambda a, b, dc: basics.matmul_backward(a, b, dc))
    a, b = torch.randn(5, 7).bfloat16().requires_grad_(), torch.randn(7, 3).requires_grad_()
    with autocast():
        made = matmul(a, b)
    made.square().sum().backward()
    da, db = torch.autograd.grad((a.float() @ b).square().sum(), (a, b))
    torch.testing.assert_close((a.grad, b.grad), (da, db))


def test_under_compile_and_vmap(basics):
    a, b = torch.randn(4, 5, 7).bfloat16(), torch.randn(7, 3)
    expected = a.float() @ b
    with autocast():
        made = torch.vmap(basics.matmul, (0, None))(a, b)
        traced = torch.compile(lambda a, b: basics.matmul(a, b) + 1, fullgraph=True, backend="aot_eager")
        plus_one = traced(a[0], b)
    torch.testing.assert_close(made, expected)
    torch.testing.assert_close(plus_one, expected[0] + 1)
    with pytest.raises(Exception, match="bfloat16 where float32"):
        traced(a[0], b)
