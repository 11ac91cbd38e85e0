# SPDX-License-Identifier: Apache-2.0
"""Tuning for CUDA over a driver that computes nothing: compiled by NVRTC in workers, loaded, checked and timed on two devices.

A kernel that does nothing leaves the poison of its output, so a program whose right result is that byte passes the check, and any other fails it.
"""

import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
POISON = "def f(float(M,N) x) -> (uint8(M,N) y) { y(i,j) = uint8(165 + 0 * int32(x(i,j))) }\n"
OTHER = "def f(float(M,N) x) -> (uint8(M,N) y) { y(i,j) = uint8(7 + 0 * int32(x(i,j))) }\n"
SIZES = ["-D", "M=64", "-D", "N=96"]


@pytest.fixture
def cuda(tensorc, build_folder, tmp_path):
    """Runs tensorc where the driver of the runtime's tests is the driver."""
    library = build_folder / "lib" / "libtc_fake_cuda.so"
    if not library.exists():
        pytest.skip("the driver of the runtime's tests is not built")
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "libcuda.so.1").symlink_to(library)
    environment = {
        "LD_LIBRARY_PATH": str(folder),
        "TC_FAKE_CUDA_STANDALONE": "1",
        "VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV", str(ROOT / ".venv")),
    }
    targets = json.loads(tensorc("info", "--json", env=environment).stdout)["targets"]
    if "path" not in next(target for target in targets if target["name"] == "cuda")["nvrtc"]:
        pytest.skip("no NVRTC on this machine")

    def run(text, *arguments, env=None):
        file = tmp_path / "f.tc"
        file.write_text(text)
        target = [] if "--target" in arguments else ["--target", "cuda"]
        return tensorc("tune", file, *SIZES, *target, "--json", *arguments, env={**environment, **(env or {})}, timeout=600)

    run.environment = environment
    return run


def outcomes(done):
    assert done.returncode == 0, done.stderr.decode()
    return [trial["outcome"] for trial in json.loads(done.stdout)["trials"]]


def test_candidates_are_compiled_checked_and_timed_on_two_devices(cuda, tensorc):
    # One that hangs keeps its device busy while the others go to the other one.
    done = cuda(POISON, "--trials", "12", "--devices", "0,1", "--inject", "2=hang", "--run-limit", "10")
    found = outcomes(done)
    assert found.count("hung") == 1 and found.count("measured") == 11, done.stdout.decode()
    report = json.loads(done.stdout)
    assert report["verification"] == "interpreter, exact"
    assert report["best_us"] > 0 and sum(trial["finalist"] for trial in report["trials"]) >= 3
    listed = tensorc("cache", "export", "--tuned", "-").stdout.decode()
    where = " ".join(json.loads(line)["provenance"] for line in listed.splitlines())
    assert "device 0" in where and "device 1" in where


@pytest.mark.parametrize(
    ("arguments", "devices"),
    [([], {"0", "1"}), (["--devices", "all"], {"0", "1"}), (["--target", "cuda:1"], {"1"}), (["--devices", "0"], {"0"})],
)
def test_a_run_takes_the_devices_that_it_is_given(cuda, tensorc, arguments, devices):
    # One that hangs keeps its device busy: where there is another one, that measures the rest.
    done = cuda(POISON, "--trials", "8", "--search", "random", "--inject", "1=hang,2=wrong", "--run-limit", "6", *arguments)
    assert outcomes(done).count("measured") == 6
    assert {str(device) for device in json.loads(done.stdout)["devices"]} == devices
    listed = tensorc("cache", "export", "--tuned", "-").stdout.decode()
    where = {json.loads(line)["provenance"].rpartition("device ")[2] for line in listed.splitlines()}
    assert {device for device in where if device.isdigit()} == devices


def test_a_device_that_is_not_there(cuda):
    done = cuda(POISON, "--trials", "1", "--devices", "0,7")
    assert done.returncode == 4 and b"there is no CUDA device 7" in done.stderr


def test_wrong_results_do_not_count(cuda):
    done = cuda(OTHER, "--trials", "3")
    assert done.returncode == 1
    assert b"3 wrong" in done.stderr


def test_a_lost_device_costs_the_candidate_that_was_there(cuda):
    """Each process meets a sticky error at its third candidate or so, and the next process goes on."""
    found = outcomes(cuda(POISON, "--trials", "12", "--search", "random", env={"TC_FAKE_CUDA_FAIL": "cuEventRecord 700 170"}))
    assert found.count("crashed") >= 2, found
    assert found.count("measured") >= 4, found
    # Each process measures some before its error.
    assert found.count("crashed") <= found.count("measured"), found


def test_code_that_cannot_be_loaded_is_rejected(cuda):
    done = cuda(POISON, "--trials", "4", env={"TC_FAKE_CUDA_FAIL": "cuModuleLoadDataEx 218 0"})
    assert done.returncode == 1
    assert b"4 " in done.stderr and b"crashed" not in done.stderr, done.stderr.decode()


def test_a_compiler_that_is_missing_is_no_verdict_about_candidates(cuda, tmp_path):
    done = cuda(POISON, "--trials", "4", env={"TC_CUDA_PATH": str(tmp_path / "nowhere")})
    assert done.returncode == 1
    assert done.stderr.decode().startswith("tensorc: NVRTC"), done.stderr.decode()
    # Once it is there all is tried.
    again = cuda(POISON, "--trials", "4")
    assert outcomes(again).count("measured") == 4 and json.loads(again.stdout)["resumed"] == 0


def test_a_device_without_room_is_no_verdict_about_candidates(cuda):
    full = cuda(POISON, "--trials", "4", "--devices", "0", env={"TC_FAKE_CUDA_FAIL": "cuMemAlloc 2 0"})
    assert full.returncode == 1 and b"4 device" in full.stderr, full.stderr.decode()
    again = cuda(POISON, "--trials", "4")
    assert outcomes(again).count("measured") == 4 and json.loads(again.stdout)["resumed"] == 0


def test_faults_in_workers(cuda):
    found = outcomes(cuda(POISON, "--trials", "8", "--search", "random", "--run-limit", "8", "--inject", "2=crash,4=hang,6=wrong"))
    assert (found[1], found[3], found[5]) == ("crashed", "hung", "wrong")
    assert found.count("measured") == 5


def test_workers_that_stand_still_do_not_keep_a_search(cuda, tensorc_path, tmp_path):
    """Those that map for the model are waited for as long as the search lasts, and no longer."""
    first = cuda(POISON, "--trials", "1")
    assert first.returncode == 0, first.stderr.decode()
    environment = {**os.environ, **cuda.environment, "TC_CACHE_DIR": str(tmp_path / "cache")}
    line = [tensorc_path, "tune", str(tmp_path / "f.tc"), *SIZES, "--target", "cuda", "--budget", "1h", "--compile-limit", "1e9", "--run-limit", "1e9", "--json"]
    process = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + 300
        while True:
            assert process.poll() is None, process.communicate()[1].decode()
            assert time.monotonic() < end
            with contextlib.closing(sqlite3.connect(f"file:{tmp_path / 'cache' / 'kernels-v1.sqlite'}?mode=ro", uri=True, timeout=10)) as store:
                if store.execute("SELECT COUNT(*) FROM tuned").fetchone()[0] >= 12:
                    break
            time.sleep(0.02)
        # All of them, also those that begin in the meantime.
        for _ in range(20):
            for children in pathlib.Path(f"/proc/{process.pid}/task").glob("*/children"):
                for worker in children.read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(worker), signal.SIGSTOP)
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, err.decode()
    assert json.loads(out)["interrupted"]
