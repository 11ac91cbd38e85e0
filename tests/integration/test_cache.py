# SPDX-License-Identifier: Apache-2.0
"""The compile cache with several processes, after kill -9, with damaged files and in read-only directories."""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
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


def compile_all(tensorc_path, environment, files):
    """Starts a process that runs every file, one after the other, and stops at the first failure."""
    lines = [f"{tensorc_path} run {file} -D N=4 -D K=5 --verify --json --repeat 1 || exit 1" for file in files]
    return subprocess.Popen(["sh", "-c", "\n".join(lines)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("round", range(3))
def test_kill_while_others_compile(tensorc, tensorc_path, tmp_path, program, round):
    """Processes fill one new directory with overlapping kernels while others like them are killed."""
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}
    files = [program(variant) for variant in range(1, 9)]
    working = [compile_all(tensorc_path, environment, order) for order in (files, files[::-1], files[4:] + files[:4])]
    for victim in range(6):
        process = compile_all(tensorc_path, environment, files[victim:] + files[:victim])
        time.sleep(0.01 + 0.03 * victim + 0.01 * round)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    for process in working:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
        assert [json.loads(line)["verify"]["ok"] for line in out.splitlines()] == [True] * 8
    assert tensorc("cache", "verify").returncode == 0
    assert tensorc("cache", "list").stdout.count(b"\n") == 8
    for file in files:
        assert run_json(tensorc, file)["cache"] == "disk"


def test_kill_at_any_moment(tensorc, tensorc_path, tmp_path, program):
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}
    begin = time.monotonic()
    run_json(tensorc, program(1))
    whole = time.monotonic() - begin
    for variant in range(2, 26):
        process = subprocess.Popen([tensorc_path, "run", str(program(variant)), "-D", "N=4", "-D", "K=5", "--repeat", "1"], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * variant / 26)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert tensorc("cache", "verify").returncode == 0
    assert run_json(tensorc, program(1))["cache"] == "disk"
    run_json(tensorc, program(2))
    assert run_json(tensorc, program(2))["cache"] == "disk"


@pytest.fixture
def as_nobody():
    """A folder in which files can be made read-only for the user that runs tensorc, and how to run it as that user."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tensorc-read-only-"))
    folder.chmod(0o755)
    how = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    yield folder, how
    for path in (folder, folder / "cache"):
        path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("state", ["whole", "only the file", "absent", "with a log"])
def test_read_only_directory(tensorc, tensorc_path, as_nobody, program, state):
    """A cache that cannot be written serves what it has, and what it has not is compiled."""
    folder, how = as_nobody
    cache = folder / "cache"
    cache.mkdir()
    environment = {"TC_CACHE_DIR": str(cache)}
    known, other = folder / "known.tc", folder / "other.tc"
    known.write_text(PROGRAM % 1)
    other.write_text(PROGRAM % 2)
    if state != "absent":
        assert run_json(tensorc, known, env=environment)["cache"] == "miss"
    if state == "with a log":
        # A reader keeps the last writer from merging its log into the database.
        reader = sqlite3.connect(cache / "kernels-v1.sqlite")
        reader.execute("select count(*) from kernels").fetchone()
    for file in cache.iterdir():
        file.chmod(0o444)
    cache.chmod(0o755 if state == "only the file" else 0o555)
    before = {file.name: file.read_bytes() for file in cache.iterdir()}

    def run(file):
        return subprocess.run([tensorc_path, "run", str(file), "-D", "N=4", "-D", "K=5", "--json", "--verify", "--repeat", "1"], cwd=folder,
                              capture_output=True, timeout=120, env={**os.environ, **environment}, **how)

    for file in (known, other, known):
        done = run(file)
        assert done.returncode == 0, done.stderr.decode()
        found = json.loads(done.stdout)
        assert found["verify"]["ok"]
        if state in ("whole", "only the file"):
            assert found["cache"] == ("disk" if file == known else "miss")
    for name, contents in before.items():
        assert name.endswith("-shm") or (cache / name).read_bytes() == contents, name


def sqlite(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


FOREIGN = {
    "another table": ["create table other(x)"],
    "fewer columns": ["create table kernels(key text primary key, object blob)"],
    "more columns": ["create table kernels(key TEXT PRIMARY KEY, launch_table BLOB, object BLOB, description BLOB, checksum TEXT, bytes INTEGER, "
                     "created INTEGER, used INTEGER, later TEXT NOT NULL DEFAULT 'x')"],
    "a constraint": ["create table kernels(key TEXT PRIMARY KEY, launch_table BLOB, object BLOB, description BLOB, checksum TEXT, bytes INTEGER, "
                     "created INTEGER, used INTEGER, later TEXT NOT NULL)"],
    "a view": ["create view kernels as select 1 as key, 2 as launch_table, 3 as object, 4 as description, 5 as checksum, 6 as bytes, 7 as created, 8 as used"],
    "another version": ["pragma user_version = 77", "create table kernels(version)"],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_versions(tensorc, tmp_path, program, name):
    """Whatever lies under the cache's name: right results, no crash, and a cache that works afterwards."""
    (tmp_path / "cache").mkdir()
    path = tmp_path / "cache" / "kernels-v1.sqlite"
    sqlite(path, *FOREIGN[name])
    assert run_json(tensorc, program())["cache"] == "miss"
    run_json(tensorc, program())
    assert run_json(tensorc, program())["cache"] == "disk"


def test_a_file_of_the_next_version_stays(tensorc, tmp_path, program):
    (tmp_path / "cache").mkdir()
    path = tmp_path / "cache" / "kernels-v2.sqlite"
    sqlite(path, "create table kernels(other)", "insert into kernels values (1)")
    before = path.read_bytes()
    assert run_json(tensorc, program())["cache"] == "miss"
    assert run_json(tensorc, program())["cache"] == "disk"
    assert path.read_bytes() == before


def test_code_of_another_compiler_is_a_miss(tensorc, tmp_path, program):
    """An entry under the right key that holds no code of ours, with a right checksum, is compiled anew."""
    assert run_json(tensorc, program())["cache"] == "miss"
    assert run_json(tensorc, program(2))["cache"] == "miss"
    exported = tmp_path / "cache.jsonl"
    assert tensorc("cache", "export", exported).returncode == 0
    entries = [json.loads(line) for line in exported.read_text().splitlines()]
    # Code of one kernel under the key of the other is served as what it is: keys decide. Text that is no code is not.
    for field in ("object", "launch_table"):
        broken = [{**entry, field: ""} for entry in entries]
        exported.write_text("".join(json.dumps(entry) + "\n" for entry in broken))
        assert tensorc("cache", "clear").returncode == 0
        tensorc("cache", "import", exported)
        assert run_json(tensorc, program())["cache"] == "miss", field
        assert run_json(tensorc, program())["cache"] == "disk", field


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
