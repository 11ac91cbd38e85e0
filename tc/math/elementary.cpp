// SPDX-License-Identifier: Apache-2.0
//
// Builtins that libm has, or that are short expressions over it. Functions whose float result is
// not exact by construction are computed in double and rounded once, which makes them correct to
// half an ulp in nearly all cases.
#include <cmath>

#include "tc/math/scalar.h"

// float and double from one expression that is exact (or correctly rounded) in either type.
#define TC_MATH_EXACT1(name, expression)                                                           \
  extern "C" float tc_math_##name##_f32(float x) {                                                 \
    return expression;                                                                             \
  }                                                                                                \
  extern "C" double tc_math_##name##_f64(double x) {                                               \
    return expression;                                                                             \
  }
#define TC_MATH_EXACT2(name, expression)                                                           \
  extern "C" float tc_math_##name##_f32(float x, float y) {                                        \
    return expression;                                                                             \
  }                                                                                                \
  extern "C" double tc_math_##name##_f64(double x, double y) {                                     \
    return expression;                                                                             \
  }
// double from an expression, float by way of double.
#define TC_MATH_ROUNDED1(name, expression)                                                         \
  extern "C" double tc_math_##name##_f64(double x) {                                               \
    return expression;                                                                             \
  }                                                                                                \
  extern "C" float tc_math_##name##_f32(float x) {                                                 \
    return static_cast<float>(tc_math_##name##_f64(x));                                            \
  }
#define TC_MATH_ROUNDED2(name, expression)                                                         \
  extern "C" double tc_math_##name##_f64(double x, double y) {                                     \
    return expression;                                                                             \
  }                                                                                                \
  extern "C" float tc_math_##name##_f32(float x, float y) {                                        \
    return static_cast<float>(tc_math_##name##_f64(x, y));                                         \
  }

namespace {

template <class T>
T relu(T x) {
  if (std::isnan(x)) return x;
  return x > T(0) ? x : T(0);
}

/// exp(x) / (1 + exp(x)) for negative x neither overflows nor loses the small results.
double sigmoid(double x) {
  if (x >= 0) return 1.0 / (1.0 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1.0 + e);
}

/// The Euclidean norm of `n` numbers whose squares do not overflow in long double (x87 and quad
/// have 15 exponent bits).
template <class... T>
long double norm(T... x) {
  if ((std::isinf(x) || ...)) return HUGE_VALL;
  return std::sqrt(((static_cast<long double>(x) * x) + ...));
}

constexpr double kPi = 3.141592653589793116;
constexpr double kPiTail = 1.224646799147353207e-16;  // pi - kPi

/// sin(pi r) for 0 <= r <= 1/4, cos(pi r) likewise: the rounding error of pi * r is fed back to
/// first order.
double sin_pi_reduced(double r) {
  const double angle = kPi * r;
  const double tail = std::fma(kPi, r, -angle) + kPiTail * r;
  return std::sin(angle) + std::cos(angle) * tail;
}
double cos_pi_reduced(double r) {
  const double angle = kPi * r;
  const double tail = std::fma(kPi, r, -angle) + kPiTail * r;
  return std::cos(angle) - std::sin(angle) * tail;
}

/// sin(pi r) for 0 <= r < 1. All subtractions are exact.
double sin_pi_half_period(double r) {
  if (r > 0.5) r = 1 - r;
  return r <= 0.25 ? sin_pi_reduced(r) : cos_pi_reduced(0.5 - r);
}

double sin_pi(double x) {
  if (!std::isfinite(x)) return x - x;
  double r = std::fmod(std::fabs(x), 2.0);
  double sign = std::signbit(x) ? -1.0 : 1.0;
  if (r == 0 || r == 1) return std::copysign(0.0, x);
  if (r > 1) {
    r -= 1;
    sign = -sign;
  }
  return sign * sin_pi_half_period(r);
}

double cos_pi(double x) {
  if (!std::isfinite(x)) return x - x;
  double r = std::fmod(std::fabs(x), 2.0);
  if (r > 1) r = 2 - r;  // cos is even about 1 period
  if (r == 0.5) return 0.0;
  if (r < 0.25) return cos_pi_reduced(r);
  if (r > 0.75) return -cos_pi_reduced(1 - r);
  return r < 0.5 ? sin_pi_reduced(0.5 - r) : -sin_pi_reduced(r - 0.5);
}

double log_gamma(double x) {
  if (x == -HUGE_VAL) return HUGE_VAL;
  int sign = 0;  // std::lgamma writes the global signgam, which would be a data race
  return ::lgamma_r(x, &sign);
}

/// The reciprocal of a long double norm, so that neither the norm nor the reciprocal leaves the
/// range too early.
double reciprocal(long double x) {
  return static_cast<double>(1.0L / x);
}

}  // namespace

TC_MATH_EXACT1(abs, std::fabs(x))
TC_MATH_EXACT1(ceil, std::ceil(x))
TC_MATH_EXACT1(fabs, std::fabs(x))
TC_MATH_EXACT1(floor, std::floor(x))
TC_MATH_EXACT1(logb, std::logb(x))
TC_MATH_EXACT1(relu, relu(x))
TC_MATH_EXACT1(rint, std::rint(x))
TC_MATH_EXACT1(round, std::round(x))
TC_MATH_EXACT1(sqrt, std::sqrt(x))
TC_MATH_EXACT1(trunc, std::trunc(x))

TC_MATH_ROUNDED1(acos, std::acos(x))
TC_MATH_ROUNDED1(acosh, std::acosh(x))
TC_MATH_ROUNDED1(asin, std::asin(x))
TC_MATH_ROUNDED1(asinh, std::asinh(x))
TC_MATH_ROUNDED1(atan, std::atan(x))
TC_MATH_ROUNDED1(atanh, std::atanh(x))
TC_MATH_ROUNDED1(cbrt, static_cast<double>(std::cbrt(static_cast<long double>(x))))
TC_MATH_ROUNDED1(cos, std::cos(x))
TC_MATH_ROUNDED1(cosh, std::cosh(x))
TC_MATH_ROUNDED1(cospi, cos_pi(x))
TC_MATH_ROUNDED1(erf, std::erf(x))
TC_MATH_ROUNDED1(erfc, std::erfc(x))
TC_MATH_ROUNDED1(exp, std::exp(x))
TC_MATH_ROUNDED1(exp10, std::pow(10.0, x))
TC_MATH_ROUNDED1(exp2, std::exp2(x))
TC_MATH_ROUNDED1(expm1, std::expm1(x))
TC_MATH_ROUNDED1(j0, ::j0(x))
TC_MATH_ROUNDED1(j1, ::j1(x))
TC_MATH_ROUNDED1(lgamma, log_gamma(x))
TC_MATH_ROUNDED1(log, std::log(x))
TC_MATH_ROUNDED1(log10, std::log10(x))
TC_MATH_ROUNDED1(log1p, std::log1p(x))
TC_MATH_ROUNDED1(log2, std::log2(x))
TC_MATH_ROUNDED1(rcbrt, reciprocal(std::cbrt(static_cast<long double>(x))))
TC_MATH_ROUNDED1(rsqrt, 1.0 / std::sqrt(x))
TC_MATH_ROUNDED1(sigmoid, sigmoid(x))
TC_MATH_ROUNDED1(sin, std::sin(x))
TC_MATH_ROUNDED1(sinh, std::sinh(x))
TC_MATH_ROUNDED1(sinpi, sin_pi(x))
TC_MATH_ROUNDED1(tan, std::tan(x))
TC_MATH_ROUNDED1(tanh, std::tanh(x))
TC_MATH_ROUNDED1(tgamma, std::tgamma(x))
TC_MATH_ROUNDED1(y0, ::y0(x))
TC_MATH_ROUNDED1(y1, ::y1(x))

TC_MATH_EXACT2(copysign, std::copysign(x, y))
TC_MATH_EXACT2(fdim, std::fdim(x, y))
TC_MATH_EXACT2(fdivide, x / y)
TC_MATH_EXACT2(fmax, std::fmax(x, y))
TC_MATH_EXACT2(fmin, std::fmin(x, y))
TC_MATH_EXACT2(fmod, std::fmod(x, y))
TC_MATH_EXACT2(nextafter, std::nextafter(x, y))
TC_MATH_EXACT2(remainder, std::remainder(x, y))

TC_MATH_ROUNDED2(atan2, std::atan2(x, y))
TC_MATH_ROUNDED2(hypot, std::hypot(x, y))
TC_MATH_ROUNDED2(pow, std::pow(x, y))
TC_MATH_ROUNDED2(rhypot, reciprocal(norm(x, y)))

extern "C" {

bool tc_math_isinf_f32(float x) {
  return std::isinf(x);
}
bool tc_math_isinf_f64(double x) {
  return std::isinf(x);
}
bool tc_math_isnan_f32(float x) {
  return std::isnan(x);
}
bool tc_math_isnan_f64(double x) {
  return std::isnan(x);
}

float tc_math_fma_f32(float x, float y, float z) {
  return std::fma(x, y, z);
}
double tc_math_fma_f64(double x, double y, double z) {
  return std::fma(x, y, z);
}

double tc_math_norm3d_f64(double x, double y, double z) {
  return static_cast<double>(norm(x, y, z));
}
float tc_math_norm3d_f32(float x, float y, float z) {
  return static_cast<float>(norm(x, y, z));
}
double tc_math_rnorm3d_f64(double x, double y, double z) {
  return reciprocal(norm(x, y, z));
}
float tc_math_rnorm3d_f32(float x, float y, float z) {
  return static_cast<float>(1.0L / norm(x, y, z));
}
double tc_math_norm4d_f64(double x, double y, double z, double w) {
  return static_cast<double>(norm(x, y, z, w));
}
float tc_math_norm4d_f32(float x, float y, float z, float w) {
  return static_cast<float>(norm(x, y, z, w));
}
double tc_math_rnorm4d_f64(double x, double y, double z, double w) {
  return reciprocal(norm(x, y, z, w));
}
float tc_math_rnorm4d_f32(float x, float y, float z, float w) {
  return static_cast<float>(1.0L / norm(x, y, z, w));
}

}  // extern "C"
