# SPDX-License-Identifier: Apache-2.0
"""Calls with tensors of PyTorch: values, streams, graphs, memory, errors."""

from __future__ import annotations

import numpy as np
import torch

import tensor_comprehensions as tc
from python_checks.base import CASES, arrays, close, expect, floats, gpu_only, message_of, program, wanted
from shared import captured, in_threads, returns_while_asleep

THREADS = 6
TURNS = 25


class Session:
    def __init__(self, device: str):
        torch.backends.cuda.matmul.allow_tf32 = False
        self.gpu = device == "cuda"
        self.device = torch.device(device, 0) if self.gpu else torch.device("cpu")
        self.program = program()

    def put(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device) if self.gpu else torch.from_numpy(array.copy())

    def inputs(self, case, seed=0):
        return [self.put(entry) for entry in arrays(case, seed)]

    def wait(self):
        if self.gpu:
            torch.cuda.synchronize()

    def usable(self) -> bool:
        try:
            self.wait()
        except RuntimeError:
            return False
        return True


def host(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()


def check_results(session):
    for case in CASES:
        made = session.program[case.name](*session.inputs(case))
        expect(isinstance(made, torch.Tensor) and made.device == session.device, f"{case.name}: the result is on {made.device}")
        close(host(made), wanted(case, arrays(case, 0)), case.name)
    x, i = floats(1, 40, 7), np.random.default_rng(2).integers(0, 40, 33).astype(np.int32)
    close(host(session.program.lookup(session.put(x), session.put(i))), x[i], "lookup")
    close(host(session.program.unflatten(session.put(x.reshape(-1)), M=7)), x, "unflatten")
    made = session.program.matmul(session.put(floats(0, 0, 4)), session.put(floats(0, 4, 3)))
    expect(tuple(made.shape) == (0, 3), "an empty result")
    close(host(session.program.matmul(session.put(floats(0, 2, 0)), session.put(floats(0, 0, 3)))), np.zeros((2, 3)), "an empty sum")
    return f"{len(CASES)} programs"


def check_targets(session):
    executor = session.program.matmul.compile(session.put(floats(0, 16, 16)), session.put(floats(1, 16, 16)))
    expect(executor.target == ("cuda" if session.gpu else "cpu"), executor.target)
    expect("matmul" in executor.source, "the source lacks the kernel")
    return f"{executor!r}; {executor.resources}"


def check_element_types(session):
    kinds = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
             "float8_e4m3fn", "float8_e5m2"]
    for kind in kinds:
        copy = tc.op(f"def copy({kind}(N) x) -> ({kind}(N) y) {{ y(i) = x(i) }}")
        given = torch.arange(7).to(getattr(torch, kind)).to(session.device)
        made = copy(given)
        expect(made.dtype == given.dtype and made.device == given.device and torch.equal(made.cpu().float(), given.cpu().float()), kind)
    return f"{len(kinds)} types"


def check_numbers(session):
    x = floats(3, 1001)
    for s in (2.5, np.float32(2.5), session.put(np.asarray(2.5, np.float32))):
        y, z = session.program.scaled(s, session.put(x))
        close(host(y), 2.5 * x, "y")
        close(host(z), 2.5 + x, "z")
    number = session.program.total(session.put(x))
    expect(tuple(number.shape) == () and number.device == session.device, "a result of rank 0")


def check_views(session):
    base, b = session.put(floats(4, 24, 24)), session.put(floats(5, 24, 9))
    views = {
        "transposed": base.T, "every second row": base[::2], "strided": base[1:20:3, ::2], "expanded": base[:, :1].expand(24, 24),
        "offset": base[3:, 1:13], "odd start": base.reshape(-1)[1:529].reshape(22, 24), "overlapping": base.as_strided((10, 24), (2, 5)),
    }
    for name, view in views.items():
        right = b[: view.shape[1]]
        close(host(session.program.matmul(view, right)), host(view) @ host(right), name)
    right = session.put(floats(6, 9, 24)).T
    close(host(session.program.matmul(base, right)), host(base) @ host(right), "both layouts")
    return f"{len(views)} views"


def check_given_outputs(session):
    a, b = session.put(floats(0, 17, 19)), session.put(floats(1, 19, 13))
    reference = host(a) @ host(b)
    out = torch.full((17, 13), float("nan"), device=session.device)
    expect(session.program.matmul(a, b, outputs=out) is out, "outputs= is returned")
    close(host(out), reference, "outputs=")
    wide = torch.full((17, 26), float("nan"), device=session.device)
    session.program.matmul(a, b, outputs=(wide[:, ::2],), unchecked=True)
    close(host(wide[:, ::2]), reference, "strided outputs=")
    expect(bool(torch.isnan(wide[:, 1::2]).all()), "memory between the elements was written")
    x, y = session.put(floats(2, 501)), session.put(floats(3, 501))
    reference = host(y) + 2 * host(x)
    expect(session.program.update(2.0, x, y) is y, "an updated parameter is returned")
    close(host(y), reference, "in place")


def check_mixed_devices_and_libraries(session):
    a, b = session.put(floats(0, 8, 8)), floats(1, 8, 8)
    said = message_of(lambda: session.program.matmul(a, b), tc.ArgumentError, "'A' of 'matmul' is a tensor of torch", "'B' of 'matmul' one of numpy")
    if session.gpu:
        said = message_of(lambda: session.program.matmul(a, torch.from_numpy(b)), tc.ArgumentError, "'A' of 'matmul' lies on cuda:0", "'B' of 'matmul' on the CPU")
        message_of(lambda: session.program.matmul(torch.from_numpy(b), a), tc.ArgumentError, "on the CPU", "on cuda:0")
        message_of(lambda: session.program.matmul(a, a, outputs=torch.zeros(8, 8)), tc.ArgumentError, "output 'C'")
    close(host(session.program.matmul(a, a)), host(a) @ host(a), "after refusals")
    return said


def check_exceptions_leave_the_device_usable(session):
    a, b = session.put(floats(0, 5, 7)), session.put(floats(1, 7, 3))
    matmul = session.program.matmul
    message_of(lambda: matmul(a, a), tc.ArgumentError, "K = 7 is expected")
    message_of(lambda: matmul(a, b.double()), tc.ArgumentError, "float64 where float32")
    message_of(lambda: matmul(a), tc.ArgumentError, "'B' of 'matmul' is missing")
    message_of(lambda: matmul(a, b, outputs=a), tc.ArgumentError, "'C'")
    message_of(lambda: session.program.update(1.0, a[0, 1:], a[0, :-1]), tc.ArgumentError, "shares memory")
    message_of(lambda: tc.op("def f(float(N) x) -> (y) { y(i) = x(i"), tc.CompileError)
    shift = tc.op("def shift(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }")
    message_of(lambda: shift(a[0]), tc.CompileError, "E0410")
    big = tc.op("def big(float(N) x, float(M) z) -> (y) { y(i, j, k) = x(i) * z(j) where k in 0:1099511627776 }")
    message_of(lambda: big(a[0], a[0]), Exception)
    session.wait()
    close(host(matmul(a, b)), host(a) @ host(b), "after exceptions")


def check_ranges_at_run_time(session):
    w, i = session.put(floats(0, 6, 3)), session.put(np.asarray([1, 5, 6, 0, -1], np.int32))
    made = host(session.program.lookup(w, i))
    close(made[[0, 1, 3]], host(w)[[1, 5, 0]], "in range")
    expect(bool(np.isnan(made[[2, 4]]).all()), "a gather out of range is no NaN")
    if session.gpu:
        lookup = tc.op("def lookup(float(V,D) W, int32(N) I) -> (Y) { Y(n,d) = W(I(n), d) }", tc.MappingOptions("default").bounds("error"))
        executor = lookup.compile(w, i)
        executor(w, i)
        said = executor.check()
        expect(said is not None and "W(I(n), d)" in said and "with value" in said, f"check() says {said}")
        executor(w, session.put(np.asarray([1, 5, 5, 0, 0], np.int32)))
        expect(executor.check() is None, "check() after a right run")
        return said.splitlines()[0]
    return ""


def check_threads(session):
    expected = {case: wanted(case, arrays(case, 0)) for case in CASES}

    def work(number):
        with torch.cuda.stream(torch.cuda.Stream()) if session.gpu else torch.no_grad():
            for turn in range(TURNS):
                case = CASES[(number + turn) % len(CASES)]
                close(host(session.program[case.name](*session.inputs(case))), expected[case], case.name)

    in_threads(THREADS, work)
    return f"{THREADS} threads, {TURNS} calls each"


def enqueue_behind_sleep(session, case, stream) -> tuple[bool, torch.Tensor]:
    """Whether calls came back while their stream slept, and the result on values that were copied on the stream before."""
    f = session.program[case.name]
    old, new = session.inputs(case, 0), session.inputs(case, 1)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        kept = f(*old), f(*old)  # so that the allocator has memory for this stream
        del kept
        stream.synchronize()
    made = []

    def copy():
        for entry, value in zip(old, new, strict=True):
            entry.copy_(value)

    def call():
        with torch.cuda.stream(stream):
            made[:] = [f(*old)]

    asleep = returns_while_asleep(stream, call, copy)
    with torch.cuda.stream(stream):
        doubled = made[0] * 2
    stream.synchronize()
    return asleep, doubled


@gpu_only
def check_order_and_no_waiting(session):
    for case in CASES:
        for name, stream in (("the current stream", torch.cuda.current_stream()), ("another stream", torch.cuda.Stream())):
            asleep, doubled = enqueue_behind_sleep(session, case, stream)
            close(host(doubled), 2 * wanted(case, arrays(case, 1)), f"{case.name} on {name}")
            expect(asleep, f"{case.name}: a call on {name} waits for it")


@gpu_only
def check_two_streams(session):
    work = []
    for case in CASES:
        for seed in (0, 1):
            inputs, stream = session.inputs(case, seed), torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            work.append((case, seed, inputs, stream, []))
    for _ in range(TURNS):
        for case, _, inputs, stream, made in work:
            with torch.cuda.stream(stream):
                made[:] = [session.program[case.name](*inputs)]
    for case, seed, _, stream, made in work:
        stream.synchronize()
        close(host(made[0]), wanted(case, arrays(case, seed)), f"{case.name} on two streams")
    return f"{len(work)} streams, {TURNS} calls each"


@gpu_only
def check_allocator(session):
    """Results come from PyTorch's allocator, and calls leave nothing behind."""
    a, b = session.inputs(CASES[1])
    session.program.matmul(a, b)
    torch.cuda.synchronize()
    before, reserved = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    made = session.program.matmul(a, b)
    expect(torch.cuda.memory_allocated() - before == made.numel() * 4, "the result is not one block of PyTorch's allocator")
    del made
    for _ in range(200):
        session.program.matmul(a, b)
        session.program.heat(a)
    torch.cuda.synchronize()
    expect(torch.cuda.memory_allocated() == before, "memory is left behind")
    return f"{torch.cuda.memory_reserved() - reserved} bytes more reserved after 400 calls"


@gpu_only
def check_graphs(session):
    for case in CASES:
        f, inputs = session.program[case.name], session.inputs(case)
        f(*inputs)
        graph, made = captured(f, *inputs)
        for seed in (1, 2):
            for entry, value in zip(inputs, session.inputs(case, seed), strict=True):
                entry.copy_(value)
            made.fill_(float("nan"))
            graph.replay()
            torch.cuda.synchronize()
            close(host(made), wanted(case, arrays(case, seed)), f"{case.name}, replay {seed}")
    x, y, out = session.put(floats(0, 99)), session.put(floats(1, 99)), torch.zeros(99, device=session.device)
    both = lambda x, y: (session.program.scaled(3.0, x)[0], session.program.update(2.0, x, y), session.program.scaled(3.0, x, outputs=(out, None)))  # noqa: E731
    both(x, y.clone())
    start = host(y)
    graph, made = captured(both, x, y)
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    close(host(made[0]), 3 * host(x), "a number in a graph")
    close(host(out), 3 * host(x), "outputs= in a graph")
    close(host(y), start + 4 * host(x), "in place in a graph")
    return f"{len(CASES) + 1} graphs"


@gpu_only
def check_capture_of_what_was_only_compiled(session):
    for case in CASES:
        f, inputs = program()[case.name], session.inputs(case)
        f.compile(*inputs)
        graph, made = captured(f, *inputs)
        graph.replay()
        torch.cuda.synchronize()
        close(host(made), wanted(case, arrays(case, 0)), f"{case.name}, captured before any run")


@gpu_only
def check_first_call_in_a_capture(session):
    scale = tc.op("def thrice(float(N) x) -> (y) { y(i) = 3 * x(i) }")
    x = session.put(floats(0, 77))
    graph, made = captured(scale, x)
    graph.replay()
    torch.cuda.synchronize()
    close(host(made), 3 * host(x), "compiled during the capture")


@gpu_only
def check_other_device(session):
    if torch.cuda.device_count() < 2:
        return "one device only"
    case = CASES[0]
    made = session.program[case.name](*(entry.to("cuda:1") for entry in session.inputs(case)))
    expect(made.device == torch.device("cuda", 1), f"the result is on {made.device}")
    close(host(made), wanted(case, arrays(case, 0)), "on cuda:1")
    return ""


CHECKS = [
    check_results, check_targets, check_element_types, check_numbers, check_views, check_given_outputs, check_mixed_devices_and_libraries,
    check_exceptions_leave_the_device_usable, check_ranges_at_run_time, check_threads, check_order_and_no_waiting, check_two_streams,
    check_allocator, check_graphs, check_capture_of_what_was_only_compiled, check_first_call_in_a_capture, check_other_device,
]
