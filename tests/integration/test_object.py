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


# Each def is named like what C, its library or <stdint.h> has, and so are its tensors; two of them become one name in C.
NAMES = ["int", "main", "typeof", "linux", "int64_t", "memcpy", "exp", "expf", "printf", "time", "y0", "co_await", "UINT8_MAX", "plain"]


def test_names_that_mean_something_in_c(tensorc, tmp_path):
    (tmp_path / "names.tc").write_text("".join(
        f"def {name}(float(N) int32_t, float(N) int, float(N) int_, int32(N) INT8_MAX) -> (restrict) {{ restrict(i) = exp(int32_t(i)) + 2 * int(i) + 4 * int_(i) + INT8_MAX(i) }}\n"
        for name in NAMES))
    calls, objects = [], []
    for k, name in enumerate(NAMES):
        for stage, file in (("object", f"{k}.o"), ("header", f"{k}.h")):
            done = tensorc("compile", "names.tc", "-f", name, "-D", "N=3", "--emit", stage, "-o", file)
            assert done.returncode == 0, done.stderr.decode()
        function = (tmp_path / f"{k}.h").read_text().split("\nvoid ")[1].split("(")[0]
        assert function == ("plain" if name == "plain" else name + "_")
        calls.append(f"  {function}(x, a, b, c, y);\n  if (y[2] != 1 + 2 * a[2] + 4 * b[2] + 300) return {k + 1};")
        objects.append(f"{k}.o")
    (tmp_path / "main.c").write_text(
        "#include <math.h>\n#include <stdio.h>\n#include <string.h>\n#include <time.h>\n"
        + "".join(f'#include "{k}.h"\n' for k in range(len(NAMES)))
        + "int main(void) {\n  float x[3] = {0}, a[3] = {1, 2, 3}, b[3] = {10, 20, 30}, y[3];\n  int32_t c[3] = {100, 200, 300};\n"
        + "\n".join(calls) + "\n  return expf(0.0f) == 1.0f && time(NULL) > 0 ? printf(\"%s\", \"\") : 99;\n}\n")
    subprocess.run([shutil.which("cc"), "-Wall", "-Wextra", "-Werror", "main.c", *objects, "-lm", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run(["./main"], cwd=tmp_path).returncode == 0
    subprocess.run([shutil.which("c++"), "-fsyntax-only", "-x", "c++", "main.c"], cwd=tmp_path, check=True)
