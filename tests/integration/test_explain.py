# SPDX-License-Identifier: Apache-2.0
"""`tensorc explain`: what became of a program, as text and as a page."""

import html.parser

PROGRAM = """def chain(float(M,K) A, float(K,N) B, float(N,O) C) -> (D) {
  T(m,n) +=! A(m,r_k) * B(r_k,n)
  D(m,o) +=! T(m,r_n) * C(r_n,o)
}
"""
SIZES = ["-D", "M=64", "-D", "K=48", "-D", "N=40", "-D", "O=32"]
TITLES = ["Sizes, types and ranges", "Options", "Statements", "Fusion", "Schedule", "Kernels", "Tile program"]


class Page(html.parser.HTMLParser):
    """Titles and texts; every element that was opened must be closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.titles, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta",):
            self.open.append(tag)
        if tag == "pre":
            self.texts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.titles.append(data)
        if self.open and self.open[-1] == "pre":
            self.texts[-1] += data


def test_text(tensorc, tmp_path):
    (tmp_path / "chain.tc").write_text(PROGRAM)
    done = tensorc("explain", "chain.tc", *SIZES)
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    for title in TITLES + ["Kernel code"]:
        assert f"\n## {title}\n" in text
    assert "float32 D(64, 32)" in text and "cost" in text


def section(text, title):
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_every_statement_is_named(tensorc, tmp_path):
    """Reductions that became one operation are both there."""
    (tmp_path / "sums.tc").write_text("def sums(float(N,M) x) -> (a, b, c) {\n a(i) +=! x(i,j)\n b(i) +=! x(i,j) * x(i,j)\n c(i) = a(i) * b(i)\n}\n")
    for target in ([], ["--arch", "sm_90a"]):
        done = tensorc("explain", "sums.tc", "-D", "N=64", "-D", "M=512", *target)
        assert done.returncode == 0, done.stderr.decode()
        for title in ("Fusion", "Kernels", "Tile program"):
            for name in ("S0", "S1", "S2"):
                assert name in section(done.stdout.decode(), title), (title, name)


def test_warnings_are_shown(tensorc, tmp_path):
    (tmp_path / "update.tc").write_text("def f(float(M,R) A, float(R,N) B) -> (C) { C(m,n) += A(m,r) * B(r,n) }")
    done = tensorc("explain", "update.tc", "-D", "M=4", "-D", "R=5", "-D", "N=6")
    assert done.returncode == 0 and b"W0203" in done.stderr


def test_page_for_a_gpu(tensorc, tmp_path):
    (tmp_path / "chain.tc").write_text(PROGRAM)
    done = tensorc("explain", "chain.tc", *SIZES, "--arch", "sm_90a", "-o", "report.html")
    assert done.returncode == 0, done.stderr.decode()
    page = Page()
    page.feed((tmp_path / "report.html").read_text())
    assert page.open == [] and page.titles == TITLES + ["CUDA"]
    plain = tensorc("explain", "chain.tc", *SIZES, "--arch", "sm_90a")
    for text in page.texts:
        assert text in plain.stdout.decode()


def test_errors_are_those_of_compile(tensorc, tmp_path):
    (tmp_path / "bad.tc").write_text("def f(float(N) x) -> (y) { y(i) = x(i+1) where i in 0:N }")
    done = tensorc("explain", "bad.tc", "-D", "N=8", "-o", "report.html")
    assert done.returncode == 1 and b"bad.tc:1:" in done.stderr
    assert not (tmp_path / "report.html").exists()
