# SPDX-License-Identifier: Apache-2.0
"""What a user, a disk or a killed process can do to the tuner: damaged files, odd numbers, records of other versions, tuners that die beside others."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

TEXT = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }\n"
SIZES = ["-D", "M=33", "-D", "N=40", "-D", "K=27"]


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "f.tc"
    file.write_text(TEXT)
    return [str(file), *SIZES]


def exported(tensorc, program, tmp_path):
    assert tensorc("tune", *program, "--trials", "2", "--search", "random").returncode == 0
    file = tmp_path / "records.jsonl"
    assert tensorc("cache", "export", "--tuned", file).returncode == 0
    return file


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 3],
        lambda text: text.replace('"tuned-2"', '"tuned-9"'),
        lambda text: text.replace('"measured"', '"miraculous"'),
        lambda text: text.replace('"tile":', '"tyle":'),
        lambda text: text.replace('"sizes":[33', '"sizes":["33"'),
        lambda text: "\0\1\2 no JSON\n" + text,
        lambda text: "[1, 2]\n" + text,
        lambda text: text.replace('"size_names":["M",', '"size_names":['),
        lambda text: text.replace('"sizes":[33', '"sizes":[33.5'),
        lambda text: text.replace('"sizes":[33', '"sizes":[-33'),
        lambda text: text.replace('"sizes":[33', '"sizes":[18446744073709551617'),
        lambda text: text.replace('"samples":', '"samples":1e30, "was":'),
        lambda text: text.replace('"samples":', '"samples":4294967297, "was":'),
        lambda text: text.replace('"median_us":', '"median_us":-1, "was":'),
        lambda text: text.replace('"created":"2', '"created":"a day in 2'),
        lambda text: text.replace('"def":"f"', '"def":"\\u001b[31mf"'),
        lambda text: text.replace('"arch":', '"arch":"i8086","arch":'),
        lambda text: text.replace('"tasks":0', '"tasks":0,"tasks":1'),
        lambda text: text + '{"key": "k", "description": "", "launch_table": "", "object": "+1 2"}\n',
        lambda text: text + "[" * 200_000 + "]" * 200_000 + "\n",
        lambda text: text.replace('"code":', '"code":"of another kind","was":'),
    ],
    ids=[
        "cut", "version", "outcome", "option", "type", "binary", "list", "names", "fraction", "negative", "large", "float", "wide", "time", "date",
        "escape", "twice", "option twice", "hex", "deep", "code",
    ],
)
def test_damaged_records_are_not_imported(tensorc, program, tmp_path, damage):
    file = exported(tensorc, program, tmp_path)
    file.write_text(damage(file.read_text()))
    elsewhere = {"TC_CACHE_DIR": str(tmp_path / "elsewhere")}
    done = tensorc("cache", "import", file, env=elsewhere)
    assert done.returncode == 1, done.stdout
    assert b"records.jsonl:" in done.stderr
    assert tensorc("cache", "list", "--tuned", env=elsewhere).stdout == b""


def test_empty_lines_and_ends_of_other_systems(tensorc, program, tmp_path):
    file = exported(tensorc, program, tmp_path)
    lines = file.read_text().splitlines()
    file.write_bytes(b"\xef\xbb\xbf" + b"\r\n \t\r\n".join(line.encode() for line in lines) + b"\r\n")
    elsewhere = {"TC_CACHE_DIR": str(tmp_path / "elsewhere")}
    done = tensorc("cache", "import", file, env=elsewhere)
    assert done.returncode == 0 and done.stdout == b"%d entries\n" % len(lines), done.stderr.decode()


def test_a_record_of_the_future_does_not_stay_for_ever(tensorc, program, tmp_path):
    file = exported(tensorc, program, tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        line["created"] = "9" + line["created"][1:]
        line["median_us"] = 1e6
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert tensorc("cache", "import", file).returncode == 0
    # The finalists are measured again.
    assert tensorc("tune", *program, "--trials", "1", "--search", "random").returncode == 0
    kept = [json.loads(line) for line in tensorc("cache", "export", "--tuned", "-").stdout.splitlines()]
    assert min(line["median_us"] for line in kept if line["options"] == lines[0]["options"]) < 1e6


def test_records_of_another_version_serve_with_a_note_and_are_measured_again(tensorc, program, tmp_path):
    file = exported(tensorc, program, tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        line["versions"] = "of another time"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elsewhere = {"TC_CACHE_DIR": str(tmp_path / "elsewhere")}
    assert tensorc("cache", "import", file, env=elsewhere).returncode == 0
    served = tensorc("run", *program, "--options", "tuned", "--verify", env=elsewhere)
    assert served.returncode == 0 and b"another version of the compiler" in served.stderr
    again = tensorc("tune", *program, "--trials", "2", "--json", env=elsewhere)
    assert again.returncode == 0 and json.loads(again.stdout)["resumed"] == 0


def test_rows_that_nobody_understands_do_not_matter(tensorc, program, tmp_path):
    exported(tensorc, program, tmp_path)
    with sqlite3.connect(tmp_path / "cache" / "kernels-v1.sqlite") as connection:
        connection.execute("UPDATE tuned SET line = 'rubbish' WHERE id = (SELECT MIN(id) FROM tuned)")
    assert tensorc("run", *program, "--options", "tuned", "--verify").returncode == 0
    done = tensorc("tune", *program, "--trials", "2", "--search", "random", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["resumed"] == 1


def test_a_store_that_is_no_database(tensorc, program, tmp_path):
    found = b"this is no database" * 500
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "kernels-v1.sqlite").write_bytes(found)
    done = tensorc("tune", *program, "--trials", "2")
    assert done.returncode == 0, done.stderr.decode()
    # It is kept beside the store that takes its place, and that store has the records.
    assert [file.read_bytes() for file in (tmp_path / "cache").glob("*.damaged-*")] == [found]
    again = tensorc("tune", *program, "--trials", "2", "--json")
    assert again.returncode == 0 and json.loads(again.stdout)["resumed"] > 0


@pytest.mark.parametrize("place", ["nowhere/records.jsonl", "."])
def test_an_export_that_cannot_be_written(tensorc, program, tmp_path, place):
    exported(tensorc, program, tmp_path)
    done = tensorc("cache", "export", "--tuned", tmp_path / place)
    assert done.returncode == 1 and done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "-5s"], b"--budget"),
        (["--budget", "-5s", "--trials", "2"], b"--budget"),
        (["--budget", "inf"], b"--budget"),
        (["--budget", "-5s"], b"a time from 0, not -5"),
        (["--budget", "0s"], b"--trials"),
        (["--trials", "0"], b"--trials"),
        (["--trials", "-1"], b"--trials"),
        (["--budget", "nan", "--trials", "2"], b"budget"),
        (["--rounds", "-1", "--trials", "1"], b"--rounds"),
        (["--run-limit", "nan", "--trials", "1"], b"above 0, not nan"),
        (["--run-limit", "inf", "--trials", "1"], b"above 0, not inf"),
        (["--compile-limit", "0", "--trials", "1"], b"above 0, not 0"),
        (["--compile-limit", "-inf", "--trials", "1"], b"above 0, not -inf"),
        (["--jobs", "-1", "--trials", "1"], b"--jobs"),
    ],
)
def test_budgets_that_are_none(tensorc, program, arguments, message):
    done = tensorc("tune", *program, *arguments)
    assert done.returncode in (1, 2) and message in done.stderr, done.stderr.decode()


@pytest.mark.parametrize("budget", ["1e300h", "100000000h"])
def test_a_budget_without_end(tensorc, program, budget):
    done = tensorc("tune", *program, "--budget", budget, "--trials", "2", "--json")
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["candidates"] == 2


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0.1"])
def test_consts_that_are_no_numbers(tensorc, tmp_path, value):
    (tmp_path / "c.tc").write_text("def f(float(N) x, const float a) -> (y) { y(i) = x(i) * a }\n")
    line = ["tune", "c.tc", "-D", "N=40", "-D", f"a={value}", "--trials", "2", "--json"]
    first = tensorc(*line)
    assert first.returncode == 0, first.stderr.decode()
    again = tensorc(*line)
    assert again.returncode == 0 and json.loads(again.stdout)["resumed"] > 0


def test_what_a_short_limit_ended_is_tried_again_with_a_longer_one(tensorc, program):
    line = ["tune", *program, "--trials", "1", "--json"]
    done = tensorc(*line, "--run-limit", "4", "--inject", "1=hang")
    assert done.returncode == 1 and b"1 hung" in done.stderr
    # No more time than before: it is known.
    done = tensorc(*line, "--run-limit", "4")
    assert done.returncode == 0, done.stderr.decode()
    known = json.loads(done.stdout)["trials"][0]
    assert (known["outcome"], known["resumed"]) == ("hung", True)
    done = tensorc(*line)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["trials"][0]["outcome"] == "measured"


def test_standard_files_that_are_closed_or_full(tensorc_path, program, tmp_path):
    def status(redirections, *arguments):
        environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}
        line = ["bash", "-c", f'exec "$@" {redirections}', "bash", tensorc_path, "tune", *program, *arguments]
        return subprocess.run(line, env=environment, cwd=tmp_path, timeout=120).returncode

    trials = ["--trials", "12", "--search", "random", "--json"]
    assert status("<&- 2>&-", *trials) == 0
    assert status("<&- >&- 2>&-", *trials) == 1
    assert status(">/dev/full", *trials) == 1
    assert status("2>/dev/full", "--search", "guess") == 1


def test_a_folder_for_temporary_files_that_is_none(tensorc, program):
    done = tensorc("tune", *program, "--trials", "1", env={"TMPDIR": "/nonexistent"})
    assert done.returncode == 1 and b"TMPDIR" in done.stderr


def test_seeds_that_are_no_options_are_located(tensorc, program, tmp_path):
    file = tmp_path / "seeds"
    file.write_text('{"version": 1}\n\n{"version": 1, "tile": "all"}\n')
    done = tensorc("tune", *program, "--trials", "1", "--seeds", file)
    assert done.returncode == 1 and b"seeds:3:" in done.stderr


def test_seeds_are_compared_in_turns(tensorc, program, tmp_path):
    file = tmp_path / "seeds"
    file.write_text('{"version": 1, "tile": [8, 8]}\n{"version": 1, "tile": [1, 1]}\n')
    done = tensorc("tune", *program, "--search", "seeds", "--seeds", file, "--budget", "60s", "--rounds", "7", "--json")
    assert done.returncode == 0, done.stderr.decode()
    trials = json.loads(done.stdout)["trials"]
    assert [trial["options"]["tile"] for trial in trials] == [[], [8, 8], [1, 1]]
    assert all(trial["finalist"] and trial["outcome"] == "measured" for trial in trials), "however slow"


def test_seeds_that_were_given_up_are_compared(tensorc, program, tmp_path):
    file = exported(tensorc, program, tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines[1:]:
        line["outcome"] = "slow"
        line["created"] = ""
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert tensorc("cache", "import", file).returncode == 0
    seeds = tmp_path / "seeds"
    seeds.write_text("".join(json.dumps(line["options"]) + "\n" for line in lines))
    done = tensorc("tune", *program, "--search", "seeds", "--seeds", seeds, "--budget", "60s", "--json")
    assert done.returncode == 0, done.stderr.decode()
    trials = json.loads(done.stdout)["trials"]
    assert [trial["outcome"] for trial in trials] == ["measured"] * len(trials)
    assert all(trial["finalist"] for trial in trials) and len(trials) == 2


def test_a_tuner_that_is_killed_leaves_the_other_one_and_the_store(tensorc, tensorc_path, program, tmp_path):
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()

    def start(seed, *arguments):
        line = [tensorc_path, "tune", *program, "--search", "random", "--seed", seed, "--jobs", "1", *arguments]
        return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    victim, other = start("1", "--budget", "1h"), start("2", "--trials", "12", "--json")
    end = time.monotonic() + 120
    store = tmp_path / "cache" / "kernels-v1.sqlite"
    while True:
        try:
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10) as connection:
                lines = [json.loads(line) for (line,) in connection.execute("SELECT line FROM tuned")]
        except sqlite3.OperationalError:
            lines = []
        if sum("seed 1" in line["provenance"] for line in lines) >= 2:
            break
        assert time.monotonic() < end and victim.poll() is None
        time.sleep(0.05)
    os.kill(victim.pid, signal.SIGKILL)
    victim.communicate(timeout=60)
    out, err = other.communicate(timeout=300)
    assert other.returncode == 0, err.decode()
    report = json.loads(out)
    assert len(report["trials"]) >= 12
    assert tensorc("cache", "verify").returncode == 0
    kept = tensorc("cache", "export", "--tuned", "-").stdout.decode().splitlines()
    assert len(kept) >= len({json.dumps(trial["options"]) for trial in report["trials"]})
    # The next run clears away what the killed one left.
    assert tensorc("tune", *program, "--trials", "1", env={"TMPDIR": str(tmp_path / "tmp")}).returncode == 0
    assert not list(Path(tmp_path / "tmp").glob("tensorc-tune-*"))


def test_the_conversation_of_the_documentation(tensorc, tensorc_path, tmp_path):
    page = Path(__file__).resolve().parent.parent.parent / "docs" / "tuning_workers.md"
    asked, answered = ([json.loads(line) for line in block.split("```")[0].splitlines()] for block in page.read_text().split("```json\n")[1:])
    info = json.loads(tensorc("info", "--json").stdout)
    asked[0]["versions"] = f"{info['version']} {info['build']}"
    asked[0]["folder"] = str(tmp_path)

    def talk(lines):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return subprocess.run([tensorc_path, "tune-worker"], input=text, capture_output=True, text=True, timeout=120, check=False)

    done = talk(asked)
    assert done.returncode == 0, done.stderr
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    for found, shown in zip(replies, answered, strict=True):
        assert list(found) == list(shown)
        assert (found["code"] > 0, found["median_us"] > 0) == (shown["code"] > 0, shown["median_us"] > 0)
        assert all(found[name] == shown[name] for name in ("id", "outcome", "reason", "detail", "verification", "last"))

    asked[0]["versions"] = "of another time"
    other = talk(asked)
    assert other.returncode == 3 and other.stdout == "" and "of another time" in other.stderr
    asked[0] = {"text": 5}
    assert talk(asked).returncode == 3
