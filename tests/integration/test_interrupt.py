# SPDX-License-Identifier: Apache-2.0
"""Processes that end in the middle: what they were writing is as it was before, or whole."""

import json
import os
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

COPY = "def twice(float(N,M) x) -> (y) { y(n,m) = x(n,m) * 2.0 }\n"
SIZES = ["-D", "N=600", "-D", "M=3000"]  # 7.2 MB of output


@pytest.fixture
def command(tensorc_path, tmp_path):
    (tmp_path / "twice.tc").write_text(COPY)
    (tmp_path / "out").mkdir()
    return [tensorc_path, "run", str(tmp_path / "twice.tc"), *SIZES, "--output", f"y={tmp_path / 'out' / 'y.npy'}", "--repeat", "1"]


def start(command, tmp_path, **how):
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}
    return subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **how)


def expect_whole_or_before(folder):
    """The output is the old one or a whole new one, and so is what a killed rename may have left beside it."""
    for file in folder.iterdir():
        if file.read_bytes() != b"before":
            assert np.load(file).shape == (600, 3000), file


def heed_interrupts():
    """A shell lets what it starts in the background ignore them, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_at_any_moment(command, tensorc, tmp_path, number):
    output = tmp_path / "out" / "y.npy"
    begin = time.monotonic()
    assert start(command, tmp_path).wait(timeout=120) == 0
    whole = time.monotonic() - begin
    killed = 0
    moments = 16
    for moment in range(moments):
        for name in ("kernels-v1.sqlite", "kernels-v1.sqlite-wal", "kernels-v1.sqlite-shm"):
            (tmp_path / "cache" / name).unlink(missing_ok=True)
        output.write_bytes(b"before")
        process = start(command, tmp_path, preexec_fn=heed_interrupts)
        time.sleep(whole * moment / moments)
        process.send_signal(number)
        process.communicate(timeout=120)
        killed += process.returncode == -number
        expect_whole_or_before(tmp_path / "out")
        assert tensorc("cache", "verify").returncode == 0
    assert killed > 0, "no run was interrupted"
    done = tensorc(*command[1:], "--verify", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["verify"]["ok"], done.stderr.decode()
    assert np.load(output).shape == (600, 3000)


def limit_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [0, 100, 5_000, 1_000_000])
@pytest.mark.parametrize("fatal", [True, False], ids=["killed", "refused"])
def test_end_within_a_write(command, tensorc, tmp_path, size, fatal):
    """The system stops the process, or refuses the write, after `size` bytes of any file."""
    output = tmp_path / "out" / "y.npy"
    output.write_bytes(b"before")
    process = start(command, tmp_path, preexec_fn=limit_files(size), restore_signals=fatal)
    message = process.communicate(timeout=120)[1].decode()
    assert process.returncode == (-signal.SIGXFSZ if fatal else 1), message
    if not fatal:
        assert "cannot write" in message and "y.npy" in message, message
    assert output.read_bytes() == b"before"
    assert os.listdir(tmp_path / "out") == ["y.npy"]
    assert tensorc("cache", "verify").returncode == 0
    assert tensorc(*command[1:], "--verify").returncode == 0


def test_full_device(tensorc, tmp_path, command):
    done = tensorc("run", "twice.tc", "-D", "N=3", "-D", "M=3", "--output", "y=/dev/full")
    assert done.returncode == 1
    assert b"cannot write" in done.stderr


@pytest.mark.parametrize("target", ["absent/y.npy", "out", "link.npy"], ids=["no folder", "a folder", "loop of links"])
def test_outputs_that_cannot_be_written(tensorc, tmp_path, command, target):
    (tmp_path / "link.npy").symlink_to("link.npy")
    done = tensorc("run", "twice.tc", "-D", "N=3", "-D", "M=3", "--output", f"y={target}")
    assert done.returncode == 1, done.stderr.decode()
    assert b"cannot write" in done.stderr
    assert (tmp_path / "link.npy").is_symlink() and os.listdir(tmp_path / "out") == []
