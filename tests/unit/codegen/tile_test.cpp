// SPDX-License-Identifier: Apache-2.0
//
// Register tiles: the inner loop of a matrix product keeps its accumulators in registers.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jit.h"

namespace tc::test {
namespace {

constexpr int kDepth = 256;

/// C[rows, vectors * lanes] += A[k, rows] * B[k, vectors * lanes] over all k, with packed operands.
std::string tile_kernel(int rows, int vectors, int lanes) {
  const int columns = vectors * lanes;
  return fmt::format(R"(kernel tile {{
  buffer A float32[{k}, {rows}] align 64
  buffer B float32[{k}, {columns}] align 64
  buffer C float32[{rows}, {columns}] align 64 writable
  register acc float32x{lanes}[{slots}] = broadcast(0.0f, {lanes})
  for k in 0:{k} {{
    unrolled for r in 0:{rows} {{
      unrolled for v in 0:{vectors} {{
        $acc[r * {vectors} + v] = $acc[r * {vectors} + v] + broadcast(A[k, r], {lanes}) * B[k, ramp(v * {lanes}, 1, {lanes})]
      }}
    }}
  }}
  unrolled for r in 0:{rows} {{
    unrolled for v in 0:{vectors} {{
      C[r, ramp(v * {lanes}, 1, {lanes})] = $acc[r * {vectors} + v]
    }}
  }}
}}
)",
                     fmt::arg("k", kDepth), fmt::arg("rows", rows), fmt::arg("vectors", vectors),
                     fmt::arg("lanes", lanes), fmt::arg("columns", columns),
                     fmt::arg("slots", rows * vectors));
}

/// Lines between the label that the last backward jump with most fused multiply-adds goes to and
/// that jump.
std::vector<std::string> inner_loop(const std::string& assembly) {
  std::vector<std::string> lines;
  std::istringstream in(assembly);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  std::vector<std::string> best;
  long most = -1;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(lines[i], match, std::regex("\\bj[a-z]+\\s+(\\.LBB\\S+)"))) continue;
    const auto label =
        std::find(lines.begin(), lines.begin() + static_cast<long>(i), match[1].str() + ":");
    if (label == lines.begin() + static_cast<long>(i)) continue;
    std::vector<std::string> body(label, lines.begin() + static_cast<long>(i) + 1);
    const long count = std::count_if(body.begin(), body.end(), [](const std::string& l) {
      return l.find("vfmadd") != std::string::npos;
    });
    const bool shorter = count == most && body.size() < best.size();
    if (count > most || shorter) {
      most = count;
      best = body;
    }
  }
  return best;
}

long count(const std::vector<std::string>& lines, const char* word) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const std::string& l) { return l.find(word) != std::string::npos; });
}

TEST(Tile, InnerLoopIsFusedMultiplyAddsWithoutSpills) {
  Target target = *cpu_target("x86-64-v4");
  const std::string assembly =
      emit_text(tile_kernel(14, 2, 16), codegen::native::Output::Assembly, target);
  const auto loop = inner_loop(assembly);
  EXPECT_EQ(count(loop, "vfmadd"), 28) << assembly;
  EXPECT_EQ(count(loop, "(%rsp)"), 0) << assembly;
  EXPECT_EQ(count(loop, "vmov"), 2) << assembly;  // the two vectors of B
  EXPECT_LE(loop.size(), 28u + 2 + 14 + 6) << assembly;
}

TEST(Tile, NarrowerVectorsOnOlderMachines) {
  const std::string assembly =
      emit_text(tile_kernel(6, 2, 8), codegen::native::Output::Assembly, *cpu_target("x86-64-v3"));
  const auto loop = inner_loop(assembly);
  EXPECT_EQ(count(loop, "vfmadd"), 12) << assembly;
  EXPECT_EQ(count(loop, "(%rsp)"), 0) << assembly;
  EXPECT_EQ(assembly.find("%zmm"), std::string::npos);
}

TEST(Tile, ComputesTheProduct) {
  std::vector<float> a(kDepth * 14), b(kDepth * 32), c(14 * 32), expected(14 * 32, 0.0f);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<float>(i % 5) - 2;
  for (int k = 0; k < kDepth; ++k)
    for (int r = 0; r < 14; ++r)
      for (int j = 0; j < 32; ++j)
        expected[r * 32 + j] += a[k * 14 + r] * b[k * 32 + j];
  for (const auto& target : runnable_targets()) {
    std::fill(c.begin(), c.end(), -1.0f);
    // Aligned copies: the kernel was promised 64 bytes.
    struct alignas(64) Data {
      float a[kDepth * 14], b[kDepth * 32], c[14 * 32];
    };
    auto data = std::make_unique<Data>();
    std::copy(a.begin(), a.end(), data->a);
    std::copy(b.begin(), b.end(), data->b);
    const Jit jit(tile_kernel(14, 2, 16), target);
    jit.run(data->a, data->b, data->c);
    for (std::size_t i = 0; i < c.size(); ++i)
      ASSERT_EQ(data->c[i], expected[i]) << target.arch << i;
    using Clock = std::chrono::steady_clock;
    double best = 1e30;
    for (int round = 0; round < 200; ++round) {
      const auto start = Clock::now();
      jit.run(data->a, data->b, data->c);
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::printf("%s: 14x32 tile, depth %d: %.1f GFLOP/s\n", target.arch.c_str(), kDepth,
                2.0 * 14 * 32 * kDepth / best * 1e-9);
  }
}

}  // namespace
}  // namespace tc::test
