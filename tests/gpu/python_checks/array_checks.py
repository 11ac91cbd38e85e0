# SPDX-License-Identifier: Apache-2.0
"""Calls with arrays of CuPy (of NumPy where there is no device)."""

from __future__ import annotations

import numpy as np

import tensor_comprehensions as tc
from python_checks.base import CASES, arrays, close, expect, floats, gpu_only, message_of, program, wanted

SPIN = r"""
extern "C" __global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
}"""
SLEEP_CYCLES = 400_000_000


class Session:
    def __init__(self, device: str):
        self.gpu = device == "cuda"
        if self.gpu:
            import cupy

            self.xp = cupy
        else:
            self.xp = np
        self.program = program()

    def put(self, array):
        return self.xp.asarray(array.copy())

    def host(self, array):
        return self.xp.asnumpy(array) if self.gpu else np.asarray(array)

    def inputs(self, case, seed=0):
        return [self.put(entry) for entry in arrays(case, seed)]

    def usable(self) -> bool:
        try:
            return float(self.xp.ones(3).sum()) == 3
        except Exception:  # noqa: BLE001 - whatever it is
            return False


def check_results(session):
    for case in CASES:
        made = session.program[case.name](*session.inputs(case))
        expect(isinstance(made, session.xp.ndarray), f"{case.name} gives {type(made)}")
        close(session.host(made), wanted(case, arrays(case, 0)), case.name)
    x = floats(0, 55)
    for s in (2.5, np.float32(2.5), session.put(np.asarray(2.5, np.float32))):
        close(session.host(session.program.scaled(s, session.put(x))[0]), 2.5 * x, "a number")
    made = session.program.matmul(session.put(floats(0, 0, 4)), session.put(floats(0, 4, 3)))
    expect(made.shape == (0, 3), "an empty result")


def check_views(session):
    base, b = session.put(floats(4, 24, 24)), session.put(floats(5, 24, 9))
    views = {
        "transposed": base.T, "every second row": base[::2], "backwards": base[::-1], "backwards in both": base[::-1, ::-2],
        "broadcast": session.xp.broadcast_to(base[:1], (24, 24)), "offset": base[3:, 1:13], "odd start": base.reshape(-1)[1:529].reshape(22, 24),
    }
    for name, view in views.items():
        right = b[: view.shape[1]]
        close(session.host(session.program.matmul(view, right)), session.host(view).astype(np.float64) @ session.host(right), name)
    reversed_output = session.xp.zeros((24, 9), np.float32)
    session.program.matmul(base, b, outputs=reversed_output[::-1])
    close(session.host(reversed_output)[::-1], session.host(base).astype(np.float64) @ session.host(b), "an output backwards")
    return f"{len(views)} views"


def check_given_outputs(session):
    a, b, c = (session.put(floats(seed, 12, 12)) for seed in range(3))
    expect(session.program.matmul(a, b, outputs=c) is c, "outputs= is returned")
    close(session.host(c), session.host(a).astype(np.float64) @ session.host(b), "outputs=")
    x, y = session.put(floats(3, 77)), session.put(floats(4, 77))
    reference = session.host(y) + 2.0 * session.host(x)
    expect(session.program.update(2.0, x, y) is y, "an updated parameter is returned")
    close(session.host(y), reference, "in place")
    message_of(lambda: session.program.matmul(a, b, outputs=a), tc.ArgumentError, "shares memory")


def check_element_types(session):
    kinds = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
    for kind in kinds:
        copy = tc.op(f"def copy({kind}(N) x) -> ({kind}(N) y) {{ y(i) = x(i) }}")
        x = session.xp.arange(7).astype(kind)
        made = copy(x)
        expect(made.dtype == x.dtype and bool((made == x).all()), kind)
    return f"{len(kinds)} types"


def check_errors(session):
    a = session.put(floats(0, 8, 8))
    if session.gpu:
        message_of(lambda: session.program.matmul(a, floats(1, 8, 8)), tc.ArgumentError, "a tensor of cupy", "one of numpy")
    message_of(lambda: session.program.matmul(a, a[:3]), tc.ArgumentError, "K = 8 is expected")
    message_of(lambda: session.program.matmul(a, a.astype(np.float64)), tc.ArgumentError, "float64 where float32")
    message_of(lambda: session.program.matmul(a, a.astype(np.complex64)), tc.ArgumentError, "complex64")
    close(session.host(session.program.matmul(a, a)), session.host(a).astype(np.float64) @ session.host(a), "after errors")


@gpu_only
def check_order_and_no_waiting(session):
    cupy = session.xp
    spin = cupy.RawKernel(SPIN, "spin")
    for case in CASES:
        f = session.program[case.name]
        for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
            old, new = session.inputs(case, 0), session.inputs(case, 1)
            cupy.cuda.runtime.deviceSynchronize()
            asleep = False
            for _ in range(3):  # a host that was held up says nothing; the next try does
                with stream:
                    kept = f(*old), f(*old)  # so that the pool has memory for this stream
                    del kept
                    stream.synchronize()
                    spin((1,), (1,), (np.int64(SLEEP_CYCLES),))
                    for entry, value in zip(old, new, strict=True):
                        cupy.copyto(entry, value)
                    made = f(*old)
                    asleep = asleep or not stream.done
                    doubled = made * 2
                stream.synchronize()
                if asleep:
                    break
            close(session.host(doubled), 2 * wanted(case, arrays(case, 1)), f"{case.name} on {stream}")
            expect(asleep, f"{case.name}: a call on {stream} waits for it")


@gpu_only
def check_graph(session):
    cupy, case = session.xp, CASES[0]
    a, b = session.inputs(case)
    c = cupy.zeros((65, 33), np.float32)
    session.program.matmul(a, b, outputs=c)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.runtime.deviceSynchronize()
    with stream:
        stream.begin_capture()
        session.program.matmul(a, b, outputs=c)
        graph = stream.end_capture()
        for entry, value in zip((a, b), session.inputs(case, 1)):
            cupy.copyto(entry, value)
        c.fill(np.nan)
        graph.launch(stream)
    stream.synchronize()
    close(session.host(c), wanted(case, arrays(case, 1)), "a replay")


@gpu_only
def check_array_interface(session):
    """An object with `__cuda_array_interface__` alone."""

    class Plain:
        def __init__(self, array):
            self.array = array

        @property
        def __cuda_array_interface__(self):
            return self.array.__cuda_array_interface__

    a, b, c = (session.put(floats(seed, 12, 12)) for seed in range(3))
    session.program.matmul(Plain(a.T), Plain(b), outputs=Plain(c))
    session.xp.cuda.runtime.deviceSynchronize()
    close(session.host(c), session.host(a).T.astype(np.float64) @ session.host(b), "interfaces")


CHECKS = [
    check_results, check_views, check_given_outputs, check_element_types, check_errors, check_order_and_no_waiting, check_graph,
    check_array_interface,
]
