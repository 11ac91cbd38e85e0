// SPDX-License-Identifier: Apache-2.0
//
// The builtins that libm lacks: modified Bessel functions and inverse error functions by
// Boost.Math; erfcx and normcdf here, because they need care where the plain formulas overflow or
// cancel. Float versions round the double once.
#include <cmath>
#include <limits>

#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/erf.hpp>

#include "tc/math/scalar.h"

namespace {

namespace policies = boost::math::policies;
/// Every error yields the IEEE value (NaN, infinity, zero) without a throw and without errno.
/// Staying in double keeps results equal across targets whose long double differs.
using Ieee = policies::policy<policies::domain_error<policies::ignore_error>,
                              policies::pole_error<policies::ignore_error>,
                              policies::overflow_error<policies::ignore_error>,
                              policies::underflow_error<policies::ignore_error>,
                              policies::denorm_error<policies::ignore_error>,
                              policies::rounding_error<policies::ignore_error>,
                              policies::evaluation_error<policies::ignore_error>,
                              policies::indeterminate_result_error<policies::ignore_error>,
                              policies::promote_float<false>, policies::promote_double<false>>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoOverSqrtPi = 1.1283791670955125739;
constexpr double kOneOverSqrtPi = 0.5641895835477562869;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtHalfTail = -4.8336466567264565e-17;  // sqrt(1/2) - kSqrtHalf
constexpr double kSqrt2 = 1.4142135623730950488;

/// Even in x; Boost's order-0 series wants a finite argument.
double bessel_i0(double x) {
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return kInf;
  return boost::math::cyl_bessel_i(0, std::fabs(x), Ieee());
}

double bessel_i1(double x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  return std::copysign(boost::math::cyl_bessel_i(1, std::fabs(x), Ieee()), x);
}

double erf_inverse(double x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  if (std::fabs(x) == 1) return std::copysign(kInf, x);
  // Below sqrt(eps) the series' second term is under half an ulp; also keeps -0 and subnormals.
  if (std::fabs(x) < 1e-9) return x == 0 ? x : x / kTwoOverSqrtPi;
  return boost::math::erf_inv(x, Ieee());
}

double erfc_inverse(double x) {
  if (!(x >= 0 && x <= 2)) return kNan;
  if (x == 0) return kInf;
  if (x == 2) return -kInf;
  return boost::math::erfc_inv(x, Ieee());
}

/// exp(x*x) with the rounding error of the square fed back to first order.
double exp_square(double x) {
  const double square = x * x;
  if (square > 720) return kInf;
  return std::exp(square) * (1 + std::fma(x, x, -square));
}

/// erfcx(x) for x >= 10: the asymptotic series sum (-1)^k (2k-1)!! / (2x^2)^k, whose terms fall
/// below 1e-17 within 13 steps.
double erfcx_asymptotic(double x) {
  const double inverse = 0.5 / x / x;
  double term = 1;
  double sum = 0;
  for (int k = 1; k <= 14; ++k) {
    term *= -(2 * k - 1) * inverse;
    sum += term;
  }
  return kOneOverSqrtPi / x * (1 + sum);
}

/// exp(x^2) erfc(x)
double erfcx(double x) {
  if (std::isnan(x)) return x;
  if (x >= 10) return erfcx_asymptotic(x);
  return exp_square(x) * std::erfc(x);
}

/// Standard normal distribution: erfc(-x / sqrt 2) / 2. In the left tail erfc turns a relative
/// error d of its argument t into 2 t^2 d, so the rounding error of -x / sqrt 2 is carried along
/// and applied with erfc(t + d) = erfc(t) (1 - d * (2/sqrt(pi)) / erfcx(t)).
double normal_cdf(double x) {
  if (std::isnan(x)) return x;
  if (x > 40) return 1;
  if (x < -40) return 0;
  const double t = -x * kSqrtHalf;
  const double tail = std::fma(-x, kSqrtHalf, -t) - x * kSqrtHalfTail;
  const double value = 0.5 * std::erfc(t);
  return t > 0 ? value * (1 - tail * kTwoOverSqrtPi / erfcx(t)) : value;
}

/// 2p is exact, and so is the reflection inside erfc_inverse.
double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  return -kSqrt2 * erfc_inverse(2 * p);
}

}  // namespace

#define TC_MATH_DEFINE(name, function)                                                             \
  extern "C" double tc_math_##name##_f64(double x) {                                               \
    return function(x);                                                                            \
  }                                                                                                \
  extern "C" float tc_math_##name##_f32(float x) {                                                 \
    return static_cast<float>(function(x));                                                        \
  }

TC_MATH_DEFINE(cyl_bessel_i0, bessel_i0)
TC_MATH_DEFINE(cyl_bessel_i1, bessel_i1)
TC_MATH_DEFINE(erfcinv, erfc_inverse)
TC_MATH_DEFINE(erfcx, erfcx)
TC_MATH_DEFINE(erfinv, erf_inverse)
TC_MATH_DEFINE(normcdf, normal_cdf)
TC_MATH_DEFINE(normcdfinv, normal_quantile)
