# SPDX-License-Identifier: Apache-2.0
"""`compile --emit object` and `--emit header` linked into a small C program that has no other dependency than libc and libm."""

import shutil
import subprocess

import numpy as np
import pytest

PROGRAM = """def scaled_softmax(float(N,D) x, float s) -> (y) {
  m(n) max=! x(n,r_d) * s
  t(n) +=! exp(x(n,r_d) * s - m(n))
  y(n,d) = exp(x(n,d) * s - m(n)) / t(n)
}
"""


@pytest.mark.parametrize("options", ["default", "naive"])
def test_object_in_a_c_program(tensorc, tmp_path, options):
    (tmp_path / "softmax.tc").write_text(PROGRAM)
    for stage, name in (("object", "softmax.o"), ("header", "softmax.h")):
        done = tensorc("compile", "softmax.tc", "-D", "N=5", "-D", "D=37", "--options", options, "--emit", stage, "-o", name)
        assert done.returncode == 0, done.stderr.decode()
    header = (tmp_path / "softmax.h").read_text()
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5, 37)).astype(np.float32)
    x.tofile(tmp_path / "x.bin")
    scratch = "static _Alignas(64) unsigned char scratch[1 << 16];"
    call = "scaled_softmax(x, &s, y" + (", scratch" if "scratch" in header.split("scaled_softmax(")[-1] else "") + ");"
    (tmp_path / "main.c").write_text(
        f"""#include "softmax.h"
#include <stdio.h>
{scratch}
static float x[5 * 37], y[5 * 37];
int main(void) {{
  float s = 1.5f;
  FILE* in = fopen("x.bin", "rb");
  if (!in || fread(x, sizeof x, 1, in) != 1) return 2;
  fclose(in);
  (void)scratch;
  {call}
  FILE* out = fopen("y.bin", "wb");
  if (!out || fwrite(y, sizeof y, 1, out) != 1) return 3;
  return fclose(out);
}}
"""
    )
    compiler = shutil.which("cc")
    subprocess.run([compiler, "-Wall", "-Werror", "main.c", "softmax.o", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)
    y = np.fromfile(tmp_path / "y.bin", dtype=np.float32).reshape(5, 37)
    e = np.exp(1.5 * x.astype(np.float64))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=2e-6)
    needed = subprocess.run(["ldd", "./main"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "isl" not in needed and "LLVM" not in needed and "gomp" not in needed
