# SPDX-License-Identifier: Apache-2.0
"""How the runs on a device (tests/gpu) choose and report their checks, on the CPU, and the references that they compare with."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch

GPU = pathlib.Path(__file__).resolve().parents[1] / "gpu"
sys.path.insert(0, str(GPU))

import shared  # noqa: E402

NAMES = ["torch.views", "torch.transforms.autocast", "torch.transforms.tuning", "jax.views", "costs"]


@pytest.mark.parametrize("only, chosen", [
    ("", NAMES),
    ("autocast,tuning", ["torch.transforms.autocast", "torch.transforms.tuning"]),
    ("torch", ["torch.views"]),  # a group, and no longer name that begins like it
    ("views", ["torch.views", "jax.views"]),
    ("tun", ["torch.transforms.tuning"]),
    ("costs, jax", ["jax.views", "costs"]),
])
def test_checks_are_chosen_by_name(only, chosen):
    assert shared.select(NAMES, only) == chosen


def test_a_name_that_chooses_nothing_is_an_error():
    with pytest.raises(SystemExit, match="no check is called 'tunning'.*torch.transforms.tuning"):
        shared.select(NAMES, "views,tunning")


def run(*arguments):
    return subprocess.run([sys.executable, str(GPU / "run_python.py"), *arguments], capture_output=True, text=True, timeout=300)


def test_every_check_of_the_package_has_a_name():
    listed = run("--list").stdout.split()
    assert {"torch.transforms.autocast", "torch.transforms.tuning", "processes.loader_workers", "costs"} <= set(listed)
    assert len(listed) == len(set(listed)) > 50
    done = run("--installed", "--out", "unused", "--only", "nothing_is_called_so")
    assert done.returncode == 1 and "no check is called 'nothing_is_called_so'" in done.stderr


def test_chosen_checks_run_and_nothing_else(tmp_path):
    done = run("--installed", "--device", "cpu", "--out", str(tmp_path), "--only", "arrays.given_outputs,arrays.graph", "--cost-seconds", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    checks = {entry["name"]: entry["status"] for entry in json.loads((tmp_path / "python.json").read_text())["checks"]}
    assert checks == {"arrays.given_outputs": "ok", "arrays.graph": "skipped"}


@pytest.mark.parametrize("case", [shared.matmul_case(5, 7, 3), shared.softmax_case(4, 9), shared.heat_case(6, 5)], ids=lambda case: case.name)
def test_references_are_the_same_with_both_libraries(case):
    arrays = [array.astype(np.float64) for array in case.arrays(3)]
    made = case.reference(*arrays)
    shared.close(case.reference(*map(torch.from_numpy, arrays)).numpy(), made, case.name)
    with pytest.raises(AssertionError, match="largest error"):
        shared.close(made + 1, made, case.name)
    with pytest.raises(AssertionError, match="shape"):
        shared.close(made[:1], made, case.name)
    with pytest.raises(AssertionError, match="largest error nan"):
        shared.close(made * np.nan, made, case.name)


def test_what_a_thread_raises_is_told():
    def work(number):
        if number == 2:
            raise ValueError("no")

    with pytest.raises(AssertionError, match="thread 2: ValueError: no"):
        shared.in_threads(4, work)
