# SPDX-License-Identifier: Apache-2.0
"""Cost of one warm call from Python on tiny tensors, beside the library's own operation: the best of rounds that alternate between the two.
On the CPU time of the process counts, on CUDA the wall clock of enqueuing.

    python3 bench/python_calls.py [--device cuda] [--rounds 21] [--number 5000]
"""

import argparse
import time
import timeit

import numpy as np
import torch

import tensor_comprehensions as tc

PROGRAM = """
def copy(float(M,N) A) -> (C) { C(m,n) = A(m,n) }
def add(float(M,N) A, float(M,N) B) -> (C) { C(m,n) = A(m,n) + B(m,n) }
def fma(float(M,N) A, float(M,N) B, float(M,N) D) -> (C) { C(m,n) = A(m,n) + B(m,n) * D(m,n) }
def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }
"""


def pairs(device):
    """(name, our call, the library's call)"""
    program = tc.define(PROGRAM)
    a, b, d, out = (torch.randn(16, 16, device=device) for _ in range(4))
    yield "torch: 1 input", lambda: program.copy(a), lambda: torch.relu(a)
    yield "torch: 2 inputs", lambda: program.add(a, b), lambda: torch.add(a, b)
    yield "torch: 2 inputs, given output", lambda: program.add(a, b, outputs=out), lambda: torch.add(a, b, out=out)
    yield "torch: 3 inputs", lambda: program.fma(a, b, d), lambda: torch.addcmul(a, b, d)
    yield "torch: matmul", lambda: program.matmul(a, b), lambda: torch.mm(a, b)
    if device == "cpu":
        x, y = a.numpy(), b.numpy()
        yield "numpy: 2 inputs", lambda: program.add(x, y), lambda: np.add(x, y)
        yield "numpy: matmul", lambda: program.matmul(x, y), lambda: np.matmul(x, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--number", type=int, default=5000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    clock = time.process_time if arguments.device == "cpu" else time.perf_counter
    print("| call on 16x16 tensors | this package, us | the library's operation, us |\n|---|---|---|")
    for name, ours, theirs in pairs(arguments.device):
        ours(), theirs()
        samples = {ours: [], theirs: []}
        for _ in range(arguments.rounds):
            for function, times in samples.items():
                times.append(timeit.timeit(function, number=arguments.number, timer=clock) / arguments.number * 1e6)
                if arguments.device != "cpu":
                    torch.cuda.synchronize()
        print(f"| {name} | {min(samples[ours]):.2f} | {min(samples[theirs]):.2f} |")


if __name__ == "__main__":
    main()
