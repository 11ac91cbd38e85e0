// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tc/support/dtype.h"

namespace tc {

/// Integer division toward minus infinity; x/0 is 0, INT64_MIN/-1 wraps (language.md section 5).
std::int64_t floor_div(std::int64_t a, std::int64_t b);
/// Remainder of floor_div: has the sign of `b`; x%0 is 0.
std::int64_t floor_mod(std::int64_t a, std::int64_t b);
std::int64_t ceil_div(std::int64_t a, std::int64_t b);

/// Arithmetic on int64 that reports overflow. Each returns false (and leaves `out` unspecified) on
/// overflow.
bool checked_add(std::int64_t a, std::int64_t b, std::int64_t& out);
bool checked_mul(std::int64_t a, std::int64_t b, std::int64_t& out);

/// Bit-exact conversions between float32 and the narrow formats; to narrow: round to nearest even
/// from the full double value (one rounding); float8 saturates to the largest finite value (NaN
/// stays NaN).
float float16_to_float(std::uint16_t bits);
std::uint16_t float16_from_double(double value);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t bfloat16_from_double(double value);
float float8_e4m3fn_to_float(std::uint8_t bits);
std::uint8_t float8_e4m3fn_from_double(double value);
float float8_e5m2_to_float(std::uint8_t bits);
std::uint8_t float8_e5m2_from_double(double value);

/// Rounds `value` to the nearest representable value of a floating type and returns it widened.
double round_to(DType type, double value);
/// The double that is the integer rounded to odd instead of to nearest: a later rounding to a float
/// of at most 16 bits is then as exact as a single one.
double round_to_odd(std::int64_t value);
double round_to_odd(std::uint64_t value);
/// Wraps an integer to the width of an integer type (two's complement) and returns it sign- or
/// zero-extended.
std::int64_t wrap_to(DType type, std::int64_t value);
/// float -> integer cast of the language: truncates, saturates, NaN gives 0. The result is the bit
/// pattern for uint64.
std::int64_t float_to_integer(DType type, double value);

}  // namespace tc
