// SPDX-License-Identifier: Apache-2.0
//
// Short constructors of values, and references by plain loops.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "tc/lang/interpreter.h"
#include "tc/support/check.h"

namespace tc::cases {

using Reals = std::vector<double>;
using Integers = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline lang::Value f32(Shape shape, Reals data) {
  return {DType::Float32, std::move(shape), std::move(data), {}};
}
inline lang::Value i32(Shape shape, Integers data) {
  return {DType::Int32, std::move(shape), {}, std::move(data)};
}

/// A tensor from a function of the subscripts.
template <class F>
lang::Value tabulate(DType type, Shape shape, F&& f) {
  lang::Value value = lang::Value::zeros(type, shape);
  Shape subscripts(shape.size(), 0);
  const std::int64_t count = value.elements();
  for (std::int64_t flat = 0; flat < count; ++flat) {
    if (is_float(type))
      value.real[static_cast<std::size_t>(flat)] = static_cast<double>(f(subscripts));
    else
      value.integer[static_cast<std::size_t>(flat)] = static_cast<std::int64_t>(f(subscripts));
    for (std::size_t d = shape.size(); d-- > 0 && ++subscripts[d] == shape[d];)
      subscripts[d] = 0;
  }
  return value;
}

/// Small integers, without a pattern that a wrong subscript could hit by chance.
inline lang::Value small_integers(DType type, Shape shape, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  return tabulate(type, std::move(shape), [&](const Shape&) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>(state >> 40) % 13 - 6;
  });
}
inline lang::Value f32(Shape shape, int seed) {
  return small_integers(DType::Float32, std::move(shape), static_cast<std::uint64_t>(seed));
}

/// Element of a floating value.
inline double at(const lang::Value& value, std::initializer_list<std::int64_t> subscripts) {
  std::int64_t offset = 0;
  std::size_t d = 0;
  for (const std::int64_t s : subscripts) {
    check(s >= 0 && s < value.shape[d], "the reference of a test reads out of bounds");
    offset = offset * value.shape[d++] + s;
  }
  return value.real[static_cast<std::size_t>(offset)];
}

}  // namespace tc::cases
