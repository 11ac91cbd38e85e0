# SPDX-License-Identifier: Apache-2.0
"""Malformed programs, sizes, files and arrays: exit status 1 and a located message, never a crash."""

import os
import re
import subprocess

import numpy as np
import pytest

MATMUL = "def matmul(float(M,K) A, float(K,N) B) -> (C) {\n  C(m,n) +=! A(m,r_k) * B(r_k,n)\n}\n"
SOFTMAX = (
    "def softmax(float(N,D) x) -> (y) {\n  m(n) max=! x(n,r_d)\n  s(n) +=! exp(x(n,r_d) - m(n))\n"
    "  y(n,d) = exp(x(n,d) - m(n)) / s(n)\n}\n"
)
RNN = (
    "def rnn(float(B,K) h0, float(T,B,K) a, float(K,K) U) -> (h) {\n  h(0,b,k) = h0(b,k)\n  for t in 1:T {\n"
    "    g(b,k) +=! h(t-1,b,r_j) * U(k,r_j)\n    h(t,b,k) = tanh(a(t,b,k) + g(b,k))\n  }\n}\n"
)


def without(text, token, occurrence=0):
    """`text` without one occurrence of `token`."""
    position = -1
    for _ in range(occurrence + 1):
        position = text.index(token, position + 1)
    return text[:position] + text[position + len(token) :]


def broken_tokens():
    """Valid programs with one necessary token removed or a wrong one put in."""
    for name, text in (("matmul", MATMUL), ("softmax", SOFTMAX), ("rnn", RNN)):
        for token in ("def", "->", "(", ")", "{", "}", ","):
            for occurrence in range(min(3, text.count(token))):
                if token == "," and text == SOFTMAX and occurrence > 0:
                    continue
                yield f"{name}-no-{token}-{occurrence}", without(text, token, occurrence)
        for bad in ("@", "$", "~", "`", "\\", "'", '"', "\x00", "\x7f", "\xff", "é", "0x", "1e", "..", "+=+", "=!=", "<=>"):
            for place, offset in (("body", text.index("\n") + 3), ("head", text.index("(") + 1)):
                yield f"{name}-with-{bad!r}-in-{place}", text[:offset] + bad + text[offset:]


def body(statements, parameters="float(N,M) A, float(N) b, int32(N) i, float s", returns="C"):
    return f"def f({parameters}) -> ({returns}) {{\n  {statements}\n}}\n"


WRONG_MEANING = {
    "unknown tensor": body("C(n) = Z(n)"),
    "unknown function": body("C(n) = frobnicate(b(n), 1.0)"),
    "arity of builtin": body("C(n) = exp(b(n), b(n))"),
    "rank too small": body("C(n) = A(n)"),
    "rank too large": body("C(n) = b(n, n)"),
    "float subscript": body("C(n) = b(n + .5)"),
    "size used as tensor": body("C(n) = N(n) + b(n)"),
    "reduction under =": body("C(n) = A(n,m)"),
    "output never written": body("D(n) = b(n)"),
    "write to parameter": body("b(n) = s C(n) = b(n)"),
    "float modulo": body("C(n) = b(n) % 2.0"),
    "zero divisor": body("C(n) = i(n) / 0"),
    "condition not bool": body("C(n) = b(n) ? 1.0 : 2.0"),
    "not of a float": body("C(n) = !b(n) ? 1.0 : 2.0"),
    "and of floats": body("C(n) = b(n) && b(n) ? 1.0 : 2.0"),
    "data-dependent bound": body("C(n) +=! A(n,m) where m in 0:i(n)"),
    "data-dependent condition": body("C(n) +=! A(n,m) where b(n) > 0.0"),
    "argmin without !": body("C(n) argmin= A(n,m)"),
    "pad of no read": body("C(n) = pad(s + 1.0, 0.0)"),
    "no range": body("C(n,k) = b(n)"),
    "range of unknown name": body("C(n) = b(n) where q in 0:Q"),
    "cyclic ranges": body("C(n) +=! b(n) where p in 0:q, q in 0:p"),
    "two ranges": body("C(n) = b(n) where n in 0:2, n in 0:3"),
    "duplicate parameter": body("C(n) = b(n)", parameters="float(N) b, float(N) b"),
    "output named as size": body("N(n) = b(n)", returns="N"),
    "duplicate def": body("C(n) = b(n)") * 2,
    "recursive call": "def f(float(N) x) -> (y) { y = f(x) }",
    "unknown callee": "def f(float(N) x) -> (y) { y, z = g(x) }",
    "call with too few arguments": "def g(float(N) x, float(N) z) -> (y) { y(i) = x(i) + z(i) }\ndef f(float(N) x) -> (y) { y = g(x) }",
    "scatter reads its target": body("C(i(n)) += C(n) + b(n)", returns="float(N) C"),
    "unwritten temporary": body("t(n) += b(n) C(n) = t(n)"),
    "left side shadows a size": body("C(N) = b(N)"),
    "unknown type": "def f(floaty(N) x) -> (y) { y(i) = x(i) }",
    "keyword as name": "def f(float(N) where) -> (y) { y(i) = where(i) }",
    "annotated rank": body("C(n) = b(n)", returns="float(N,N) C"),
    "for over floats": body("for t in 0.5:N { C(t) = b(t) }"),
    "int64 with uint64": "def f(int64(N) a, uint64(N) b) -> (c) { c(i) = a(i) + b(i) }",
    "reads what it writes": body("C(n) = n > 0 ? C(n-1) : b(n)"),
}

WRONG_SIZES = {
    # program, flags
    "conflict": (MATMUL, ["--input", "A={a34}", "--input", "B={a34}"]),
    "rank": (MATMUL, ["--input", "A={v3}", "-D", "N=4"]),
    "dtype": (MATMUL, ["--input", "A={i34}", "-D", "N=4"]),
    "missing size": (MATMUL, ["-D", "M=3", "-D", "N=4"]),
    "unknown size": (MATMUL, ["-D", "M=3", "-D", "N=4", "-D", "K=2", "-D", "Q=3"]),
    "negative": (MATMUL, ["-D", "M=-3", "-D", "N=4", "-D", "K=2"]),
    "not a number": (MATMUL, ["-D", "M=three", "-D", "N=4", "-D", "K=2"]),
    "beyond 64 bits": (MATMUL, ["-D", "M=99999999999999999999", "-D", "N=4", "-D", "K=2"]),
    "overflow": (MATMUL, ["-D", "M=4611686018427387904", "-D", "N=4", "-D", "K=2"]),
    "inputs beyond memory": (MATMUL, ["-D", "M=400000", "-D", "N=1", "-D", "K=400000"]),
    "output beyond memory": (MATMUL, ["-D", "M=400000", "-D", "N=400000", "-D", "K=1"]),
    "output beyond memory, verified": (MATMUL, ["-D", "M=40000", "-D", "N=40000", "-D", "K=1000", "--verify"]),
    "temporary beyond memory": (
        "def f(float(N) x) -> (y) { t(i,j) = x(i) * x(j) t(i,j) = t(i,j) + t(i,j) * x(j) y(i) +=! t(i,j) * t(j,i) }", ["-D", "N=800000"]),
    "elements beyond 64 bits": (MATMUL, ["-D", "M=9223372036854775807", "-D", "N=2", "-D", "K=1"]),
    "dim beyond 64 bits": ("def f(float(N*N) x, float(N) z) -> (y) { y(i) = x(i) }", ["-D", "N=9223372036854775807"]),
    "sum beyond 64 bits": ("def f(float(N+N) x) -> (y) { y(i) = x(i) }", ["-D", "N=9223372036854775807"]),
    "bound beyond 64 bits": ("def f(float(N) x) -> (y) { y(i) = x(i / N) where i in 0:N*N*N*N }", ["-D", "N=100000"]),
    "const beyond its type": ("def f(float(N) x, const int32 c) -> (y) { y(i) = x(i) * c }", ["-D", "N=4", "-D", "c=3000000000"]),
    "beyond memory": (MATMUL, ["-D", "M=4000000000", "-D", "N=4000000000", "-D", "K=1"]),
    "valid convolution that is too short": (
        "def f(float(N) x, float(K) w) -> (y) { y(i) +=! x(i + r_k) * w(r_k) }", ["-D", "N=3", "-D", "K=9"]),
    "out of bounds": ("def f(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }", ["-D", "N=3"]),
    "max over nothing": ("def f(float(N,K) x) -> (y) { y(n) max=! x(n,r_k) }", ["-D", "N=3", "-D", "K=0"]),
    "two writers": ("def f(float(N) x) -> (y) { y(i/2) = x(i) where i in 0:N }", ["-D", "N=4"]),
    "const without a value": ("def f(float(N) x, const int32 c) -> (y) { y(i) = x(i) * c }", ["-D", "N=4"]),
    "unknown parameter": (MATMUL, ["--input", "Q={a34}", "-D", "M=3", "-D", "N=4", "-D", "K=2"]),
    "unknown output": (MATMUL, ["--output", "Q=q.npy", "-D", "M=3", "-D", "N=4", "-D", "K=2"]),
    "missing file": (MATMUL, ["--input", "A=absent.npy", "-D", "N=4"]),
    "not an array": (MATMUL, ["--input", "A={text}", "-D", "N=4"]),
    "empty file": (MATMUL, ["--input", "A={empty}", "-D", "N=4"]),
    "truncated data": (MATMUL, ["--input", "A={short}", "-D", "N=4"]),
    "truncated header": (MATMUL, ["--input", "A={header}", "-D", "N=4"]),
    "big-endian": (MATMUL, ["--input", "A={big}", "-D", "N=4"]),
    "object array": (MATMUL, ["--input", "A={object}", "-D", "N=4"]),
    "lying shape": (MATMUL, ["--input", "A={lie}", "-D", "N=4"]),
    "bad options file": (MATMUL, ["--options", "{text}", "-D", "M=3", "-D", "N=4", "-D", "K=2"]),
    "no such def": (MATMUL, ["-f", "nope", "-D", "M=3", "-D", "N=4", "-D", "K=2"]),
}


@pytest.fixture
def arrays(tmp_path):
    """Paths of good and bad .npy files."""
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    files = {"a34": a, "v3": a[0], "i34": a.astype(np.int32), "big": a.astype(">f4")}
    paths = {}
    for name, array in files.items():
        np.save(tmp_path / f"{name}.npy", array)
        paths[name] = str(tmp_path / f"{name}.npy")
    np.save(tmp_path / "object.npy", np.array([[None, 1]], dtype=object), allow_pickle=True)
    good = (tmp_path / "a34.npy").read_bytes()
    raw = {
        "text": b"no array at all\n", "empty": b"", "short": good[:-5], "header": good[:20],
        "lie": good.replace(b"(3, 4)", b"(3, 9)"),
    }
    for name, contents in raw.items():
        (tmp_path / f"{name}.npy").write_bytes(contents)
    for name in ("object", *raw):
        paths[name] = str(tmp_path / f"{name}.npy")
    return paths


def expect_located_error(done, file):
    message = done.stderr.decode(errors="replace")
    assert done.returncode == 1, (done.returncode, message)
    assert re.search(re.escape(str(file)) + r":\d+:\d+: error: .*\[E\d{4}\]", message), message


@pytest.mark.parametrize("name,text", list(broken_tokens()), ids=lambda value: value if "\n" not in value else "")
def test_broken_tokens(tensorc, tmp_path, name, text):
    file = tmp_path / "program.tc"
    file.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    expect_located_error(tensorc("check", file), file)


@pytest.mark.parametrize("name", WRONG_MEANING)
def test_wrong_meaning(tensorc, tmp_path, name):
    file = tmp_path / "program.tc"
    file.write_text(WRONG_MEANING[name])
    done = tensorc("check", file)
    if name == "reads what it writes":
        # Decided with sizes bound; `check` may leave it open.
        done = tensorc("run", file, "-D", "N=4", "-D", "M=2")
    expect_located_error(done, file)


@pytest.mark.parametrize("name", WRONG_SIZES)
def test_wrong_sizes_and_arrays(tensorc, tmp_path, arrays, name):
    program, flags = WRONG_SIZES[name]
    file = tmp_path / "program.tc"
    file.write_text(program)
    output = tmp_path / "q.npy"
    output.write_bytes(b"before")
    if "--output" not in flags:
        flags = [*flags, "--output", f"{'C' if program == MATMUL else 'y'}=q.npy"]
    done = tensorc("run", file, *[flag.format(**arrays) for flag in flags])
    message = done.stderr.decode()
    assert done.returncode == 1, (done.returncode, message)
    assert "error" in message or message.startswith("tensorc: "), message
    assert output.read_bytes() == b"before"


def nested(opening, middle, closing, depth):
    return f"def f(float(N) x) -> (y) {{ y(i) = {opening * depth}{middle}{closing * depth} }}\n".encode()


LINE = b"def f%d(float(N) x) -> (y) { y(i) = x(i) }\n"
HOSTILE = {
    "empty": b"",
    "zeros": b"\x00" * 100,
    "binary": bytes(range(256)) * 40,
    "no text": bytes((i * 7919 + i // 256) % 256 for i in range(100_000)),
    "sixteen bits a letter": MATMUL.encode("utf-16"),
    "parentheses": b"(" * 100_000,
    "nested": b"def f(" + b"(" * 5000,
    "comment": b"# " + b"c" * 1_000_000,
    "nested parentheses": nested("(", "x(i)", ")", 100_000),
    "open parentheses": nested("(", "x(i)", "", 100_000),
    "nested subscripts": nested("x(", "i", ")", 100_000),
    "nested minus": nested("- ", "x(i)", "", 100_000),
    "nested not": nested("!", "true", "", 100_000),
    "nested choice": nested("true ? ", "x(i)", " : x(i)", 50_000),
    "choices to the right": nested("true ? x(i) : ", "x(i)", "", 50_000),
    "nested functions": nested("exp(", "x(i)", ")", 100_000),
    "nested min": nested("min(x(i), ", "x(i)", ")", 50_000),
    "nested casts": nested("float(", "x(i)", ")", 100_000),
    "long sum": nested("x(i) + ", "x(i)", "", 200_000),
    "long product of sums": nested("(x(i) + 1) * ", "x(i)", "", 50_000),
    "many arguments of min": b"def f(float(N) x) -> (y) { y(i) = min(" + b"x(i), " * 200_000 + b"x(i)) }",
    "many bools of max": b"def f(bool(N) x) -> (y) { y(i) = max(" + b"x(i), " * 200_000 + b"x(i)) }",
    "long list of arguments": nested("fmax(", "x(i)", ", x(i))", 20_000),
    "nested for": b"def f(float(N) x) -> (y) { " + b"for t in 0:N { " * 50_000 + b"}" * 50_001,
    "for for ever": b"def f(float(N) x) -> (y) { " + b"for t in 0:N { " * 200_000,
    "one name of 10 MB": b"x" * 10_000_000,
    "10 MB of blanks": b" " * 10_000_000,
    "10 MB of digits": b"def f(float(N) x) -> (y) { y(i) = x(i) + " + b"9" * 10_000_000 + b" }",
    "tensor with a name of 10 MB": b"def f(float(N) x) -> (y) { y(i) = " + b"z" * 10_000_000 + b"(i) }",
    "10 MB of plus": b"+" * 10_000_000,
    "10 MB of the same def": (LINE % 1) * 238_000,
    "10 MB of statements": b"def f(float(N) x) -> (y) {\n" + b"  y(i) = q(i)\n" * 700_000 + b"}\n",
    "10 MB of parameters": b"def f(" + b"float(N) x, " * 800_000 + b") -> (y) { y(i) = x(i) }",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(tensorc, tmp_path, name):
    file = tmp_path / "program.tc"
    file.write_bytes(HOSTILE[name])
    for command in ("check", "run"):
        done = tensorc(command, file)
        assert done.returncode == 1, done.stderr[-300:]
        assert done.stderr.strip()
        assert len(done.stderr) < 1_000_000, "the messages are as long as the text"


@pytest.mark.parametrize("count", [1, 1000])
def test_long_programs_are_fine(tensorc, tmp_path, count):
    """Length alone is no mistake."""
    file = tmp_path / "program.tc"
    file.write_bytes(b"".join(LINE % i for i in range(count)))
    done = tensorc("check", file)
    assert done.returncode == 0, done.stderr[-300:]


def test_unreadable(tensorc, tmp_path):
    (tmp_path / "loop.tc").symlink_to("loop.tc")
    (tmp_path / "dangling.tc").symlink_to("nowhere.tc")
    files = ["absent.tc", tmp_path, "loop.tc", "dangling.tc", "x" * 300 + ".tc", "absent/program.tc", "/proc/self/mem"]
    for file in files:
        for command in (["check"], ["fmt", "--in-place"], ["run"], ["compile", "--emit", "ast"]):
            done = tensorc(*command, file)
            assert done.returncode == 1, (command, file, done.stderr)
            assert b"cannot read" in done.stderr, done.stderr


def test_forbidden(tensorc_path, tmp_path):
    (tmp_path / "program.tc").write_text(MATMUL)
    (tmp_path / "program.tc").chmod(0)
    # The superuser may read every file unless it starts without that right.
    prefix = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"] if os.geteuid() == 0 else []
    done = subprocess.run([*prefix, tensorc_path, "check", "program.tc"], capture_output=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 1 and b"cannot read" in done.stderr, done.stderr


def test_usage(tensorc, tmp_path):
    file = tmp_path / "program.tc"
    file.write_text(MATMUL)
    for arguments in ([], ["frob"], ["run"], ["run", file, "--nope"], ["compile", file], ["run", file, "-D", "M"], ["run", file, "--target", "tpu"]):
        assert tensorc(*arguments).returncode == 2, arguments


def test_cuda_is_told_to_be_missing(tensorc, tmp_path):
    file = tmp_path / "program.tc"
    file.write_text(MATMUL)
    done = tensorc("run", file, "--target", "cuda", "-D", "M=3", "-D", "N=4", "-D", "K=2")
    assert done.returncode == 4
    assert b"cuda" in done.stderr


def test_enough_malformed_programs():
    assert len(list(broken_tokens())) + len(WRONG_MEANING) + len(WRONG_SIZES) + len(HOSTILE) >= 200
