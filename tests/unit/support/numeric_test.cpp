// SPDX-License-Identifier: Apache-2.0
#include "tc/support/numeric.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tc/support/check.h"

namespace tc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

struct Format {
  const char* name;
  unsigned patterns;  ///< number of bit patterns
  unsigned sign;      ///< the sign bit
  unsigned largest;   ///< pattern of the largest finite value
  double largest_value;
  double smallest;  ///< smallest subnormal
  bool saturates;
  std::function<double(unsigned)> decode;
  std::function<unsigned(double)> encode;
};

std::vector<Format> formats() {
  return {
      {"float16", 0x10000, 0x8000, 0x7bff, 65504, std::ldexp(1, -24), false,
       [](unsigned b) { return float16_to_float(static_cast<std::uint16_t>(b)); },
       [](double v) { return float16_from_double(v); }},
      {"bfloat16", 0x10000, 0x8000, 0x7f7f, std::ldexp(255, 120), std::ldexp(1, -133), false,
       [](unsigned b) { return bfloat16_to_float(static_cast<std::uint16_t>(b)); },
       [](double v) { return bfloat16_from_double(v); }},
      {"float8_e4m3fn", 0x100, 0x80, 0x7e, 448, std::ldexp(1, -9), true,
       [](unsigned b) { return float8_e4m3fn_to_float(static_cast<std::uint8_t>(b)); },
       [](double v) { return float8_e4m3fn_from_double(v); }},
      {"float8_e5m2", 0x100, 0x80, 0x7b, 57344, std::ldexp(1, -16), true,
       [](unsigned b) { return float8_e5m2_to_float(static_cast<std::uint8_t>(b)); },
       [](double v) { return float8_e5m2_from_double(v); }},
  };
}

TEST(NarrowFloats, EveryPatternRoundTrips) {
  for (const Format& f : formats())
    for (unsigned bits = 0; bits < f.patterns; ++bits) {
      const double value = f.decode(bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(f.decode(f.encode(value)))) << f.name << " " << bits;
      } else if (std::isinf(value) && f.saturates) {
        EXPECT_EQ(f.encode(value) & ~f.sign, f.largest) << f.name << " " << bits;
      } else {
        EXPECT_EQ(f.encode(value), bits) << f.name;
      }
    }
}

TEST(NarrowFloats, PatternsAreOrdered) {
  for (const Format& f : formats()) {
    EXPECT_EQ(f.decode(0), 0.0);
    EXPECT_TRUE(std::signbit(f.decode(f.sign)));
    EXPECT_EQ(f.decode(1), f.smallest) << f.name;
    EXPECT_EQ(f.decode(f.largest), f.largest_value) << f.name;
    for (unsigned bits = 0; bits < f.largest; ++bits)
      EXPECT_LT(f.decode(bits), f.decode(bits + 1)) << f.name;
  }
}

/// Between neighbours: the middle goes to the even pattern, the doubles just beside it to the
/// nearer one.
TEST(NarrowFloats, RoundToNearestEvenOnce) {
  for (const Format& f : formats())
    for (unsigned bits = 0; bits < f.largest; ++bits) {
      const double low = f.decode(bits);
      const double high = f.decode(bits + 1);
      const double middle = low + (high - low) / 2;
      EXPECT_EQ(f.encode(middle), bits % 2 == 0 ? bits : bits + 1) << f.name << " " << bits;
      // The smallest double above the middle would round to the middle first if it went through
      // float32.
      EXPECT_EQ(f.encode(std::nextafter(middle, kInf)), bits + 1) << f.name << " " << bits;
      EXPECT_EQ(f.encode(std::nextafter(middle, -kInf)), bits) << f.name << " " << bits;
      EXPECT_EQ(f.encode(-std::nextafter(middle, kInf)), (bits + 1) | f.sign)
          << f.name << " " << bits;
    }
}

TEST(NarrowFloats, Overflow) {
  for (const Format& f : formats()) {
    const double step = f.largest_value - f.decode(f.largest - 1);
    const double limit = f.largest_value + step / 2;
    EXPECT_EQ(f.encode(std::nextafter(limit, 0)), f.largest) << f.name;
    for (const double big : {limit, 2 * limit, 1e300, std::numeric_limits<double>::max(), kInf}) {
      if (f.saturates) {
        EXPECT_EQ(f.encode(big), f.largest) << f.name << " " << big;
        EXPECT_EQ(f.encode(-big), f.largest | f.sign) << f.name << " " << big;
      } else {
        EXPECT_EQ(f.decode(f.encode(big)), kInf) << f.name << " " << big;
        EXPECT_EQ(f.decode(f.encode(-big)), -kInf) << f.name << " " << big;
      }
    }
  }
}

TEST(NarrowFloats, TinyAndSpecialValues) {
  for (const Format& f : formats()) {
    EXPECT_EQ(f.encode(f.smallest / 2), 0u) << f.name;
    EXPECT_EQ(f.encode(std::nextafter(f.smallest / 2, 1)), 1u) << f.name;
    EXPECT_EQ(f.encode(std::numeric_limits<double>::denorm_min()), 0u) << f.name;
    EXPECT_EQ(f.encode(-1e-300), f.sign) << f.name;
    EXPECT_EQ(f.encode(-0.0), f.sign) << f.name;
    EXPECT_TRUE(std::isnan(f.decode(f.encode(kNan)))) << f.name;
    EXPECT_TRUE(std::isnan(f.decode(f.encode(-kNan)))) << f.name;
  }
}

TEST(NarrowFloats, SpecialPatterns) {
  EXPECT_EQ(float16_to_float(0x7c00), kInf);
  EXPECT_EQ(float16_to_float(0xfc00), -kInf);
  EXPECT_TRUE(std::isnan(float16_to_float(0x7c01)));
  EXPECT_EQ(bfloat16_to_float(0x7f80), kInf);
  EXPECT_TRUE(std::isnan(bfloat16_to_float(0xff81)));
  EXPECT_EQ(float8_e4m3fn_to_float(0x78), 256);
  EXPECT_TRUE(std::isnan(float8_e4m3fn_to_float(0x7f)));
  EXPECT_TRUE(std::isnan(float8_e4m3fn_to_float(0xff)));
  EXPECT_EQ(float8_e5m2_to_float(0x7c), kInf);
  EXPECT_TRUE(std::isnan(float8_e5m2_to_float(0x7d)));
}

TEST(RoundTo, EveryFloatingType) {
  const double third = 1.0 / 3.0;
  EXPECT_EQ(round_to(DType::Float64, third), third);
  EXPECT_EQ(round_to(DType::Float32, third), static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(round_to(DType::Float16, third), 0x1.554p-2);
  EXPECT_EQ(round_to(DType::BFloat16, third), 0x1.56p-2);
  EXPECT_EQ(round_to(DType::Float8E4M3FN, third), 0.34375);
  EXPECT_EQ(round_to(DType::Float8E5M2, third), 0.3125);
  EXPECT_EQ(round_to(DType::Float16, 4096), 4096);
  EXPECT_THROW(round_to(DType::Int32, 1), InternalError);
}

TEST(IntegerDivision, RoundsTowardMinusInfinity) {
  struct Case {
    std::int64_t a, b, quotient, remainder, ceiling;
  };
  for (const Case& c : {Case{7, 2, 3, 1, 4},
                        {-7, 2, -4, 1, -3},
                        {7, -2, -4, -1, -3},
                        {-7, -2, 3, -1, 4},
                        {6, 3, 2, 0, 2},
                        {-6, 3, -2, 0, -2},
                        {0, 5, 0, 0, 0},
                        {5, 0, 0, 0, 0},
                        {-5, 0, 0, 0, 0},
                        {INT64_MIN, -1, INT64_MIN, 0, INT64_MIN},
                        {INT64_MIN, 1, INT64_MIN, 0, INT64_MIN},
                        {INT64_MAX, -1, -INT64_MAX, 0, -INT64_MAX},
                        {INT64_MIN, INT64_MAX, -2, INT64_MAX - 1, -1}}) {
    EXPECT_EQ(floor_div(c.a, c.b), c.quotient) << c.a << " / " << c.b;
    EXPECT_EQ(floor_mod(c.a, c.b), c.remainder) << c.a << " % " << c.b;
    EXPECT_EQ(ceil_div(c.a, c.b), c.ceiling) << c.a << " ceil/ " << c.b;
  }
}

TEST(CheckedArithmetic, ReportsOverflow) {
  std::int64_t out = 0;
  EXPECT_TRUE(checked_add(INT64_MAX - 1, 1, out));
  EXPECT_EQ(out, INT64_MAX);
  EXPECT_FALSE(checked_add(INT64_MAX, 1, out));
  EXPECT_FALSE(checked_add(INT64_MIN, -1, out));
  EXPECT_TRUE(checked_mul(std::int64_t{1} << 31, std::int64_t{1} << 31, out));
  EXPECT_EQ(out, std::int64_t{1} << 62);
  EXPECT_FALSE(checked_mul(std::int64_t{1} << 32, std::int64_t{1} << 31, out));
  EXPECT_FALSE(checked_mul(INT64_MIN, -1, out));
}

TEST(WrapTo, KeepsTheLowBits) {
  struct Case {
    DType type;
    std::int64_t value, wrapped;
  };
  for (const Case& c : {Case{DType::Int8, 128, -128},
                        {DType::Int8, -129, 127},
                        {DType::UInt8, -1, 255},
                        {DType::UInt8, 256, 0},
                        {DType::Int4, 8, -8},
                        {DType::UInt4, 17, 1},
                        {DType::Int16, 0x18000, -0x8000},
                        {DType::Int32, std::int64_t{1} << 31, -(std::int64_t{1} << 31)},
                        {DType::UInt32, -1, 0xffffffff},
                        {DType::Int64, INT64_MIN, INT64_MIN},
                        {DType::UInt64, -1, -1}})
    EXPECT_EQ(wrap_to(c.type, c.value), c.wrapped) << name(c.type) << " " << c.value;
}

TEST(FloatToInteger, TruncatesAndSaturates) {
  struct Case {
    DType type;
    double value;
    std::int64_t result;
  };
  for (const Case& c : {Case{DType::Int32, 2.9, 2},
                        {DType::Int32, -2.9, -2},
                        {DType::Int32, 3e9, INT32_MAX},
                        {DType::Int32, -3e9, INT32_MIN},
                        {DType::Int32, kNan, 0},
                        {DType::Int32, kInf, INT32_MAX},
                        {DType::UInt8, -0.5, 0},
                        {DType::UInt8, -7, 0},
                        {DType::UInt8, 255.9, 255},
                        {DType::UInt8, 256, 255},
                        {DType::Int8, -128.9, -128},
                        {DType::Int8, -129, -128},
                        {DType::Int4, 9, 7},
                        {DType::Int64, 1e19, INT64_MAX},
                        {DType::Int64, -1e19, INT64_MIN},
                        {DType::Int64, -0x1p63, INT64_MIN},
                        {DType::UInt64, 0x1p63, INT64_MIN},
                        {DType::UInt64, 1e30, -1},
                        {DType::UInt64, -1, 0},
                        {DType::UInt64, kNan, 0}})
    EXPECT_EQ(float_to_integer(c.type, c.value), c.result) << name(c.type) << " " << c.value;
}

}  // namespace
}  // namespace tc
