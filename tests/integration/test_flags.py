# SPDX-License-Identifier: Apache-2.0
"""Flags that surprise: options are echoed as they were written, --from says what FILE is."""

import numpy as np
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


SCALARS = "def f(bool d, uint64 u, int8 i, float x, const bool B, const uint64 C) -> (a, b, c, e) { a = d ? 1 : 2  b = u  c = i + x  e = B ? C : 0 }\n"
TOP = 2**64 - 1


@pytest.fixture
def scalars(tensorc, tmp_path):
    (tmp_path / "s.tc").write_text(SCALARS)
    return lambda *more: tensorc("run", "s.tc", "--verify", *(part for text in more for part in text.split()))


def test_scalars_of_every_kind(scalars):
    done = scalars("--input d=true --input i=-128 --input x=1.5", f"--input u={TOP} -D C={TOP} -D B=true")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:4] == [b"a: int32() = 1", b"b: uint64() = %d" % TOP, b"c: float32() = -126.5", b"e: uint64() = %d" % TOP]
    done = scalars("--input d=0 -D B=0 -D C=1")
    assert done.returncode == 0 and done.stdout.startswith(b"a: int32() = 2\n"), done


@pytest.mark.parametrize("flags,message", [
    ("--input d=2", "the number does not fit bool"), ("--input u=-1", "the number does not fit uint64"),
    (f"--input u={TOP + 1}", "the number does not fit uint64"), ("--input i=128", "the number does not fit int8"),
    ("--input i=1.5", "the number does not fit int8"), ("--input d=yes", "cannot read 'yes'"),
])
def test_scalars_that_do_not_fit(scalars, flags, message):
    done = scalars(flags, "-D B=1 -D C=1")
    assert done.returncode == 1 and message.encode() in done.stderr, done.stderr


def test_consts_that_do_not_fit(scalars):
    for flags, message in {"-D B=5 -D C=1": b"true, false, 0 or 1 is expected", "-D B=1 -D C=-1": b"an integer from 0 below 2^64 is expected"}.items():
        done = scalars(flags)
        assert done.returncode == 1 and message in done.stderr, done.stderr


def test_data_given_twice(scalars):
    done = scalars("--input d=1 --input d=0 -D B=1 -D C=1")
    assert done.returncode == 2 and b"'d' has data already" in done.stderr, done.stderr


@pytest.mark.parametrize("seed", ["-1", str(2**64), "1.5", "x", " 1"])
def test_seeds(call, seed):
    done = call("run", "f.tc", "-D", "N=5", "--seed", seed)
    assert done.returncode == 2 and b"--seed: an integer from 0 below 2^64" in done.stderr, done
    assert call("run", "f.tc", "-D", "N=5", "--seed", 2**64 - 1).returncode == 0


def test_from_schedule(call, tmp_path):
    sizes = ["-D", "N=5"]
    assert call("compile", "f.tc", *sizes, "--emit", "schedule", "-o", "text").returncode == 0
    resumed = call("compile", "f.tc", *sizes, "--from", "schedule=text", "--emit", "asm")
    assert resumed.returncode == 0 and resumed.stdout == call("compile", "f.tc", *sizes, "--emit", "asm").stdout
    # isl reads memory that is none where a number stands for a text.
    good = (tmp_path / "text").read_text()
    for text, message in {"": b"'text' is empty", good.replace('domain: "', 'domain: 7 "'): b"line 1: 'domain' needs a text in quotes",
                          good[: len(good) // 2]: b"not a schedule tree"}.items():
        (tmp_path / "text").write_text(text)
        done = call("compile", "f.tc", *sizes, "--from", "schedule=text", "--emit", "asm")
        assert done.returncode == 1 and message in done.stderr, done
    for flags, message in ((["schedule=", "--emit", "asm"], b"names no file"), (["schedule=text", "--emit", "typed"], b"comes before")):
        done = call("compile", "f.tc", *sizes, "--from", *flags)
        assert done.returncode == 2 and message in done.stderr, done


def test_contents_of_outputs(call, tmp_path):
    """An output onto whose elements a def accumulates may be given, also where only some of them are not set before."""
    np.save(tmp_path / "y.npy", np.full(6, 10, np.float32))
    (tmp_path / "g.tc").write_text("def g(float(N) x, const int32 M) -> (y) { y(i) = 1.0 where i in 0:M  y(i) += 2.0 where exists x(i), i in 0:N }\n")
    arguments = ["run", "g.tc", "-D", "N=6", "--input", "y=y.npy", "--output", "y=out.npy", "--verify"]
    done = call(*arguments, "-D", "M=4")
    assert done.returncode == 0 and np.load(tmp_path / "out.npy").tolist() == [3, 3, 3, 3, 12, 12], done.stderr
    done = call(*arguments, "-D", "M=6")
    assert done.returncode == 1 and b"sets every element of 'y'" in done.stderr, done.stderr
    done = call("run", "f.tc", "-D", "N=6", "--input", "y=y.npy")
    assert done.returncode == 1 and b"no parameter of that name" in done.stderr, done.stderr
