# SPDX-License-Identifier: Apache-2.0
"""The installed CMake package used by a project of its own, from C++ and from C."""

import subprocess

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(Consumer LANGUAGES C CXX)
find_package(TensorComprehensions REQUIRED)
add_executable(from_cpp from_cpp.cpp)
target_link_libraries(from_cpp PRIVATE tc::tc)
add_executable(from_c from_c.c)
target_link_libraries(from_c PRIVATE tc::tc)
"""

FROM_CPP = r"""#include <tc/tc.h>
#include <cstdio>
#include <vector>
int main() {
  const char* text = "def axpy(float a, float(N) x, float(N) y) -> (z) { z(i) = a * x(i) + y(i) }";
  tc::Metadata metadata;
  metadata.inputs = {{tc::DType::Float32, {}, {}, 4}, {tc::DType::Float32, {1000}, {}, 4}, {tc::DType::Float32, {1000}, {}, 4}};
  tc::CompileContext context;
  context.cache = tc::open_cache("");
  auto executor = tc::compile(text, "axpy", metadata, {}, std::nullopt, context);
  if (!executor) { std::puts(executor.error().message.c_str()); return 1; }
  auto again = tc::compile(text, "axpy", metadata, {}, std::nullopt, context);
  if (!again || again->report().source != tc::CompileReport::Source::Memory) return 2;
  float a = 2;
  std::vector<float> x(1000), y(1000), z(1000, -1);
  for (int i = 0; i < 1000; ++i) { x[i] = float(i); y[i] = 1; }
  void* pointers[] = {&a, x.data(), y.data(), z.data(), nullptr};
  executor->run_unchecked(pointers);
  for (int i = 0; i < 1000; ++i) if (z[i] != 2 * float(i) + 1) return 3;
  auto wrong = tc::compile("def f(float(N) x) -> (y) { y(i) = x(i", "", {}, {}, std::nullopt, context);
  if (wrong || wrong.error().kind != tc::Failure::Kind::Program || wrong.error().diagnostics.empty()) return 4;
  std::puts("ok");
}
"""

FROM_C = r"""#include <stdio.h>
#include <string.h>
#include <tc/c_api.h>
int main(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, s[2] = {-1, -1};
  int64_t x_shape[2] = {2, 3}, s_shape[1] = {2};
  DLTensor input = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, x_shape, NULL, 0};
  DLTensor output = {s, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, s_shape, NULL, 0};
  const DLTensor *inputs[1] = {&input}, *outputs[1] = {&output};
  tc_executor* executor = NULL;
  if (tc_compile("def sums(float(N,K) x) -> (s) { s(n) +=! x(n,r_k) }", NULL, inputs, 1, NULL, 0, NULL, 0, NULL, NULL, &executor) != TC_OK) {
    puts(tc_last_error());
    return 1;
  }
  if (tc_executor_run(executor, inputs, 1, outputs, 1, NULL) != TC_OK || s[0] != 6 || s[1] != 15) return 2;
  output.ndim = 0;
  if (tc_executor_run(executor, inputs, 1, outputs, 1, NULL) != TC_ERROR_ARGUMENT || strlen(tc_last_error()) == 0) return 3;
  DLDataType type; int32_t rank = 4; int64_t shape[4];
  if (tc_executor_output(executor, 0, &type, &rank, shape) != TC_OK || rank != 1 || shape[0] != 2 || type.bits != 32) return 4;
  tc_executor_free(executor);
  if (tc_compile("def f(", NULL, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, &executor) != TC_ERROR_PROGRAM || executor != NULL) return 5;
  if (tc_compile(NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, &executor) != TC_ERROR_ARGUMENT) return 6;
  puts("ok");
  return 0;
}
"""


def test_consumer_project(build_folder, tmp_path):
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", str(build_folder), "--prefix", str(prefix)], check=True, capture_output=True)
    project = tmp_path / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(CMAKE)
    (project / "from_cpp.cpp").write_text(FROM_CPP)
    (project / "from_c.c").write_text(FROM_C)
    build = tmp_path / "build"
    subprocess.run(["cmake", "-S", str(project), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", str(build)], check=True, capture_output=True)
    for program in ("from_cpp", "from_c"):
        done = subprocess.run([str(build / program)], capture_output=True, text=True)
        assert (done.returncode, done.stdout.strip()) == (0, "ok"), (program, done)
