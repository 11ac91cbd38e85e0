// SPDX-License-Identifier: Apache-2.0
#include "builtin_reference.h"

#include <cmath>
#include <limits>

#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/erf.hpp>

namespace bench {

namespace {

using Real = long double;
namespace policies = boost::math::policies;
using Ieee = policies::policy<policies::domain_error<policies::ignore_error>,
                              policies::pole_error<policies::ignore_error>,
                              policies::overflow_error<policies::ignore_error>,
                              policies::underflow_error<policies::ignore_error>,
                              policies::denorm_error<policies::ignore_error>,
                              policies::evaluation_error<policies::ignore_error>>;

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr Real kPi = 3.14159265358979323846264338327950288L;
constexpr Real kSqrtPi = 1.77245385090551602729816748334114518L;
constexpr Real kSqrt2 = 1.41421356237309504880168872420969808L;
/// Beyond it exp(x) and e^x-like functions of float arguments have left every range of interest.
constexpr Real kFarTail = 100;

Real bessel_i0(Real x) {
  if (std::isnan(x)) return x;
  if (std::fabs(x) > kFarTail) return kInf;
  return boost::math::cyl_bessel_i(0, std::fabs(x), Ieee());
}

Real bessel_i1(Real x) {
  if (std::isnan(x) || x == 0) return x;
  if (std::fabs(x) > kFarTail) return std::copysign(kInf, x);
  return std::copysign(boost::math::cyl_bessel_i(1, std::fabs(x), Ieee()), x);
}

Real erf_inverse(Real x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  if (std::fabs(x) == 1) return std::copysign(kInf, x);
  if (std::fabs(x) < 1e-12L) return x * kSqrtPi / 2;  // the next term is x^3
  return boost::math::erf_inv(x, Ieee());
}

Real erfc_inverse(Real x) {
  if (!(x >= 0 && x <= 2)) return kNan;
  if (x == 0) return kInf;
  if (x == 2) return -kInf;
  return boost::math::erfc_inv(x, Ieee());
}

/// The square of a float32 is exact here.
Real erfcx(Real x) {
  if (x < kFarTail) return x < -kFarTail ? kInf : std::exp(x * x) * std::erfc(x);
  const Real inverse = 1 / (2 * x * x);
  const Real series = 1 + inverse * (-1 + inverse * (3 + inverse * (-15 + inverse * 105)));
  return x == kInf ? 0 : series / (x * kSqrtPi);
}

Real logistic(Real x) {
  const Real e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/// sin(pi r) for r in [0, 1/2].
Real sin_pi_reduced(Real r) {
  return r <= 0.25L ? std::sin(kPi * r) : std::cos(kPi * (0.5L - r));
}

Real sin_pi(Real x) {
  if (!std::isfinite(x)) return kNan;
  const Real r = std::fmod(std::fabs(x), 2.0L);
  if (r == 0 || r == 1) return std::copysign(0.0L, x);
  const Real half = r > 1 ? r - 1 : r;
  const Real value = sin_pi_reduced(half > 0.5L ? 1 - half : half);
  return (r > 1) != std::signbit(x) ? -value : value;
}

Real cos_pi(Real x) {
  if (!std::isfinite(x)) return kNan;
  Real r = std::fmod(std::fabs(x), 2.0L);
  if (r > 1) r = 2 - r;
  if (r == 0.5L) return 0;
  return r < 0.5L ? sin_pi_reduced(0.5L - r) : -sin_pi_reduced(r - 0.5L);
}

Real log_gamma(Real x) {
  int sign = 0;
  return std::isinf(x) ? kInf : ::lgammal_r(x, &sign);
}

Real relu(Real x) {
  if (std::isnan(x)) return x;
  return x > 0 ? x : 0;
}

}  // namespace

const std::vector<Reference>& references() {
#define TC_FUNCTION(name, expression) {#name, [](Real x) -> Real { return expression; }}
  static const std::vector<Reference> table = {
      TC_FUNCTION(abs, std::fabs(x)),
      TC_FUNCTION(acos, std::acos(x)),
      TC_FUNCTION(acosh, std::acosh(x)),
      TC_FUNCTION(asin, std::asin(x)),
      TC_FUNCTION(asinh, std::asinh(x)),
      TC_FUNCTION(atan, std::atan(x)),
      TC_FUNCTION(atanh, std::atanh(x)),
      TC_FUNCTION(cbrt, std::cbrt(x)),
      TC_FUNCTION(ceil, std::ceil(x)),
      TC_FUNCTION(cos, std::cos(x)),
      TC_FUNCTION(cosh, std::cosh(x)),
      TC_FUNCTION(cospi, cos_pi(x)),
      TC_FUNCTION(cyl_bessel_i0, bessel_i0(x)),
      TC_FUNCTION(cyl_bessel_i1, bessel_i1(x)),
      TC_FUNCTION(erf, std::erf(x)),
      TC_FUNCTION(erfc, std::erfc(x)),
      TC_FUNCTION(erfcinv, erfc_inverse(x)),
      TC_FUNCTION(erfcx, erfcx(x)),
      TC_FUNCTION(erfinv, erf_inverse(x)),
      TC_FUNCTION(exp, std::exp(x)),
      TC_FUNCTION(exp10, ::exp10l(x)),
      TC_FUNCTION(exp2, std::exp2(x)),
      TC_FUNCTION(expm1, std::expm1(x)),
      TC_FUNCTION(fabs, std::fabs(x)),
      TC_FUNCTION(floor, std::floor(x)),
      TC_FUNCTION(isinf, std::isinf(x) ? 1 : 0),
      TC_FUNCTION(isnan, std::isnan(x) ? 1 : 0),
      TC_FUNCTION(j0, ::j0l(x)),
      TC_FUNCTION(j1, ::j1l(x)),
      TC_FUNCTION(lgamma, log_gamma(x)),
      TC_FUNCTION(log, std::log(x)),
      TC_FUNCTION(log10, std::log10(x)),
      TC_FUNCTION(log1p, std::log1p(x)),
      TC_FUNCTION(log2, std::log2(x)),
      TC_FUNCTION(logb, std::logb(x)),
      TC_FUNCTION(normcdf, std::erfc(-x / kSqrt2) / 2),
      TC_FUNCTION(normcdfinv, -kSqrt2 * erfc_inverse(2 * x)),
      TC_FUNCTION(rcbrt, 1 / std::cbrt(x)),
      TC_FUNCTION(relu, relu(x)),
      TC_FUNCTION(rint, std::rint(x)),
      TC_FUNCTION(round, std::round(x)),
      TC_FUNCTION(rsqrt, 1 / std::sqrt(x)),
      TC_FUNCTION(sigmoid, logistic(x)),
      TC_FUNCTION(sin, std::sin(x)),
      TC_FUNCTION(sinh, std::sinh(x)),
      TC_FUNCTION(sinpi, sin_pi(x)),
      TC_FUNCTION(sqrt, std::sqrt(x)),
      TC_FUNCTION(tan, std::tan(x)),
      TC_FUNCTION(tanh, std::tanh(x)),
      TC_FUNCTION(tgamma, std::tgamma(x)),
      TC_FUNCTION(trunc, std::trunc(x)),
      TC_FUNCTION(y0, ::y0l(x)),
      TC_FUNCTION(y1, ::y1l(x)),
  };
#undef TC_FUNCTION
  return table;
}

}  // namespace bench
