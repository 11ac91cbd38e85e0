// SPDX-License-Identifier: Apache-2.0
//
// 50-digit references of the builtins, by Boost.Multiprecision and Boost.Math, and the error of a
// result against them.
#pragma once

#include <string_view>
#include <vector>

namespace tc::math::test {

/// |result - f(x)| in units in the last place of a float type with `precision` significant bits and
/// smallest normal exponent `min_exponent` (of the form 2^e). The unit is that of max(|f(x)|,
/// floor): functions that oscillate around zero are measured against a floor, as CUDA's table does.
/// `x` holds the arguments.
double ulp_error(std::string_view builtin, const std::vector<double>& x, double result,
                 int precision, int min_exponent, double floor);

}  // namespace tc::math::test
