// SPDX-License-Identifier: Apache-2.0
//
// Random layouts of single operations: the lowered kernel is well formed and does what the
// operation says, or the layout is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "check_program.h"
#include "examples.h"
#include "tc/lower/cpu/lower.h"

namespace tc::test {
namespace {

tile::Op& only_op(tile::Program& program) {
  for (auto& node : program.kernels[0].body)
    if (auto* op = std::get_if<tile::Op>(&node)) return *op;
  throw std::logic_error("no operation");
}

tile::Layout random_layout(std::size_t dims, std::mt19937& random) {
  const auto pick = [&](std::vector<int> choices) {
    return choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random)];
  };
  tile::Layout layout;
  for (std::size_t d = 0; d < dims; ++d) {
    layout.order.push_back(static_cast<int>(d));
    layout.unroll.push_back(pick({1, 1, 1, 2, 3, 4}));
  }
  std::shuffle(layout.order.begin(), layout.order.end(), random);
  if (std::uniform_int_distribution<int>(0, 1)(random))  // often reductions inside
    std::stable_sort(layout.order.begin(), layout.order.end());
  layout.vector_dim = std::uniform_int_distribution<int>(-1, static_cast<int>(dims) - 1)(random);
  layout.lanes = layout.vector_dim < 0 ? 1 : pick({1, 2, 3, 4, 8, 16});
  if (std::uniform_int_distribution<int>(0, 5)(random) == 0) layout.unroll[0] = 9;
  return layout;
}

std::string text(const tile::Layout& layout) {
  std::string s = "order";
  for (const int d : layout.order)
    s += " " + std::to_string(d);
  s += " vector " + std::to_string(layout.vector_dim) + " lanes " + std::to_string(layout.lanes) +
       " unroll";
  for (const int u : layout.unroll)
    s += " " + std::to_string(u);
  return s;
}

class Layouts : public testing::TestWithParam<Example> {};

TEST_P(Layouts, EveryLayoutIsRightOrRefused) {
  std::mt19937 random(42);
  int lowered = 0, refused = 0;
  for (const std::int64_t size : {1, 2, 7, 31, 33}) {
    tile::Program sample = GetParam().make(size);
    const int rounds = size < 10 ? 16 : only_op(sample).dims.size() > 2 ? 4 : 12;
    for (int round = 0; round < rounds; ++round) {
      tile::Program program = GetParam().make(size);
      tile::Op& op = only_op(program);
      if (round > 0) op.layout = random_layout(op.dims.size(), random);
      const auto plan = lower::cpu::lower(program, {}, {});
      if (!plan) {
        EXPECT_NE(round, 0) << plan.error().to_string();
        EXPECT_TRUE(plan.error().kind == RejectionKind::Unsupported ||
                    plan.error().kind == RejectionKind::RegisterOverflow);
        ++refused;
        continue;
      }
      ++lowered;
      const std::string with = op.layout ? text(*op.layout) : "no layout";
      ASSERT_EQ(check_lowered(program, {}, {}, Run::Checked, static_cast<unsigned>(round)), "")
          << "size " << size << ", " << with;
    }
  }
  EXPECT_GT(lowered, 10);
  RecordProperty("lowered", lowered);
  RecordProperty("refused", refused);
}

INSTANTIATE_TEST_SUITE_P(Single, Layouts, testing::ValuesIn(single_operations()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tc::test
