# SPDX-License-Identifier: Apache-2.0
"""Flags that surprise: options are echoed as they were written, --from says what FILE is."""

import pytest

PROGRAM = "def f(float(N) x) -> (y) { y(i) = x(i) + 1 }\n"


@pytest.fixture
def call(tensorc, tmp_path):
    (tmp_path / "f.tc").write_text(PROGRAM)
    return tensorc


@pytest.mark.parametrize("flag,value", [
    ("--tile", "32,999999999999999999999"), ("--tile", "32.0,32"), ("--tile", "1e3"), ("--tile", "32x32"), ("--tile", "-1"),
    ("--tasks", "1e3"), ("--tasks", "99999999999999999999"), ("--stage", "1"), ("--fusion", "most"),
])
def test_options_are_echoed_as_written(call, flag, value):
    done = call("run", "f.tc", "-D", "N=5", flag, value)
    assert done.returncode == 2
    assert f"option {flag[2:]} expects ".encode() in done.stderr and f", not '{value}'\n".encode() in done.stderr, done.stderr


@pytest.mark.parametrize("stage", ["tile", "kernel"])
def test_from_takes_the_text_of_a_stage(call, tmp_path, stage):
    made = call("compile", "f.tc", "-D", "N=5", "--emit", stage, "-o", "text")
    assert made.returncode == 0, made.stderr
    resumed = call("compile", "text", "--from", stage, "--emit", "asm")
    assert resumed.returncode == 0 and resumed.stdout == call("compile", "f.tc", "-D", "N=5", "--emit", "asm").stdout
    # A program in its place is told apart from a text with a mistake.
    done = call("compile", "f.tc", "--from", stage, "--emit", "asm")
    assert done.returncode == 1 and f"'f.tc' is a program; --from {stage} takes the text of that stage".encode() in done.stderr, done.stderr
    (tmp_path / "broken").write_text((tmp_path / "text").read_text() + "?")
    done = call("compile", "broken", "--from", stage, "--emit", "asm")
    assert done.returncode == 1 and done.stderr.startswith(b"broken:") and b"is a program" not in done.stderr, done.stderr
    # What only a program takes is not ignored.
    for flags in (["-D", "N=5"], ["--input", "x=x.npy"], ["-f", "f"], ["--options", "tuned"]):
        done = call("compile", "text", "--from", stage, "--emit", "asm", *flags)
        assert done.returncode == 2 and f"has no meaning beside --from {stage}".encode() in done.stderr, done.stderr


def test_from_of_another_stage(call):
    for stage in ("ast", "tile=text", "schedule"):
        done = call("compile", "f.tc", "-D", "N=5", "--from", stage, "--emit", "asm")
        assert done.returncode == 2 and b"'schedule=TEXT', where FILE is the program" in done.stderr, done.stderr
