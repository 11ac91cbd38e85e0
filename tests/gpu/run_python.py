# SPDX-License-Identifier: Apache-2.0
"""The Python package on a CUDA device: builds the extension module, runs named checks with PyTorch, JAX and CuPy, measures the cost of calls.

usage: python3 tests/gpu/run_python.py (--library libtc.so.0 | --prefix PREFIX | --installed) --out FOLDER [--device cuda|cpu]
                                       [--only name,name] [--seconds 240] [--list]
`--library` is the static library of `make static` (build-static/lib/libtc.so.0), `--prefix` where `cmake --install build-static` put it;
`--installed` takes the package that Python imports. Needs cmake, ninja, a C++20 compiler and nanobind for the first two, no network.

`--only` takes names as `--list` shows them: a whole name (torch.transforms.tuning), its last part (tuning), a group
(torch.transforms), or any part of names; a name that asks for nothing is an error. `costs` is the table of costs.

Checks run in processes of their own, one for each group; one that loses its context or dies is started again for the checks that
remain. One line a check, and for one that failed its traceback; FOLDER gets python.json, costs.md and a log for each group. Exit
status 1 when a check fails or did not run.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import time
import traceback

from shared import names_of, select, short_name

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GROUPS = {
    "torch": "torch_checks", "torch.transforms": "torch_transforms", "jax": "jax_checks", "arrays": "array_checks", "together": "together_checks",
    "processes": "process_checks",
}
CHECK_SECONDS = 75
COST_SECONDS = 20
LOST = 70  # exit status of a process that has no usable device any more
MAX_STARTS = 6


def all_names() -> list[str]:
    return [f"{group}.{name}" for group, module in GROUPS.items() for name in names_of(HERE / "python_checks" / f"{module}.py")] + ["costs"]


# ---- in the process of a group

class Results:
    """A file of JSON lines that the starting process reads while this one runs."""

    def __init__(self, path: str):
        self.file = open(path, "a", buffering=1)  # noqa: SIM115 - open until the process ends

    def add(self, **entry) -> None:
        self.file.write(json.dumps(entry) + "\n")


def run_check(check, session, device: str) -> tuple[str, str]:
    """(ok, failed or skipped; what it says)"""
    if getattr(check, "gpu_only", False) and device != "cuda":
        return "skipped", "for a GPU"
    try:
        return "ok", str(check(session) or "")
    except Exception as error:  # noqa: BLE001 - one check does not end the others
        traceback.print_exc()
        return "failed", f"{type(error).__name__}: {str(error).strip()[:1500]}\n{traceback.format_exc(limit=-3)}"


def work(arguments) -> int:
    results = Results(arguments.results)
    if arguments.worker == "costs":
        from python_checks import call_costs

        results.add(begin="costs")
        rows, problems = call_costs.measure(arguments.device, arguments.cost_seconds)
        results.add(costs=rows)
        pathlib.Path(arguments.out, "costs.md").write_text(call_costs.table(rows))
        results.add(name="costs", status="failed" if problems else "ok", message="; ".join(problems) or f"{len(rows)} calls", seconds=0)
        return 0
    names = arguments.checks.split(",")
    results.add(begin=f"{arguments.worker}.start")
    module = importlib.import_module(f"python_checks.{GROUPS[arguments.worker]}")
    checks = {f"{arguments.worker}.{short_name(check.__name__)}": check for check in module.CHECKS}
    session = module.Session(arguments.device)
    for name in names:
        print(f"---- {name}", flush=True)
        results.add(begin=name)
        start = time.monotonic()
        status, message = run_check(checks[name], session, arguments.device)
        results.add(name=name, status=status, message=message, seconds=round(time.monotonic() - start, 2))
        if status == "failed" and not session.usable():
            return LOST
    results.add(end=True)
    return 0


# ---- in the process that was started

class Group:
    """A group of checks and the process that runs them."""

    def __init__(self, name: str, checks: list[str], arguments, environment: dict[str, str]):
        self.name, self.checks, self.arguments, self.environment = name, checks, arguments, environment
        self.results = arguments.out / f"{name}.jsonl"
        self.results.unlink(missing_ok=True)
        self.log = open(arguments.out / f"{name}.log", "w")  # noqa: SIM115 - open while processes write
        self.read, self.starts = 0, 0
        self.entries: list[dict] = []
        self.costs: list[dict] = []
        self.begun, self.begun_at, self.ended = "", 0.0, False
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.starts += 1
        self.ended, self.begun, self.begun_at = False, f"{self.name}.start", time.monotonic()
        command = [sys.executable, str(HERE / "run_python.py"), "--worker", self.name, "--results", str(self.results), "--device", self.arguments.device,
                   "--checks", ",".join(self.missing()), "--out", str(self.arguments.out),
                   "--cost-seconds", str(self.arguments.cost_seconds)]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, env=self.environment, start_new_session=True)

    def missing(self) -> list[str]:
        """The checks that have no result yet."""
        done = {entry["name"] for entry in self.entries}
        return [name for name in self.checks if name not in done]

    def add(self, name: str, status: str, message: str, seconds: float) -> None:
        self.entries.append({"name": name, "status": status, "message": message, "seconds": seconds})
        first, *rest = message.splitlines() or ["as promised"]
        print(f"{status:<8}{name}: {first[:400]} ({seconds:.1f} s)", flush=True)
        if status == "failed":
            print("\n".join(f"        {line}" for line in rest), flush=True)

    def collect(self) -> None:
        lines = self.results.read_text().splitlines(keepends=True) if self.results.exists() else []
        for line in lines[self.read:]:
            if not line.endswith("\n"):
                break
            self.read += 1
            entry = json.loads(line)
            if "begin" in entry:
                self.begun, self.begun_at = entry["begin"], time.monotonic()
            elif "costs" in entry:
                self.costs = entry["costs"]
            elif "end" in entry:
                self.ended = True
            else:
                self.begun = ""
                self.add(entry["name"], entry["status"], entry["message"], entry["seconds"])

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own session
            self.process.wait()

    def poll(self) -> bool:
        """Whether the group is still at work."""
        late = time.monotonic() - self.begun_at > CHECK_SECONDS and self.begun
        if late:
            self.stop()
        code = self.process.poll()
        self.collect()
        if code is None:
            return True
        if self.begun and not self.ended:
            what = f"no result within {CHECK_SECONDS} s" if late else f"the process ended with status {code}: {self.tail()}"
            self.add(self.begun, "failed", what, time.monotonic() - self.begun_at)
            if self.begun.endswith(".start"):
                return False
        if self.name == "costs" or not self.missing() or self.starts >= MAX_STARTS:
            return False
        self.start()
        return True

    def tail(self) -> str:
        return " | ".join(pathlib.Path(self.log.name).read_text(errors="replace").splitlines()[-4:])[-600:]

    def finish(self) -> None:
        """A result for every check: of those that have none yet, why."""
        self.collect()
        why = f"did not run: the process ended {self.starts} times"
        if self.process.poll() is None:
            self.stop()
            why = "did not run: the time for all checks is over"
        for name in self.missing():
            is_begun = name == self.begun
            self.add(name, "failed", "no result when the time for all checks was over" if is_begun else why, time.monotonic() - self.begun_at if is_begun else 0)


def run_groups(groups: list[Group], end: float) -> None:
    for group in groups:
        group.start()
    active = list(groups)
    while active and time.monotonic() < end:
        active = [group for group in active if group.poll()]
        time.sleep(0.2)
    for group in groups:
        group.finish()


def make_prefix(library: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A CMake package around one library and the headers of this checkout."""
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    target = folder / "lib/libtc.so.0"
    shutil.copy(library.resolve(), target)
    (folder / "lib/cmake/TensorComprehensions").mkdir(parents=True, exist_ok=True)
    (folder / "lib/cmake/TensorComprehensions/TensorComprehensionsConfig.cmake").write_text(f"""
add_library(tc::tc SHARED IMPORTED)
set_target_properties(tc::tc PROPERTIES IMPORTED_LOCATION "{target}" IMPORTED_SONAME libtc.so.0 INTERFACE_INCLUDE_DIRECTORIES "{ROOT}"
                      INTERFACE_COMPILE_FEATURES cxx_std_20)
""")
    return folder


def build(arguments) -> pathlib.Path:
    """The folder with the importable package."""
    folder = arguments.build.resolve()
    prefix = arguments.prefix.resolve() if arguments.prefix else make_prefix(arguments.library, folder / "prefix")
    site = folder / "site"
    log = open(arguments.out / "build.log", "w")  # noqa: SIM115 - open while commands write
    commands = [
        ["cmake", "-S", str(ROOT / "python"), "-B", str(folder / "module"), "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"],
        ["cmake", "--build", str(folder / "module")],
        ["cmake", "--install", str(folder / "module"), "--prefix", str(site), "--component", "python"],
    ]
    for command in commands:
        if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT).returncode != 0:
            log.flush()
            raise SystemExit(f"failed: {' '.join(command)}\n" + "\n".join(pathlib.Path(log.name).read_text().splitlines()[-30:]))
    shutil.copytree(ROOT / "python/tensor_comprehensions", site / "tensor_comprehensions", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return site


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "torch", "triton", "jax", "jaxlib", "nanobind"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"] or ""
        if name.lower().startswith("cupy"):
            found["cupy"] = distribution.version
    return found


def check_all(arguments) -> int:
    begin = time.monotonic()
    end = begin + arguments.seconds
    chosen = select(all_names(), arguments.only)
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = [str(HERE), os.environ.get("PYTHONPATH", "")]
    if not arguments.installed:
        path.insert(0, str(build(arguments)))
        print(f"built in {time.monotonic() - begin:.1f} s", flush=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONDONTWRITEBYTECODE": "1",
                   "TC_CACHE_DIR": str((arguments.build or arguments.out).resolve() / "cache"), "TF_CPP_MIN_LOG_LEVEL": "2"}
    groups = [Group(group, checks, arguments, environment) for group in GROUPS if (checks := [name for name in chosen if name.rpartition(".")[0] == group])]
    run_groups(groups, end - arguments.cost_seconds - 15)
    costs = Group("costs", ["costs"], arguments, environment)
    if arguments.cost_seconds > 0 and "costs" in chosen:
        run_groups([costs], end)
    entries = [entry for group in [*groups, costs] for entry in group.entries]
    counts = {status: sum(entry["status"] == status for entry in entries) for status in ("ok", "failed", "skipped")}
    report = {"device": arguments.device, "versions": versions(), "checks": entries, "counts": counts, "costs": costs.costs,
              "seconds": round(time.monotonic() - begin, 1)}
    (arguments.out / "python.json").write_text(json.dumps(report, indent=1))
    if costs.costs:
        print((arguments.out / "costs.md").read_text())
    print(f"{len(entries)} checks with {report['versions']}: {counts}, {report['seconds']} s")
    return 1 if counts["failed"] or not counts["ok"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--library", type=pathlib.Path)
    source.add_argument("--prefix", type=pathlib.Path)
    source.add_argument("--installed", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, help="where the module is built; a folder that goes away by default")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--only", default="", help="comma-separated names of checks, groups, or parts of names")
    parser.add_argument("--list", action="store_true", help="the names of all checks, and nothing else")
    parser.add_argument("--seconds", type=float, default=240, help="for everything")
    parser.add_argument("--cost-seconds", type=float, default=COST_SECONDS, help="0: costs are not measured")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--results", help=argparse.SUPPRESS)
    parser.add_argument("--checks", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(select(all_names(), arguments.only)))
        return 0
    if arguments.out is None:
        parser.error("--out is needed")
    if arguments.worker:
        return work(arguments)
    if not (arguments.library or arguments.prefix or arguments.installed):
        parser.error("one of --library, --prefix and --installed is needed")
    if arguments.build:
        return check_all(arguments)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        arguments.build = pathlib.Path(folder)
        return check_all(arguments)


if __name__ == "__main__":
    sys.exit(main())
