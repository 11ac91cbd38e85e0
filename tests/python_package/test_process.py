# SPDX-License-Identifier: Apache-2.0
"""The package in processes: the command, threads, forks, loader workers, the environment."""

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

import tensor_comprehensions as tc
from programs import MATMUL


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env={**os.environ, **environment})


def test_info():
    text = subprocess.run([sys.executable, "-m", "tensor_comprehensions", "info"], capture_output=True, text=True, check=True).stdout
    assert text.startswith(f"tensor_comprehensions {tc.__version__} ") and "target cpu: " in text and "cache: " in text
    found = json.loads(subprocess.run([sys.executable, "-m", "tensor_comprehensions", "info", "--json"], capture_output=True, text=True, check=True).stdout)
    assert {"version", "targets", "libraries", "cache"} <= set(found) and {"numpy", "torch", "jax"} <= set(found["libraries"])


def test_the_wheel_names_the_glibc_that_it_needs():
    try:
        wheel = importlib.metadata.distribution("tensor_comprehensions").read_text("WHEEL")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed from a wheel")
    assert "-manylinux_2_" in wheel and "-linux_" not in wheel


def test_the_package_needs_numpy_only():
    code = f"""
import sys
for name in ("torch", "jax", "cupy", "tensorflow", "tqdm", "ml_dtypes"):
    sys.modules[name] = None
import numpy, tensor_comprehensions as tc
a = numpy.ones((3, 3), numpy.float32)
assert (tc.op({MATMUL!r})(a, a) == 3).all()
"""
    assert run(code).returncode == 0


def test_the_environment_places_the_cache(tmp_path):
    code = f"import numpy, tensor_comprehensions as tc; a = numpy.ones((3, 3), numpy.float32); print(tc.op({MATMUL!r}).compile(a, a).cache)"
    assert run(code, TC_CACHE_DIR=str(tmp_path)).stdout == "miss\n"
    assert run(code, TC_CACHE_DIR=str(tmp_path)).stdout == "disk\n"
    assert run(code, TC_CACHE_DIR=str(tmp_path), TC_CACHE="off").stdout == "miss\n"
    dumps = tmp_path / "stages"
    run(code, TC_CACHE="off", TC_DUMP_DIR=str(dumps))
    assert (dumps / "matmul.tile").exists()


def test_torch_may_be_imported_later():
    code = f"""
import tensor_comprehensions as tc
matmul = tc.op({MATMUL!r})
import torch
a = torch.ones(3, 3)
assert (matmul(a, a) == 3).all()
assert (torch.compile(lambda a: matmul(a, a) + 1, fullgraph=True, backend="eager")(a) == 4).all()
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("exchange, direct", [(True, False), (False, True), (False, False)])
def test_versions_of_torch_without_some_functions(exchange, direct):
    """Without those of DLPack's exchange, or those that make tensors."""
    code = f"""
import torch
if not {exchange}:
    torch.Tensor.__dlpack_c_exchange_api__ = None
import tensor_comprehensions as tc
from tensor_comprehensions import _frameworks
if not {direct}:
    _frameworks.direct.discard("torch")
made = []
allocate = _frameworks.allocate
_frameworks.allocate = lambda *arguments: made.append(arguments) or allocate(*arguments)
matmul = tc.op({MATMUL!r})
a, b = torch.randn(5, 7), torch.randn(7, 3)
torch.testing.assert_close(matmul(a, b), a @ b)
torch.testing.assert_close(matmul(b.T, a.T), b.T @ a.T)
torch.testing.assert_close(matmul(a, torch.nn.Parameter(b)), a @ b)
torch.testing.assert_close(torch.vmap(matmul, (0, None))(a.expand(4, 5, 7), b), (a @ b).expand(4, 5, 3))
torch.testing.assert_close(torch.compile(lambda a, b: matmul(a, b) + 1, fullgraph=True, backend="aot_eager")(a, b), a @ b + 1)
out = torch.zeros(5, 3)
assert matmul(a, b, outputs=out) is out
torch.testing.assert_close(out, a @ b)
assert bool(made) == (not {exchange} and not {direct}) and all(arguments[0] == "torch" for arguments in made)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_threads_share_an_operator():
    matmul, wrong = tc.op(MATMUL), []

    def work(seed):
        random = np.random.default_rng(seed)
        for size in (4, 9, 16, 33, 4, 9):
            a, b = (random.standard_normal((size, size)).astype(np.float32) for _ in range(2))
            if not np.allclose(matmul(a, b), a @ b, atol=1e-4):
                wrong.append(size)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_after_a_fork():
    code = f"""
import os, numpy, tensor_comprehensions as tc
matmul = tc.op({MATMUL!r})
a = numpy.ones((512, 512), numpy.float32)
assert (matmul(a, a) == 512).all()
child = os.fork()
if child == 0:
    small = numpy.ones((5, 5), numpy.float32)
    os._exit(0 if (matmul(a, a) == 512).all() and (matmul(small, small) == 5).all() else 3)
assert os.waitpid(child, 0)[1] == 0
assert (matmul(a, a) == 512).all()
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


class Products(torch.utils.data.Dataset):
    def __init__(self):
        self.matmul = tc.op(MATMUL)
        self.matmul(torch.ones(8, 8), torch.ones(8, 8))

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.matmul(torch.full((8, 8), float(index)), torch.ones(8, 8))


def test_loader_workers():
    loader = torch.utils.data.DataLoader(Products(), batch_size=4, num_workers=2)
    assert [batch[:, 0, 0].tolist() for batch in loader] == [[0.0, 8.0, 16.0, 24.0], [32.0, 40.0, 48.0, 56.0]]


def test_wrong_values_of_the_environment(tmp_path):
    (tmp_path / "file").write_text("")
    code = f"import numpy, tensor_comprehensions as tc; a = numpy.ones((3, 3), numpy.float32); tc.op({MATMUL!r})(a, a)"
    for name, value, accepted in (
        ("TC_CACHE", "no", "on, off"),
        ("TC_TARGET", "gpu", "cpu and cuda[:N]"),
        ("TC_TARGET", "cpu-486", "x86-64-v3"),
        ("TC_DUMP_DIR", str(tmp_path / "file"), "folder"),
    ):
        done = run(code, **{name: value})
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 1 and "ArgumentError: " in last and f"{name}={value}: " in last and accepted in last, done.stderr
    done = run(code, TC_CACHE_DIR=str(tmp_path / "file"))
    assert done.returncode == 0 and done.stderr.count("CacheWarning: ") == 1 and str(tmp_path / "file") in done.stderr, done.stderr
    assert not run(code, TC_CACHE_DIR=str(tmp_path / "file"), TC_CACHE="off").stderr
    assert not run(code, TC_TARGET="cuda").stderr


def test_the_identity_of_the_build():
    """The wheel is made of the same sources as the program, and says so."""
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    found = json.loads(run("import tensor_comprehensions.__main__ as m, json; print(json.dumps(m._information()))").stdout)
    assert len(found["build"]) == 16
    tensorc = pathlib.Path(os.environ.get("TC_BUILD_DIR", root / "build")) / "bin" / "tensorc"
    if tensorc.exists():
        program = json.loads(subprocess.run([tensorc, "info", "--json"], capture_output=True, text=True, check=True).stdout)
        assert program["build"] == found["build"]
