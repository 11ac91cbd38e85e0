# SPDX-License-Identifier: Apache-2.0
"""The tuner as a whole: bad candidates, signals, several processes and devices, records and what they serve.

Nothing here asserts a time: only that what was asked for happened, and that what was chosen computes the right values.
"""

import array
import fcntl
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import termios
import time

import pytest

PROGRAMS = {
    "product": ("def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }", ["M=33", "N=40", "K=27"]),
    "softmax": (
        "def f(float(N,D) x) -> (y) { m(n) max=! x(n,r_d)\n s(n) +=! exp(x(n,r_d) - m(n))\n y(n,d) = exp(x(n,d) - m(n)) / s(n) }",
        ["N=20", "D=31"],
    ),
    "chain": ("def f(float(M,N) A, float(M,N) B) -> (C) { t(m,n) = A(m,n) + B(m,n)\n C(m,n) = t(m,n) * 2.0 }", ["M=31", "N=64"]),
    "convolution": ("def f(float(C,W) I, float(F,C,K) k) -> (O) { O(f,w) +=! I(r_c, w + r_k) * k(f,r_c,r_k) }", ["C=5", "W=70", "F=6", "K=3"]),
    "accumulation": ("def f(float(N,M) x) -> (s) { s(n) += x(n,r_m) }", ["N=17", "M=90"]),
}


def defines(sizes):
    return [word for size in sizes for word in ("-D", size)]


@pytest.fixture
def program(tmp_path):
    def write(name="product"):
        text, sizes = PROGRAMS[name]
        file = tmp_path / f"{name}.tc"
        file.write_text(text + "\n")
        return [str(file), *defines(sizes)]

    return write


def tune(tensorc, *arguments, **more):
    done = tensorc("tune", *arguments, "--json", timeout=600, **more)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def records_of(folder):
    """Rows of the store that a process is writing to."""
    file = folder / "kernels-v1.sqlite"
    if not file.exists():
        return []
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)
    try:
        return [json.loads(line) for (line,) in connection.execute("SELECT line FROM tuned")]
    except sqlite3.OperationalError:
        return []
    finally:
        connection.close()


def options_of(entries):
    return {json.dumps(entry["options"]) for entry in entries}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bad_candidates_cost_themselves_alone(tensorc, tmp_path, program, name):
    report = tune(tensorc, *program(name), "--trials", "9", "--run-limit", "8", "--inject", "2=crash,4=hang,6=wrong", "--search", "random")
    outcomes = [trial["outcome"] for trial in report["trials"]]
    assert len(outcomes) == 9
    assert outcomes[1] == "crashed" and "ended" in report["trials"][1]["detail"]
    assert outcomes[3] == "hung"
    assert outcomes[5] == "wrong" and "expected" in report["trials"][5]["detail"]
    assert outcomes.count("measured") + outcomes.count("slow") >= 4, report["trials"]
    bad = options_of([report["trials"][i] for i in (1, 3, 5)])
    assert json.dumps(report["options"]) not in bad
    assert report["verification"].startswith("interpreter")
    chosen = tmp_path / "chosen.json"
    chosen.write_text(json.dumps(report["options"]))
    assert tensorc("run", *program(name), "--options", chosen, "--verify").returncode == 0


def test_exact_where_no_rounding_can_happen(tensorc, program):
    assert tune(tensorc, *program("product"), "--trials", "2")["verification"] == "interpreter, exact"
    assert tune(tensorc, *program("softmax"), "--trials", "2")["verification"] == "interpreter, within rounding"


def test_large_programs_are_compared_with_the_naive_mapping(tensorc, tmp_path):
    file = tmp_path / "large.tc"
    file.write_text(PROGRAMS["product"][0])
    report = tune(tensorc, file, *defines(["M=240", "N=240", "K=240"]), "--trials", "4", "--inject", "3=wrong")
    assert report["verification"] == "naive mapping, exact"
    assert report["trials"][2]["outcome"] == "wrong"


@pytest.mark.parametrize("search", ["model", "evolutionary", "random"])
def test_every_search_starts_with_the_default(tensorc, program, search):
    report = tune(tensorc, *program(), "--trials", "5", "--search", search)
    first = report["trials"][0]["options"]
    assert first["tile"] == [] and first["tasks"] == 0 and first["register_rows"] == 0
    assert len(options_of(report["trials"])) == 5


def test_the_seed_fixes_the_candidates(tensorc, program, tmp_path):
    def sequence(cache, seed):
        report = tune(tensorc, *program(), "--trials", "6", "--search", "random", "--seed", seed, env={"TC_CACHE_DIR": str(tmp_path / cache)})
        return [trial["options"] for trial in report["trials"]]

    first = sequence("a", "5")
    assert sequence("b", "5") == first
    assert sequence("c", "6") != first


def test_resume(tensorc, program):
    first = tune(tensorc, *program(), "--trials", "5", "--search", "random")
    second = tune(tensorc, *program(), "--trials", "4", "--search", "random")
    assert first["resumed"] == 0 and second["resumed"] == 5 and second["candidates"] == 4
    assert [trial["resumed"] for trial in second["trials"]] == [True] * 5 + [False] * 4
    assert options_of(first["trials"]) < options_of(second["trials"])


def test_exhaustive_search_ends(tensorc, program):
    fixed = ["--tile", "16,16", "--tasks", "0", "--register-rows", "0", "--register-vectors", "0", "--vector-bits", "0", "--split-reduction", "1"]
    report = tune(tensorc, *program(), *fixed, "--search", "exhaustive", "--budget", "10m")
    assert report["exhausted"]
    assert {trial["options"]["stage"] for trial in report["trials"]} == {True, False}
    assert all(trial["options"]["tile"] == [16, 16] for trial in report["trials"])
    again = tune(tensorc, *program(), *fixed, "--search", "exhaustive", "--budget", "10m")
    assert again["exhausted"] and again["candidates"] == 0 and again["resumed"] == len(report["trials"])


# A space of few options, some of which come to the same code.
FEW = ["--tile", "16", "--tasks", "0", "--vector-bits", "0", "--split-reduction", "1", "--local-bytes", "0", "--fusion", "max", "--register-rows", "0"]


@pytest.fixture
def code_of(tensorc, program, tmp_path):
    """The machine code of a candidate for softmax."""

    def code(trial):
        file = tmp_path / "options.json"
        file.write_text(json.dumps(trial["options"]))
        done = tensorc("compile", *program("softmax"), "--options", file, "--emit", "asm")
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return code


def test_equal_code_is_measured_once(tensorc, program, code_of):
    report = tune(tensorc, *program("softmax"), *FEW, "--search", "exhaustive", "--budget", "10m")
    repeated = [trial for trial in report["trials"] if trial["repeated"]]
    assert report["repeated"] == len(repeated) > 0
    own = [code_of(trial) for trial in report["trials"] if not trial["repeated"]]
    assert len(set(own)) == len(own)
    assert all(code_of(trial) in own and trial["median_us"] > 0 for trial in repeated)


def test_equal_code_is_measured_once_in_all_runs(tensorc, program, code_of):
    search = [*program("softmax"), *FEW, "--search", "exhaustive"]
    first = tune(tensorc, *search, "--trials", "3")
    second = tune(tensorc, *search, "--budget", "10m")
    assert second["resumed"] == 3
    own = {code_of(trial) for trial in first["trials"] if not trial["repeated"]}
    new = [code_of(trial) for trial in second["trials"] if not trial["resumed"] and not trial["repeated"]]
    assert len(set(new)) == len(new) and own.isdisjoint(new)
    # All candidates are known now.
    third = tune(tensorc, *search, "--budget", "10m")
    assert third["candidates"] == 0 and third["repeated"] == 0
    for report in (second, third):
        finalists = [code_of(trial) for trial in report["trials"] if trial["finalist"]]
        assert len(set(finalists)) == len(finalists)


def test_records_without_a_code_are_resumed(tensorc, program, tmp_path):
    """As an earlier format has them."""
    tune(tensorc, *program(), "--trials", "3", "--search", "random")
    exported = tmp_path / "records.jsonl"
    tensorc("cache", "export", "--tuned", exported)
    lines = [json.loads(line) for line in exported.read_text().splitlines()]
    assert all(line["record"] == "tuned-2" and len(line["code"]) == 16 for line in lines)
    for line in lines:
        line["record"] = "tuned-1"
        del line["code"]
    exported.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elsewhere = {"TC_CACHE_DIR": str(tmp_path / "elsewhere")}
    assert tensorc("cache", "import", exported, env=elsewhere).returncode == 0
    again = tune(tensorc, *program(), "--trials", "1", "--search", "random", env=elsewhere)
    assert again["resumed"] == 3 and again["candidates"] == 1


def test_options_of_the_user_are_a_seed_whatever_their_values(tensorc, program, tmp_path):
    mine = {"version": 1, "tile": [7, 11], "register_rows": 9, "fast_math": True}
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(mine))
    report = tune(tensorc, *program(), "--options", file, "--trials", "4")
    assert report["trials"][1]["options"]["tile"] == [7, 11]
    assert report["trials"][1]["options"]["register_rows"] == 9
    assert all(trial["options"]["fast_math"] for trial in report["trials"])


def start(tensorc_path, tmp_path, *arguments):
    environment = {**os.environ, "TC_CACHE_DIR": str(tmp_path / "cache")}
    return subprocess.Popen([tensorc_path, "tune", *arguments], env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_records(process, folder, count):
    end = time.monotonic() + 300
    while len(records_of(folder)) < count:
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() < end, "no records"
        time.sleep(0.05)


def children_of(pid):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_gives_the_best_so_far(tensorc, tensorc_path, tmp_path, program, number):
    # One compiling process: what was finished is then the beginning of the sequence.
    process = start(tensorc_path, tmp_path, *program(), "--budget", "1h", "--search", "random", "--jobs", "1", "--json")
    wait_for_records(process, tmp_path / "cache", 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode()
    report = json.loads(out)
    assert report["interrupted"] and report["best_us"] > 0
    kept = records_of(tmp_path / "cache")
    assert options_of(kept) >= options_of(report["trials"])
    later = tune(tensorc, *program(), "--trials", "1", "--search", "random")
    assert later["resumed"] == len(kept) and later["candidates"] == 1


def test_a_second_interrupt_does_not_cut_what_is_printed(tensorc, tensorc_path, tmp_path, program):
    """The reader takes its time: the writer waits in the middle, and is interrupted there."""
    tune(tensorc, *program(), "--trials", "40", "--search", "random", "--inject", ",".join(f"{trial}=wrong" for trial in range(5, 41)))
    process = start(tensorc_path, tmp_path, *program(), "--trials", "1", "--search", "random", "--json")
    small = fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    end = time.monotonic() + 120
    while array.array("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0] < small:
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGTERM):
        process.send_signal(number)
        time.sleep(0.1)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode()
    assert len(json.loads(out)["trials"]) == 41 and len(out) > 2 * small


def test_kill_loses_the_running_trial_only(tensorc, tensorc_path, tmp_path, program):
    process = start(tensorc_path, tmp_path, *program(), "--budget", "1h", "--search", "random", "--jobs", "1")
    wait_for_records(process, tmp_path / "cache", 3)
    workers = children_of(process.pid)
    assert workers
    before = records_of(tmp_path / "cache")
    process.kill()
    process.communicate(timeout=120)
    end = time.monotonic() + 60
    while any(map(is_running, workers)):
        assert time.monotonic() < end, "workers outlive their run"
        time.sleep(0.05)
    after = records_of(tmp_path / "cache")
    assert options_of(after) >= options_of(before)
    assert tensorc("cache", "verify").returncode == 0
    later = tune(tensorc, *program(), "--trials", "1", "--search", "random")
    assert later["resumed"] == len(after)


def test_two_processes_write_one_store(tensorc_path, tmp_path, program):
    running = [start(tensorc_path, tmp_path, *program(), "--trials", "6", "--search", "random", "--seed", seed, "--json") for seed in ("1", "2")]
    proposed = set()
    for process in running:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err.decode()
        proposed |= options_of(json.loads(out)["trials"])
    assert options_of(records_of(tmp_path / "cache")) == proposed


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="parts of a CPU have a core each")
def test_two_devices_share_a_run(tensorc, tmp_path, program):
    report = tune(tensorc, *program(), "--trials", "8", "--devices", "0,1", "--search", "random", "--inject", "3=crash")
    assert report["best_us"] > 0
    where = " ".join(record["provenance"] for record in records_of(tmp_path / "cache"))
    assert "device 0" in where and "device 1" in where


def test_records_serve_other_runs_machines_and_sizes(tensorc, tmp_path, program):
    report = tune(tensorc, *program(), "--trials", "5")
    exported = tmp_path / "records.jsonl"
    assert tensorc("cache", "export", "--tuned", exported).returncode == 0
    assert exported.read_text().count("\n") == 5
    assert b"measured" in tensorc("cache", "list", "--tuned").stdout
    elsewhere = {"TC_CACHE_DIR": str(tmp_path / "elsewhere")}
    assert b"5 entries" in tensorc("cache", "import", exported, env=elsewhere).stdout

    def run(*arguments):
        done = tensorc("run", *arguments, "--options", "tuned", "--verify", "--json", env=elsewhere)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout), done.stderr.decode()

    same, note = run(*program())
    assert same["options"] == report["options"] and "record of M=33" in note
    other, note = run(program()[0], *defines(["M=40", "N=32", "K=50"]))
    assert other["options"] == report["options"]
    assert "doublings" in note and "expected loss unknown" in note
    unknown, note = run(*program("chain"))
    assert unknown["options"]["tile"] == [] and "no record" in note
    text = tensorc("compile", *program(), "--options", "tuned", "--emit", "tile", env=elsewhere)
    assert text.returncode == 0 and b"record of M=33" in text.stderr
    assert b"5 records removed" in tensorc("cache", "clear", "--tuned", env=elsewhere).stdout
    assert "no record" in run(*program())[1]


def test_best_options_of_other_sizes_are_tried_and_tell_the_loss(tensorc, program):
    first = tune(tensorc, *program(), "--trials", "5", "--search", "random")
    sizes = defines(["M=64", "N=30", "K=27"])
    second = tune(tensorc, program()[0], *sizes, "--trials", "4", "--search", "random")
    if first["options"] != first["trials"][0]["options"]:
        assert second["trials"][1]["options"] == first["options"]
    done = tensorc("run", program()[0], *defines(["M=48", "N=36", "K=27"]), "--options", "tuned", "--verify")
    assert done.returncode == 0 and b"expected loss" in done.stderr


@pytest.mark.parametrize("flag", [["--bounds", "trust"], ["--deterministic", "false"], ["--fast-math", "true"]])
def test_records_do_not_change_what_results_may_be(tensorc, program, flag):
    tune(tensorc, *program(), "--trials", "2", *flag)
    served = tensorc("run", *program(), "--options", "tuned", "--verify")
    assert served.returncode == 0 and b"no record" in served.stderr
    tune(tensorc, *program(), "--trials", "1")
    assert b"record of M=33" in tensorc("run", *program(), "--options", "tuned", "--verify").stderr


def test_imports_are_whole_or_not_at_all(tensorc, tmp_path, program):
    tune(tensorc, *program(), "--trials", "2")
    exported = tmp_path / "records.jsonl"
    tensorc("cache", "export", "--tuned", exported)
    exported.write_text(exported.read_text() + '{"record": "tuned-2"}\n')
    elsewhere = {"TC_CACHE_DIR": str(tmp_path / "elsewhere")}
    done = tensorc("cache", "import", exported, env=elsewhere)
    assert done.returncode == 1 and b":3: not an exported entry" in done.stderr
    assert tensorc("cache", "list", "--tuned", env=elsewhere).stdout == b""


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--search", "guess", "--trials", "1"], 1, b"unknown search"),
        (["--search", "exhaustive", "--trials", "1"], 1, b"fix some options"),
        (["--budget", "0"], 2, b"--trials"),
        (["--budget", "soon"], 2, b"budget"),
        (["--devices", "1,1", "--trials", "1"], 1, b"different"),
        (["--devices", "0,x", "--trials", "1"], 2, b"not 'x'"),
        (["--devices", "-1", "--trials", "1"], 2, b"not '-1'"),
        (["--devices", "all,1", "--trials", "1"], 2, b"not 'all'"),
        (["--devices", "99999999999", "--trials", "1"], 2, b"not '99999999999'"),
        (["--devices", ",".join(map(str, range(2048))), "--trials", "1"], 1, b"2048 devices need a core each"),
        (["--inject", "1=fire", "--trials", "1"], 1, b"unknown fault"),
        (["--budget", "1ms"], 1, b"budget"),
    ],
)
def test_mistakes(tensorc, program, arguments, status, message):
    done = tensorc("tune", *program(), *arguments)
    assert done.returncode == status, done.stderr.decode()
    assert message in done.stderr


def test_nothing_measured_says_why(tensorc, program):
    done = tensorc("tune", *program(), "--trials", "2", "--inject", "1=crash,2=wrong")
    assert done.returncode == 1
    assert b"1 crashed" in done.stderr and b"1 wrong" in done.stderr


def test_without_a_cache(tensorc, program):
    done = tensorc("tune", *program(), "--trials", "2", "--json", env={"TC_CACHE": "off"})
    assert done.returncode == 0 and b"no record is kept" in done.stderr
    assert json.loads(done.stdout)["recorded"] is False
