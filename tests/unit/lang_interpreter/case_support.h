// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the reported cases share: short constructors of values, references by plain
// loops, comparisons.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pipeline.h"

namespace tc::lang::test {

using Reals = std::vector<double>;
using Integers = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline const double kNan = std::numeric_limits<double>::quiet_NaN();

inline Value f32(Shape shape, Reals data) {
  return {DType::Float32, std::move(shape), std::move(data), {}};
}
inline Value i32(Shape shape, Integers data) {
  return {DType::Int32, std::move(shape), {}, std::move(data)};
}
inline Value f32(Shape shape, int seed) {
  return numbers(DType::Float32, std::move(shape), seed);
}

/// Element of a float value by subscripts.
inline double at(const Value& value, std::initializer_list<std::int64_t> subscripts) {
  std::int64_t offset = 0;
  std::size_t d = 0;
  for (const std::int64_t s : subscripts) {
    EXPECT_TRUE(s >= 0 && s < value.shape[d]) << "the reference of a test reads out of bounds";
    offset = offset * value.shape[d++] + s;
  }
  return value.real[static_cast<std::size_t>(offset)];
}

/// A float32 tensor computed by a reference: f receives the subscripts as a vector.
template <class F>
Reals reference(const Shape& shape, F f) {
  std::int64_t total = 1;
  for (const std::int64_t extent : shape)
    total *= extent;
  Reals out;
  for (std::int64_t flat = 0; flat < total; ++flat) {
    Shape s(shape.size());
    std::int64_t rest = flat;
    for (std::size_t d = shape.size(); d-- > 0;) {
      s[d] = rest % shape[d];
      rest /= shape[d];
    }
    out.push_back(f(s));
  }
  return out;
}

inline void expect_near(const Value& value, const Shape& shape, const Reals& expected,
                        double tolerance) {
  ASSERT_EQ(value.shape, shape);
  ASSERT_EQ(value.real.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(value.real[i])) << "at " << i;
    } else if (std::isinf(expected[i])) {
      EXPECT_EQ(value.real[i], expected[i]) << "at " << i;
    } else {
      EXPECT_NEAR(value.real[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i])))
          << "at " << i;
    }
  }
}
inline void expect_equal(const Value& value, const Shape& shape, const Reals& expected) {
  ASSERT_EQ(value.shape, shape);
  EXPECT_EQ(value.real, expected);
}

}  // namespace tc::lang::test
