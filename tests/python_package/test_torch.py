# SPDX-License-Identifier: Apache-2.0
"""PyTorch: tracing without a break, checks of custom operators, gradients."""

import pytest
import torch

import tensor_comprehensions as tc
from programs import BASICS, MATMUL


@pytest.fixture(scope="module")
def basics():
    return tc.define(BASICS)


def test_compile_without_a_graph_break(basics):
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    traced = torch.compile(lambda a, b: torch.relu(basics.matmul(a, b)) + 1, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(traced(a, b), torch.relu(a @ b) + 1)
    torch.testing.assert_close(traced(a[:4], b), torch.relu(a[:4] @ b) + 1)


def test_compile_with_the_default_backend(basics):
    x = torch.randn(9)
    y, z = torch.compile(lambda x: basics.scaled(2.0, x + 1), fullgraph=True)(x)
    torch.testing.assert_close((y, z), (2 * (x + 1), 2 + (x + 1)))


def test_what_is_updated_in_place_is_declared(basics):
    x, y = torch.randn(9), torch.randn(9)
    expected = y + 2 * x
    doubled = torch.compile(lambda x, y: basics.update(2.0, x, y) * 2, fullgraph=True, backend="aot_eager")(x, y)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(doubled, 2 * expected)


def test_outputs_and_sizes_in_traced_code(basics):
    x, out = torch.randn(20), torch.zeros(5, 4)
    made = torch.compile(lambda x: basics.unflatten(x, M=4), fullgraph=True, backend="aot_eager")(x)
    torch.testing.assert_close(made, x.reshape(5, 4))

    def into(x, out):
        basics.unflatten(x, M=4, outputs=out)
        return out + 1

    torch.testing.assert_close(torch.compile(into, fullgraph=True, backend="aot_eager")(x, out), made + 1)
    torch.testing.assert_close(out, made)


def test_an_error_of_shapes_shows_while_tracing(basics):
    with pytest.raises(Exception, match="K = 7 is expected"):
        torch.compile(lambda a, b: basics.matmul(a, b), fullgraph=True, backend="eager")(torch.randn(5, 7), torch.randn(6, 3))


def test_opcheck(basics):
    a, b, x = torch.randn(5, 7), torch.randn(7, 3), torch.randn(9)
    for operator, arguments in ((basics.matmul, (a, b)), (basics.scaled, (torch.tensor(2.0), x)), (basics.update, (2.0, x, x.clone())),
                                (basics.unflatten, (x, 3)), (basics.lookup, (a, torch.tensor([1, 0], dtype=torch.int32)))):
        torch.library.opcheck(operator._traced.op, arguments)


def differentiable(basics):
    return tc.make_autograd(basics.matmul, basics.matmul_backward)


def test_gradients_against_numeric_differences():
    text = BASICS.replace("float(", "double(")
    program = tc.define(text[: text.index("def scaled")])
    a, b = torch.randn(3, 4, dtype=torch.double, requires_grad=True), torch.randn(4, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(differentiable(program), (a, b))


@pytest.mark.parametrize("traced", [False, True])
def test_gradients(basics, traced):
    matmul = differentiable(basics)
    a, b = torch.randn(5, 7, requires_grad=True), torch.randn(7, 3, requires_grad=True)
    function = torch.compile(lambda a, b: matmul(a, b).sin().sum(), fullgraph=True, backend="aot_eager") if traced else lambda a, b: matmul(a, b).sin().sum()
    function(a, b).backward()
    da, db = torch.autograd.grad((a @ b).sin().sum(), (a, b))
    torch.testing.assert_close((a.grad, b.grad), (da, db))


def test_gradients_through_functions_of_functions(basics):
    matmul = differentiable(basics)
    a, b = torch.randn(5, 7), torch.randn(7, 3)
    made = torch.func.grad(lambda a: matmul(a, b).square().sum())(a)
    torch.testing.assert_close(made, torch.func.grad(lambda a: (a @ b).square().sum())(a))


def test_gradients_of_some_inputs():
    program = tc.define("""
def lookup(float(V,D) W, int32(N) I) -> (Y) { Y(n,d) = W(I(n), d) }
def lookup_backward(float(V,D) W, int32(N) I, float(N,D) dY) -> (dW) {
  dW(v,d) = 0.0 where v in 0:V, d in 0:D
  dW(I(n),d) += dY(n,d)
}
""")
    lookup = tc.make_autograd(program.lookup, program.lookup_backward)
    w, i = torch.randn(6, 3, requires_grad=True), torch.tensor([1, 4, 1, 0], dtype=torch.int32)
    lookup(w, i).square().sum().backward()
    (expected,) = torch.autograd.grad(w[i.long()].square().sum(), w)
    torch.testing.assert_close(w.grad, expected)


def test_second_derivatives_are_an_error(basics):
    a, b = torch.randn(5, 7, requires_grad=True), torch.randn(7, 3)
    (da,) = torch.autograd.grad(differentiable(basics)(a, b).square().sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        da.sum().backward()


def test_a_backward_function_with_the_wrong_number_of_gradients(basics):
    wrong = tc.make_autograd(basics.matmul, lambda a, b, dc: (dc, dc, dc))
    with pytest.raises(tc.ArgumentError, match="gives 3 gradients for 2 inputs"):
        wrong(torch.randn(5, 7, requires_grad=True), torch.randn(7, 3)).sum().backward()


def test_parameters_and_inference_mode():
    matmul = tc.op(MATMUL)
    weight = torch.nn.Parameter(torch.randn(7, 3))
    with torch.inference_mode():
        torch.testing.assert_close(matmul(torch.ones(5, 7), weight), torch.ones(5, 7) @ weight)


def test_tensors_without_memory_are_refused():
    matmul = tc.op(MATMUL)
    sparse = torch.eye(4).to_sparse()
    with pytest.raises(Exception, match="[Ss]parse|storage"):
        matmul(sparse, torch.eye(4))
