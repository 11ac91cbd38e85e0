# SPDX-License-Identifier: Apache-2.0
"""Arrays that are damaged, lie about themselves or do not fit: a message, exit status 1, and no file is touched."""

import io
import struct

import numpy as np
import pytest

ADD = "def add(float(M,N) A, float(M,N) B) -> (C) {\n  C(m,n) = A(m,n) + B(m,n)\n}\n"
GOOD = np.arange(12, dtype=np.float32).reshape(3, 4)


def npy(array, **how):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **how)
    return stream.getvalue()


def with_header(header, data=b"\x00" * 48, version=(1, 0), length=None):
    """A .npy file with any text as its header."""
    text = header.encode("latin-1")
    length = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", length) + text + data


def header(descr="'<f4'", order="False", shape="(3, 4)", more=""):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {more}}}\n"


DAMAGED = {
    "no bytes": b"",
    "magic only": b"\x93NUMPY",
    "wrong magic": b"\x93NUMPZ" + npy(GOOD)[6:],
    "zip": b"PK\x03\x04" + bytes(100),
    "text": b"1 2 3 4\n",
    "zeros": bytes(200),
    "format 0": with_header(header(), version=(0, 0)),
    "format 9": with_header(header(), version=(9, 0)),
    "header beyond the file": with_header(header(), length=65535),
    "header of four gigabytes": with_header(header(), version=(2, 0), length=2**32 - 1),
    "header without data": with_header(header(), data=b""),
    "empty header": with_header(""),
    "header that is no dictionary": with_header("[1, 2, 3]\n"),
    "open dictionary": with_header("{'descr': '<f4', "),
    "open string": with_header("{'descr': '<f4"),
    "missing shape": with_header("{'descr': '<f4', 'fortran_order': False, }\n"),
    "missing descr": with_header("{'fortran_order': False, 'shape': (3, 4), }\n"),
    "unknown key": with_header(header(more="'x': 1, ")),
    "order that is no bool": with_header(header(order="0")),
    "structured type": with_header(header(descr="[('a', '<f4')]")),
    "object type": with_header(header(descr="'|O'")),
    "unicode type": with_header(header(descr="'<U4'")),
    "wrong width": with_header(header(descr="'<f8'"), data=bytes(96)),
    "integer type": with_header(header(descr="'<i4'")),
    "big-endian": npy(GOOD.astype(">f4")),
    "negative size": with_header(header(shape="(-3, -4)")),
    "size that is no number": with_header(header(shape="(3, x)")),
    "size with an L": with_header(header(shape="(3L, 4L)")),
    "size beyond 64 bits": with_header(header(shape="(99999999999999999999, 4)")),
    "product beyond 64 bits": with_header(header(shape=f"({2**62}, {2**62})")),
    "bytes beyond 64 bits": with_header(header(shape=f"({2**31}, {2**31})")),
    "terabytes that are not there": with_header(header(shape="(1000000, 1000000)")),
    "one byte short": npy(GOOD)[:-1],
    "one byte more": npy(GOOD) + b"\x00",
    "another rank": npy(GOOD.reshape(12)),
    "rank of forty": with_header(header(shape="(" + "1, " * 40 + ")"), data=bytes(4)),
    "rank 0": npy(np.float32(1)),
    "another shape": npy(np.zeros((4, 3), np.float32)),
}


@pytest.fixture
def run_add(tensorc, tmp_path):
    """Runs `add` with a file for A, a good one for B, and an output that exists; returns status and message."""
    (tmp_path / "add.tc").write_text(ADD)
    (tmp_path / "b.npy").write_bytes(npy(GOOD))

    def run(contents):
        (tmp_path / "a.npy").write_bytes(contents)
        (tmp_path / "c.npy").write_bytes(b"before")
        done = tensorc("run", "add.tc", "--input", "A=a.npy", "--input", "B=b.npy", "--output", "C=c.npy", "--repeat", 1, timeout=20)
        if done.returncode != 0:
            assert (tmp_path / "c.npy").read_bytes() == b"before"
        else:
            np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), GOOD + GOOD)
        assert sorted(p.name for p in tmp_path.iterdir() if p.name != "cache") == ["a.npy", "add.tc", "b.npy", "c.npy"]
        return done.returncode, done.stderr.decode(errors="replace")

    return run


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged(run_add, name):
    status, message = run_add(DAMAGED[name])
    assert status == 1, (status, message)
    assert "'a.npy'" in message or "argument 'A'" in message or "argument 'B'" in message, message


def test_truncated_anywhere(run_add):
    good = npy(GOOD)
    for length in range(0, len(good), 5):
        status, message = run_add(good[:length])
        assert status == 1 and "'a.npy'" in message, (length, status, message)


def test_every_good_form(run_add):
    """Formats 1 to 3, both orders, and headers that other programs write."""
    forms = [npy(GOOD, version=(v, 0)) for v in (1, 2, 3)]
    forms.append(npy(np.asfortranarray(GOOD)))
    forms.append(with_header(header(descr='"<f4"').replace("\n", ""), data=GOOD.tobytes()))
    forms.append(with_header("{'shape':(3,4,),'fortran_order':False,'descr':'=f4'}", data=GOOD.tobytes()))
    for contents in forms:
        status, message = run_add(contents)
        assert status == 0, (contents[:80], message)


def test_conflicting_sizes_name_both(tensorc, tmp_path):
    (tmp_path / "add.tc").write_text(ADD)
    np.save(tmp_path / "a.npy", GOOD)
    np.save(tmp_path / "b.npy", GOOD[:2])
    done = tensorc("run", "add.tc", "--input", "A=a.npy", "--input", "B=b.npy")
    message = done.stderr.decode()
    assert done.returncode == 1 and "'B'" in message and "3" in message and "2" in message, message
    done = tensorc("run", "add.tc", "--input", "A=a.npy", "-D", "N=5")
    message = done.stderr.decode()
    assert done.returncode == 1 and "4" in message and "5" in message, message


def test_bools_of_any_byte(tensorc, tmp_path):
    """A byte of a bool array is true when it is not zero, whatever wrote it."""
    (tmp_path / "count.tc").write_text("def count(bool(N) x, bool(N) z) -> (int32 s, y, w) {\n  s() +=! x(i)\n  y(i) = x(i) == z(i)\n  w(i) = x(i) ? 1 : 2\n}\n")
    flags = np.array([0, 1, 2, 3, 128, 255, 0, 254], np.uint8)
    (tmp_path / "x.npy").write_bytes(npy(flags.view(np.bool_)))
    (tmp_path / "z.npy").write_bytes(npy(np.ones(8, np.bool_)))
    for options in ("naive", "default"):
        done = tensorc("run", "count.tc", "--input", "x=x.npy", "--input", "z=z.npy", "--output", "s=s.npy", "--output", "y=y.npy",
                       "--output", "w=w.npy", "--options", options, "--verify")
        assert done.returncode == 0, done.stderr.decode()
        assert np.load(tmp_path / "s.npy") == 6
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), flags != 0)
        np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), np.where(flags != 0, 1, 2))
