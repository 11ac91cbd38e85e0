# SPDX-License-Identifier: Apache-2.0
"""The Python package on a CUDA device: builds the extension module, runs named checks with PyTorch, JAX and CuPy, measures the cost of calls.

usage: python3 tests/gpu/run_python.py (--library libtc.so.0 | --prefix PREFIX | --installed) --out FOLDER [--device cuda|cpu]
                                       [--only part,part] [--seconds 140]
`--library` is the static library of `make static` (build-static/lib/libtc.so.0), `--prefix` where `cmake --install build-static` put it;
`--installed` takes the package that Python imports. Needs cmake, ninja, a C++20 compiler and nanobind for the first two, no network.

Checks run in processes of their own, one for each group; one that loses its context or dies is started again for the checks that
remain. One line a check; FOLDER gets python.json, costs.md and a log for each group. Exit status 1 when a check fails.
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


# ---- in the process of a group

def checks_of(group: str) -> list:
    return importlib.import_module(f"python_checks.{GROUPS[group]}").CHECKS


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
        return "failed", f"{type(error).__name__}: {str(error).strip()[:1500]}"


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
    done = set(filter(None, arguments.done.split(",")))
    results.add(begin=f"{arguments.worker}.start")
    session = importlib.import_module(f"python_checks.{GROUPS[arguments.worker]}").Session(arguments.device)
    for check in checks_of(arguments.worker):
        name = f"{arguments.worker}.{check.__name__.removeprefix('check_')}"
        if name in done or not wanted(name, arguments.only):
            continue
        print(f"---- {name}", flush=True)
        results.add(begin=name)
        start = time.monotonic()
        status, message = run_check(check, session, arguments.device)
        results.add(name=name, status=status, message=message, seconds=round(time.monotonic() - start, 2))
        if status == "failed" and not session.usable():
            return LOST
    results.add(end=True)
    return 0


def wanted(name: str, only: str) -> bool:
    parts = [part for part in only.split(",") if part]
    return not parts or any(part in name for part in parts)


# ---- in the process that was started

class Group:
    """A group of checks and the process that runs them."""

    def __init__(self, name: str, arguments, environment: dict[str, str]):
        self.name, self.arguments, self.environment = name, arguments, environment
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
                   "--done", ",".join(entry["name"] for entry in self.entries), "--only", self.arguments.only, "--out", str(self.arguments.out),
                   "--cost-seconds", str(self.arguments.cost_seconds)]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, env=self.environment, start_new_session=True)

    def add(self, name: str, status: str, message: str, seconds: float) -> None:
        self.entries.append({"name": name, "status": status, "message": message, "seconds": seconds})
        print(f"{status:<8}{name}: {message.splitlines()[0][:400] if message else 'as promised'} ({seconds:.1f} s)", flush=True)

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
        if self.name == "costs" or self.ended or (code == 0 and not late) or self.starts >= MAX_STARTS:
            return False
        self.start()
        return True

    def tail(self) -> str:
        return " | ".join(pathlib.Path(self.log.name).read_text(errors="replace").splitlines()[-4:])[-600:]

    def finish(self, why: str) -> None:
        self.collect()
        if self.process.poll() is None:
            self.stop()
            self.add(self.begun or f"{self.name}.rest", "failed", why, time.monotonic() - self.begun_at)


def run_groups(groups: list[Group], end: float) -> None:
    for group in groups:
        group.start()
    active = list(groups)
    while active and time.monotonic() < end:
        active = [group for group in active if group.poll()]
        time.sleep(0.2)
    for group in active:
        group.finish("the time for all checks is over")


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
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = [str(HERE), os.environ.get("PYTHONPATH", "")]
    if not arguments.installed:
        path.insert(0, str(build(arguments)))
        print(f"built in {time.monotonic() - begin:.1f} s", flush=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONDONTWRITEBYTECODE": "1",
                   "TC_CACHE_DIR": str((arguments.build or arguments.out).resolve() / "cache"), "TF_CPP_MIN_LOG_LEVEL": "2"}
    groups = [Group(name, arguments, environment) for name in GROUPS if any(
        part in name or name in part for part in (arguments.only.split(",") if arguments.only else [name]))] or [
        Group(name, arguments, environment) for name in GROUPS]
    run_groups(groups, end - arguments.cost_seconds - 15)
    costs = Group("costs", arguments, environment)
    if arguments.cost_seconds > 0 and wanted("costs", arguments.only):
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
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, help="where the module is built; a folder that goes away by default")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--only", default="", help="comma-separated parts of names of checks")
    parser.add_argument("--seconds", type=float, default=140, help="for everything")
    parser.add_argument("--cost-seconds", type=float, default=COST_SECONDS, help="0: costs are not measured")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--results", help=argparse.SUPPRESS)
    parser.add_argument("--done", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
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
