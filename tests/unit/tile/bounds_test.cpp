// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/bounds.h"

#include <gtest/gtest.h>

namespace tc::tile {
namespace {

using kernel::BinaryOp;
using kernel::ExprPtr;

ExprPtr c(std::int64_t value) {
  return kernel::int_imm(value);
}
ExprPtr min(ExprPtr a, ExprPtr b) {
  return kernel::binary(BinaryOp::Min, std::move(a), std::move(b));
}
ExprPtr max(ExprPtr a, ExprPtr b) {
  return kernel::binary(BinaryOp::Max, std::move(a), std::move(b));
}
ExprPtr div(ExprPtr a, std::int64_t b) {
  return kernel::binary(BinaryOp::FloorDiv, std::move(a), c(b));
}
ExprPtr mod(ExprPtr a, std::int64_t b) {
  return kernel::binary(BinaryOp::FloorMod, std::move(a), c(b));
}

class BoundsTest : public testing::Test {
protected:
  ExprPtr define(const char* name, ExprPtr begin, ExprPtr end) {
    const kernel::Var var{next_++, name, {DType::Int64, 1}};
    scope_.push(var, begin, end);
    return kernel::var_ref(var);
  }
  ExprPtr grid(const char* name, std::int64_t begin, std::int64_t end, std::int64_t step) {
    const GridLoop loop{{next_++, name, {DType::Int64, 1}}, begin, end, step};
    scope_.push(loop);
    return kernel::var_ref(loop.var);
  }
  void expect(const ExprPtr& expr, std::int64_t lo, std::int64_t hi) {
    EXPECT_EQ(lower_bound(expr, scope_), lo);
    EXPECT_EQ(upper_bound(expr, scope_), hi);
  }
  Scope scope_;
  int next_ = 0;
};

TEST_F(BoundsTest, Boxes) {
  const auto i = define("i", c(0), c(10));
  const auto j = define("j", c(-3), c(5));
  expect(kernel::add(i, j), -3, 13);
  expect(kernel::sub(kernel::mul(c(2), i), kernel::mul(c(3), j)), -12, 27);
  expect(kernel::sub(i, i), 0, 0);
  expect(c(7), 7, 7);
}

TEST_F(BoundsTest, TrianglesAreExact) {
  const auto i = define("i", c(0), c(10));
  const auto j = define("j", c(0), kernel::add(i, c(1)));
  expect(kernel::sub(i, j), 0, 9);
  expect(kernel::add(i, j), 0, 18);
}

TEST_F(BoundsTest, ClippedTiles) {
  const auto v = grid("v", 0, 100, 32);
  const auto i = define("i", v, min(kernel::add(v, c(32)), c(100)));
  expect(v, 0, 96);
  expect(i, 0, 99);
  expect(kernel::sub(i, v), 0, 31);
  expect(kernel::sub(min(kernel::add(v, c(32)), c(100)), v), 4, 32);
}

TEST_F(BoundsTest, BandsAroundADiagonal) {
  const auto i = define("i", c(0), c(8));
  const auto s = define("s", max(c(-1), kernel::sub(c(0), i)), min(c(2), kernel::sub(c(8), i)));
  expect(kernel::add(i, s), 0, 7);
  expect(kernel::add(s, c(1)), 0, 2);
}

TEST_F(BoundsTest, DivisionAndRemainder) {
  const auto i = define("i", c(-5), c(20));
  expect(div(i, 4), -2, 4);
  expect(mod(i, 4), 0, 3);
  const auto j = define("j", c(0), c(4));
  expect(mod(j, 4), 0, 3);
  expect(mod(j, 8), 0, 3);
  expect(kernel::sub(i, kernel::mul(c(4), div(i, 4))), 0, 3);
}

TEST_F(BoundsTest, ProductsOfVariables) {
  const auto i = define("i", c(-2), c(4));
  const auto j = define("j", c(1), c(6));
  expect(kernel::mul(i, j), -10, 15);
}

TEST_F(BoundsTest, NothingIsKnownOfLoadsAndForeignVariables) {
  const kernel::Var foreign{99, "x", {DType::Int64, 1}};
  EXPECT_FALSE(upper_bound(kernel::var_ref(foreign), scope_));
  auto buffer = std::make_shared<kernel::Buffer>();
  buffer->type = DType::Int64;
  buffer->extents = {4};
  buffer->strides = {1};
  EXPECT_FALSE(lower_bound(kernel::load(buffer, {c(0)}), scope_));
  auto bytes = std::make_shared<kernel::Buffer>(*buffer);
  bytes->type = DType::UInt8;
  expect(kernel::cast(DType::Int64, kernel::load(bytes, {c(0)})), 0, 255);
}

TEST_F(BoundsTest, OverflowIsUnknown) {
  const auto i = define("i", c(0), c(std::int64_t{1} << 40));
  EXPECT_FALSE(upper_bound(kernel::mul(c(std::int64_t{1} << 40), i), scope_));
}

TEST_F(BoundsTest, AffineInTheGrid) {
  const auto v = grid("v", 0, 96, 32);
  const auto i = define("i", v, kernel::add(v, c(32)));
  const auto k = define("k", c(0), c(3));
  const auto index = kernel::add(kernel::mul(c(2), i), k);
  const auto hi = affine_upper_bounds(index, scope_, 1);
  const auto lo = affine_lower_bounds(index, scope_, 1);
  ASSERT_EQ(hi.size(), 1U);
  ASSERT_EQ(lo.size(), 1U);
  EXPECT_EQ(hi[0], (Affine{64, {{0, 2}}}));
  EXPECT_EQ(lo[0], (Affine{0, {{0, 2}}}));
}

TEST_F(BoundsTest, BothSidesOfAClippedTile) {
  const auto v = grid("v", 0, 100, 32);
  const auto i = define("i", v, min(kernel::add(v, c(32)), c(100)));
  const auto hi = affine_upper_bounds(i, scope_, 1);
  ASSERT_EQ(hi.size(), 2U);
  EXPECT_EQ(hi[0], (Affine{31, {{0, 1}}}));
  EXPECT_EQ(hi[1], (Affine{99, {}}));
}

TEST(Evaluate, FloorsWrapsAndRefuses) {
  const kernel::Var var{0, "i", {DType::Int64, 1}};
  const auto i = kernel::var_ref(var);
  EXPECT_EQ(evaluate(div(i, 2), {{0, -7}}), -4);
  EXPECT_EQ(evaluate(mod(i, 2), {{0, -7}}), 1);
  EXPECT_EQ(evaluate(kernel::cast(DType::Int32, i), {{0, (std::int64_t{1} << 32) + 5}}), 5);
  EXPECT_EQ(evaluate(kernel::select(kernel::binary(BinaryOp::Lt, i, c(3)), c(1), c(2)), {{0, 3}}),
            2);
  EXPECT_FALSE(evaluate(i, {}));
  EXPECT_FALSE(evaluate(kernel::mul(i, i), {{0, std::int64_t{1} << 40}}));
}

}  // namespace
}  // namespace tc::tile
