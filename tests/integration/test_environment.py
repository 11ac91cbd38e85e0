# SPDX-License-Identifier: Apache-2.0
"""Environment variables of docs/environment.md: wrong values are told, with the name, the value and what is accepted."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = "def f(float(N) x) -> (y) { y(i) = x(i) + 1 }\n"


@pytest.fixture
def run(tensorc, tmp_path):
    (tmp_path / "f.tc").write_text(PROGRAM)
    return lambda **environment: tensorc("run", "f.tc", "-D", "N=5", env=environment)


@pytest.mark.parametrize("name,value,accepted", [
    ("TC_LOG", "loud", "debug, info, warn, error, off"),
    ("TC_CACHE", "no", "on, off"),
    ("TC_CUDA_LIMITS", "none", "on, off"),
    ("TC_TARGET", "gpu", "cpu and cuda[:N]"),
    ("TC_TARGET", "cpu-486", "x86-64-v3"),
])
def test_misspelt_words(run, name, value, accepted):
    done = run(**{name: value})
    message = done.stderr.decode()
    assert done.returncode == 2 and not done.stdout
    assert message.count("\n") == 1 and f"{name}={value}: " in message and accepted in message, message


def test_accepted_words(run):
    for name, values in (("TC_LOG", ["debug", "info", "warn", "error", "off"]), ("TC_CACHE", ["on", "off"]), ("TC_CUDA_LIMITS", ["on", "off"])):
        for value in [*values, ""]:
            done = run(**{name: value})
            assert done.returncode == 0, (name, value, done.stderr)
            assert name == "TC_LOG" or not done.stderr


def test_levels(run):
    told = {level: run(TC_LOG=level).stderr for level in ("debug", "info", "warn")}
    assert b"info: 'f' for " in told["info"] and b"debug: compile cache: " in told["debug"]
    assert b"debug" not in told["info"] and not told["warn"]


def test_help_needs_no_environment(tensorc):
    assert tensorc("--version", env={"TC_LOG": "loud"}).returncode == 0
    assert tensorc("run", "--help", env={"TC_LOG": "loud"}).returncode == 0


def test_dumps_that_cannot_be_written(run, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nowhere"):
        done = run(TC_DUMP_DIR=str(folder))
        assert done.returncode == 2 and not done.stdout
        assert f"TC_DUMP_DIR={folder}: ".encode() in done.stderr and b"folder" in done.stderr, done.stderr


def test_dumps_are_written_though_the_code_is_cached(run, tmp_path):
    assert run().returncode == 0
    done = run(TC_DUMP_DIR=str(tmp_path / "new" / "dumps"))
    assert done.returncode == 0, done.stderr
    assert {"f.scop", "f.schedule", "f.tile", "f.kernel"} <= {file.name for file in (tmp_path / "new" / "dumps").iterdir()}


def test_cache_that_cannot_be_written(run, tensorc, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", "/proc/nowhere"):
        done = run(TC_CACHE_DIR=str(folder))
        message = done.stderr.decode()
        assert done.returncode == 0 and done.stdout
        assert message.count("\n") == 1 and "warning: " in message and f"'{folder}'" in message and "TC_CACHE_DIR" in message, message
        assert not run(TC_CACHE_DIR=str(folder), TC_LOG="error").stderr
        assert not run(TC_CACHE_DIR=str(folder), TC_CACHE="off").stderr
        for action in (["clear"], ["prune"]):
            done = tensorc("cache", *action, env={"TC_CACHE_DIR": str(folder)})
            assert done.returncode == 1 and str(folder).encode() in done.stderr, done
    assert not run().stderr


def test_cuda_path_that_is_not_there(tensorc, tmp_path):
    (tmp_path / "f.tc").write_text(PROGRAM)
    done = tensorc("compile", "f.tc", "-D", "N=5", "--arch", "sm_90a", "--emit", "ptx", env={"TC_CUDA_PATH": "/nonexistent/cuda"})
    assert done.returncode == 4
    assert b"TC_CUDA_PATH=/nonexistent/cuda: no such file or folder" in done.stderr, done.stderr


def test_nvrtc_beside_the_program(tensorc_path, tmp_path):
    """A checkout has the program in build/bin and NVRTC in .venv, which need not be activated."""
    folder = tmp_path / "checkout" / "build" / "bin"
    folder.mkdir(parents=True)
    shutil.copy2(os.path.realpath(tensorc_path), folder / "tensorc")
    libraries = pathlib.Path(tensorc_path).resolve().parent.parent / "lib"
    (tmp_path / "checkout" / "build" / "lib").symlink_to(libraries)
    wheel = tmp_path / "checkout" / ".venv" / "lib" / "python3.11" / "site-packages" / "nvidia" / "cu13" / "lib"
    wheel.mkdir(parents=True)
    (wheel / "libnvrtc.so.13").write_text("no library")
    (tmp_path / "f.tc").write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX", "TC_CUDA_PATH")}
    done = subprocess.run([folder / "tensorc", "info"], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    # Tried first: what lies there is no library. Elsewhere on this machine there may be one.
    found = re.search(r"^NVRTC: (.*)$", done.stdout, re.MULTILINE)[1]
    if "was not found" in found:
        assert str(wheel / "libnvrtc.so.13") in done.stdout, done.stdout
        assert str(tmp_path / "checkout" / "build" / "lib" / "python*" / "site-packages") in done.stdout, done.stdout


def test_nvrtc_of_this_checkout(tensorc_path, tmp_path):
    build = pathlib.Path(tensorc_path).resolve().parent.parent
    wheels = list((build.parent / ".venv" / "lib").glob("python*/site-packages/nvidia/cu*/lib/libnvrtc.so.*"))
    if not wheels:
        pytest.skip("no NVRTC beside the build")
    (tmp_path / "f.tc").write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX", "TC_CUDA_PATH")}
    done = subprocess.run([tensorc_path, "compile", "f.tc", "-D", "N=5", "--arch", "sm_90a", "--emit", "ptx"], cwd=tmp_path,
                          capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0 and ".target sm_90a" in done.stdout, done.stderr


def test_every_variable_is_documented():
    """What the sources read is in the table, and the other way round."""
    table = (ROOT / "docs" / "environment.md").read_text()
    documented = set(re.findall(r"`(TC_[A-Z_]+)", table))
    read = set()
    for folder, suffixes in (("cli", (".cpp",)), ("tc", (".cpp",)), ("python", (".cpp", ".py"))):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in suffixes:
                read |= set(re.findall(r"""(?:variable|word_of|getenv|environ\.get|_word)\(\s*["'](TC_[A-Z_]+)["']""", file.read_text()))
    assert read and read == documented, read ^ documented
