# SPDX-License-Identifier: Apache-2.0
"""Processes: forks before and after a device is used, loader workers, spawned workers, the end of an interpreter."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import textwrap

from python_checks.base import expect, gpu_only

COMMON = """
import os, sys
import numpy as np
import torch
import tensor_comprehensions as tc
MATMUL = "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }"
DEVICE = sys.argv[1]
matmul = tc.op(MATMUL)
def works(device, size=40):
    a, b = np.random.default_rng(size).standard_normal((2, size, size)).astype(np.float32)
    c = matmul(torch.from_numpy(a).to(device), torch.from_numpy(b).to(device))
    return c.device.type == device and np.abs(c.cpu().double().numpy() - a.astype(np.float64) @ b).max() < 1e-3
def in_child(function):
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if function() else 3)
        except BaseException as error:
            print(f"child: {error}", file=sys.stderr, flush=True)
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


class Session:
    def __init__(self, device: str):
        self.device = device

    def usable(self) -> bool:
        return True


def run(session, code: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "common.py").write_text(COMMON)
        main = pathlib.Path(folder) / "main.py"
        main.write_text("from common import *\nif __name__ == '__main__':\n" + textwrap.indent(code, "    "))
        done = subprocess.run([sys.executable, str(main), session.device], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0, f"exit status {done.returncode}: {done.stderr.strip()[-600:]}")
    return done.stdout.strip()


def check_fork_before_use(session):
    run(session, "assert works('cpu')\nassert in_child(lambda: works(DEVICE)) == 0\nassert works(DEVICE)")


def check_fork_after_use(session):
    run(session, "assert works(DEVICE) and works('cpu')\nassert in_child(lambda: works('cpu') and works('cpu', 23)) == 0\nassert works(DEVICE, 33)")


@gpu_only
def check_device_in_a_fork_after_use(session):
    """PyTorch itself refuses; an error it must be, and the parent goes on."""
    code = "assert works(DEVICE)\nassert in_child(lambda: works(DEVICE)) == 4\nassert works(DEVICE, 33)"
    run(session, code)


def check_loader_workers(session):
    run(session, """
class Products(torch.utils.data.Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        return matmul(torch.full((8, 8), float(index)), torch.ones(8, 8))
assert works(DEVICE)
loader = torch.utils.data.DataLoader(Products(), batch_size=4, num_workers=2, pin_memory=DEVICE == "cuda")
made = []
for batch in loader:
    batch = batch.to(DEVICE, non_blocking=True)
    made += tc.op("def twice(float(B,M,N) x) -> (y) { y(b,m,n) = 2 * x(b,m,n) }")(batch)[:, 0, 0].tolist()
assert made == [16.0 * index for index in range(16)], made
""")


def check_spawned_workers(session):
    run(session, """
import concurrent.futures, multiprocessing
assert works(DEVICE)
with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
    assert all(pool.map(works, [DEVICE, DEVICE]))
""")


def check_end_of_an_interpreter(session):
    """With executors, results and a graph that are still there, in a thread too."""
    run(session, """
import threading
assert works(DEVICE)
kept = [matmul(torch.ones(8, 8, device=DEVICE), torch.ones(8, 8, device=DEVICE)) for _ in range(3)]
executor = matmul.compile(torch.ones(8, 8, device=DEVICE), torch.ones(8, 8, device=DEVICE))
if DEVICE == "cuda":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept.append(matmul(kept[0], kept[1]))
    graph.replay()
thread = threading.Thread(target=works, args=(DEVICE, 31), daemon=True)
thread.start()
thread.join()
""")


@gpu_only
def check_a_lost_context_is_an_error(session):
    """After an illegal access of other code every call is an error that says so, and the process ends."""
    said = run(session, """
assert works(DEVICE)
import ctypes
broken = torch.zeros(8, 8, device=DEVICE)
try:
    torch.ops.aten.index.Tensor(broken, [torch.tensor([1 << 40], device=DEVICE)])
    torch.cuda.synchronize()
    print("the device survived")
except Exception:
    try:
        matmul(broken, broken)
        torch.cuda.synchronize()
        print("no error")
    except Exception as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0][:200]}")
""")
    expect(said != "no error", "a call on a lost context gives no error")
    return said


@gpu_only
def check_information(session):
    done = subprocess.run([sys.executable, "-m", "tensor_comprehensions", "info"], capture_output=True, text=True, timeout=60, check=True)
    expect("target cuda" in done.stdout, done.stdout)
    return "; ".join(line for line in done.stdout.splitlines() if "cuda" in line.lower())


CHECKS = [
    check_information, check_fork_before_use, check_fork_after_use, check_device_in_a_fork_after_use, check_loader_workers, check_spawned_workers,
    check_end_of_an_interpreter, check_a_lost_context_is_an_error,
]
