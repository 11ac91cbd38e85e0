# SPDX-License-Identifier: Apache-2.0
"""The compile cache with several processes, after kill -9, with damaged files and in read-only directories."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

PROGRAM = "def f(float(N,K) x) -> (y) { y(n) +=! x(n,r_k) * %d.0 }\n"


@pytest.fixture
def program(tmp_path):
    def write(variant=1):
        file = tmp_path / f"program{variant}.tc"
        file.write_text(PROGRAM % variant)
        return file

    return write


def run_json(tensorc, file, **more):
    done = tensorc("run", file, "-D", "N=4", "-D", "K=5", "--json", "--verify", "--repeat", "1", **more)
    assert done.returncode == 0, done.stderr.decode()
    report = json.loads(done.stdout)
    assert report["verify"]["ok"]
    return report


def test_second_process_finds_the_kernel(tensorc, program):
    assert run_json(tensorc, program())["cache"] == "miss"
    assert run_json(tensorc, program())["cache"] == "disk"
    listed = tensorc("cache", "list").stdout.decode()
    assert listed.count("\n") == 1 and " f " in listed
    assert tensorc("cache", "verify").returncode == 0


def test_identity_is_up_to_names_and_layout(tensorc, tmp_path):
    first, second = tmp_path / "a.tc", tmp_path / "b.tc"
    first.write_text("def f(float(N,K) x) -> (y) { y(n) +=! x(n,r_k) }")
    second.write_text("# the same\ndef f(float(ROWS,COLS) data) -> (sum) {\n  sum(row) +=! data(row, col)\n}\n")
    assert run_json(tensorc, first)["cache"] == "miss"
    done = tensorc("run", second, "-D", "ROWS=4", "-D", "COLS=5", "--json")
    assert json.loads(done.stdout)["cache"] == "disk"


def test_options_and_sizes_are_part_of_the_key(tensorc, program):
    run_json(tensorc, program())
    for flags in (["-D", "N=6", "-D", "K=5"], ["-D", "N=4", "-D", "K=5", "--options", "naive"], ["-D", "N=4", "-D", "K=5", "--arch", "x86-64-v3"]):
        done = tensorc("run", program(), *flags, "--json")
        assert json.loads(done.stdout)["cache"] == "miss", flags


@pytest.mark.parametrize("damage", ["garbage", "truncated", "page", "empty", "foreign"])
def test_damaged_file_is_a_miss(tensorc, tmp_path, program, damage):
    run_json(tensorc, program())
    path = pathlib.Path(tensorc("cache", "path").stdout.decode().strip())
    for side in ("-wal", "-shm"):
        pathlib.Path(str(path) + side).unlink(missing_ok=True)
    contents = path.read_bytes()
    if damage == "garbage":
        path.write_bytes(b"not a database" * 1000)
    elif damage == "truncated":
        path.write_bytes(contents[: len(contents) // 2])
    elif damage == "page":
        path.write_bytes(contents[:4096] + os.urandom(len(contents) - 4096))
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
        subprocess.run(["python3", "-c", f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('create table kernels(other)'); c.commit()"], check=True)
    assert run_json(tensorc, program())["cache"] == "miss"
    run_json(tensorc, program())
    assert run_json(tensorc, program())["cache"] == "disk"


def test_flipped_bit_in_an_entry_is_a_miss(tensorc, program):
    run_json(tensorc, program())
    path = tensorc("cache", "path").stdout.decode().strip()
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); k, o = c.execute('select key, object from kernels').fetchone();"
        "b = bytearray(o); b[len(b) // 2] ^= 1; c.execute('update kernels set object = ? where key = ?', (bytes(b), k)); c.commit()"
    )
    subprocess.run(["python3", "-c", script, path], check=True)
    assert tensorc("cache", "verify").returncode == 1
    assert run_json(tensorc, program())["cache"] == "miss"
    assert run_json(tensorc, program())["cache"] == "disk"


def test_unusable_directory_is_tolerated(tensorc, tmp_path, program):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    report = run_json(tensorc, program(), env={"TC_CACHE_DIR": str(blocked / "below")})
    assert report["cache"] == "miss"
    assert blocked.read_text() == "in the way"
    assert run_json(tensorc, program(), env={"TC_CACHE": "off"})["cache"] == "miss"


def test_processes_share_an_empty_directory(tensorc_path, tmp_path, program):
    file = program()
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "shared")}
    command = [tensorc_path, "run", str(file), "-D", "N=4", "-D", "K=5", "--verify", "--json", "--repeat", "1"]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
        assert json.loads(out)["verify"]["ok"]
    listed = subprocess.run([tensorc_path, "cache", "list"], env=environment, capture_output=True, text=True).stdout
    assert listed.count("\n") == 1


def test_kill_leaves_an_intact_cache(tensorc, tensorc_path, tmp_path, program):
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}
    for variant in range(1, 9):
        process = subprocess.Popen([tensorc_path, "run", str(program(variant)), "-D", "N=4", "-D", "K=5"], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.02 * variant)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert tensorc("cache", "verify").returncode == 0
    run_json(tensorc, program(1))
    assert run_json(tensorc, program(1))["cache"] == "disk"


def test_interrupted_run_writes_no_half_output(tensorc_path, tmp_path, program):
    output = tmp_path / "y.npy"
    output.write_bytes(b"before")
    process = subprocess.Popen([tensorc_path, "run", str(program()), "-D", "N=30000", "-D", "K=20000", "--output", f"y={output}"],
                               cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TC_CACHE": "off"})
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.wait()
    contents = output.read_bytes()
    assert contents == b"before" or contents.startswith(b"\x93NUMPY")
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".y.npy")]


def test_maintenance(tensorc, tmp_path, program):
    for variant in (1, 2, 3):
        run_json(tensorc, program(variant))
    exported = tmp_path / "cache.jsonl"
    assert tensorc("cache", "export", exported).returncode == 0
    assert exported.read_text().count("\n") == 3
    assert b"3 entries removed" in tensorc("cache", "clear").stdout
    assert tensorc("cache", "import", exported).returncode == 0
    assert run_json(tensorc, program(2))["cache"] == "disk"
    key = tensorc("cache", "list").stdout.decode().split()[0]
    assert b"object:" in tensorc("cache", "show", key).stdout
    assert tensorc("cache", "show", "nothing").returncode == 1
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"key": 1}\n')
    assert tensorc("cache", "import", bad).returncode == 1
    assert b"3 entries removed" in tensorc("cache", "prune", "--max-bytes", "0").stdout
