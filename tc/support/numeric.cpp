// SPDX-License-Identifier: Apache-2.0
#include "tc/support/numeric.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tc/support/check.h"

namespace tc {

namespace {

/// An IEEE-like format of at most 16 bits: one sign bit, `exponent_bits`, `mantissa_bits`.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  ///< all-ones exponent is inf and nan; otherwise only the all-ones pattern is
                      ///< nan
  bool saturates;     ///< overflow and infinities give the largest finite value
  std::uint16_t largest;  ///< magnitude bits of the largest finite value
  std::uint16_t nan;      ///< magnitude bits of the NaN that conversions produce

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint16_t exponent_mask() const {
    return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  }
};

constexpr Format kFloat16 = {5, 10, true, false, 0x7bff, 0x7e00};
constexpr Format kBFloat16 = {8, 7, true, false, 0x7f7f, 0x7fc0};
constexpr Format kE4M3FN = {4, 3, false, true, 0x7e, 0x7f};
constexpr Format kE5M2 = {5, 2, true, true, 0x7b, 0x7e};

float decode(const Format& format, std::uint32_t magnitude, bool negative) {
  const std::uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const int top = (1 << format.exponent_bits) - 1;
  float value = 0;
  if (format.has_infinity ? exponent == top && mantissa != 0 : magnitude == format.nan) {
    value = std::numeric_limits<float>::quiet_NaN();
  } else if (format.has_infinity && exponent == top) {
    value = std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), 1 - format.bias() - format.mantissa_bits);
  } else {
    const std::uint32_t significand = mantissa | (1u << format.mantissa_bits);
    value = std::ldexp(static_cast<float>(significand),
                       exponent - format.bias() - format.mantissa_bits);
  }
  return std::copysign(value, negative ? -1.0f : 1.0f);
}

/// Magnitude bits of |value|, finite and nonzero, rounded to nearest even; may exceed `largest`.
std::uint32_t round_magnitude(const Format& format, double magnitude) {
  constexpr int kDoubleMantissa = 52;
  const auto pattern = std::bit_cast<std::uint64_t>(magnitude);
  const int biased = static_cast<int>(pattern >> kDoubleMantissa);
  // Subnormal doubles are far below half of the smallest subnormal of every narrow format.
  if (biased == 0) return 0;
  const int exponent = biased - 1023;
  const std::uint64_t significand = (pattern & ((std::uint64_t{1} << kDoubleMantissa) - 1)) |
                                    (std::uint64_t{1} << kDoubleMantissa);
  const int smallest_normal = 1 - format.bias();
  if (exponent > format.bias() + 1) return format.largest + 1u;

  // Number of low bits that the target cannot hold; more of them below the normal range.
  int dropped = kDoubleMantissa - format.mantissa_bits;
  if (exponent < smallest_normal) dropped += smallest_normal - exponent;
  if (dropped > kDoubleMantissa + 1) return 0;
  const std::uint64_t kept = significand >> dropped;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const bool up = rest > half || (rest == half && (kept & 1) != 0);
  // Adding the rounded significand to the exponent field lets a carry move to the next binade by
  // itself.
  const std::uint64_t exponent_field =
      exponent < smallest_normal ? 0 : static_cast<std::uint64_t>(exponent - smallest_normal);
  return static_cast<std::uint32_t>((exponent_field << format.mantissa_bits) + kept + (up ? 1 : 0));
}

std::uint16_t encode(const Format& format, double value) {
  const auto sign = static_cast<std::uint16_t>(
      std::signbit(value) ? 1u << (format.exponent_bits + format.mantissa_bits) : 0u);
  if (std::isnan(value)) return sign | format.nan;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const std::uint32_t rounded =
      std::isinf(magnitude) ? format.largest + 1u : round_magnitude(format, magnitude);
  if (rounded <= format.largest) return static_cast<std::uint16_t>(sign | rounded);
  return sign | (format.saturates ? format.largest : format.exponent_mask());
}

}  // namespace

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return floor_div(a, b);
  return floor_div(a, b) + (a % b != 0 ? 1 : 0);
}

bool checked_add(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return !__builtin_add_overflow(a, b, &out);
}

bool checked_mul(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return !__builtin_mul_overflow(a, b, &out);
}

float float16_to_float(std::uint16_t bits) {
  return decode(kFloat16, bits & 0x7fffu, (bits & 0x8000u) != 0);
}
std::uint16_t float16_from_double(double value) {
  return encode(kFloat16, value);
}

float bfloat16_to_float(std::uint16_t bits) {
  return decode(kBFloat16, bits & 0x7fffu, (bits & 0x8000u) != 0);
}
std::uint16_t bfloat16_from_double(double value) {
  return encode(kBFloat16, value);
}

float float8_e4m3fn_to_float(std::uint8_t bits) {
  return decode(kE4M3FN, bits & 0x7fu, (bits & 0x80u) != 0);
}
std::uint8_t float8_e4m3fn_from_double(double value) {
  return static_cast<std::uint8_t>(encode(kE4M3FN, value));
}

float float8_e5m2_to_float(std::uint8_t bits) {
  return decode(kE5M2, bits & 0x7fu, (bits & 0x80u) != 0);
}
std::uint8_t float8_e5m2_from_double(double value) {
  return static_cast<std::uint8_t>(encode(kE5M2, value));
}

double round_to(DType type, double value) {
  switch (type) {
  case DType::Float16: return float16_to_float(float16_from_double(value));
  case DType::BFloat16: return bfloat16_to_float(bfloat16_from_double(value));
  case DType::Float8E4M3FN: return float8_e4m3fn_to_float(float8_e4m3fn_from_double(value));
  case DType::Float8E5M2: return float8_e5m2_to_float(float8_e5m2_from_double(value));
  case DType::Float32: return static_cast<float>(value);
  case DType::Float64: return value;
  case DType::Bool:
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Int64:
  case DType::UInt8:
  case DType::UInt16:
  case DType::UInt32:
  case DType::UInt64:
  case DType::Int4:
  case DType::UInt4: break;
  }
  unreachable("round_to() of a type that is not floating");
}

namespace {

template <class Integer>
double integer_to_odd(Integer value) {
  const double nearest = static_cast<double>(value);
  // The largest values round up to 2^63 or 2^64, which do not fit back: they are inexact.
  const bool fits = nearest < static_cast<double>(std::numeric_limits<Integer>::max());
  if (fits && static_cast<Integer>(nearest) == value) return nearest;
  const bool too_large = !fits || static_cast<Integer>(nearest) > value;
  const double toward = too_large ? -std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::infinity();
  // Of the two doubles around the value, the one with an odd significand.
  return std::bit_cast<std::uint64_t>(nearest) & 1 ? nearest : std::nextafter(nearest, toward);
}

}  // namespace

double round_to_odd(std::int64_t value) {
  return integer_to_odd(value);
}
double round_to_odd(std::uint64_t value) {
  return integer_to_odd(value);
}

std::int64_t wrap_to(DType type, std::int64_t value) {
  check(is_integer(type), "wrap_to() of an integer type");
  const int dropped = 64 - bits(type);
  const std::uint64_t raised = static_cast<std::uint64_t>(value) << dropped;
  if (is_signed_integer(type)) return static_cast<std::int64_t>(raised) >> dropped;
  return static_cast<std::int64_t>(raised >> dropped);
}

std::int64_t float_to_integer(DType type, double value) {
  check(is_integer(type), "float_to_integer() of an integer type");
  if (std::isnan(value)) return 0;
  const double truncated = std::trunc(value);
  // 2^width bounds are exact in double where max_value() itself need not be.
  const int magnitude_bits = is_signed_integer(type) ? bits(type) - 1 : bits(type);
  const double above = std::ldexp(1.0, magnitude_bits);
  if (truncated >= above) return static_cast<std::int64_t>(max_value(type));
  if (is_unsigned_integer(type)) {
    if (truncated <= 0) return 0;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(truncated));
  }
  if (truncated <= -above) return min_value(type);
  return static_cast<std::int64_t>(truncated);
}

}  // namespace tc
