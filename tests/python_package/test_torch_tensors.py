# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch that are more, or less, than dense memory: layouts, subclasses, lazy negation, gradients, tracers, versions."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

import tensor_comprehensions as tc
from programs import BASICS, MATMUL


@pytest.fixture(scope="module")
def basics():
    return tc.define(BASICS)


@pytest.fixture
def pair():
    return torch.randn(5, 7), torch.randn(7, 3)


@pytest.mark.parametrize("change, says", [
    (lambda a: a.to_sparse(), "of layout torch.sparse_coo"),
    (lambda a: a.to_sparse_csr(), "of layout torch.sparse_csr"),
    (lambda a: torch.quantize_per_tensor(a, 0.1, 0, torch.quint8), "quantized"),
    (lambda a: torch.nested.nested_tensor([a, a]), "nested"),
])
@pytest.mark.filterwarnings("ignore")
def test_tensors_without_dense_memory_are_named(basics, pair, change, says):
    a, b = pair
    with pytest.raises(tc.ArgumentError, match=f"argument 'A' of 'matmul' is a tensor that is {says}"):
        basics.matmul(change(a), b)
    with pytest.raises(tc.ArgumentError, match=f"argument 'B' of 'matmul' is a tensor that is {says}"):
        basics.matmul(a, B=change(b))


def test_meta_tensors_give_shapes(basics, pair):
    a, b = pair
    made = basics.matmul(a.to("meta"), b.to("meta"))
    assert made.device.type == "meta" and made.shape == (5, 3)
    with pytest.raises(tc.ArgumentError, match="'B' of 'matmul' lies on cpu and another one on meta"):
        basics.matmul(a.to("meta"), b)


class Marked(torch.Tensor):
    pass


def test_a_subclass_goes_in_and_comes_out(basics, pair):
    a, b = pair
    made = basics.matmul(a.as_subclass(Marked), b)
    assert isinstance(made, Marked)
    torch.testing.assert_close(made.as_subclass(torch.Tensor), a @ b)
    y = torch.ones(4).as_subclass(Marked)
    assert basics.update(2.0, torch.ones(4), y) is y and y.tolist() == [3.0] * 4


def test_a_negation_that_was_put_off_is_an_error(basics, pair):
    z = torch.randn(5, 7, dtype=torch.complex64)
    torch.testing.assert_close(basics.matmul(z.imag, pair[1]), z.imag @ pair[1])
    with pytest.raises(tc.ArgumentError, match="'A' of 'matmul' holds the negatives of its values"):
        basics.matmul(z.conj().imag, pair[1])  # the same types, shapes and strides
    torch.testing.assert_close(basics.matmul(z.conj().imag.resolve_neg(), pair[1]), -z.imag @ pair[1])
    with pytest.raises(tc.ArgumentError, match="'s' of 'scaled' holds the negatives"):
        basics.scaled(torch.tensor(1 + 2j).conj().imag, torch.ones(3))


def test_a_gradient_that_ends_is_told(pair):
    a, b = pair
    matmul = tc.op(MATMUL)
    with pytest.warns(tc.ProgramWarning, match="'matmul' requires a gradient, its result has none: make_autograd"):
        assert not matmul(a.clone().requires_grad_(), b).requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.no_grad():
            matmul(a[:4].clone().requires_grad_(), b)
        differentiable = tc.make_autograd(matmul, lambda A, B, G: (G @ B.T, A.T @ G))
        differentiable(a[:3].clone().requires_grad_(), b).sum().backward()


def test_a_derivative_that_is_not_there_is_an_error(basics, pair):
    a, b = pair
    with pytest.raises(tc.ArgumentError, match="'A' of 'matmul' is differentiated"):
        torch.func.grad(lambda a: basics.matmul(a, b).sum())(a)
    with pytest.raises(tc.ArgumentError, match="'A' of 'matmul' is differentiated"):
        torch.func.jvp(lambda a: basics.matmul(a, b), (a,), (a,))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(tc.ArgumentError, match="'matmul' has a tangent"):
        tc.op(MATMUL)(torch.autograd.forward_ad.make_dual(a, a), b)
    made = torch.func.grad(lambda a: (basics.matmul(a.detach(), b).sum() * a).sum())(a)
    torch.testing.assert_close(made, (a @ b).sum().expand(5, 7))


@pytest.mark.filterwarnings("ignore")
def test_tracers_and_counters_see_a_call_with_plain_tensors(basics, pair):
    traced = make_fx(lambda a, b: basics.matmul(a, b) + 1)(*pair)
    assert "torch.ops.tensor_comprehensions.matmul" in traced.code
    other = torch.randn(5, 7), torch.randn(7, 3)
    torch.testing.assert_close(traced(*other), other[0] @ other[1] + 1)
    with FlopCounterMode(display=False):
        torch.testing.assert_close(basics.matmul(*pair), pair[0] @ pair[1])


def test_writes_are_seen_by_autograd(basics):
    y = torch.ones(6)
    basics.update(2.0, torch.ones(6), y)
    assert y._version == 1
    out = torch.zeros(6)
    basics.scaled(1.0, y, outputs=(out, None))
    assert out._version == 1
    z = torch.randn(6, requires_grad=True) * 1
    s = z.sin()  # keeps z
    with torch.no_grad():
        basics.update(2.0, torch.ones(6), z)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        s.sum().backward()
    with torch.inference_mode():
        basics.update(2.0, torch.ones(6), torch.ones(6))


def test_results_are_tensors_like_any_other(basics, pair):
    made = basics.matmul(*pair)
    assert made.is_contiguous() and made.resize_(9, 9).shape == (9, 9)
    with torch.inference_mode():
        assert basics.matmul(*pair).is_inference()
    assert basics.matmul(pair[0][:0], pair[1]).shape == (0, 3)


def test_a_module_with_an_operator_can_be_copied_and_sent(pair):
    model = torch.nn.Module()
    model.matmul = tc.op(MATMUL, tc.MappingOptions("naive"))
    model.program = tc.define(BASICS)
    assert copy.deepcopy(model).matmul is model.matmul
    sent = pickle.loads(pickle.dumps(model))
    torch.testing.assert_close(sent.matmul(*pair), pair[0] @ pair[1])
    torch.testing.assert_close(sent.program.matmul(*pair), pair[0] @ pair[1])
    assert sent.matmul.compile(*pair).options == model.matmul.compile(*pair).options
    executor = model.matmul.compile(*pair)
    assert copy.deepcopy(executor) is executor
    with pytest.raises(TypeError, match="belongs to its process"):
        pickle.dumps(executor)


def test_operators_stay_python_classes(basics, pair):
    class Counted(tc.Operator):
        pass

    torch.testing.assert_close(Counted(basics.matmul._interface)(*pair), pair[0] @ pair[1])
    torch.testing.assert_close(tc.Operator.__call__(basics.matmul, *pair), pair[0] @ pair[1])
    for made in (tc.Operator.__new__(tc.Operator), tc.Executor.__new__(tc.Executor)):
        with pytest.raises(tc.ArgumentError, match="never initialised"):
            made(*pair)


def test_masked_arrays_and_foreign_numbers_are_refused(basics):
    x = np.ones((4, 4), np.float32)
    with pytest.raises(tc.ArgumentError, match="MaskedArray"):
        basics.matmul(np.ma.masked_array(x, mask=x > 0), x)
    with pytest.raises(tc.ArgumentError, match="'s' of 'scaled' is <class 'complex'> where a number or a tensor of rank 0"):
        basics.scaled(1j, x[0])
    with pytest.raises(tc.ArgumentError, match="'a' of 'update' is 'x' where a number of type float32"):
        basics.update("x", x[0], x[1])
