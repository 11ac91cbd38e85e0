# SPDX-License-Identifier: Apache-2.0
"""Several libraries in one process, with one program."""

from __future__ import annotations

import numpy as np

import tensor_comprehensions as tc
from python_checks import array_checks, jax_checks, torch_checks
from python_checks.base import CASES, arrays, close, floats, gpu_only, message_of, wanted


class Session:
    def __init__(self, device: str):
        self.gpu = device == "cuda"
        self.torch = torch_checks.Session(device)
        self.jax = jax_checks.Session(device)
        self.array = array_checks.Session(device)
        self.jax.program = self.array.program = self.torch.program

    def usable(self) -> bool:
        return self.torch.usable() and self.jax.usable() and self.array.usable()


def check_in_turns(session):
    import jax

    program = session.torch.program
    traced = {case: jax.jit(program[case.name]) for case in CASES}
    for seed in range(3):
        for case in CASES:
            reference = wanted(case, arrays(case, seed))
            close(torch_checks.host(program[case.name](*session.torch.inputs(case, seed))), reference, f"{case.name} of PyTorch")
            close(np.asarray(traced[case](*session.jax.inputs(case, seed))), reference, f"{case.name} of JAX")
            close(session.array.host(program[case.name](*session.array.inputs(case, seed))), reference, f"{case.name} of arrays")


def check_mixed(session):
    given = [session.torch.put(floats(0, 8, 8)), session.array.put(floats(1, 8, 8)), session.jax.put(floats(2, 8, 8))]
    said = ""
    for a in given:
        for b in given:
            if a is not b:
                said = message_of(lambda a=a, b=b: session.torch.program.matmul(a, b), tc.ArgumentError, "one library")
    return said


@gpu_only
def check_shared_memory(session):
    """One memory seen by two libraries, on one stream."""
    import cupy
    import torch

    a, b = session.torch.inputs(CASES[0])
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), cupy.cuda.ExternalStream(stream.cuda_stream):
        c = session.torch.program.matmul(a, b)
        again = session.torch.program.matmul(cupy.from_dlpack(c).T, cupy.from_dlpack(c))
        made = torch.from_dlpack(again)
    stream.synchronize()
    reference = wanted(CASES[0], arrays(CASES[0], 0))
    close(torch_checks.host(made), reference.T @ reference, "through both")


CHECKS = [check_in_turns, check_mixed, check_shared_memory]
