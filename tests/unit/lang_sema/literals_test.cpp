// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "sema_testing.h"

namespace tc::lang::test {
namespace {

Resolved value_of(const std::string& expr, const std::string& type) {
  return resolve_text("def f() -> (" + type + " y) { y = " + expr + " }");
}

struct IntRow {
  const char* expr;
  std::int64_t value;
};
class IntegerFolding : public testing::TestWithParam<IntRow> {};

TEST_P(IntegerFolding, FloorsAndStaysExact) {
  const Resolved resolved = value_of(GetParam().expr, "int64");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  const auto* constant = std::get_if<IntConst>(&statement_at(*resolved.def, 0).value->node);
  ASSERT_TRUE(constant) << value_text(*resolved.def, 0);
  EXPECT_EQ(constant->value, GetParam().value);
}
const IntRow kIntegers[] = {
    {"7 / 2", 3},
    {"-7 / 2", -4},
    {"7 / -2", -4},
    {"-7 / -2", 3},
    {"-7 % 2", 1},
    {"7 % -2", -1},
    {"2 + 3 * 4", 14},
    {"-(2 - 5)", 3},
    {"0x10 + 1", 17},
    {"max(3, 7, 5)", 7},
    {"min(3, -7)", -7},
    {"2147483647 + 1", 2147483648},
    {"int8(200)", -56},
    {"uint8(-1)", 255},
    {"int32(2.9)", 2},
    {"int32(-2.9)", -2},
    {"int8(1e9)", 127},
    {"int32(nan)", 0},
    {"-9223372036854775808", INT64_MIN},
};
INSTANTIATE_TEST_SUITE_P(Table, IntegerFolding, testing::ValuesIn(kIntegers));

struct FloatRow {
  const char* expr;
  const char* type;
  double value;
};
class FloatFolding : public testing::TestWithParam<FloatRow> {};

TEST_P(FloatFolding, RoundsOnce) {
  const Resolved resolved = value_of(GetParam().expr, GetParam().type);
  ASSERT_TRUE(resolved.def) << resolved.messages;
  const auto* constant = std::get_if<FloatConst>(&statement_at(*resolved.def, 0).value->node);
  ASSERT_TRUE(constant) << value_text(*resolved.def, 0);
  const bool nan = std::isnan(GetParam().value);
  EXPECT_TRUE(nan ? std::isnan(constant->value) : constant->value == GetParam().value)
      << constant->value;
}
const double kInf = std::numeric_limits<double>::infinity();
const FloatRow kFloats[] = {
    {"0.1", "float", 0.1f},
    {"0.1", "double", 0.1},
    {"-0.1", "float", -0.1f},
    {"1.0/3.0", "double", 1.0 / 3.0},
    {"1.0/3.0", "float", static_cast<float>(1.0 / 3.0)},
    {"-1e30/4", "double", -2.5e29},
    {"-127.0", "float", -127.0},
    {"1/2.0", "float", 0.5},
    {"3", "float", 3.0},
    {"16777217", "float", 16777216.0},
    {"inf", "float", kInf},
    {"-inf", "double", -kInf},
    {"nan", "float", std::nan("")},
    {"1.0/0.0", "float", kInf},
    {"max(1, 2.5)", "float", 2.5},
    {"max(1, nan)", "float", std::nan("")},
    {"0.1", "float16", 0.0999755859375},
    {"65504.0 * 2", "float16", kInf},
    {"float16(0.1)", "double", 0.0999755859375},
    {"1000.0", "float8_e4m3fn", 448.0},
    // Halfway between two floats but for the last digit: rounding through float64 would lose it.
    {"1.00000005960464477540", "float", 1.0 + 1.0 / 8388608.0},
};
INSTANTIATE_TEST_SUITE_P(Table, FloatFolding, testing::ValuesIn(kFloats));

TEST(Literals, MeetTheirOperandUnrounded) {
  const Resolved resolved = resolve_text(
      "def f(double(N) a, float(N) b) -> (x, y) { x(i) = a(i) * 0.1  y(i) = b(i) * 0.1 }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  const auto factor = [&](int id) {
    return std::get<FloatConst>(
               std::get<Binary>(statement_at(*resolved.def, id).value->node).right->node)
        .value;
  };
  EXPECT_EQ(factor(0), 0.1);
  EXPECT_EQ(factor(1), static_cast<double>(0.1f));
}

}  // namespace
}  // namespace tc::lang::test
