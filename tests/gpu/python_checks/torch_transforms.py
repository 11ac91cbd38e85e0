# SPDX-License-Identifier: Apache-2.0
"""Calls under PyTorch's compiler, its transformations and autograd."""

from __future__ import annotations

import torch

import tensor_comprehensions as tc
from python_checks.base import TEXT, close, expect, floats, gpu_only, message_of, softmax
from python_checks.torch_checks import Session, host

__all__ = ["Session"]


def pair(session, m=37, k=29, n=23):
    return session.put(floats(0, m, k)), session.put(floats(1, k, n))


def check_compile(session):
    a, b = pair(session)
    traced = torch.compile(lambda a, b: torch.relu(session.program.matmul(a * 2, b)) + 1, fullgraph=True)
    for rows in (37, 11):
        close(host(traced(a[:rows], b)), (2 * host(a[:rows]) @ host(b)).clip(0) + 1, f"{rows} rows")
    x, y = session.put(floats(2, 301)), session.put(floats(3, 301))
    expected = host(y) + 2 * host(x)
    close(host(torch.compile(lambda x, y: session.program.update(2.0, x, y) * 2, fullgraph=True)(x, y)), 2 * expected, "after an update")
    close(host(y), expected, "the updated parameter")


@gpu_only
def check_compile_with_graphs(session):
    a, b = pair(session)
    traced = torch.compile(lambda a, b: session.program.softmax(session.program.matmul(a, b)).sum(0), fullgraph=True, mode="reduce-overhead")
    for seed in range(5):
        fresh = session.put(floats(10 + seed, 37, 29))
        made = traced(fresh, b).clone()
        close(host(made), softmax(host(fresh) @ host(b)).sum(0), f"call {seed}")


def check_opcheck(session):
    a, b = pair(session)
    x, i = session.put(floats(2, 12)), torch.tensor([3, 0, 7], dtype=torch.int32, device=session.device)
    p = session.program
    cases = ((p.matmul, (a, b)), (p.softmax, (a,)), (p.scaled, (torch.tensor(2.0, device=session.device), x)), (p.update, (2.0, x, x.clone())),
             (p.unflatten, (x, 3)), (p.lookup, (a, i)))
    for operator, arguments in cases:
        torch.library.opcheck(operator._traced.op, arguments)
    return f"{len(cases)} operators"


def check_vmap(session):
    p = session.program
    a, b = session.put(floats(0, 6, 37, 29)), session.put(floats(1, 29, 6, 23))
    made = torch.vmap(p.matmul, in_dims=(0, 1))(a, b)
    close(host(made), host(a) @ host(b).transpose(1, 0, 2), "matmul, (0, 1)")
    close(host(torch.vmap(p.matmul, in_dims=(0, None))(a, b[:, 0])), host(a) @ host(b[:, 0]), "matmul, (0, None)")
    x = session.put(floats(2, 5, 40, 6))
    rows = [softmax(host(x)[:, :, row]) for row in range(6)]
    made = torch.vmap(p.softmax, in_dims=2)(x)
    for row, reference in enumerate(rows):
        close(host(made[row]), reference, f"softmax, element {row}")
    nested = torch.vmap(torch.vmap(p.matmul), in_dims=(0, None))(a.reshape(2, 3, 37, 29), b.movedim(1, 0)[:3])
    close(host(nested), host(a).reshape(2, 3, 37, 29) @ host(b).transpose(1, 0, 2)[:3], "nested")
    traced = torch.compile(torch.vmap(p.matmul, in_dims=(0, None)), fullgraph=True, backend="aot_eager")
    close(host(traced(a, b[:, 0])), host(a) @ host(b[:, 0]), "vmap under compile")


def gradients(function, *tensors):
    tensors = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    return torch.autograd.grad(function(*tensors), tensors)


def check_autograd(session):
    matmul = tc.make_autograd(session.program.matmul, session.program.matmul_backward)
    a, b = pair(session)

    def loss(product):
        return lambda a, b: product(a, b).sin().sum()

    expected = gradients(loss(torch.matmul), a.double(), b.double())
    traced = torch.compile(loss(matmul), fullgraph=True)
    for name, function in (("eager", loss(matmul)), ("compiled", traced)):
        for got, reference in zip(gradients(function, a, b), expected):
            expect(got.device == session.device, f"{name}: a gradient on {got.device}")
            close(host(got), host(reference), name)
    got = torch.func.grad(loss(matmul))(a, b)
    close(host(got), host(expected[0]), "torch.func.grad")
    batch = session.put(floats(3, 4, 37, 29))
    got = torch.vmap(torch.func.grad(loss(matmul)), in_dims=(0, None))(batch, b)
    reference = torch.vmap(torch.func.grad(loss(torch.matmul)), in_dims=(0, None))(batch.double(), b.double())
    close(host(got), host(reference), "vmap of grad")


def check_gradients_by_differences(session):
    text = """
def matmul(double(M,K) A, double(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }
def backward(double(M,K) A, double(K,N) B, double(M,N) dC) -> (dA, dB) {
  dA(m,k) +=! dC(m,r_n) * B(k,r_n)
  dB(k,n) +=! A(r_m,k) * dC(r_m,n)
}"""
    program = tc.define(text)
    a, b = (tensor.double().requires_grad_() for tensor in pair(session, 3, 4, 2))
    expect(torch.autograd.gradcheck(tc.make_autograd(program.matmul, program.backward), (a, b)), "gradcheck")


def check_autocast(session):
    """Tensors that autocast made are cast to the types that a def declares; gradients have the types of their inputs."""
    matmul = tc.make_autograd(session.program.matmul, session.program.matmul_backward)
    a, b = pair(session)
    with torch.autocast(session.device.type, torch.bfloat16):
        half = a @ torch.eye(a.shape[1], device=session.device)
        made = session.program.matmul(half, b)
    expect(half.dtype == torch.bfloat16 and made.dtype == torch.float32, f"{half.dtype} gives {made.dtype}")
    close(host(made), host(half) @ host(b), "under autocast")
    half, b = half.detach().requires_grad_(), b.requires_grad_()
    with torch.autocast(session.device.type, torch.bfloat16):
        loss = matmul(half, b).sin().sum()
    loss.backward()
    expect(half.grad.dtype == torch.bfloat16 and b.grad.dtype == torch.float32, "types of gradients")
    expected = gradients(lambda a, b: (a @ b).sin().sum(), half.double(), b.double())
    close(host(half.grad), host(expected[0]), "a gradient in bfloat16", relative=1e-2)
    close(host(b.grad), host(expected[1]), "a gradient in float32")
    message_of(lambda: session.program.matmul(half, b), tc.ArgumentError, "bfloat16 where float32")


def check_tuning(session):
    """A short search in worker processes, and the kernel that it leaves. One input is an expanded tensor, whose elements share memory."""
    a, b = pair(session, 96, 80, 64)
    found = tc.autotune(TEXT, "matmul", a, b, tuner_config=tc.TunerConfig(trials=6, threads=2, seconds=40))
    outcomes = [trial.outcome for trial in found.trials]
    bad = [f"{trial.outcome}: {trial.detail} with {trial.options}" for trial in found.trials if trial.outcome in ("wrong", "crashed", "hung")]
    expect(not bad, f"{len(bad)} of {len(outcomes)} candidates\n" + "\n".join(bad))
    expect(found.best_us > 0 and "measured" in outcomes, f"best {found.best_us} us, outcomes {outcomes}, failures {found.failures}")
    close(host(tc.define(TEXT, found).matmul(a, b)), host(a) @ host(b), "with tuned options")
    known = tc.tuned_options(TEXT, "matmul", a, b)
    expect(known.source == "exact", f"{known.source}: {known.note}")
    row = a[:1].expand(96, 80)
    shared = tc.autotune(TEXT, "matmul", row, b, tuner_config=tc.TunerConfig(trials=2, threads=2, seconds=20))
    outcomes += [f"{trial.outcome} {trial.detail}".strip() for trial in shared.trials]
    expect(not any(outcome.startswith("wrong") for outcome in outcomes), f"outcomes {outcomes}")
    return f"{found.best_us:.2f} us, {found.default_us:.2f} us by default, {found.verification}, {outcomes}"


def check_training(session):
    """A linear model trained by comprehensions follows the one in float64."""
    matmul = tc.make_autograd(session.program.matmul, session.program.matmul_backward)
    x, y = session.put(floats(0, 64, 10)), session.put(floats(1, 64, 3))

    def train(product, kind):
        weight = torch.zeros(10, 3, dtype=kind, device=session.device, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.05, momentum=0.9)
        for _ in range(30):
            optimizer.zero_grad()
            loss = (product(x.to(kind), weight) - y.to(kind)).square().mean()
            loss.backward()
            optimizer.step()
        return weight

    close(host(train(matmul, torch.float32)), host(train(torch.matmul, torch.float64)), "weights after 30 steps")


CHECKS = [
    check_opcheck, check_vmap, check_autograd, check_gradients_by_differences, check_autocast, check_training, check_tuning,
    check_compile, check_compile_with_graphs,
]
