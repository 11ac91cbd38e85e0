// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/block_counts.h"

#include <gtest/gtest.h>

#include <string>

#include "tc/kernel/passes.h"

namespace tc::kernel {
namespace {

constexpr Latencies kLatencies{600, 40, 30, 20};

/// Of a kernel over vectors `x` and `y` with `table` of int32 beside them.
BlockCounts counts_of(const std::string& head, const std::string& body) {
  const std::string text = "kernel k {\n"
                           "  buffer x float32[1024, 1024] align 256\n"
                           "  buffer table int32[1024] align 256\n"
                           "  buffer y float32[1048576] align 256 writable\n" +
                           head + body + "}\n";
  const auto kernel = parse(text);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().line << ": " << kernel.error().message << "\n" << text;
    return {};
  }
  const auto problems = verify(*kernel);
  EXPECT_TRUE(problems.empty()) << problems.front() << "\n" << text;
  return count_block(*kernel, {}, kLatencies);
}

TEST(BlockCounts, NeighboursShareSectorsAndLines) {
  const char* head = "  grid b 8\n  thread t 64\n";
  const BlockCounts row = counts_of(head, "  y[b * 64 + t] = x[b, t]\n");
  EXPECT_EQ(row.blocks, 8);
  EXPECT_EQ(row.threads, 64);
  EXPECT_EQ(row.line_requests, 2 * 2);
  EXPECT_EQ(row.sector_bytes, 2 * 64 * 4);
  EXPECT_EQ(row.box_bytes, 2 * 64 * 4);
  EXPECT_EQ(row.total_bytes, 8 * 2 * 64 * 4);
  const BlockCounts column = counts_of(head, "  y[b * 64 + t] = x[t, b]\n");
  EXPECT_EQ(column.line_requests, 64 + 2);
  EXPECT_EQ(column.sector_bytes, 64 * 32 + 64 * 4);
  EXPECT_EQ(column.box_bytes, 2 * 64 * 4);
  // Of a block that is no multiple of a warp, only threads that are there count.
  EXPECT_EQ(counts_of("  grid b 8\n  thread t 40\n", "  y[b * 64 + t] = 1.0f\n").sector_bytes,
            40 * 4);
}

TEST(BlockCounts, WideAccessesAreOneInstruction) {
  const char* head = "  thread t 32\n";
  const BlockCounts wide = counts_of(head, "  y[ramp(t * 4, 1, 4)] = broadcast(1.0f, 4)\n");
  const BlockCounts single = counts_of(head, "  y[t * 4] = 1.0f\n  y[t * 4 + 1] = 1.0f\n"
                                             "  y[t * 4 + 2] = 1.0f\n  y[t * 4 + 3] = 1.0f\n");
  EXPECT_EQ(wide.line_requests, 4);
  EXPECT_EQ(single.line_requests, 16);
  EXPECT_LT(wide.instructions, single.instructions);
  EXPECT_EQ(wide.box_bytes, single.box_bytes);
}

TEST(BlockCounts, BanksOfSharedMemory) {
  const auto passes = [](const std::string& buffer, const std::string& access) {
    return counts_of("  thread t 32\n",
                     "  alloc s " + buffer + " shared writable\n  " + access + " = 1.0f\n")
        .shared_passes;
  };
  EXPECT_EQ(passes("float32[32, 33] align 16", "s[0, t]"), 1);
  EXPECT_EQ(passes("float32[32, 32] align 16", "s[t, 0]"), 32);
  EXPECT_EQ(passes("float32[32, 33] align 16", "s[t, 0]"), 1);
  EXPECT_EQ(passes("float32[32, 36] align 16", "s[t, 0]"), 4);
  const auto shared =
      counts_of("  thread t 32\n", "  alloc s float32[64] align 16 shared writable\n  s[t] = 1.0f\n"
                                   "  barrier block\n  y[t] = s[0]\n");
  EXPECT_EQ(shared.shared_bytes, 256);
  EXPECT_EQ(shared.shared_passes, 2) << "one word for all is one pass";
}

TEST(BlockCounts, LoopsMultiplyAndGuardsExclude) {
  const char* head = "  grid b 8\n  thread t 32\n";
  const BlockCounts loop = counts_of(head, "  for k in 0:10 {\n    y[k * 32 + t] = 1.0f\n  }\n");
  EXPECT_EQ(loop.sector_bytes, 10 * 128);
  EXPECT_EQ(loop.box_bytes, 10 * 128);
  const BlockCounts again = counts_of(head, "  for k in 0:10 {\n    y[t] = 1.0f\n  }\n");
  EXPECT_EQ(again.sector_bytes, 10 * 128);
  EXPECT_EQ(again.box_bytes, 128);
  EXPECT_EQ(counts_of(head, "  if t < 8 {\n    y[t] = 1.0f\n  }\n").sector_bytes, 32);
  EXPECT_EQ(counts_of(head, "  if b < 2 {\n    y[t] = 1.0f\n  }\n").sector_bytes, 0)
      << "the block in the middle of the grid";
  // Threads share out 40 iterations: eight of them have two.
  EXPECT_EQ(counts_of(head, "  for k in t:40 step 32 {\n    y[k] = 1.0f\n  }\n").sector_bytes,
            2 * 128 * 40 / 64);
}

TEST(BlockCounts, LoadsOfStraightCodeOverlapAndThoseOfALoopDoNot) {
  const char* head = "  grid b 8\n  thread t 32\n";
  std::string straight;
  for (int i = 0; i < 8; ++i) {
    straight += "  let v" + std::to_string(i) + " = x[" + std::to_string(i) + ", t]\n";
    straight += "  y[" + std::to_string(32 * i) + " + t] = v" + std::to_string(i) + " * 2.0f\n";
  }
  const double once = counts_of(head, straight).warp_cycles;
  EXPECT_GE(once, kLatencies.global);
  EXPECT_LT(once, 2 * kLatencies.global);
  // With a barrier in the loop nothing is moved over its end.
  const double loop = counts_of(head, "  for k in 0:8 {\n    y[k * 32 + t] = x[k, t] * 2.0f\n"
                                      "    barrier block\n  }\n")
                          .warp_cycles;
  EXPECT_GT(loop, 8 * kLatencies.global);
}

TEST(BlockCounts, WhatIsFetchedAheadDoesNotWait) {
  const auto cycles = [](bool is_ahead) {
    std::string body = "  alloc s float32[32] align 16 shared writable\n"
                       "  alloc r float32[1] align 16 registers writable\n"
                       "  r[0] = x[0, t]\n"
                       "  for k in 0:100 {\n    barrier block\n";
    body += is_ahead ? "    s[t] = r[0]\n    r[0] = x[k + 1, t]\n" : "    s[t] = x[k, t]\n";
    body += "    barrier block\n    for i in 0:500 {\n      y[t] = s[i % 32] * 2.0f\n    }\n  }\n";
    return counts_of("  grid b 8\n  thread t 32\n", body).warp_cycles;
  };
  EXPECT_GT(cycles(false), cycles(true) + 90 * kLatencies.global);
}

TEST(BlockCounts, PositionsThatDataTellAreFarApart) {
  const BlockCounts gather =
      counts_of("  grid b 8\n  thread t 32\n",
                "  y[t] = x[int64(table[t]), b]?(int64(table[t]) < 5, 0.0f)\n");
  EXPECT_GT(gather.sector_bytes, 32 * 32);
  const BlockCounts scatter =
      counts_of("  grid b 8\n  thread t 32\n", "  y[int64(table[t])] = 1.0f\n");
  EXPECT_GT(scatter.sector_bytes, 32 * 32 + 128 - 1);
  EXPECT_GE(scatter.warp_cycles, kLatencies.global);
  EXPECT_GE(gather.warp_cycles, 2 * kLatencies.global) << "one load after the other";
}

TEST(BlockCounts, PositionsOfPositionsAreReadOnce) {
  const auto lines = [](int depth) {
    std::string index = "t";
    for (int i = 0; i < depth; ++i)
      index = "int64(table[" + index + "])";
    return counts_of("  grid b 8\n  thread t 32\n", "  y[t] = x[" + index + ", 0]\n").line_requests;
  };
  // The line of y, one of positions side by side, and 32 of what lies far apart.
  EXPECT_EQ(lines(1), 1 + 1 + 32);
  EXPECT_EQ(lines(3), 1 + 1 + 3 * 32);
  // That many levels would take forever if each were counted for all that are around it.
  EXPECT_EQ(lines(40), 1 + 1 + 40 * 32);
}

/// 64 x 32 sums over 16 and over 512 products on tensor cores, from panels that are copied past
/// the registers.
BlockCounts product_counts(int rounds) {
  const std::string text =
      "kernel k {\n"
      "  buffer A bfloat16[64, 8192] align 256\n"
      "  buffer B bfloat16[8192, 32] align 256\n"
      "  buffer C float32[64, 32] align 256 writable\n"
      "  grid b 132\n  thread t 128\n"
      "  alloc sums float32[1, 4, 2, 2] align 16 registers writable\n"
      "  alloc rows bfloat16[2, 65, 8] align 128 shared writable\n"
      "  alloc columns bfloat16[4, 17, 8] align 128 shared writable\n"
      "  sums[0, 0, 0, 0] = 0.0f\n"
      "  for k in 0:" +
      std::to_string(rounds) +
      " {\n"
      "    barrier block\n"
      "    copy 8 rows[t % 2, t / 2, 0] = A[t / 2, k * 16 + t % 2 * 8]?(t < 128)\n"
      "    copy 8 columns[t % 4, t / 4, 0] = B[k * 16 + t / 4, t % 4 * 8]?(t < 64)\n"
      "    await copies 0\n"
      "    barrier block\n"
      "    mma sums[0, 0, 0, 0] blocks 1 apart 512 width 32 depth 16 rows rows[0, 0, 0] k_inner "
      "520 "
      "64 columns columns[0, 0, 0] kept_inner 64 136\n"
      "    await products 0\n"
      "  }\n"
      "  C[t / 2, t % 2] = sums[0, 0, 0, 0]\n}\n";
  const auto kernel = parse(text);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().line << ": " << kernel.error().message << "\n" << text;
    return {};
  }
  return count_block(*kernel, {}, kLatencies);
}

TEST(BlockCounts, TensorCoresAndCopiesPastTheRegisters) {
  const BlockCounts once = product_counts(1), often = product_counts(32);
  EXPECT_EQ(once.tensor_cycles, 16) << "a row of 32 columns, two a cycle";
  EXPECT_EQ(often.tensor_cycles, 32 * 16);
  // 64 rows of 32 bytes, 16 rows of 64 bytes, and one float of two columns of 64 rows.
  EXPECT_EQ(once.sector_bytes, 64 * 32 + 16 * 64 + 64 * 32);
  EXPECT_EQ(once.box_bytes, 64 * 32 + 16 * 64 + 64 * 8);
  EXPECT_GT(often.warp_cycles, 32 * kLatencies.global) << "nothing is fetched ahead";
}

}  // namespace
}  // namespace tc::kernel
