# SPDX-License-Identifier: Apache-2.0
"""What happens to a search when processes, the program or the store are hit from outside: only the candidate that was running may be lost.

No time is asserted: limits are there so that a search that hangs fails its test.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

TEXT = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }\n"
SIZES = ["-D", "M=33", "-D", "N=40", "-D", "K=27"]
PATIENCE = 300


class Search:
    """A run in a process group of its own."""

    def __init__(self, program, tmp_path, *arguments, cache="cache"):
        self.cache = tmp_path / cache
        self.temporary = tmp_path / "tmp"
        self.temporary.mkdir(exist_ok=True)
        environment = {**os.environ, "TC_CACHE_DIR": str(self.cache), "TMPDIR": str(self.temporary)}
        (tmp_path / "f.tc").write_text(TEXT)
        line = [*map(str, program), "tune", "f.tc", *SIZES, "--search", "random", "--json", *map(str, arguments)]
        self.process = subprocess.Popen(line, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def records(self):
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.cache / 'kernels-v1.sqlite'}?mode=ro", uri=True, timeout=10)) as connection:
                return [json.loads(line) for (line,) in connection.execute("SELECT line FROM tuned")]
        except sqlite3.OperationalError:
            return []

    def workers(self):
        """Processes with their states."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            except OSError:
                continue
            if int(parent) == self.process.pid:
                found[int(entry.name)] = state
        return found

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            # What it did last may have come between the two looks.
            assert self.process.poll() is None or condition(), self.process.communicate()[1].decode()
            assert time.monotonic() < end, "it never happened"
            time.sleep(0.02)
        return found

    def wait_for_records(self, count):
        self.wait_for(lambda: len(self.records()) >= count)

    def report(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, err.decode()
        self.err = err.decode()
        return json.loads(out)


@pytest.fixture
def search(tensorc_path, tmp_path):
    running = []

    def start(*arguments, program=(tensorc_path,), **more):
        running.append(Search(program, tmp_path, *arguments, **more))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.communicate()


def counts(report):
    outcomes = [trial["outcome"] for trial in report["trials"]]
    return {outcome: outcomes.count(outcome) for outcome in outcomes}


def expect_kept(search, report):
    kept = {json.dumps(record["options"]) for record in search.records()}
    assert {json.dumps(trial["options"]) for trial in report["trials"]} <= kept


def test_workers_that_are_killed_cost_their_candidates(search):
    run = search("--trials", "30", "--jobs", "2")
    killed = 0
    for victims in range(12):
        wanted = 2 * victims + 1
        # Candidates whose process is killed leave no record: the run may end before there are so many.
        run.wait_for(lambda wanted=wanted: len(run.records()) >= wanted or run.process.poll() is not None)
        if run.process.poll() is not None:
            break
        states = run.workers()
        assert list(states.values()).count("Z") <= 3, "each of the three places has one process at a time"
        for worker in list(states)[victims % 2 :: 2]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                killed += 1
        if run.process.poll() is not None:
            break
    report = run.report()
    assert killed >= 5 and len(report["trials"]) == 30
    found = counts(report)
    assert found.get("measured", 0) + found.get("slow", 0) >= 30 - killed
    assert set(found) <= {"measured", "slow", "crashed", "rejected"}, found
    report["trials"] = [trial for trial in report["trials"] if trial["outcome"] != "crashed"]
    expect_kept(run, report)
    # It is not their fault: the next run tries them again.
    again = search("--trials", "30").report()
    assert again["resumed"] == 30 - found.get("crashed", 0) and "crashed" not in counts(again)
    assert not list(run.temporary.iterdir()), "nothing is left"


def test_a_worker_that_is_stopped_is_given_up_at_its_limit(search):
    run = search("--trials", "8", "--jobs", "1", "--run-limit", "3", "--compile-limit", "3")
    run.wait_for_records(2)
    stopped = list(run.workers())
    for worker in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGSTOP)
    report = run.report()
    assert len(report["trials"]) == 8 and counts(report).get("hung", 0) <= len(stopped)
    assert counts(report).get("measured", 0) + counts(report).get("slow", 0) >= 5
    assert not any(pathlib.Path(f"/proc/{worker}").exists() for worker in stopped)


def test_a_run_that_is_suspended_goes_on(search):
    run = search("--trials", "10", "--jobs", "1", "--run-limit", "3", "--compile-limit", "3")
    run.wait_for_records(2)
    for _ in range(2):
        os.killpg(run.process.pid, signal.SIGSTOP)
        time.sleep(4)  # longer than any candidate may take
        os.killpg(run.process.pid, signal.SIGCONT)
        time.sleep(0.3)
    report = run.report()
    assert len(report["trials"]) == 10 and "hung" not in counts(report)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_ends_the_search_alone(search, number):
    run = search("--budget", "1h", "--jobs", "1")
    run.wait_for_records(3)
    os.killpg(run.process.pid, number)
    report = run.report()
    assert report["interrupted"] and "crashed" not in counts(report)
    assert "crashed" not in {record["outcome"] for record in run.records()}
    expect_kept(run, report)


def test_runs_that_are_killed_leave_the_store_and_no_process(search, tensorc):
    kept = 0
    workers = []
    for round_ in range(4):
        runs = [search("--budget", "1h", "--jobs", "1", "--seed", str(2 * round_ + one)) for one in range(2)]
        runs[0].wait_for_records(kept + 4)
        workers += [worker for run in runs for worker in run.workers()]
        before = len(runs[0].records())
        for run in runs:
            run.process.kill()
        for run in runs:
            run.process.communicate(timeout=PATIENCE)
        kept = len(runs[0].records())
        assert kept >= before
        assert tensorc("cache", "verify").returncode == 0
    end = time.monotonic() + PATIENCE
    while alive := [worker for worker in workers if pathlib.Path(f"/proc/{worker}/stat").exists()]:
        assert time.monotonic() < end, f"processes {alive} outlive their runs"
        time.sleep(0.05)
    last = search("--trials", "1")
    assert last.report()["resumed"] > 0
    assert not list(last.temporary.iterdir()), "the last run has cleared what the others left"


def test_another_program_in_the_place_of_the_first(search, tensorc_path, tmp_path):
    """As an installation does while a search runs."""
    own = tmp_path / "bin" / "tensorc"
    own.parent.mkdir()
    shutil.copy(tensorc_path, own)
    run = search("--trials", "10", "--jobs", "2", "--inject", "4=crash,6=crash", program=(own,))
    run.wait_for_records(2)
    (tmp_path / "other").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "other").chmod(0o755)
    os.replace(tmp_path / "other", own)
    report = run.report()
    assert len(report["trials"]) == 10 and counts(report)["crashed"] <= 2, counts(report)


def test_a_store_that_is_locked_for_a_while(search):
    run = search("--trials", "16", "--jobs", "1")
    run.wait_for_records(2)
    with contextlib.closing(sqlite3.connect(run.cache / "kernels-v1.sqlite", isolation_level=None, timeout=60)) as other:
        other.execute("BEGIN EXCLUSIVE")
        time.sleep(4)
        other.execute("COMMIT")
    report = run.report()
    assert report["recorded"] and len(report["trials"]) == 16
    expect_kept(run, report)


def test_a_store_that_is_removed_is_made_again(search):
    run = search("--trials", "16", "--jobs", "1")
    run.wait_for_records(2)
    shutil.rmtree(run.cache)
    report = run.report()
    assert report["recorded"] and len(report["trials"]) == 16
    assert len(run.records()) > 0


def small_disk(folder, size):
    """Words before a command that then has a disk of its own; none where that is not allowed."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} none "{folder}" && exec "$@"', "sh"]
    folder.mkdir(exist_ok=True)
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("no disk can be mounted here")
    return words


def test_a_disk_that_is_full(search, tensorc_path, tmp_path):
    words = small_disk(tmp_path / "small", "200k")
    run = search("--trials", "60", "--jobs", "2", "--inject", ",".join(f"{trial}=wrong" for trial in range(10, 61)), program=(*words, tensorc_path), cache="small")
    report = run.report()
    assert len(report["trials"]) == 60 and report["best_us"] > 0
    assert report["recorded"] is False and "not every record is kept" in run.err
