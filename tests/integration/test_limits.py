# SPDX-License-Identifier: Apache-2.0
"""Sizes that overflow or do not fit memory: the message names the tensor or range, the numbers and the place in the text."""

import re
import resource
import subprocess

import pytest

MATMUL = "def matmul(float(M,K) A, float(K,N) B) -> (C) {\n  C(m,n) +=! A(m,r_k) * B(r_k,n)\n}\n"
CUBE = "def f(float(N) A) -> (C, D) {\n  D(i) = A(i)\n  C(i,j,k) = A(i)*A(j)*A(k)\n}\n"
TEMPORARY = "def f(float(N) A) -> (C) {\n  T(i,j,k) = A(i)*A(j)*A(k)\n  S(i) +=! T(i,j,k)\n  C(i) = S(i)\n}\n"
LARGEST = 2**63 - 1

CASES = {
    # text, flags, code, line, marked text, words of the message
    "elements": (MATMUL, {"M": LARGEST, "K": LARGEST, "N": 2}, "E0337", 1, "float(M,K) A", ["'A'", f"{LARGEST} x {LARGEST}", "float32", f"M = {LARGEST}"]),
    "dimension": ("def f(float(N*N*N*N) A) -> (C) {\n  C(i) = A(i)\n}\n", {"N": 100000}, "E0334", 1, "N*N*N*N", ["dimension 0 of 'A'", "N = 100000"]),
    "const": ("def f(float(N) x, const int32 c) -> (y) { y(i) = x(i) * c }\n", {"N": 4, "c": 3000000000}, "E0335", 1, "const int32 c",
              ["'c' = 3000000000", "int32", "2147483647"]),
    "memory": (CUBE, {"N": 20000}, "E0501", 1, "C", ["'C'", "20000 x 20000 x 20000", "29802.3 GiB", "available", "N = 20000"]),
    "memory of an input": (MATMUL, {"M": 2000000, "K": 2000000, "N": 1}, "E0501", 1, "float(M,K) A", ["'A'", "2000000 x 2000000", "GiB"]),
    "scratch": (TEMPORARY, {"N": 10000}, "E0502", 2, "T(i,j,k)", ["'T'", "10000 x 10000 x 10000", "4000000000000", "1099511627776", "N = 10000"]),
    "subscript": ("def f(float(N) A) -> (C) {\n  C(i) = A(min(i*9223372036854775807,N-1)) where i in 0:N\n}\n", {"N": 5}, "E0334", 2,
                  "i*9223372036854775807", ["9223372036854775807", "64 bits", "N = 5"]),
    "condition": ("def f(float(N) A) -> (C) {\n  C(i) = A(i) where i in 0:N, i*9223372036854775807 >= 0\n}\n", {"N": 5}, "E0334", 2,
                  "i*9223372036854775807", ["64 bits", "N = 5"]),
    "left side": ("def f(float(N) A) -> (C) {\n  C(i+9223372036854775807) = A(i)\n}\n", {"N": 10}, "E0334", 2, "i+9223372036854775807", ["N = 10"]),
    "end of a box": ("def f(float(N) A) -> (C) {\n  C(i+9223372036854775807) = A(i)\n}\n", {"N": 1}, "E0334", 1, "C", ["'C'", "from 9223372036854775807 on"]),
    "range": ("def f(float(N) A) -> (C) {\n  C(i) = A(0) where i in 0:N*N*N*N\n}\n", {"N": 100000}, "E0334", 2, "0:N*N*N*N", ["'i'", "N = 100000"]),
}


def expect_place(stderr, code, line, marked, words):
    text = stderr.decode()
    found = re.search(r"^program\.tc:(\d+):(\d+): error: (.*) \[(E\d{4})\]\n(.*)\n( *)(\^+)$", text, re.MULTILINE)
    assert found, text
    shown = found[5][len(found[6]) : len(found[6]) + len(found[7])]
    assert (found[4], int(found[1]), shown) == (code, line, marked), text
    assert int(found[2]) == len(found[6]) + 1
    for word in words:
        assert word in found[3], (word, text)


def arguments(sizes):
    return [part for name, value in sizes.items() for part in ("-D", f"{name}={value}")]


@pytest.mark.parametrize("name", CASES)
def test_run(tensorc, tmp_path, name):
    text, sizes, code, line, marked, words = CASES[name]
    (tmp_path / "program.tc").write_text(text)
    done = tensorc("run", "program.tc", *arguments(sizes))
    assert done.returncode == 1 and not done.stdout, done
    expect_place(done.stderr, code, line, marked, words)


@pytest.mark.parametrize("command", [["explain"], ["compile", "--emit", "tile"], ["compile", "--emit", "cuda", "--arch", "sm_90a"]])
def test_scratch_elsewhere(tensorc, tmp_path, command):
    (tmp_path / "program.tc").write_text(TEMPORARY)
    done = tensorc(command[0], "program.tc", *command[1:], "-D", "N=50000")
    assert done.returncode == 1
    expect_place(done.stderr, "E0502", 2, "T(i,j,k)", ["50000 x 50000 x 50000"])


def test_verification(tensorc, tmp_path):
    (tmp_path / "program.tc").write_text(MATMUL)
    done = tensorc("run", "program.tc", "--verify", *arguments({"M": 2000, "K": 2000, "N": 2000}))
    assert done.returncode == 1 and not done.stdout
    expect_place(done.stderr, "E0503", 2, "C(m,n) +=! A(m,r_k) * B(r_k,n)", ["8000000000 points", "N = 2000", "--verify"])


def test_tune(tensorc, tmp_path):
    (tmp_path / "program.tc").write_text(CUBE)
    done = tensorc("tune", "program.tc", "--trials", "1", *arguments({"N": 20000}))
    assert done.returncode == 1
    expect_place(done.stderr, "E0501", 1, "C", ["'C'", "20000 x 20000 x 20000"])


def test_limit_of_the_process(tensorc_path, tmp_path):
    """A limit on the address space counts like the memory of the machine."""
    (tmp_path / "program.tc").write_text(CUBE)
    done = subprocess.run(
        [tensorc_path, "run", "program.tc", "-D", "N=1000"], capture_output=True, cwd=tmp_path, timeout=120, env={"TC_CACHE": "off"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)),
    )
    assert done.returncode == 1, done
    expect_place(done.stderr, "E0501", 1, "C", ["'C'", "1000 x 1000 x 1000", "3.7 GiB"])


def test_shape_of_a_file(tensorc, tmp_path):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }"
    header += b" " * (117 - len(header)) + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    (tmp_path / "program.tc").write_text(MATMUL)
    done = tensorc("run", "program.tc", "--input", "A=a.npy", "-D", "N=3")
    assert done.returncode == 1
    assert b"a.npy" in done.stderr and b"9223372036854775807, 4" in done.stderr, done.stderr


def def_with(parameters="float(N) a", results="c", body="c(i) = a(i)", where=""):
    return f"def f({parameters}) -> ({results}) {{ {body}{' where ' + where if where else ''} }}\n"


MANY = {
    "parameters": def_with(parameters="float(N) a, " + ", ".join(f"float(N) a{i}" for i in range(300))),
    "results": def_with(results="c, " + ", ".join(f"c{i}" for i in range(300))),
    "sizes": def_with(parameters="float(N) a, " + ", ".join(f"float(N{i}) a{i}" for i in range(200))),
    "dimensions": def_with(parameters="float(N) a, float(" + ",".join("N" for _ in range(100)) + ") b"),
    "clauses": def_with(where=", ".join(f"x{i} = i" for i in range(1100))),
}


@pytest.mark.parametrize("what", MANY)
def test_more_than_the_compiler_takes(tensorc, tmp_path, what):
    (tmp_path / "program.tc").write_text(MANY[what])
    done = tensorc("check", "program.tc")
    assert done.returncode == 1
    assert re.fullmatch(rf"program\.tc:1:\d+: error: more than \d+ {what} of .*; split the def.*\[E0239\]\n.*\n *\^+\n", done.stderr.decode()), done.stderr[:500]


def test_messages_end(tensorc, tmp_path):
    """Errors and warnings of a text stay readable, however many there are."""
    (tmp_path / "program.tc").write_text(
        def_with(body=" ".join(f"c(i) = a{n}(i)" for n in range(500)))
        + "def g(float(N) a) -> (c) { c(i) = a(i) where " + ", ".join(f"x{n} = i" for n in range(900)) + " }\n")
    done = tensorc("check", "program.tc")
    text = done.stderr.decode()
    assert done.returncode == 1
    assert len(re.findall(r"^program\.tc:\d+:\d+: error: ", text, re.MULTILINE)) == 101
    assert len(re.findall(r"^program\.tc:\d+:\d+: warning: ", text, re.MULTILINE)) == 101
    assert re.search(r"error: too many errors: from here on 400 more are not shown \[E0119\]", text)
    assert re.search(r"warning: too many warnings: from here on 800 more are not shown \[W0119\]", text)
