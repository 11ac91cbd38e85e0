# SPDX-License-Identifier: Apache-2.0
"""Tunes the suite on the CUDA devices of this machine, then compares defaults, tuned options and the best ones known.

    python3 bench/gpu_tune.py --tensorc build-static/bin/tensorc --out tune-results [--budget 30] [--cases REGEX] [--limit-seconds 560]

1. A check: what the machine has, and a small product tuned with a few candidates. When nothing can be measured, everything that the workers said is
   printed and the script ends with status 3.
2. Every case of the group (--group paper) is tuned for --budget seconds on all devices. The tuner itself checks every candidate and times default and
   best candidates in turns at the end; options of earlier machines (--known FILE, an options.jsonl of another run) join in a further comparison.
3. Sizes that no run has tuned (NEW_SIZES): first served from the records alone, then tuned into a cache of their own, then default, served and
   tuned options are timed in turns.

With --ablation N instead: every case is tuned by each search with N candidates, from nothing, and their results are timed in turns
(records-SEARCH.jsonl: what each search measured; bench/model_ranks reads it).

In --out: results.jsonl (a line per case, as it ends), records.jsonl (all records, exported after each case), options.jsonl (best options per
case, for bench/gpu_suite.py --options-from), table.md, and log.txt with every command. A run that is started again with the same --out goes on:
cases in results.jsonl are not run again, records.jsonl is imported where the cache is new. --limit-seconds ends between two cases, and leaves the
rest for the next run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

# name, the case whose text it takes, sizes that differ
NEW_SIZES = [
    ("tmm_256_512_2048", "tmm_128_1024_1024", {"M": 256, "K": 512, "N": 2048}),
    ("tbmm_300_40_56_32", "tbmm_500_26_72_26", {"B": 300, "N": 40, "M": 56, "K": 32}),
    ("c3_64_1500_768", "c3", {"B": 64, "WX": 1500, "WY": 768}),
    ("gconv_12_40", "gconv_8_28", {"N": 16, "C": 12, "F": 12, "H": 40, "W": 40}),
    ("kronecker3_16_48", "kronecker3_16_32", {"N0": 48, "N1": 48, "N2": 48}),
    ("mlp1_256_1000_200", "mlp1", {"B": 256, "M": 1000, "N": 200}),
    ("group_norm_16_24", "group_norm_4_12", {"N": 16, "H": 24, "W": 24}),
    ("moments_512_9216", "moments_128", {"N": 512, "K": 9216}),
    ("tmm_64_768_3072", "tmm_128_1024_1024", {"M": 64, "K": 768, "N": 3072}),
    ("tbmm_1000_24_48_24", "tbmm_500_26_72_26", {"B": 1000, "N": 24, "M": 48, "K": 24}),
    ("gconv_16_28", "gconv_16_14", {"N": 16, "H": 28, "W": 28}),
    ("gconv_6_42", "gconv_4_56", {"C": 6, "F": 6, "H": 42, "W": 42}),
    ("kronecker3_12_40", "kronecker3_16_32", {"D0": 12, "D1": 12, "D2": 12, "N0": 40, "N1": 40, "N2": 40}),
    ("mlp3_512_200_100", "mlp3", {"B": 512, "N": 200, "O": 100}),
    ("group_norm_8_32", "group_norm_32_48", {"N": 8, "H": 32, "W": 32}),
    ("moments_2048_1024", "moments_1024", {"N": 2048, "K": 1024}),
]
SEARCHES = ("random", "evolutionary", "model")
CHECK = ("def check(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }", {"M": 256, "N": 192, "K": 160})

# Seconds that a tuning run may need beyond its budget, and that a comparison may take.
SLACK = 20
COMPARE_SECONDS = 20
COMPARE_ROUNDS = 15
# Most seconds of one search of an ablation, which counts candidates.
ABLATION_SECONDS = 120
COMPILE_SECONDS = 8
RUN_SECONDS = 15


@dataclasses.dataclass
class Work:
    name: str
    text: str
    sizes: dict[str, int]
    definition: str = ""  # empty: the only one


class CommandFailed(RuntimeError):
    """A command of tensorc that did not end well."""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorc", default="build-static/bin/tensorc")
    parser.add_argument("--out", default="tune-results")
    parser.add_argument("--cache", help="folder of the records; default: cache/ in --out")
    parser.add_argument("--budget", type=float, default=30, help="seconds of tuning per case")
    parser.add_argument("--limit-seconds", type=float, default=math.inf, help="no case begins that would not end within this")
    parser.add_argument("--cases", default="", help="regular expression on names")
    parser.add_argument("--group", default="paper")
    parser.add_argument("--only", choices=["paper", "new"], help="half of the work")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--devices", help="0,1,...; default: all CUDA devices like that of the target")
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count() or 1), help="processes that compile")
    parser.add_argument("--search", default="model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--known", help="options.jsonl of an earlier run")
    parser.add_argument("--suite", help="JSON lines of cases instead of bench/suite.py, which needs PyTorch")
    parser.add_argument("--ablation", type=int, default=0, metavar="N", help="compare the searches at N candidates each")
    parser.add_argument("--searches", default=",".join(SEARCHES), help="those that an ablation compares")
    parser.add_argument("--skip-check", action="store_true")
    return parser.parse_args()


def sizes_of(text: str, shapes: list[list[int]]) -> dict[str, int]:
    """Values of the names in the types of the parameters."""
    parameters = text[text.index("(") + 1 : text.index("->")]
    names = [re.split(r"\s*,\s*", dims.strip()) for dims in re.findall(r"\w+\(([^()]*)\)\s*\w+", parameters)]
    sizes: dict[str, int] = {}
    for dims, shape in zip(names, shapes, strict=True):
        sizes |= {name: extent for name, extent in zip(dims, shape, strict=True) if not name.isdigit()}
    return sizes


def load_suite(arguments) -> dict[str, Work]:
    if arguments.suite:
        rows = [json.loads(line) for line in pathlib.Path(arguments.suite).read_text().splitlines()]
        return {row["name"]: Work(row["name"], row["text"], sizes_of(row["text"], row["shapes"])) for row in rows}
    import suite

    cases = [case for case in suite.CASES if case.group == arguments.group]
    return {case.name: Work(case.name, case.text, sizes_of(case.text, [list(tensor.shape) for tensor in case.tensors])) for case in cases}


class Machine:
    """The commands, where they keep things, and the time."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.start = time.monotonic()
        self.out = pathlib.Path(arguments.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.cache = pathlib.Path(arguments.cache) if arguments.cache else self.out / "cache"
        self.texts = self.cache / "texts"
        self.texts.mkdir(parents=True, exist_ok=True)
        self.devices = arguments.devices or "all"

    def seconds(self) -> float:
        return time.monotonic() - self.start

    def has_time(self, seconds: float) -> bool:
        return self.seconds() + seconds <= self.arguments.limit_seconds

    def log(self, text: str):
        with (self.out / "log.txt").open("a") as file:
            file.write(f"[{self.seconds():7.1f}] {text}\n")

    def say(self, text: str):
        print(text, flush=True)
        self.log(text)

    def command(self, words: list[str], timeout: float, cache: pathlib.Path | None = None, environment: dict | None = None):
        line = [self.arguments.tensorc, *words]
        environment = {**os.environ, "TC_CACHE_DIR": str(cache or self.cache), **(environment or {})}
        self.log(" ".join(line))
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=timeout, env=environment, check=False)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"no end after {timeout:.0f} s") from None
        if done.stderr.strip():
            self.log(done.stderr.strip())
        if done.returncode != 0:
            raise CommandFailed(done.stderr.strip()[-600:] or f"status {done.returncode}")
        return done

    def call_words(self, work: Work) -> list[str]:
        file = self.texts / f"{work.name}.tc"
        file.write_text(work.text + "\n")
        words = [str(file)]
        for name, value in work.sizes.items():
            words += ["-D", f"{name}={value}"]
        if work.definition:
            words += ["-f", work.definition]
        return [*words, "--target", self.arguments.target]

    def search_words(self, more: tuple) -> list[str]:
        return [] if "--search" in more else ["--search", self.arguments.search]

    def tune(self, work: Work, budget: float, cache: pathlib.Path | None = None, more: tuple = ()) -> dict:
        words = ["tune", *self.call_words(work), "--json", "--budget", f"{budget:g}s", "--devices", self.devices, *self.search_words(more)]
        words += ["--seed", str(self.arguments.seed), "--jobs", str(self.arguments.jobs)]
        words += ["--compile-limit", str(COMPILE_SECONDS), "--run-limit", str(RUN_SECONDS), *more]
        return json.loads(self.command(words, budget + SLACK, cache).stdout)

    def one_device(self) -> str:
        first = self.devices.split(",")[0]
        return self.arguments.target.partition(":")[2] or "0" if first == "all" else first

    def compare(self, work: Work, candidates: list[dict], rounds: int = COMPARE_ROUNDS) -> dict[str, float]:
        """Times of the default and of these, in turns, by the text of the options."""
        file = self.texts / f"{work.name}.seeds"
        file.write_text("".join(json.dumps(options) + "\n" for options in candidates))
        words = ["tune", *self.call_words(work), "--json", "--search", "seeds", "--seeds", str(file), "--rounds", str(rounds), "--budget",
                 f"{COMPARE_SECONDS}s", "--devices", self.one_device(), "--compile-limit", str(COMPILE_SECONDS)]
        report = json.loads(self.command(words, COMPARE_SECONDS + SLACK, environment={"TC_CACHE": "off"}).stdout)
        self.log(json.dumps(report))
        return {key(trial["options"]): trial["median_us"] for trial in report["trials"] if trial["finalist"]}

    def export(self, cache: pathlib.Path | None = None, name: str = "records.jsonl"):
        try:
            self.command(["cache", "export", "--tuned", str(self.out / name)], 60, cache)
        except CommandFailed as problem:
            self.say(f"records were not exported: {problem}")


def key(options: dict) -> str:
    return json.dumps(options, sort_keys=True)


def tally(trials: list[dict]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for trial in trials:
        counts[trial["outcome"]] = counts.get(trial["outcome"], 0) + 1
    return counts


def new_trials(report: dict) -> int:
    return sum(not trial["resumed"] for trial in report["trials"])


def complaints(trials: list[dict], most: int = 3) -> list[str]:
    """Different details of what was not measured, shortened."""
    found = dict.fromkeys(f"{trial['outcome']}: {trial['detail'][:300]}" for trial in trials if trial["outcome"] not in ("measured", "slow"))
    return list(found)[:most]


def check_machine(machine: Machine) -> bool:
    """Whether a small product can be tuned here; says what there is if not."""
    try:
        found = json.loads(machine.command(["info", "--json"], 60).stdout)
        machine.say("\n".join(json.dumps(target)[:700] for target in found["targets"] if target["name"] == machine.arguments.target.split(":")[0]))
    except CommandFailed as problem:
        machine.say(f"tensorc info: {problem}")
    work = Work("check", *CHECK)
    started = machine.seconds()
    try:
        report = machine.tune(work, 25, machine.cache / "check", ("--trials", "12"))
    except CommandFailed as problem:
        machine.say(f"the check could not be tuned: {problem}")
        try:
            run = machine.command(["run", *machine.call_words(work), "--verify"], 60, environment={"TC_CACHE": "off"})
            machine.say(f"but it runs:\n{run.stdout}{run.stderr}")
        except CommandFailed as again:
            machine.say(f"nor does it run: {again}")
        return False
    counts = tally(report["trials"])
    machine.say(f"check: {counts} in {machine.seconds() - started:.1f} s, default {report['default_us']} us, best {report['best_us']:.2f} us,"
                f" checked: {report['verification']}, devices {report['devices']}")
    for text in complaints(report["trials"], 12):
        machine.say(f"  {text}")
    is_bad = counts.get("crashed", 0) + counts.get("hung", 0) + counts.get("wrong", 0) > counts.get("measured", 0)
    return not is_bad


def add_row(machine: Machine, row: dict):
    with (machine.out / "results.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


def known_rows(machine: Machine) -> list[dict]:
    file = machine.out / "results.jsonl"
    rows = []
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            pass  # the line at which an earlier run was killed
    return rows


def summary(report: dict) -> dict:
    trials = report["trials"]
    return {
        "options": report["options"], "default_us": report["default_us"], "tuned_us": report["best_us"], "trials": new_trials(report),
        "resumed": report["resumed"], "seconds": report["seconds"], "failures": report["failures"], "outcomes": tally(trials),
        "in_turns": sum(trial["finalist"] for trial in trials), "verification": report["verification"], "complaints": complaints(trials),
    }


def tune_case(machine: Machine, work: Work, known: list[dict]) -> dict:
    report = machine.tune(work, machine.arguments.budget)
    row = {"case": work.name, "kind": "paper", "sizes": work.sizes, **summary(report)}
    row["best_known_us"] = row["tuned_us"]
    if known or row["in_turns"] == 0:
        times = machine.compare(work, [report["options"], *known])
        row["compared"] = times
        mine = times.get(key(report["options"]))
        default = first_of(times, report)
        if mine is not None and default is not None:
            row |= {"tuned_us": mine, "default_us": default, "best_known_us": min(times.values())}
    return row


def first_of(times: dict[str, float], report: dict) -> float | None:
    """The default's time in a comparison: the tuner proposes it first."""
    return times.get(key(report["trials"][0]["options"]))


def serve(machine: Machine, work: Work) -> dict:
    done = machine.command(["run", *machine.call_words(work), "--options", "tuned", "--json", "--repeat", "3"], 60)
    notes = [line for line in done.stderr.splitlines() if "record" in line]
    return {"options": json.loads(done.stdout)["options"], "note": notes[0] if notes else done.stderr.strip()[:300]}


def new_case(machine: Machine, work: Work, served: dict) -> dict:
    report = machine.tune(work, machine.arguments.budget, machine.cache / "new")
    row = {"case": work.name, "kind": "new", "sizes": work.sizes, **summary(report), "served": served}
    times = machine.compare(work, [report["options"], served["options"]])
    row["compared"] = times
    row |= {"default_us": first_of(times, report), "tuned_us": times.get(key(report["options"])), "served_us": times.get(key(served["options"]))}
    return row


def ablation_case(machine: Machine, work: Work) -> dict:
    """The best options of each search after the same number of candidates, timed in turns."""
    found, spent = {}, {}
    for search in machine.arguments.searches.split(","):
        folder = machine.cache / f"ablation-{search}"
        more = ("--trials", str(machine.arguments.ablation), "--search", search)
        report = machine.tune(work, ABLATION_SECONDS, folder, more)
        machine.export(folder, f"records-{search}.jsonl")
        found[search] = report["options"]
        spent[search] = {"trials": new_trials(report), "seconds": report["seconds"], "outcomes": tally(report["trials"])}
    times = machine.compare(work, list(found.values()))
    row = {"case": work.name, "kind": "ablation", "options": found, "spent": spent, "default_us": first_of(times, report)}
    return row | {"us": {search: times.get(key(options)) for search, options in found.items()}}


def ablation_table(rows: list[dict]) -> str:
    good = [row for row in rows if row["kind"] == "ablation" and "problem" not in row]
    searches = list(good[0]["us"]) if good else []
    lines = ["| case | default us | " + " | ".join(f"{search} us" for search in searches) + " |", "|---|--:|" + "--:|" * len(searches)]
    for row in good:
        lines.append(f"| {row['case']} | {number(row['default_us'])} | " + " | ".join(number(row["us"][search]) for search in searches) + " |")
    whole = [row for row in good if all(row["us"].values())]
    if whole:
        means = [mean([row["us"][search] / min(row["us"].values()) for row in whole]) for search in searches]
        lines.append("| time over that of the best search, geometric mean | | " + " | ".join(f"{value:.3f}" for value in means) + " |")
    return "\n".join(lines) + "\n"


def ablation(machine: Machine, cases: dict[str, Work], rows: list[dict], done: set[str]) -> list[str]:
    left = []
    for name, work in cases.items():
        if name in done or not re.search(machine.arguments.cases, name):
            continue
        if not machine.has_time(len(machine.arguments.searches.split(",")) * machine.arguments.budget + COMPARE_SECONDS):
            left.append(name)
            continue
        attempt(machine, rows, name, "ablation", lambda: ablation_case(machine, work))
    return left


def number(value) -> str:
    return f"{value:.2f}" if isinstance(value, (int, float)) else "-"


def mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def failure_text(row: dict) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(row["failures"].items(), key=lambda entry: -entry[1])) or "none"


def table(rows: list[dict]) -> str:
    lines = ["| case | default us | tuned us | default / tuned | best known us | trials | trials/s | without a time | checked by |",
             "|---|--:|--:|--:|--:|--:|--:|---|---|"]
    good = []
    for row in (row for row in rows if row["kind"] == "paper"):
        if "problem" in row:
            lines.append(f"| {row['case']} | failed: {row['problem'].splitlines()[-1][:160]} | | | | | | | |")
            continue
        ratio = row["default_us"] / row["tuned_us"] if row["default_us"] else None
        if ratio:
            good.append(row)
        lines.append(f"| {row['case']} | {number(row['default_us'])} | {number(row['tuned_us'])} | {number(ratio)} | {number(row['best_known_us'])} |"
                     f" {row['trials']} | {row['trials'] / max(row['seconds'], 1e-9):.1f} | {failure_text(row)} | {row['verification']} |")
    if good:
        reached = mean([row["tuned_us"] / row["default_us"] for row in good])
        found = mean([row["best_known_us"] / row["tuned_us"] for row in good])
        lines += ["", f"{len(good)} cases: the defaults reach {100 * reached:.1f}% of tuned (geometric mean; the target is 85%), tuned reaches"
                  f" {100 * found:.1f}% of the best known; {sum(row['trials'] for row in good)} candidates."]
    fresh = [row for row in rows if row["kind"] == "new"]
    if fresh:
        lines += ["", "| size never tuned | default us | served us | tuned us | served / tuned | note |", "|---|--:|--:|--:|--:|---|"]
    losses = []
    for row in fresh:
        if "problem" in row:
            lines.append(f"| {row['case']} | failed: {row['problem'].splitlines()[-1][:160]} | | | | |")
            continue
        ratio = row["served_us"] / row["tuned_us"] if row["served_us"] and row["tuned_us"] else None
        if ratio:
            losses.append(ratio)
        lines.append(f"| {row['case']} | {number(row['default_us'])} | {number(row['served_us'])} | {number(row['tuned_us'])} | {number(ratio)} |"
                     f" {row['served']['note'][:160]} |")
    if losses:
        lines += ["", f"{len(losses)} sizes: served over tuned {mean(losses):.3f} in geometric mean, {max(losses):.2f} at worst."]
    return "\n".join(lines) + "\n"


def write_results(machine: Machine, rows: list[dict]):
    tables = [ablation_table(rows)] if machine.arguments.ablation else [table(rows)]
    (machine.out / "table.md").write_text("\n".join(tables))
    good = [row for row in rows if "options" in row and row["kind"] != "ablation"]
    (machine.out / "options.jsonl").write_text("".join(json.dumps({"case": row["case"], "options": row["options"]}) + "\n" for row in good))


def known_options(file: str | None) -> dict[str, list[dict]]:
    known: dict[str, list[dict]] = {}
    for line in pathlib.Path(file).read_text().splitlines() if file else []:
        entry = json.loads(line)
        known.setdefault(entry["case"], []).append(entry["options"])
    return known


def attempt(machine: Machine, rows: list[dict], name: str, kind: str, run):
    started = machine.seconds()
    try:
        row = run()
    except (CommandFailed, json.JSONDecodeError, KeyError) as problem:
        row = {"case": name, "kind": kind, "problem": f"{type(problem).__name__}: {problem}"}
    rows.append(row)
    add_row(machine, row)
    write_results(machine, rows)
    machine.export()
    if "problem" in row:
        machine.say(f"{name}: failed after {machine.seconds() - started:.0f} s: {row['problem']}")
        return
    if kind == "ablation":
        machine.say(f"{name}: {row['us']}, {row['spent']}")
        return
    machine.say(f"{name}: default {number(row['default_us'])} us, tuned {number(row['tuned_us'])} us"
                + (f", served {number(row['served_us'])} us" if kind == "new" else "")
                + f", {row['trials']} candidates in {row['seconds']:.1f} s, {row['outcomes']}; {machine.seconds() - started:.0f} s in all")
    for text in row["complaints"]:
        machine.say(f"  {text}")


def main() -> int:
    arguments = parse_arguments()
    cases = load_suite(arguments)
    machine = Machine(arguments)
    rows = known_rows(machine)
    done = {row["case"] for row in rows if "problem" not in row}
    rows = [row for row in rows if "problem" not in row]
    exported = machine.out / "records.jsonl"
    if exported.exists() and not (machine.cache / "kernels-v1.sqlite").exists():
        machine.say(machine.command(["cache", "import", str(exported)], 120).stdout.strip())
    if not arguments.skip_check and not check_machine(machine):
        return 3
    if arguments.ablation:
        left = ablation(machine, cases, rows, done)
        machine.say(ablation_table(rows) + (f"left for another run: {', '.join(left)}" if left else ""))
        return 1 if any("problem" in row for row in rows) else 0
    known = known_options(arguments.known)
    left = []
    for name, work in cases.items():
        if arguments.only == "new" or name in done or not re.search(arguments.cases, name):
            continue
        if not machine.has_time(arguments.budget + SLACK + (COMPARE_SECONDS if known.get(name) else 0)):
            left.append(name)
            continue
        attempt(machine, rows, name, "paper", lambda: tune_case(machine, work, known.get(name, [])))
    if arguments.only != "paper":
        left += new_sizes(machine, arguments, cases, rows, done)
    machine.say(table(rows))
    if left:
        machine.say(f"left for another run: {', '.join(left)}")
    return 1 if any("problem" in row for row in rows) else 0


def new_sizes(machine: Machine, arguments, cases: dict[str, Work], rows: list[dict], done: set[str]) -> list[str]:
    left = []
    for name, base, sizes in NEW_SIZES:
        if name in done or base not in cases or not re.search(arguments.cases, name):
            continue
        if not machine.has_time(arguments.budget + SLACK + COMPARE_SECONDS):
            left.append(name)
            continue
        work = Work(name, cases[base].text, cases[base].sizes | sizes)
        # Records of new sizes lie elsewhere: what serves one is never another.
        attempt(machine, rows, name, "new", lambda: new_case(machine, work, serve(machine, work)))
    return left


if __name__ == "__main__":
    sys.exit(main())
