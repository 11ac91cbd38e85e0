// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tc/lang/typed.h"

namespace tc::lang {
namespace {

std::string text(const ExprPtr& expr) {
  return to_string(TypedDef{}, nullptr, expr);
}

const ExprPtr kIndex = make_index(0);
const ExprPtr kRead = make_expr(DType::Int32, {}, Read{0, {kIndex}, nullptr});

ExprPtr binary(BinaryOp op, std::int64_t a, std::int64_t b) {
  return make_binary(op, make_int(a), make_int(b));
}

TEST(MakeBinary, FoldsIntegersTowardMinusInfinity) {
  EXPECT_EQ(text(binary(BinaryOp::Div, -7, 2)), "-4");
  EXPECT_EQ(text(binary(BinaryOp::Mod, -7, 2)), "1");
  EXPECT_EQ(text(binary(BinaryOp::Div, 7, -2)), "-4");
  EXPECT_EQ(text(binary(BinaryOp::Div, 7, 0)), "0");
  EXPECT_EQ(text(binary(BinaryOp::Min, 3, 2)), "2");
  EXPECT_EQ(text(binary(BinaryOp::Le, 3, 2)), "false");
  EXPECT_EQ(text(binary(BinaryOp::Mul, 1 << 20, 1 << 20)), "1048576 * 1048576");  // would wrap
}

TEST(MakeBinary, SimplifiesButKeepsReads) {
  EXPECT_EQ(make_binary(BinaryOp::Add, kIndex, make_int(0)), kIndex);
  EXPECT_EQ(make_binary(BinaryOp::Mul, make_int(1), kIndex), kIndex);
  EXPECT_EQ(text(make_binary(BinaryOp::Mul, kIndex, make_int(0))), "0");
  EXPECT_EQ(text(make_binary(BinaryOp::Mul, kRead, make_int(0))), "tensor#0(i0) * 0");
  EXPECT_EQ(text(make_binary(BinaryOp::Mod, kIndex, make_int(1))), "0");
  const ExprPtr truth = make_int(1, DType::Bool);
  const ExprPtr test = make_binary(BinaryOp::Lt, kIndex, make_int(3));
  EXPECT_EQ(make_binary(BinaryOp::And, truth, test), test);
  EXPECT_EQ(make_binary(BinaryOp::Or, truth, test), truth);
}

TEST(MakeBinary, FloatsKeepIeee) {
  const ExprPtr x = make_expr(DType::Float32, {}, Read{0, {}, nullptr});
  EXPECT_EQ(text(make_binary(BinaryOp::Add, x, make_float(0, DType::Float32))), "tensor#0 + 0.0");
  EXPECT_EQ(text(make_binary(BinaryOp::Mul, make_float(0.1, DType::Float32),
                             make_float(10, DType::Float32))),
            "1.0");
}

TEST(MakeBinary, WidensMixedIntegers) {
  const ExprPtr sum = make_binary(BinaryOp::Add, kIndex, make_index(1, DType::Int64));
  EXPECT_EQ(sum->type, DType::Int64);
  EXPECT_EQ(text(sum), "int64(i0) + i1");
}

TEST(MakeCast, FoldsConstantsAsTheLanguageCasts) {
  EXPECT_EQ(text(make_cast(DType::Int8, make_int(200))), "-56");
  EXPECT_EQ(text(make_cast(DType::UInt8, make_float(-3, DType::Float32))), "0");
  EXPECT_EQ(text(make_cast(DType::Bool, make_float(0.5, DType::Float32))), "true");
  EXPECT_EQ(text(make_cast(DType::Float32, make_int(16777217))), "16777216.0");
  EXPECT_EQ(text(make_cast(DType::Float16, make_float(0.1, DType::Float32))), "0.099975586");
  // Beyond the integers that float64 holds exactly the conversion stays, so that it rounds once.
  EXPECT_EQ(text(make_cast(DType::BFloat16, make_int(INT64_MIN, DType::Int64))),
            "bfloat16(-9223372036854775808)");
  EXPECT_EQ(make_cast(DType::Int32, kIndex), kIndex);
  EXPECT_EQ(make_cast(DType::Int8, kIndex)->type, DType::Int32);
}

TEST(Print, ParenthesesFollowTheGrammar) {
  const ExprPtr sum = make_binary(BinaryOp::Add, kIndex, make_int(1));
  EXPECT_EQ(text(make_binary(BinaryOp::Mul, sum, make_int(2))), "(i0 + 1) * 2");
  EXPECT_EQ(text(make_binary(BinaryOp::Sub, kIndex, sum)), "i0 - (i0 + 1)");
  EXPECT_EQ(text(make_unary(UnaryOp::Negate, sum)), "-(i0 + 1)");
  EXPECT_EQ(text(make_expr(DType::Int32, {},
                           Select{make_binary(BinaryOp::Lt, kIndex, sum), sum, kIndex})),
            "i0 < i0 + 1 ? i0 + 1 : i0");
}

TEST(Evaluate, IsExactOrFails) {
  const std::vector<std::int64_t> indices = {5, INT64_MAX};
  const std::unordered_map<int, std::int64_t> loops = {{3, 7}};
  IntEnv env;
  env.indices = &indices;
  env.for_vars = &loops;
  EXPECT_EQ(evaluate(make_binary(BinaryOp::Mod, kIndex, make_int(3)), env), 2);
  EXPECT_EQ(evaluate(make_expr(DType::Int32, {}, ForRef{3}), env), 7);
  EXPECT_EQ(evaluate(make_expr(DType::Int32, {}, ForRef{4}), env), std::nullopt);
  EXPECT_EQ(evaluate(make_expr(DType::Int32, {}, SizeRef{0}), env), std::nullopt);
  EXPECT_EQ(evaluate(kRead, env), std::nullopt);
  EXPECT_EQ(
      evaluate(make_binary(BinaryOp::Add, make_index(1, DType::Int64), make_int(1, DType::Int64)),
               env),
      std::nullopt);
  EXPECT_EQ(evaluate(make_binary(BinaryOp::And, make_binary(BinaryOp::Lt, kIndex, make_int(0)),
                                 make_binary(BinaryOp::Lt, kRead, make_int(0))),
                     env),
            0);
  EXPECT_EQ(evaluate(make_expr(DType::Int32, {},
                               Cast{DType::Int8, make_binary(BinaryOp::Mul, kIndex, make_int(50))}),
                     env),
            -6);
}

TEST(Traversal, RewriteKeepsHandlesWithoutChange) {
  const ExprPtr sum =
      make_binary(BinaryOp::Add, kRead, make_binary(BinaryOp::Mul, kIndex, make_int(2)));
  EXPECT_EQ(rewrite(sum, [](const ExprPtr&) { return nullptr; }), sum);
  const ExprPtr moved = rewrite(sum, [](const ExprPtr& node) {
    return std::holds_alternative<IndexRef>(node->node) ? make_index(1) : nullptr;
  });
  EXPECT_EQ(text(moved), "tensor#0(i1) + i1 * 2");
  EXPECT_FALSE(equal(sum, moved));
  EXPECT_TRUE(equal(
      sum, make_binary(BinaryOp::Add, kRead, make_binary(BinaryOp::Mul, kIndex, make_int(2)))));
  int nodes = 0;
  walk(sum, [&](const Expr&) { ++nodes; });
  EXPECT_EQ(nodes, 6);
}

}  // namespace
}  // namespace tc::lang
