# SPDX-License-Identifier: Apache-2.0
"""The tuner from Python: searches in worker processes, their records, files of options, interrupts."""

import json
import os
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
import torch

import tensor_comprehensions as tc
from programs import BASICS, MATMUL
from tensor_comprehensions import _environment, _progress, _tuning

FEW = tc.TunerConfig(trials=3, threads=1)


@pytest.fixture(autouse=True)
def own_records(tmp_path, monkeypatch):
    session = _environment.make_session(str(tmp_path / "cache"))
    monkeypatch.setattr(_environment, "session", lambda: session)


@pytest.fixture
def pair(random):
    return tuple(random.standard_normal((24, 24)).astype(np.float32) for _ in range(2))


def test_a_search_and_what_it_leaves(pair):
    found = tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW)
    assert isinstance(found, tc.MappingOptions) and found.best_us > 0 and "interpreter" in found.verification and not found.is_interrupted
    assert {trial.outcome for trial in found.trials} <= {"measured", "slow", "rejected"} and len(found.trials) == 3
    assert min(trial.median_us for trial in found.trials if trial.outcome == "measured") > 0
    again = tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW)
    assert sum(trial.resumed for trial in again.trials) >= 1
    known = tc.tuned_options(MATMUL, "matmul", *pair)
    assert known.source == "exact" and "M=24" in known.note
    # Whether the record serves is for the model to say.
    near = tc.tuned_options(MATMUL, "matmul", pair[0][:12], pair[1])
    assert near.source in ("nearest", "default") and "record of M=24" in near.note
    assert tc.tuned_options(MATMUL.replace("+=!", "max=!"), "matmul", *pair).source == "default"
    np.testing.assert_allclose(tc.define(MATMUL, found).matmul(*pair), pair[0] @ pair[1], atol=1e-4)


@pytest.mark.parametrize("make", [
    lambda: (torch.ones(1).expand(64), torch.randn(64)),
    lambda: (torch.randn(64), torch.ones(1).expand(64)),
    lambda: (torch.randn(16, 4).as_strided((64,), (0,)), torch.randn(128)[::2]),
], ids=["first", "second", "strides"])
def test_inputs_whose_elements_share_memory(make):
    """One value stands at each address: the reference reads what the candidates read."""
    text = "def plus(float(N) U, float(N) V) -> (W) { W(i) = U(i) + V(i) }"
    found = tc.autotune(text, "plus", *make(), tuner_config=tc.TunerConfig(trials=6, threads=1))
    assert {trial.outcome for trial in found.trials} <= {"measured", "slow"}, [(trial.outcome, trial.detail) for trial in found.trials]


def test_windows_that_overlap_in_memory():
    text = "def rows(float(N,M) x, float(M) w) -> (y) { y(i) +=! x(i,j) * w(j) }"
    found = tc.autotune(text, "rows", torch.randn(100).as_strided((20, 16), (2, 3)), torch.randn(16), tuner_config=FEW)
    assert not {trial.outcome for trial in found.trials} & {"wrong", "crashed", "hung"}, [(trial.outcome, trial.detail) for trial in found.trials]


def test_verdicts_of_another_build_do_not_count(pair, tmp_path):
    tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW)
    (file,) = (tmp_path / "cache").glob("*.sqlite")
    with sqlite3.connect(file) as records:
        for number, line in records.execute("SELECT id, line FROM tuned").fetchall():
            record = json.loads(line)
            assert record["versions"].endswith(tc._tc.build_identity())
            record.update(versions=record["versions"].rpartition(" ")[0], outcome="wrong", detail="as it was then")
            records.execute("UPDATE tuned SET line = ? WHERE id = ?", (json.dumps(record), number))
    found = tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW)
    assert not any(trial.resumed for trial in found.trials) and "as it was then" not in {trial.detail for trial in found.trials}


def test_tuned_and_compiled(pair):
    executor = tc.autotune_and_compile(MATMUL, "matmul", *(torch.from_numpy(entry) for entry in pair), tuner_config=FEW)
    assert isinstance(executor, tc.Executor)
    torch.testing.assert_close(executor(*(torch.from_numpy(entry) for entry in pair)), torch.from_numpy(pair[0] @ pair[1]))


def test_values_and_sizes_are_those_of_a_call():
    x = np.ones(24, np.float32)
    found = tc.autotune(BASICS, "unflatten", x, M=4, tuner_config=FEW)
    assert tc.tuned_options(BASICS, "unflatten", x, M=4).source == "exact" and found.best_us > 0
    assert tc.autotune(BASICS, "update", 2.0, x, x.copy(), tuner_config=FEW).best_us > 0


@pytest.mark.parametrize("budget, seconds", [("2s", 2.0), ("1.5m", 90.0), ("1h", 3600.0), ("7", 7.0), (3, 3.0)])
def test_a_budget_is_a_time(budget, seconds):
    config = tc.TunerConfig(trials=2, seconds=1)
    assert _tuning._within(config, budget)._settings()["seconds"] == seconds
    assert _tuning._within(None, budget)._settings() == tc.TunerConfig(seconds=seconds)._settings()
    assert config._settings()["seconds"] == 1.0


def test_a_search_within_a_budget(pair):
    assert tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW, budget="30s").best_us > 0
    assert isinstance(tc.autotune_and_compile(MATMUL, "matmul", *pair, tuner_config=FEW, budget=30), tc.Executor)
    # Without a limit of time or number a search would not end.
    for wrong in ("soon", "5 parsecs", -1, float("nan"), [1], 0, "0s"):
        with pytest.raises(tc.ArgumentError, match="budget|seconds"):
            tc.autotune(MATMUL, "matmul", *pair, budget=wrong)


def test_numbers_that_do_not_fit_are_refused():
    for field, value in (("seed", 2**64), ("seed", -1), ("trials", 2**31), ("rounds", 2**40), ("threads", -1)):
        with pytest.raises(tc.ArgumentError, match=f"TunerConfig.{field} is .* where a number from 0 to"):
            tc.TunerConfig(**{field: value})
    assert tc.TunerConfig(seed=2**64 - 1)._settings()["seed"] == 2**64 - 1


def test_a_file_that_cannot_be_written_is_told_before_the_search(pair, tmp_path):
    (tmp_path / "file").write_text("")
    for file in (tmp_path, tmp_path / "file" / "options.json"):
        with pytest.raises(tc.ArgumentError, match="cannot be written"):
            tc.autotune(MATMUL, "matmul", *pair, budget=600, cache_filename=file, store_to_cache=True)


def test_what_is_fixed_stays(pair):
    start = tc.MappingOptions().tile([8, 8]).bounds("trust")
    found = tc.autotune(MATMUL, "matmul", *pair, starting_options=start, tuner_config=tc.TunerConfig(trials=6, threads=1, fixed=["tile"]))
    assert all(trial.options["tile"] == [8, 8] for trial in found.trials if not trial.resumed) and found["tile"] == [8, 8]
    assert found["bounds"] == "trust"


def test_options_to_start_from_are_compared(pair):
    seeds = [tc.MappingOptions().tile([4, 4]), tc.MappingOptions("naive")]
    found = tc.autotune(MATMUL, "matmul", *pair, tuner_config=tc.TunerConfig(threads=1, search="seeds", seeds=seeds, rounds=2))
    assert [4, 4] in [trial.options["tile"] for trial in found.trials] and len(found.trials) == 3


def test_a_file_of_options(pair, tmp_path):
    file = tmp_path / "folder/options.json"
    found = tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW, cache_filename=file, store_to_cache=True)
    other = tuple(entry[:8, :8].copy() for entry in pair)
    tc.autotune(MATMUL, "matmul", *other, tuner_config=FEW, cache_filename=file, store_to_cache=True)
    kept = tc.MappingOptionsCache(file)
    assert kept.load(MATMUL, "matmul", pair)[0] == found
    assert kept.load("\n  " + MATMUL.replace(" -> ", "\n->  "), "matmul", pair)[0] == found
    assert 1 <= len(kept.load(MATMUL, "matmul", pair, num_candidates=10)) <= 3
    assert kept.load(MATMUL, "matmul", [pair[0].T, pair[1]]) == [] and len(kept.load(MATMUL, "matmul", other)) == 1
    assert tc.MappingOptionsCache(tmp_path / "none.json").load(MATMUL, "matmul", pair) == []
    file.write_text("[]")
    with pytest.raises(tc.ArgumentError, match="no file of tuned options"):
        kept.load(MATMUL, "matmul", pair)


def test_a_search_starts_from_a_file(pair, tmp_path):
    file = tmp_path / "options.json"
    tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW, cache_filename=file, store_to_cache=True)
    stored = json.loads(file.read_text())
    chosen = tc.MappingOptions().tile([3, 5]).to_json()
    stored["tuned"][0]["candidates"] = [{"median_us": 1.0, "options": chosen}]
    file.write_text(json.dumps(stored))
    found = tc.autotune(MATMUL, "matmul", *pair, tuner_config=tc.TunerConfig(trials=2, threads=1), cache_filename=file, load_from_cache=True)
    assert any(trial.options["tile"] == [3, 5] for trial in found.trials)


def test_a_program_that_tunes_itself(pair, tmp_path):
    file = tmp_path / "options.json"
    program = tc.define(MATMUL, tc.make_autotuned_options_factory(tuner_config=FEW, cache_filename=file, store_to_cache=True))
    for _ in range(2):
        np.testing.assert_allclose(program.matmul(*pair), pair[0] @ pair[1], atol=1e-4)
    assert len(json.loads(file.read_text())["tuned"]) == 1
    loaded = tc.define(MATMUL, tc.make_load_from_cache_options_factory(file))
    assert loaded.matmul.compile(*pair).options == tc.MappingOptionsCache(file).load(MATMUL, "matmul", pair)[0]
    with pytest.raises(tc.ArgumentError, match="has no options for 'matmul'"):
        loaded.matmul(pair[0][:5], pair[1])


def test_configurations():
    settings = tc.TunerConfig().generations(3).pop_size(4).threads(2).devices("0,1").search("random").seed(7)._settings()
    assert settings == {"trials": 12, "jobs": 2, "devices": [0, 1], "search": "random", "seed": 7, "seconds": 0.0}
    assert tc.TunerConfig()._settings() == {"trials": 0, "jobs": 0, "seconds": 60.0}
    assert tc.TunerConfig(generations=2, seconds=5)._settings() == {"trials": 200, "jobs": 0, "seconds": 5.0}
    with pytest.warns(tc.OptionWarning, match="number_elites"):
        tc.TunerConfig().number_elites(1)


def test_errors_of_the_program_are_its_own(pair):
    with pytest.raises(tc.ArgumentError, match="K = 24 is expected"):
        tc.autotune(MATMUL, "matmul", pair[0], pair[1][:5], tuner_config=FEW)
    with pytest.raises(tc.CompileError):
        tc.autotune("def f(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }", "f", np.ones(4, np.float32), tuner_config=FEW)
    with pytest.raises(tc.ArgumentError, match="no def 'mm'"):
        tc.autotune(MATMUL, "mm", *pair, tuner_config=FEW)


def test_a_worker_is_needed(pair, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(tc.ArgumentError, match="sys.executable is empty"):
        tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW)


def test_a_bar_shows_the_best_so_far(pair, monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_is_seen", lambda: True)
    tc.autotune(MATMUL, "matmul", *pair, tuner_config=FEW)
    shown = capsys.readouterr().err
    assert "tuning matmul" in shown and "candidates" in shown and "tried" in shown
    now = {"best_us": 3.5, "default_us": 7.0, "candidates": 4, "resumed": 2, "failures": {"slow": 1, "wrong": 2}}
    assert _progress.summary(now) == "best 3.5 us, start 7 us, 6 tried, 1 slow, 2 wrong"


INTERRUPTED = f"""
import os, signal, sys, warnings
import numpy as np
import tensor_comprehensions as tc
from tensor_comprehensions import _progress
class show:
    def __init__(self, *_):
        self.is_sent = False
    def __enter__(self):
        return self.see
    def __exit__(self, *_):
        pass
    def see(self, now):
        if not self.is_sent and (now["best_us"] or sys.argv[1] == "at once"):
            self.is_sent = True
            os.kill(os.getpid(), signal.SIGINT)
from tensor_comprehensions import _tuning
_tuning.tuning = show
warnings.simplefilter("error")
a = np.ones((64, 64), np.float32)
try:
    found = tc.autotune({MATMUL!r}, "matmul", a, a, tuner_config=tc.TunerConfig(seconds=600, threads=1))
except UserWarning as warning:
    print("warned:", warning)
"""


def test_an_interrupt_ends_a_search_with_the_best_so_far(tmp_path):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, "later"], capture_output=True, text=True, timeout=300, env={**os.environ, "TC_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "the search for 'matmul' was interrupted" in done.stdout


def test_an_interrupt_before_anything_was_measured_is_pythons(tmp_path):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, "at once"], capture_output=True, text=True, timeout=300, env={**os.environ, "TC_CACHE_DIR": str(tmp_path)})
    assert done.returncode == -signal.SIGINT and "KeyboardInterrupt" in done.stderr, done.stderr


def test_an_error_of_the_bar_ends_the_search(pair, monkeypatch):
    from tensor_comprehensions import _tuning

    class Broken:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self.show

        def show(self, now):
            raise ValueError("broken bar")

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(_tuning, "tuning", Broken)
    with pytest.raises(ValueError, match="broken bar"):
        tc.autotune(MATMUL, "matmul", *pair, tuner_config=tc.TunerConfig(seconds=600, threads=1))
