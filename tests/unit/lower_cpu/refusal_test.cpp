// SPDX-License-Identifier: Apache-2.0
//
// Layouts that cannot be had are refused with the reason; known facts of sums and ranges.
#include <gtest/gtest.h>

#include "examples.h"
#include "tc/lower/cpu/lower.h"
#include "tc/lower/op/affine.h"

namespace tc::test {
namespace {

tile::Program example(const std::string& name, std::int64_t size, tile::Layout layout) {
  for (const auto& e : single_operations()) {
    if (e.name != name) continue;
    tile::Program program = e.make(size);
    for (auto& node : program.kernels[0].body)
      if (auto* op = std::get_if<tile::Op>(&node)) op->layout = layout;
    return program;
  }
  throw std::logic_error("no example " + name);
}

struct Case {
  const char* example;
  tile::Layout layout;
  RejectionKind kind;
  const char* reason;
};

TEST(Refusals, NameTheReason) {
  const Case cases[] = {
      {"matmul", {{0, 1}, -1, 1, {1, 1, 1}}, RejectionKind::Unsupported, "order"},
      {"matmul", {{0, 1, 1}, -1, 1, {1, 1, 1}}, RejectionKind::Unsupported, "order"},
      {"matmul", {{0, 1, 2}, -1, 1, {1, 1}}, RejectionKind::Unsupported, "unroll"},
      {"matmul", {{0, 1, 2}, 3, 4, {1, 1, 1}}, RejectionKind::Unsupported, "no dim 3"},
      {"matmul", {{0, 1, 2}, 1, 128, {1, 1, 1}}, RejectionKind::Unsupported, "lanes"},
      {"matmul", {{0, 1, 2}, -1, 4, {1, 1, 1}}, RejectionKind::Unsupported, "vector dim"},
      {"matmul", {{0, 1, 2}, -1, 1, {0, 1, 1}}, RejectionKind::Unsupported, "at least 1"},
      {"matmul", {{0, 1, 2}, 1, 8, {32, 16, 1}}, RejectionKind::RegisterOverflow, "places"},
      {"matmul", {{2, 0, 1}, 2, 8, {1, 1, 1}}, RejectionKind::Unsupported, "accumulators"},
      {"rows_max_f16", {{1, 0}, -1, 1, {1, 1}}, RejectionKind::Unsupported, "rounded"},
      {"to_four_bit", {{0}, 0, 8, {1}}, RejectionKind::Unsupported, "share bytes"},
      {"histogram", {{0}, 0, 8, {1}}, RejectionKind::Unsupported, "one element"},
      {"scatter", {{0, 1}, 0, 2, {1, 1}}, RejectionKind::Unsupported, "one element"},
  };
  for (const auto& c : cases) {
    const auto plan = lower::cpu::lower(example(c.example, 33, c.layout), {}, {});
    ASSERT_FALSE(plan.has_value()) << c.example << ": " << c.reason;
    EXPECT_EQ(plan.error().kind, c.kind) << c.reason;
    EXPECT_NE(plan.error().message.find(c.reason), std::string::npos) << plan.error().message;
  }
}

TEST(Selection, KeepsGivenLayoutsAndIsIdempotent) {
  for (const auto& e : contractions()) {
    const auto once = lower::cpu::select(e.make(64), {}, {});
    ASSERT_TRUE(once.has_value());
    const auto twice = lower::cpu::select(*once, {}, {});
    ASSERT_TRUE(twice.has_value());
    EXPECT_EQ(tile::print(*once), tile::print(*twice)) << e.name;
  }
}

using lower::Interval;
using lower::Ranges;

TEST(Affine, DividesWhereTheRestStaysInOnePeriod) {
  const kernel::Var t{0, "t", {}}, lane{1, "lane", {}}, m{2, "m", {}};
  Ranges ranges;
  ranges.set(t.id, {0, 9});
  ranges.set(lane.id, {0, 15});
  const auto ref = [](const kernel::Var& v) { return kernel::var_ref(v); };
  const auto sum = kernel::add(kernel::add(kernel::mul(ref(t), num(32)), num(16)), ref(lane));
  const auto quotient = ranges.affine(kernel::binary(kernel::BinaryOp::FloorDiv, sum, num(32)));
  EXPECT_EQ(quotient.coefficient(t.id), 1);
  EXPECT_EQ(quotient.coefficient(lane.id), 0);
  const auto rest = ranges.affine(kernel::binary(kernel::BinaryOp::FloorMod, sum, num(32)));
  EXPECT_EQ(rest.coefficient(t.id), 0);
  EXPECT_EQ(rest.constant, 16);
  // A tile that begins at t: the offset is small although both ends are not.
  const auto end = kernel::binary(kernel::BinaryOp::Min, kernel::add(ref(t), num(4)), num(11));
  ranges.set(m.id, {0, 10}, ref(t), {0, 3});
  const Interval offset = ranges.of(kernel::sub(ref(m), ref(t)));
  EXPECT_EQ(offset.lo, 0);
  EXPECT_EQ(offset.hi, 3);
  EXPECT_TRUE(ranges.proves_within(kernel::sub(end, ref(t)), 2, 4));
}

TEST(Affine, DirectionIsMonotonyOnly) {
  const kernel::Var i{0, "i", {}};
  const auto x = kernel::var_ref(i);
  EXPECT_EQ(
      lower::direction(kernel::binary(kernel::BinaryOp::Min, num(3), kernel::add(x, num(1))), 0),
      1);
  EXPECT_EQ(lower::direction(kernel::sub(num(9), kernel::mul(num(2), x)), 0), -1);
  EXPECT_EQ(lower::direction(num(4), 0), 0);
  EXPECT_FALSE(lower::direction(kernel::binary(kernel::BinaryOp::Min, x, kernel::sub(num(9), x)), 0)
                   .has_value());
  EXPECT_FALSE(
      lower::direction(kernel::binary(kernel::BinaryOp::FloorMod, x, num(3)), 0).has_value());
}

}  // namespace
}  // namespace tc::test
