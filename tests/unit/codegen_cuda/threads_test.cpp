// SPDX-License-Identifier: Apache-2.0
//
// Threads of a block: their numbers, shared memory, barriers, shuffles.
#include <cstring>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "batch.h"

namespace tc::test {
namespace {

std::vector<float> numbers(int n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 1.0f);
  return v;
}

TEST(Threads, TransposeThroughSharedMemory) {
  const auto text = [](int rows) {
    return fmt::format(R"(kernel t {{
  buffer X float32[{0}, 32] align 16
  buffer Z float32[32, {0}] writable
  thread y 8
  thread x 8
  alloc S float32[{0}, 32] strides [33, 1] align 64 shared writable
  for r in 0:{1} {{
    S[r * 8 + y, x * 4 + 0] = X[r * 8 + y, x * 4]
    S[r * 8 + y, x * 4 + 1] = X[r * 8 + y, x * 4 + 1]
    S[r * 8 + y, x * 4 + 2] = X[r * 8 + y, x * 4 + 2]
    S[r * 8 + y, x * 4 + 3] = X[r * 8 + y, x * 4 + 3]
  }}
  barrier block
  for r in 0:{1} {{
    for c in 0:4 {{
      Z[y * 4 + c, r * 8 + x] = S[r * 8 + x, y * 4 + c]
    }}
  }}
}}
)",
                       rows, rows / 8);
  };
  const Batch batch({text(32), text(512)});
  EXPECT_EQ(batch.source(0).kernels[0].static_shared_bytes, (31 * 33 + 32) * 4);
  EXPECT_EQ(batch.source(0).kernels[0].dynamic_shared_bytes, 0);
  EXPECT_EQ(batch.source(1).kernels[0].static_shared_bytes, 0);
  EXPECT_EQ(batch.source(1).kernels[0].dynamic_shared_bytes, (511 * 33 + 32) * 4);
  for (std::size_t k = 0; k < 2; ++k) {
    const int rows = k == 0 ? 32 : 512;
    auto x = numbers(rows * 32);
    std::vector<float> z(x.size());
    expect_runs(batch, k, {argument(x), argument(z)});
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < 32; ++j)
        ASSERT_EQ(z[static_cast<std::size_t>(j * rows + i)],
                  x[static_cast<std::size_t>(i * 32 + j)]);
  }
}

/// The same without its barrier: the emulator sees the accesses of the text.
TEST(Threads, MissingBarrierIsFound) {
  const Batch batch(
      {"kernel m {\n buffer Z float32[64] writable\n thread x 64\n alloc S float32[64] shared "
       "writable\n S[x] = float32(x)\n Z[x] = S[63 - x]\n}\n"});
  std::vector<float> z(64);
  const auto finding = batch.run(0, {argument(z)});
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->kind == emulation::FindingKind::ReadWriteRace ||
              finding->kind == emulation::FindingKind::UninitialisedRead)
      << finding->to_string();
  EXPECT_EQ(finding->buffer, "S");
}

TEST(Threads, ShufflesAddUp) {
  std::vector<std::string> kernels;
  for (const char* type : {"float32", "float64", "int32", "int64", "uint32", "uint64"})
    for (const int group : {2, 8, 32}) {
      std::string steps;
      for (int distance = group / 2; distance > 0; distance /= 2)
        steps += fmt::format("  $s[0] = $s[0] + shuffle($s[0], {}, {})\n", distance, group);
      kernels.push_back(
          fmt::format("kernel s {{\n buffer X {0}[64] align 8\n buffer Z {0}[64] align 8 "
                      "writable\n thread x 64\n register s {0}[1] = X[x]\n{1} Z[x] = $s[0]\n}}\n",
                      type, steps));
    }
  // In a condition that differs between threads: the exchange itself may not.
  kernels.push_back(
      "kernel s {\n buffer X float32[64]\n buffer Z float32[64] writable\n thread x 64\n Z[x] "
      "= select(shuffle(X[x] > 32.0f, 16, 32), select(x < 3, 1.0f, shuffle(X[x], 1, 2)), "
      "0.0f)\n barrier warp\n}\n");
  const Batch batch(kernels);
  std::size_t k = 0;
  const auto check = [&]<class T>(T) {
    for (const int group : {2, 8, 32}) {
      std::vector<T> x(64), z(64);
      for (int i = 0; i < 64; ++i)
        x[static_cast<std::size_t>(i)] = static_cast<T>(i * i + 1);
      expect_runs(batch, k++, {argument(x), argument(z)});
      for (int i = 0; i < 64; ++i) {
        T sum = 0;
        for (int j = i / group * group; j < i / group * group + group; ++j)
          sum += x[static_cast<std::size_t>(j)];
        EXPECT_EQ(z[static_cast<std::size_t>(i)], sum) << group;
      }
    }
  };
  check(float());
  check(double());
  check(std::int32_t());
  check(std::int64_t());
  check(std::uint32_t());
  check(std::uint64_t());
  auto x = numbers(64);
  std::vector<float> z(64);
  expect_runs(batch, k, {argument(x), argument(z)});
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(z[i], x[i ^ 16] > 32 ? (i < 3 ? 1.0f : x[i ^ 1]) : 0.0f);
}

/// Threads that an inner exchange does not concern wait at the next, larger one: each group waits
/// for its own threads.
TEST(Threads, GroupsOfDifferentSizesWaitApart) {
  const Batch batch(
      {"kernel s {\n buffer X float32[32]\n buffer Z float32[32] writable\n thread x 32\n "
       "register s float32[1] = X[x]\n if x < 8 {\n $s[0] = $s[0] + shuffle($s[0], 4, 8)\n }\n "
       "$s[0] = $s[0] + shuffle($s[0], 16, 32)\n Z[x] = $s[0]\n}\n"});
  const auto x = numbers(32);
  const auto after_first = [&](std::size_t i) { return i < 8 ? x[i] + x[i ^ 4] : x[i]; };
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    auto in = x;
    std::vector<float> z(32);
    const auto finding = batch.run(0, {argument(in), argument(z)}, {}, seed);
    ASSERT_FALSE(finding) << finding->to_string();
    for (std::size_t i = 0; i < 32; ++i)
      EXPECT_EQ(z[i], after_first(i) + after_first(i ^ 16));
  }
}

/// A text by hand, until kernels have asynchronous copies: `wait` stands between copy and use.
std::optional<emulation::FindingKind> outcome_of_copy(const std::string& wait,
                                                      std::vector<float>& z) {
  const std::string text = "#include \"tc/codegen/cuda/device/copy.cuh\"\n"
                           "#include \"tc/codegen/cuda/device/memory.cuh\"\n"
                           "TC_KERNEL(32) tc_copy(const float* X, float* Z) {\n"
                           "  TC_SHARED(float, S, 128, 16, 0);\n"
                           "  const int t = tc::thread_index();\n"
                           "  tc::copy_async<16>(S + 4 * t, X + 4 * t, t < 30);\n"
                           "  tc::copy_commit();\n" +
                           wait +
                           "  tc::store(Z, t, tc::load(S, 127 - 4 * t));\n"
                           "}\nTC_KERNEL_END(tc_copy)\n";
  const auto module = compile_for_host({{text, {"tc_copy"}}});
  emulation::Emulator emulator(0);
  auto& in = emulator.memory().add("X", 480, 16, emulation::Access::ReadOnly);
  for (int i = 0; i < 120; ++i)
    reinterpret_cast<float*>(in.data())[i] = static_cast<float>(i + 1);
  auto& out = emulator.memory().add("Z", 128, 16, emulation::Access::Undefined);
  const emulation::LaunchBuffer buffers[] = {{&in, false}, {&out, true}};
  emulation::LaunchShape shape;
  shape.kernel = "tc_copy";
  shape.block = {32, 1, 1};
  shape.shared_bytes = 512;
  const auto finding = module->launch(emulator, 0, 0, shape, buffers, {});
  if (finding) return finding->kind;
  std::memcpy(z.data(), out.data(), 128);
  return std::nullopt;
}

TEST(Threads, AsynchronousCopies) {
  std::vector<float> z(32);
  EXPECT_EQ(outcome_of_copy("  tc::copy_wait<0>();\n  tc::barrier_block();\n", z), std::nullopt);
  for (int t = 0; t < 32; ++t)
    EXPECT_EQ(z[static_cast<std::size_t>(t)], 127 - 4 * t < 120 ? 128 - 4 * t : 0);
  // The last group may still be on its way.
  EXPECT_EQ(outcome_of_copy("  tc::copy_wait<1>();\n  tc::barrier_block();\n", z),
            emulation::FindingKind::CopyInFlight);
  EXPECT_TRUE(outcome_of_copy("", z).has_value());
}

/// Atomic updates of elements of a byte or less exchange the word around them.
TEST(Threads, SharedMemoryEndsWithAWholeWord) {
  const auto text = [](const char* type, int count, int last) {
    return fmt::format("kernel k {{\n buffer Z int32[1] writable\n thread t 64\n alloc A int32[3] "
                       "shared writable\n alloc S {0}[{1}] shared writable\n S[{2}]?(t == 0) = "
                       "3i32\n barrier block\n atomic max S[{2}] = int32(t % 7)\n barrier block\n "
                       "Z[0]?(t == 0) = S[{2}]\n}}\n",
                       type, count, last);
  };
  const Batch batch({text("int8", 5, 4), text("uint8", 4, 1), text("int16", 5, 4),
                     text("int4", 3, 2), text("int8", 50001, 50000)});
  const std::int64_t bytes[] = {16 + 8, 16 + 4, 16 + 12, 16 + 4, 16 + 50004};
  for (std::size_t k = 0; k < std::size(bytes); ++k) {
    const auto& info = batch.source(k).kernels[0];
    EXPECT_EQ(info.static_shared_bytes + info.dynamic_shared_bytes, bytes[k]);
    std::vector<std::int32_t> z(1);
    expect_runs(batch, k, {argument(z)});
    EXPECT_EQ(z[0], 6);
  }
}

TEST(Threads, LimitsOfABlock) {
  const auto refused = [](const std::string& text) {
    const auto source = codegen::cuda::emit(single_launch(text), cuda_target(), {});
    EXPECT_FALSE(source);
    return source ? Rejection{} : source.error();
  };
  const auto threads =
      refused("kernel k {\n buffer Z float32[4096] writable\n thread y 2\n thread x 1024\n "
              "Z[y * 1024 + x] = 0.0f\n}\n");
  EXPECT_EQ(threads.kind, RejectionKind::TooManyThreads);
  EXPECT_EQ(threads.used, 2048);
  EXPECT_EQ(threads.limit, 1024);
  const auto shared =
      refused("kernel k {\n thread x 32\n alloc S float32[60000] shared writable\n S[x] = "
              "0.0f\n}\n");
  EXPECT_EQ(shared.kind, RejectionKind::LocalMemoryOverflow);
  EXPECT_EQ(shared.used, 240000);
  EXPECT_EQ(shared.limit, 232448);
}

}  // namespace
}  // namespace tc::test
