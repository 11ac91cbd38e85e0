// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "emulate.h"

namespace tc::emulation::test {
namespace {

std::string text(const std::optional<Finding>& finding) {
  return finding ? finding->to_string() : "";
}

class Correct : public testing::TestWithParam<std::uint64_t> {
protected:
  Emulator emulator{GetParam()};
};

std::vector<float> iota(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST_P(Correct, TransposeThroughSharedMemory) {
  const int rows = 37, columns = 50;
  const auto values = iota(rows * columns);
  auto& in = add(emulator, "in", values, Access::ReadOnly);
  auto& out = add(emulator, "out", values, Access::Undefined);
  const LaunchShape shape{"transpose", {4, 3, 1}, {16, 16, 1}, 16 * 17 * 4};
  ASSERT_EQ(
      text(Kernels::all().launch(emulator, shape, {{&in, false}, {&out, true}}, {rows, columns})),
      "");
  const auto result = contents<float>(out);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      ASSERT_EQ(result[j * rows + i], values[i * columns + j]) << i << " " << j;
}

TEST_P(Correct, BlockReductionWithShuffles) {
  const std::size_t blocks = 5, length = 300;
  const auto values = iota(blocks * length);
  auto& in = add(emulator, "in", values, Access::ReadOnly);
  auto& out = add(emulator, "out", std::vector<float>(blocks), Access::Undefined);
  const LaunchShape shape{"block_sum", {5, 1, 1}, {256, 1, 1}, 32};
  ASSERT_EQ(text(Kernels::all().launch(emulator, shape, {{&in, false}, {&out, true}}, {300})), "");
  const auto result = contents<float>(out);
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(b * length);
    // Integers below 2^24: exact in any order.
    EXPECT_EQ(result[b], std::accumulate(begin, begin + length, 0.0f));
  }
}

TEST_P(Correct, HistogramWithAtomics) {
  std::vector<int> values(1000);
  std::vector<int> expected(16, 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<int>(i * i % 16);
    ++expected[static_cast<std::size_t>(values[i])];
  }
  auto& in = add(emulator, "in", values, Access::ReadOnly);
  auto& bins = add(emulator, "bins", std::vector<int>(16, 3), Access::ReadWrite);
  const LaunchShape shape{"histogram", {16, 1, 1}, {64, 1, 1}, 64};
  ASSERT_EQ(text(Kernels::all().launch(emulator, shape, {{&in, false}, {&bins, true}}, {1000})),
            "");
  EXPECT_EQ(contents<int>(bins), expected);
}

TEST_P(Correct, ProductsOfWarpGroupsEndWhenTheyAreWaitedFor) {
  const std::size_t stages = 5;
  const auto values = iota(stages * 64);
  auto& in = add(emulator, "in", values, Access::ReadOnly);
  auto& out = add(emulator, "out", std::vector<float>(64), Access::Undefined);
  auto& early = add(emulator, "early", std::vector<float>(64), Access::Undefined);
  const LaunchShape shape{"products", {1, 1, 1}, {64, 1, 1}, 3 * 64 * 4};
  ASSERT_EQ(
      text(Kernels::all().launch(emulator, shape, {{&in, false}, {&out, true}, {&early, true}},
                                 {static_cast<long long>(stages)})),
      "");
  const auto result = contents<float>(out);
  for (std::size_t t = 0; t < 64; ++t) {
    float expected = 1;
    for (std::size_t s = 0; s < stages; ++s)
      expected += values[s * 64 + t] * values[s * 64 + 63 - t];
    EXPECT_EQ(result[t], expected) << t;
    EXPECT_TRUE(std::isnan(contents<float>(early)[t])) << t;
  }
}

TEST_P(Correct, StagesOfAsynchronousCopies) {
  const std::size_t count = 3 * 128 + 37;
  const auto values = iota(count);
  auto& in = add(emulator, "in", values, Access::ReadOnly);
  auto& out = add(emulator, "out", values, Access::Undefined);
  const LaunchShape shape{"staged", {1, 1, 1}, {32, 1, 1}, 16 + 2 * 128 * 4};
  ASSERT_EQ(text(Kernels::all().launch(emulator, shape, {{&in, false}, {&out, true}},
                                       {static_cast<long long>(count)})),
            "");
  const auto result = contents<float>(out);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t next = i / 128 * 128 + (i + 1) % 128;
    ASSERT_EQ(result[i], values[i] + (next < count ? values[next] : 0.0f)) << i;
  }
}

TEST_P(Correct, WarpRolesWithNamedBarriers) {
  auto& out = add(emulator, "out", std::vector<float>(96), Access::Undefined);
  const LaunchShape shape{"roles", {1, 1, 1}, {96, 1, 1}, 128};
  ASSERT_EQ(text(Kernels::all().launch(emulator, shape, {{&out, true}})), "");
  const auto result = contents<float>(out);
  for (std::size_t i = 0; i < 96; ++i)
    EXPECT_EQ(result[i], static_cast<float>(31 - i % 32));
}

TEST_P(Correct, VectorLoadsAndByteStores) {
  auto& in = add(emulator, "in", std::vector<float>(64 * 4, 2.0f), Access::ReadOnly);
  auto& out = add(emulator, "out", std::vector<unsigned char>(64), Access::Undefined);
  const LaunchShape shape{"bytes", {1, 1, 1}, {64, 1, 1}, 0};
  ASSERT_EQ(text(Kernels::all().launch(emulator, shape, {{&in, false}, {&out, true}})), "");
  EXPECT_EQ(contents<unsigned char>(out), std::vector<unsigned char>(64, 8));
}

TEST_P(Correct, HalvesOfBytes) {
  auto& out = add(emulator, "out", std::vector<unsigned char>(32), Access::Undefined);
  const LaunchShape shape{"halves", {1, 1, 1}, {64, 1, 1}, 0};
  ASSERT_EQ(text(Kernels::all().launch(emulator, shape, {{&out, true}})), "");
  EXPECT_EQ(contents<unsigned char>(out), std::vector<unsigned char>(32, 0xBA));
}

TEST_P(Correct, LaunchesAreOrdered) {
  auto& first = add(emulator, "first", iota(37 * 50), Access::ReadOnly);
  auto& middle = add(emulator, "middle", iota(37 * 50), Access::Undefined);
  auto& last = add(emulator, "last", iota(37 * 50), Access::Undefined);
  const auto& kernels = Kernels::all();
  const LaunchShape there{"transpose", {4, 3, 1}, {16, 16, 1}, 16 * 17 * 4};
  const LaunchShape back{"transpose", {3, 4, 1}, {16, 16, 1}, 16 * 17 * 4};
  ASSERT_EQ(text(kernels.launch(emulator, there, {{&first, false}, {&middle, true}}, {37, 50})),
            "");
  for (int repeat = 0; repeat < 2; ++repeat)
    ASSERT_EQ(text(kernels.launch(emulator, back, {{&middle, false}, {&last, true}}, {50, 37})),
              "");
  EXPECT_EQ(contents<float>(last), iota(37 * 50));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Correct, testing::ValuesIn(kSeeds));

}  // namespace
}  // namespace tc::emulation::test
