# SPDX-License-Identifier: Apache-2.0
"""The tuner: searches for mapping options, configurations of searches, files of options."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _arguments, _tc
from ._errors import ArgumentError, CacheWarning, OptionWarning
from ._executor import Executor
from ._operator import Operator, OptionsFactory
from ._options import MappingOptions
from ._program import Program, entry
from ._progress import tuning

# A worker is this Python with the extension module alone: nothing else is imported.
_WORKER = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("tensor_comprehensions._tc", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.exit(module.run_tune_worker())
"""
_SEARCHES = ("model", "evolutionary", "random", "exhaustive", "seeds")
# Of the published package, where a configuration names only one of the two.
_GENERATIONS, _POPULATION = 25, 100
# Numbers that may be larger than others.
_LARGEST = {"seed": 2**64 - 1}
# Options of a search that are kept in a file.
_KEPT = 10


class TunerConfig:
    """How long and how `autotune` searches. Every field is a keyword and a chainable setter: `TunerConfig(seconds=30).threads(4)`.

    seconds: for everything, the final comparison included; one minute, or no limit where a number of candidates is given
    trials: most candidates; `generations` times `pop_size` says the same
    threads: processes that compile; 0: one a core
    devices: one measuring process each: CUDA ordinals, or equal parts of the CPU's cores
    search: model, evolutionary, random, exhaustive, or seeds: what one starts from, compared
    seed: of the sequence of candidates
    seeds: more options to start from
    rounds: that compare the best ones in turns at the end
    fixed: names of options that stay as `starting_options` has them
    compile_limit, run_limit: seconds that one candidate may take
    """

    _FIELDS = ("seconds", "trials", "generations", "pop_size", "threads", "devices", "search", "seed", "seeds", "rounds", "fixed", "compile_limit",
               "run_limit")

    def __init__(self, **fields: Any):
        self._set: dict[str, Any] = {}
        for name, value in fields.items():
            if name not in self._FIELDS:
                raise ArgumentError(f"TunerConfig has no field '{name}'; fields are {', '.join(self._FIELDS)}")
            self._change(name, value)

    def _change(self, name: str, value: Any) -> TunerConfig:
        what = f"TunerConfig.{name}"
        if name in ("seconds", "compile_limit", "run_limit"):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
                raise _arguments.refuse(value, what, "a number of seconds")
            value = float(value)
        elif name == "search":
            if value not in _SEARCHES:
                raise _arguments.refuse(value, what, f"one of {', '.join(_SEARCHES)}")
        elif name == "devices":
            # The published package takes a text of ordinals.
            entries = value.split(",") if isinstance(value, str) else value if isinstance(value, Iterable) else None
            if entries is None:
                raise _arguments.refuse(value, what, "a list of ordinals")
            value = [_arguments.whole(int(item) if isinstance(item, str) and item.strip().isdigit() else item, what) for item in entries]
        elif name == "seeds":
            if isinstance(value, (str, MappingOptions)) or not isinstance(value, Iterable):
                raise _arguments.refuse(value, what, "a list of options")
            value = [MappingOptions(item) for item in value]
        elif name == "fixed":
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise _arguments.refuse(value, what, "a list of names of options")
            value = [_arguments.text(item, what) for item in value]
        elif not 0 <= _arguments.whole(value, what) <= _LARGEST.get(name, 2**31 - 1):
            raise _arguments.refuse(value, what, f"a number from 0 to {_LARGEST.get(name, 2**31 - 1)}")
        else:
            value = int(value)
        self._set[name] = value
        return self

    def _settings(self) -> dict[str, Any]:
        given = self._set
        as_given = ("search", "seed", "rounds", "devices", "fixed", "compile_limit", "run_limit")
        made: dict[str, Any] = {name: given[name] for name in as_given if name in given}
        made["jobs"] = given.get("threads", 0)
        made["trials"] = given.get("trials", 0)
        if not made["trials"] and ("generations" in given or "pop_size" in given):
            made["trials"] = given.get("generations", _GENERATIONS) * given.get("pop_size", _POPULATION)
        made["seconds"] = given.get("seconds", 0.0 if made["trials"] else 60.0)
        if not made["seconds"] and not made["trials"]:
            raise ArgumentError("a search without a budget would not end: give `seconds` above 0, or `trials`")
        return made

    def __repr__(self) -> str:
        return f"TunerConfig({', '.join(f'{name}={value!r}' for name, value in self._set.items())})"


def _make_field(name: str) -> Any:
    def setter(self: TunerConfig, value: Any) -> TunerConfig:
        return self._change(name, value)

    setter.__name__, setter.__qualname__ = name, f"TunerConfig.{name}"
    return setter


def _make_empty_field(name: str, reason: str) -> Any:
    def setter(self: TunerConfig, *value: Any) -> TunerConfig:
        warnings.warn(f"TunerConfig.{name} changes nothing: {reason}", OptionWarning, stacklevel=2)
        return self

    setter.__name__, setter.__qualname__ = name, f"TunerConfig.{name}"
    setter.__doc__ = f"Changes nothing, with a warning: {reason}."
    return setter


for _name in TunerConfig._FIELDS:
    setattr(TunerConfig, _name, _make_field(_name))
for _name, _reason in {
    "crossover_rate": "the evolutionary search has a rate of its own",
    "mutation_rate": "the evolutionary search has a rate of its own",
    "logtostderr": "trials are in the result",
    "stderrthreshold": "trials are in the result",
    "number_elites": "the evolutionary search has a number of its own",
    "tuner_min_launch_total_threads": "candidates that leave the machine idle lose by their times",
}.items():
    setattr(TunerConfig, _name, _make_empty_field(_name, _reason))


@dataclass(frozen=True)
class Trial:
    """One candidate of a search: outcome is measured, slow, rejected, wrong, crashed or hung."""

    options: MappingOptions
    outcome: str
    detail: str
    median_us: float
    resumed: bool


class TunedOptions(MappingOptions):
    """Options that a search found, and what it saw."""

    def __init__(self, found: dict[str, Any]):
        super().__init__(json.dumps(found["options"]))
        #: microseconds with these options, and with those that the search began with (0: not measured)
        self.best_us: float = found["best_us"]
        self.default_us: float = found["default_us"] or 0.0
        #: how results were checked before times counted
        self.verification: str = found["verification"]
        self.is_interrupted: bool = found["interrupted"]
        self.is_exhausted: bool = found["exhausted"]
        #: what was asked for and could not be had
        self.note: str = found["note"]
        self.seconds: float = found["seconds"]
        #: candidates that did not count, by reason
        self.failures: dict[str, int] = found["failures"]
        kept = ("outcome", "detail", "median_us", "resumed")
        self.trials: list[Trial] = [
            Trial(MappingOptions(json.dumps(trial["options"])), **{name: trial[name] for name in kept}) for trial in found["trials"]
        ]


def _worker() -> dict[str, Any]:
    if not sys.executable:
        raise ArgumentError("the tuner starts Python as its worker, and sys.executable is empty")
    return {"worker": sys.executable, "worker_arguments": ["-I", "-S", "-c", _WORKER, os.path.abspath(_tc.__file__)]}


def _starting(options: Any, target: str) -> str:
    return (options if isinstance(options, MappingOptions) else MappingOptions(options or "default"))._request(target)


def tune(operator: Operator, arguments: tuple[Any, ...], keywords: dict[str, Any], starting_options: Any, config: TunerConfig | None) -> TunedOptions:
    """A search for the arguments of one call."""
    if config is not None and not isinstance(config, TunerConfig):
        raise _arguments.refuse(config, "tuner_config", "a TunerConfig")
    config, target = config or TunerConfig(), operator._target(arguments)
    settings = {**config._settings(), **_worker(), "options": _starting(starting_options, target)}
    settings["seeds"] = [options._request(target) for options in config._set.get("seeds", [])]
    with tuning(operator.name, settings["seconds"], settings["trials"]) as show:
        report = json.loads(operator._tune(arguments, keywords, settings, None if show is None else lambda now: show(json.loads(now))))
    found = TunedOptions(report)
    if found.note:
        warnings.warn(f"the search for '{operator.name}': {found.note}", stacklevel=4)
    if not report["recorded"]:
        warnings.warn(f"records of the search for '{operator.name}' could not be written: the next one begins anew", CacheWarning, stacklevel=4)
    if found.is_interrupted:
        warnings.warn(f"the search for '{operator.name}' was interrupted: these are the best options so far", stacklevel=4)
    return found


def _within(config: TunerConfig | None, budget: Any) -> TunerConfig | None:
    """A configuration with another time: seconds, or a text as of the command line, such as "90s" or "2m"."""
    if budget is None or (config is not None and not isinstance(config, TunerConfig)):
        return config
    seconds = budget
    if isinstance(budget, str):
        units = {"": 1, "s": 1, "m": 60, "h": 3600}
        found = re.fullmatch(r"(\d+(?:\.\d*)?)([smh]?)", budget)
        if found is None:
            raise _arguments.refuse(budget, "budget", "a time such as '90s' or '2m'")
        seconds = float(found[1]) * units[found[2]]
    made = TunerConfig(**config._set) if config is not None else TunerConfig()
    return made._change("seconds", seconds)


def autotune(tc: str, entry_point: str, *inputs: Any, starting_options: Any = None, tuner_config: TunerConfig | None = None, budget: Any = None,
             cache_filename: str | Path | None = None, load_from_cache: bool = False, store_to_cache: bool = False, **keywords: Any) -> TunedOptions:
    """Searches for the options that run a def fastest on tensors like these, and returns them.

    Candidates are compiled and run in processes of their own; the results of each are checked before its time counts, and each leaves a
    record in the compile cache, so that the next search for the same call goes on. Ctrl-C ends a search with the best so far. With
    `cache_filename` a file of options (MappingOptionsCache) gives the start of the search (`load_from_cache`) and takes its best
    candidates (`store_to_cache`). `budget` is the time in seconds, or a text such as "90s" or "2m", in place of that of `tuner_config`.
    Other keyword arguments are those of a call.
    """
    tuner_config = _within(tuner_config, budget)
    kept = _file(cache_filename, load_from_cache, store_to_cache)
    program = Program(tc)
    operator = entry(program, entry_point)
    if store_to_cache and kept is not None:
        kept._check_writable()
    if load_from_cache and kept is not None and starting_options is None:
        starting_options = next(iter(kept.load(tc, entry_point, inputs, 1, **keywords)), None)
    found = tune(operator, inputs, keywords, starting_options, tuner_config)
    if store_to_cache and kept is not None:
        kept._store(_key(tc, operator, inputs, keywords), found)
    return found


def autotune_and_compile(tc: str, entry_point: str, *inputs: Any, starting_options: Any = None, tuner_config: TunerConfig | None = None,
                         budget: Any = None, cache_filename: str | Path | None = None, load_from_cache: bool = False, store_to_cache: bool = False,
                         **keywords: Any) -> Executor:
    """`autotune`, then the executor with the options that it found."""
    options = autotune(tc, entry_point, *inputs, starting_options=starting_options, tuner_config=tuner_config, budget=budget,
                       cache_filename=cache_filename, load_from_cache=load_from_cache, store_to_cache=store_to_cache, **keywords)
    return entry(Program(tc, options), entry_point).compile(*inputs, **keywords)


def tuned_options(tc: str, entry_point: str, *inputs: Any, **keywords: Any) -> MappingOptions:
    """The options that records of earlier searches give a call, without a search: those of the very sizes, else of the nearest ones, else
    the default. The attribute `note` says which."""
    operator = entry(Program(tc), entry_point)
    options, source, note, expected_loss = operator._tuned(inputs, keywords)
    made = MappingOptions(options)
    made.source, made.note, made.expected_loss = source, note, expected_loss  # type: ignore[attr-defined]
    return made


def make_autotuned_options_factory(starting_options: Any = None, tuner_config: TunerConfig | None = None, cache_filename: str | Path | None = None,
                                   load_from_cache: bool = False, store_to_cache: bool = False) -> OptionsFactory:
    """For `define`: the first call with new types and shapes is tuned. Defs with `const` parameters, or with sizes that no shape gives,
    are tuned by `autotune`."""
    _file(cache_filename, load_from_cache, store_to_cache)

    def factory(tc: str, entry_point: str, *inputs: Any) -> MappingOptions:
        return autotune(tc, entry_point, *inputs, starting_options=starting_options, tuner_config=tuner_config,
                        cache_filename=cache_filename, load_from_cache=load_from_cache, store_to_cache=store_to_cache)

    return factory


def make_load_from_cache_options_factory(filename: str | Path) -> OptionsFactory:
    """For `define`: options from a JSON file: one set of options, an object with a set per def, or what MappingOptionsCache keeps."""
    if not isinstance(filename, (str, Path)):
        raise _arguments.refuse(filename, "filename", "a file's name")

    def factory(tc: str, entry_point: str, *inputs: Any) -> MappingOptions:
        # Read now: a search may have written it meanwhile.
        try:
            loaded = json.loads(Path(filename).read_text())
        except (OSError, json.JSONDecodeError) as error:
            raise ArgumentError(f"'{filename}' gives no options: {error}") from None
        if not isinstance(loaded, dict):
            raise ArgumentError(f"'{filename}' holds neither a set of options nor an object with one per def")
        if "version" in loaded:
            return MappingOptions(json.dumps(loaded))
        if isinstance(loaded.get("tuned"), list):
            found = MappingOptionsCache(filename).load(tc, entry_point, inputs)
            if not found:
                raise ArgumentError(f"'{filename}' has no options for '{entry_point}' with tensors like these")
            return found[0]
        if entry_point not in loaded:
            raise ArgumentError(f"'{filename}' has no options for '{entry_point}'; it has: {', '.join(loaded) or 'none'}")
        return MappingOptions(loaded[entry_point])

    return factory


def _file(cache_filename: Any, load: Any, store: Any) -> MappingOptionsCache | None:
    _arguments.flag(load, "load_from_cache")
    _arguments.flag(store, "store_to_cache")
    if cache_filename is None:
        if load or store:
            raise ArgumentError("load_from_cache and store_to_cache need a cache_filename")
        return None
    return MappingOptionsCache(cache_filename)


class Tuner:
    """A search in the manner of the published package: `Tuner(TEXT, "options.json").tune("matmul", (A, B), options, config)`."""

    def __init__(self, tc: str, cache_filename: str | Path = ""):
        self._text, self._file = _arguments.text(tc, "the program"), cache_filename

    def tune(self, entry_point: str, inputs: tuple[Any, ...], starting_options: Any = None, tuner_config: TunerConfig | None = None) -> TunedOptions:
        return autotune(self._text, entry_point, *inputs, starting_options=starting_options, tuner_config=tuner_config,
                        cache_filename=self._file or None, store_to_cache=bool(self._file))


class MappingOptionsCache:
    """A file of options that searches found, by program, types, shapes, strides and target. JSON, for a repository or a colleague."""

    def __init__(self, filename: str | Path):
        if not isinstance(filename, (str, Path)):
            raise _arguments.refuse(filename, "filename", "a file's name")
        self._path = Path(filename)

    def load(self, tc: str, entry_point: str, inputs: Any, num_candidates: int = 1, **keywords: Any) -> list[MappingOptions]:
        """The best options for tensors like `inputs` on their target, the fastest first; fewer, or none, where the file has not so many."""
        if _arguments.whole(num_candidates, "num_candidates") < 1:
            raise _arguments.refuse(num_candidates, "num_candidates", "a number above 0")
        tensors = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
        key = _key(tc, entry(Program(tc), entry_point), tensors, keywords)
        found: list[dict[str, Any]] = next((item["candidates"] for item in self._entries() if item["call"] == key), [])
        return [MappingOptions(candidate["options"]) for candidate in found[:num_candidates]]

    def _entries(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        try:
            return list(json.loads(self._path.read_text())["tuned"])
        except (ValueError, KeyError, TypeError):
            raise ArgumentError(f"'{self._path}' is no file of tuned options") from None

    def _check_writable(self) -> None:
        """Before a search whose results are to be kept."""
        try:
            self._entries()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if not os.access(self._path if self._path.exists() else self._path.parent, os.W_OK):
                raise PermissionError("permission denied")
        except OSError as error:
            raise ArgumentError(f"cache_filename '{self._path}' cannot be written: {error.strerror or error}") from None

    def _store(self, key: dict[str, Any], found: TunedOptions) -> None:
        measured = sorted((trial for trial in found.trials if trial.outcome == "measured"), key=lambda trial: trial.median_us)
        # The final comparison has the last word.
        best = [{"median_us": found.best_us, "options": found.to_json()}]
        rest = [{"median_us": trial.median_us, "options": trial.options.to_json()} for trial in measured]
        candidates = (best + [candidate for candidate in rest if candidate["options"] != best[0]["options"]])[:_KEPT]
        others = [item for item in self._entries() if item["call"] != key]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        temporary.write_text(json.dumps({"tuned": [*others, {"call": key, "candidates": candidates}]}, indent=1) + "\n")
        temporary.replace(self._path)


def _key(tc: str, operator: Operator, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """A call as a file names it. Layout of the text does not matter."""
    identity = hashlib.sha256(" ".join(tc.split()).encode()).hexdigest()[:16]
    # As JSON gives it back.
    key: dict[str, Any] = json.loads(json.dumps({"program": identity, "def": operator.name, **operator._call_key(inputs, keywords)}))
    return key
