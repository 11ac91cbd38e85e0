// SPDX-License-Identifier: Apache-2.0
//
// The type of every form of expression, as it shows in the type of an inferred output, and the
// compute type of its value.
#include <gtest/gtest.h>

#include "sema_testing.h"

namespace tc::lang::test {
namespace {

struct Row {
  const char* expr;
  const char* output;   ///< type of `y` in `y(i) = expr`
  const char* compute;  ///< type of the value's expression
};

class ExpressionType : public testing::TestWithParam<Row> {};

/// One tensor of every type; s is a scalar, N a size, c a const.
const char* const kParams = "bool(N) b, int8(N) i8, int16(N) i16, int32(N) i32, int64(N) i64, "
                            "uint8(N) u8, uint16(N) u16, uint32(N) u32, "
                            "uint64(N) u64, float16(N) f16, bfloat16(N) bf, float(N) f32, "
                            "double(N) f64, float8_e4m3fn(N) e4, "
                            "float8_e5m2(N) e5, int4(N) i4, uint4(N) u4, float s, const int64 c";

TEST_P(ExpressionType, IsWhatTheLanguageSays) {
  const std::string text = std::string("def f(") + kParams +
                           ") -> (y) { y(i) = " + GetParam().expr + " where i in 0:4 }";
  const Resolved resolved = resolve_text(text);
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(name(find_tensor(*resolved.def, "y")->type), GetParam().output);
  EXPECT_EQ(name(statement_at(*resolved.def, 0).value->type), GetParam().compute);
}

const Row kReads[] = {
    {"b(i)", "bool", "bool"},         {"i8(i)", "int8", "int32"},
    {"i16(i)", "int16", "int32"},     {"i32(i)", "int32", "int32"},
    {"i64(i)", "int64", "int64"},     {"u8(i)", "uint8", "int32"},
    {"u16(i)", "uint16", "int32"},    {"u32(i)", "uint32", "uint32"},
    {"u64(i)", "uint64", "uint64"},   {"f16(i)", "float16", "float32"},
    {"bf(i)", "bfloat16", "float32"}, {"f32(i)", "float32", "float32"},
    {"f64(i)", "float64", "float64"}, {"e4(i)", "float32", "float32"},
    {"e5(i)", "float32", "float32"},  {"i4(i)", "int32", "int32"},
    {"u4(i)", "int32", "int32"},      {"s", "float32", "float32"},
    {"s()", "float32", "float32"},    {"i", "int32", "int32"},
    {"N", "int32", "int32"},          {"c", "int64", "int64"},
    {"f32.0", "int32", "int32"},      {"true", "bool", "bool"},
};
INSTANTIATE_TEST_SUITE_P(Reads, ExpressionType, testing::ValuesIn(kReads));

const Row kPromotions[] = {
    {"i8(i) + i8(i)", "int8", "int32"},
    {"i8(i) + u8(i)", "int16", "int32"},
    {"i16(i) * u16(i)", "int32", "int32"},
    {"i32(i) - u32(i)", "int64", "int64"},
    {"i8(i) + i64(i)", "int64", "int64"},
    {"u8(i) + u16(i)", "uint16", "int32"},
    {"i64(i) + f16(i)", "float16", "float32"},
    {"f16(i) + bf(i)", "float32", "float32"},
    {"f16(i) * f32(i)", "float32", "float32"},
    {"bf(i) / f64(i)", "float64", "float64"},
    {"b(i) + i8(i)", "int8", "int32"},
    {"b(i) + b(i)", "bool", "bool"},
    {"b(i) * f16(i)", "float16", "float32"},
    {"e4(i) * f16(i)", "float32", "float32"},
    {"i + i8(i)", "int32", "int32"},
    {"i + f16(i)", "float16", "float32"},
    {"s / N", "float32", "float32"},
    {"-u8(i)", "uint8", "int32"},
    {"i8(i) % i16(i)", "int16", "int32"},
    {"max(i8(i), i16(i), u8(i))", "int16", "int32"},
    {"min(b(i), b(i))", "bool", "bool"},
    {"b(i) ? f16(i) : bf(i)", "float32", "float32"},
    {"b(i) ? i8(i) : f16(i)", "float16", "float32"},
    {"pad(i8(i-1), i8(i))", "int8", "int32"},
    {"pad(f16(i-1), f32(i))", "float32", "float32"},
};
INSTANTIATE_TEST_SUITE_P(Promotions, ExpressionType, testing::ValuesIn(kPromotions));

const Row kLiterals[] = {
    {"1", "int32", "int32"},
    {"3000000000", "int64", "int64"},
    {"18446744073709551615", "uint64", "uint64"},
    {"1.0", "float32", "float32"},
    {"inf", "float32", "float32"},
    {"2 * 3", "int32", "int32"},
    {"2000000000 + 2000000000", "int64", "int64"},
    {"1 / 2.0", "float32", "float32"},
    {"i8(i) + 1", "int8", "int32"},
    {"i8(i) + 300", "int32", "int32"},
    {"u8(i) - 1", "uint8", "int32"},
    {"u8(i) + -1", "int32", "int32"},
    {"i32(i) + 3000000000", "int64", "int64"},
    {"u64(i) + 18446744073709551615", "uint64", "uint64"},
    {"f16(i) * 2", "float16", "float32"},
    {"f16(i) * 0.1", "float16", "float32"},
    {"f64(i) * 0.1", "float64", "float64"},
    {"i8(i) * 0.5", "float32", "float32"},
    {"i64(i) * 0.5", "float32", "float32"},
    {"b(i) + 1", "int32", "int32"},
    {"b(i) + 0.5", "float32", "float32"},
    {"i + 0.5", "float32", "float32"},
    {"f64(i) * (1.0/3.0)", "float64", "float64"},
    {"f16(i) * (-1e30/4)", "float16", "float32"},
    {"b(i) ? 1 : 0", "int32", "int32"},
    {"b(i) ? 1 : 0.5", "float32", "float32"},
    {"b(i) ? f16(i) : 0.5", "float16", "float32"},
    {"b(i) ? i8(i) : 1", "int8", "int32"},
    {"max(f16(i), 0)", "float16", "float32"},
    {"max(1, 2.5)", "float32", "float32"},
    {"min(i8(i), 1, 1.5)", "float32", "float32"},
    {"pad(f16(i-1), 0)", "float16", "float32"},
    {"pad(i8(i-1), 300)", "int32", "int32"},
    {"pow(f64(i), 2)", "float64", "float64"},
    {"fmax(f16(i), 0)", "float16", "float32"},
};
INSTANTIATE_TEST_SUITE_P(Literals, ExpressionType, testing::ValuesIn(kLiterals));

const Row kBoolsCastsBuiltins[] = {
    {"f32(i) < 1", "bool", "bool"},
    {"i8(i) == u8(i)", "bool", "bool"},
    {"b(i) && f32(i) > 0 || !b(i)", "bool", "bool"},
    {"1 < 2", "bool", "bool"},
    {"float16(f32(i))", "float16", "float32"},
    {"float(f16(i))", "float32", "float32"},
    {"half(i32(i))", "float16", "float32"},
    {"float16(f32(i)) * f16(i)", "float16", "float32"},
    {"int8(f32(i))", "int8", "int32"},
    {"int64(i8(i))", "int64", "int64"},
    {"bool(f32(i))", "bool", "bool"},
    {"float8_e4m3fn(f32(i))", "float32", "float32"},
    {"int4(i32(i))", "int32", "int32"},
    {"uint8(300)", "uint8", "int32"},
    {"exp(f16(i))", "float16", "float32"},
    {"exp(i64(i))", "float32", "float32"},
    {"exp(b(i))", "float32", "float32"},
    {"exp(2)", "float32", "float32"},
    {"atan2(i32(i), f64(i))", "float64", "float64"},
    {"fmax(f16(i), i32(i))", "float32", "float32"},
    {"abs(i8(i))", "int8", "int32"},
    {"abs(f16(i))", "float16", "float32"},
    {"relu(i64(i))", "int64", "int64"},
    {"abs(-3)", "int32", "int32"},
    {"isnan(f16(i))", "bool", "bool"},
    {"isinf(i32(i))", "bool", "bool"},
};
INSTANTIATE_TEST_SUITE_P(BoolsCastsBuiltins, ExpressionType,
                         testing::ValuesIn(kBoolsCastsBuiltins));

struct Join {
  const char* body;
  const char* output;
  const char* accumulator;  ///< of the last statement
};

class OutputType : public testing::TestWithParam<Join> {};

TEST_P(OutputType, IsTheJoinOfAllRightHandSides) {
  const Resolved resolved =
      resolve_text(std::string("def f(") + kParams + ") -> (y) {" + GetParam().body + "}");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(name(find_tensor(*resolved.def, "y")->type), GetParam().output);
  const Statement& last = *statements(*resolved.def).back().statement;
  EXPECT_EQ(name(last.accumulator), GetParam().accumulator);
  if (last.op) {
    EXPECT_EQ(last.value->type, last.accumulator);
  }
}

const Join kJoins[] = {
    {"y(i) = f16(i)  y(i) = y(i) * f32(i)", "float32", "float32"},
    {"y(i) = 0 where i in 0:N  y(i) = f16(i)", "float16", "float32"},
    {"y(i) = 0.0 where i in 0:N  y(i) = f16(i)", "float32", "float32"},
    {"y(i) = i8(i)  t(i) = y(i) + i16(i)  y(i) = t(i)", "int16", "float32"},
    {"for t in 0:4 { y(i) = y(i) + f64(i) }  y(i) = f16(i)", "float64", "float32"},
    {"y +=! i8(i)", "int32", "int32"},
    {"y *=! u16(i)", "int32", "int32"},
    {"y +=! b(i)", "int32", "int32"},
    {"y +=! u32(i)", "uint32", "uint32"},
    {"y +=! f16(i)", "float16", "float32"},
    {"y +=! e4(i)", "float32", "float32"},
    {"y max=! i8(i)", "int8", "int32"},
    {"y min=! b(i)", "bool", "bool"},
    {"y max=! f16(i)", "float16", "float32"},
    {"y argmax=! f16(i)", "int32", "float32"},
    {"y argmin=! i8(i)", "int32", "int32"},
    {"y +=! f64(i) * f16(i)", "float64", "float64"},
};
INSTANTIATE_TEST_SUITE_P(Joins, OutputType, testing::ValuesIn(kJoins));

TEST(AnnotatedOutput, HasExactlyItsType) {
  const Resolved resolved =
      resolve_text("def f(float(N) a, bool(N) m) -> (float16(N) y, bool z, int8 n, int64 k) {"
                   " y(i) = a(i)  z +=! m(i)  n +=! a(i)  k argmax=! a(i) }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(find_tensor(*resolved.def, "y")->type, DType::Float16);
  EXPECT_EQ(statement_at(*resolved.def, 1).accumulator, DType::Int32);  // a sum of bools counts
  EXPECT_EQ(statement_at(*resolved.def, 2).accumulator, DType::Int32);
  EXPECT_EQ(statement_at(*resolved.def, 2).value->type, DType::Int32);
  EXPECT_EQ(find_tensor(*resolved.def, "k")->type, DType::Int64);
  EXPECT_EQ(statement_at(*resolved.def, 3).accumulator, DType::Float32);
}

}  // namespace
}  // namespace tc::lang::test
