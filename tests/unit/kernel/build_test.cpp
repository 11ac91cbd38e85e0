// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tc/kernel/ir.h"
#include "tc/kernel/passes.h"
#include "tc/support/check.h"

namespace tc::kernel {
namespace {

Var index_var(int id, const char* name) {
  return {id, name, {DType::Int64, 1}};
}

BufferPtr buffer(int id, const char* name, DType type, std::vector<std::int64_t> extents) {
  auto b = std::make_shared<Buffer>();
  b->id = id;
  b->name = name;
  b->type = type;
  b->strides = contiguous_strides(extents);
  b->extents = std::move(extents);
  b->writable = true;
  b->argument = id;
  return b;
}

TEST(Build, FoldsIntegersByTheSemanticsOfTheLanguage) {
  const auto i32 = [](std::int64_t v) { return int_imm(v, DType::Int32); };
  const std::int64_t low = std::numeric_limits<std::int32_t>::min();
  const auto text = [](const ExprPtr& e) { return print(e); };
  EXPECT_EQ(text(binary(BinaryOp::FloorDiv, i32(-7), i32(2))), "-4i32");
  EXPECT_EQ(text(binary(BinaryOp::FloorMod, i32(-7), i32(2))), "1i32");
  EXPECT_EQ(text(binary(BinaryOp::FloorDiv, i32(7), i32(-2))), "-4i32");
  EXPECT_EQ(text(binary(BinaryOp::FloorDiv, i32(7), i32(0))), "0i32");
  EXPECT_EQ(text(binary(BinaryOp::FloorMod, i32(7), i32(0))), "0i32");
  EXPECT_EQ(text(binary(BinaryOp::FloorDiv, i32(low), i32(-1))), "-2147483648i32");
  EXPECT_EQ(text(add(i32(low), i32(-1))), "2147483647i32");
  EXPECT_EQ(text(mul(int_imm(-1, DType::UInt64), int_imm(2, DType::UInt64))),
            "18446744073709551614u64");
  EXPECT_EQ(text(binary(BinaryOp::Lt, int_imm(-1, DType::UInt64), int_imm(2, DType::UInt64))),
            "false");
}

TEST(Build, FoldsFloatsInTheirOwnPrecision) {
  const auto f = [](double v) { return float_imm(v, DType::Float32); };
  EXPECT_EQ(print(add(f(16777216), f(1))), "16777216.0f");
  EXPECT_EQ(print(binary(BinaryOp::Max, f(NAN), f(1))), "nanf");
  EXPECT_EQ(print(cast(DType::Int8, f(300))), "127i32");
  EXPECT_EQ(print(cast(DType::Int32, f(NAN))), "0i32");
  EXPECT_EQ(print(cast(DType::Float16, f(2049))), "2048.0f");
  EXPECT_EQ(print(cast(DType::Bool, f(NAN))), "true");
}

TEST(Build, KeepsWhatFoldingWouldChange) {
  const auto x = var_ref({0, "x", {DType::Float32, 1}});
  // x + 0 turns -0 into 0 and x * 0 loses NaN.
  EXPECT_EQ(print(add(x, float_imm(0, DType::Float32))), "x + 0.0f");
  EXPECT_EQ(print(mul(x, float_imm(0, DType::Float32))), "x * 0.0f");
  EXPECT_EQ(print(mul(x, float_imm(1, DType::Float32))), "x");
}

TEST(Build, KeepsRampsAndUniformValues) {
  const auto i = var_ref(index_var(0, "i"));
  const auto j = var_ref(index_var(1, "j"));
  EXPECT_EQ(print(add(mul(ramp(i, 1, 8), int_imm(4)), j)), "ramp(i * 4 + j, 4, 8)");
  EXPECT_EQ(print(sub(j, ramp(i, 1, 8))), "ramp(j - i, -1, 8)");
  EXPECT_EQ(print(add(broadcast(i, 8), broadcast(j, 8))), "broadcast(i + j, 8)");
  EXPECT_EQ(print(sub(ramp(i, 1, 8), ramp(j, 1, 8))), "broadcast(i - j, 8)");
  EXPECT_EQ(print(lane(ramp(i, 3, 8), 2)), "i + 6");
  const auto a = buffer(0, "A", DType::Float32, {4, 16});
  EXPECT_EQ(print(load(a, {i, broadcast(j, 8)}, broadcast(bool_imm(true), 8))),
            "broadcast(A[i, j], 8)");
  EXPECT_EQ(print(load(a, {i, ramp(j, 1, 8)}, broadcast(bool_imm(false), 8))),
            "broadcast(0.0f, 8)");
}

TEST(Build, SubstitutionOfAVectorWidensTheExpression) {
  const Var i = index_var(0, "i");
  const auto a = buffer(0, "A", DType::Float32, {16});
  const auto scalar = mul(load(a, {var_ref(i)}), float_imm(2, DType::Float32));
  const auto vector = substitute(scalar, {{0, ramp(int_imm(0), 1, 8)}});
  EXPECT_EQ(vector->type, (Type{DType::Float32, 8}));
  EXPECT_EQ(print(vector), "A[ramp(0, 1, 8)] * broadcast(2.0f, 8)");
}

TEST(Build, SubstitutionWithoutAnOccurrenceReturnsTheSameHandle) {
  const auto e = add(var_ref(index_var(0, "i")), int_imm(1));
  EXPECT_EQ(substitute(e, {{7, int_imm(3)}}), e);
}

TEST(Build, RefusesIllTypedExpressions) {
  const auto f = float_imm(1, DType::Float32);
  EXPECT_THROW(add(f, int_imm(1)), InternalError);
  EXPECT_THROW(binary(BinaryOp::FloorDiv, f, f), InternalError);
  EXPECT_THROW(binary(BinaryOp::And, f, f), InternalError);
  EXPECT_THROW(add(ramp(int_imm(0), 1, 4), ramp(int_imm(0), 1, 8)), InternalError);
  EXPECT_THROW(int_imm(1, DType::Int8), InternalError);
  EXPECT_THROW(load(buffer(0, "A", DType::Float32, {4, 4}), {int_imm(0)}), InternalError);
}

TEST(Build, Identities) {
  EXPECT_EQ(print(identity(ReduceOp::Max, DType::Float32)), "-inff");
  EXPECT_EQ(print(identity(ReduceOp::Min, DType::Int64)), "9223372036854775807");
  EXPECT_EQ(print(identity(ReduceOp::Max, DType::UInt32)), "0u32");
  EXPECT_EQ(print(identity(ReduceOp::Min, DType::UInt64)), "18446744073709551615u64");
  EXPECT_EQ(print(identity(ReduceOp::And, DType::Bool)), "true");
  EXPECT_EQ(print(identity(ReduceOp::Min, DType::Bool)), "true");
  EXPECT_EQ(print(identity(ReduceOp::Max, DType::Bool)), "false");
}

}  // namespace
}  // namespace tc::kernel
