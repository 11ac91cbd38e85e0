# SPDX-License-Identifier: Apache-2.0
"""bench/gpu_tune.py on the CPU: what it writes, and that it goes on where it was stopped."""

import json
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "bench" / "gpu_tune.py"
CASES = [
    {"name": "tmm_128_1024_1024", "text": "def tmm(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,r_k) * B(n,r_k) }", "shapes": [[24, 32], [40, 32]]},
    {"name": "c3", "text": "def c3(float(B,WX) I, float(WY,WX) W) -> (C3) { C3(b,wy) +=! I(b,r_wx) * W(wy,r_wx) }", "shapes": [[8, 32], [16, 32]]},
]


@pytest.fixture
def run(tensorc_path, tmp_path):
    suite = tmp_path / "suite.jsonl"
    suite.write_text("".join(json.dumps(case) + "\n" for case in CASES))

    def start(*arguments):
        line = [sys.executable, str(SCRIPT), "--tensorc", tensorc_path, "--suite", str(suite), "--target", "cpu", "--out", str(tmp_path / "out")]
        return subprocess.run([*line, "--budget", "3", *arguments], capture_output=True, text=True, timeout=600, check=False)

    return start


def rows(tmp_path):
    return [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]


def test_cases_are_tuned_served_and_resumed(run, tmp_path):
    done = run("--cases", "tmm_128|c3_64")
    assert done.returncode == 0, done.stdout + done.stderr
    paper, new = rows(tmp_path)
    assert (paper["case"], paper["kind"], paper["sizes"]) == ("tmm_128_1024_1024", "paper", {"M": 24, "K": 32, "N": 40})
    assert 0 < paper["tuned_us"] and paper["trials"] > 0 and paper["best_known_us"] <= paper["tuned_us"]
    assert (new["case"], new["kind"]) == ("c3_64_1500_768", "new")
    assert new["tuned_us"] and new["served_us"] and new["default_us"]
    assert "record of M=24 K=32 N=40" in new["served"]["note"], "the same program up to its names"
    table = (tmp_path / "out" / "table.md").read_text()
    assert "the defaults reach" in table and "size never tuned" in table
    records = (tmp_path / "out" / "records.jsonl").read_text().splitlines()
    assert len(records) == paper["trials"] > 0, "those of new sizes lie elsewhere"

    again = run("--cases", "tmm_128|c3_64", "--skip-check")
    assert again.returncode == 0 and len(rows(tmp_path)) == 2, "nothing is done twice"


def test_what_was_known_joins_the_comparison(run, tmp_path):
    known = tmp_path / "known.jsonl"
    known.write_text(json.dumps({"case": "c3", "options": {"version": 1, "tile": [4, 0]}}) + "\n")
    done = run("--cases", "^c3$", "--only", "paper", "--skip-check", "--known", str(known))
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows(tmp_path)
    assert len(row["compared"]) >= 2
    assert row["best_known_us"] == min(row["compared"].values())


def test_searches_are_compared_at_equal_trials(run, tmp_path):
    done = run("--cases", "^c3$", "--ablation", "6", "--skip-check")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows(tmp_path)
    assert row["kind"] == "ablation" and set(row["us"]) == {"random", "evolutionary", "model"}
    assert all(spent["trials"] == 6 for spent in row["spent"].values())
    assert all(row["us"].values()), (tmp_path / "out" / "log.txt").read_text()
    assert "c3" in (tmp_path / "out" / "table.md").read_text()


def test_time_that_is_up_leaves_cases(run, tmp_path):
    done = run("--limit-seconds", "10", "--skip-check")
    assert done.returncode == 0
    assert "left for another run: tmm_128_1024_1024, c3" in done.stdout
    assert not (tmp_path / "out" / "results.jsonl").exists()


def test_a_machine_where_nothing_works_says_why(run):
    done = run("--target", "cuda:77")
    assert done.returncode == 3
    assert "could not be tuned" in done.stdout and "nor does it run" in done.stdout
