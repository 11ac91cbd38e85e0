// SPDX-License-Identifier: Apache-2.0
//
// Scalar implementations of every builtin of the language (language.md section 9), for float and
// double.
//
// Each function has a stable C name, `tc_math_<builtin>_f32` and `tc_math_<builtin>_f64`: the
// interpreter calls them through the table below and generated code may call them by name. isnan
// and isinf return `bool`, everything else returns its argument type.
//
// Errors follow IEEE and CUDA: a domain error gives NaN, a pole or an overflow an infinity; nothing
// throws and errno is of no interest. NaN arguments give NaN, except where IEEE defines a number
// (pow(1, NaN), hypot(inf, NaN), fmax, fmin). No function has state; all are safe to call from
// several threads.
#pragma once

#include <string_view>
#include <vector>

// Every builtin with one line per arity: X(name).
// clang-format off
#define TC_MATH_UNARY(X)                                                                           \
  X(abs)                                                                                           \
  X(acos)                                                                                          \
  X(acosh)                                                                                         \
  X(asin) X(asinh) X(atan) X(atanh) X(cbrt) X(ceil) X(cos) X(cosh) X(cospi) X(cyl_bessel_i0)       \
      X(cyl_bessel_i1) X(erf) X(erfc) X(erfcinv) X(erfcx) X(erfinv) X(exp) X(exp10) X(exp2)        \
          X(expm1) X(fabs) X(floor) X(j0) X(j1) X(lgamma) X(log) X(log10) X(log1p) X(log2) X(logb) \
              X(normcdf) X(normcdfinv) X(rcbrt) X(relu) X(rint) X(round) X(rsqrt) X(sigmoid)       \
                  X(sin) X(sinh) X(sinpi) X(sqrt) X(tan) X(tanh) X(tgamma) X(trunc) X(y0) X(y1)
// clang-format on
#define TC_MATH_PREDICATE(X) X(isinf) X(isnan)
#define TC_MATH_BINARY(X)                                                                          \
  X(atan2)                                                                                         \
  X(copysign)                                                                                      \
  X(fdim) X(fdivide) X(fmax) X(fmin) X(fmod) X(hypot) X(nextafter) X(pow) X(remainder) X(rhypot)
#define TC_MATH_TERNARY(X) X(fma) X(norm3d) X(rnorm3d)
#define TC_MATH_QUATERNARY(X) X(norm4d) X(rnorm4d)

extern "C" {
#define TC_MATH_DECLARE(name)                                                                      \
  float tc_math_##name##_f32(float);                                                               \
  double tc_math_##name##_f64(double);
TC_MATH_UNARY(TC_MATH_DECLARE)
#undef TC_MATH_DECLARE
#define TC_MATH_DECLARE(name)                                                                      \
  bool tc_math_##name##_f32(float);                                                                \
  bool tc_math_##name##_f64(double);
TC_MATH_PREDICATE(TC_MATH_DECLARE)
#undef TC_MATH_DECLARE
#define TC_MATH_DECLARE(name)                                                                      \
  float tc_math_##name##_f32(float, float);                                                        \
  double tc_math_##name##_f64(double, double);
TC_MATH_BINARY(TC_MATH_DECLARE)
#undef TC_MATH_DECLARE
#define TC_MATH_DECLARE(name)                                                                      \
  float tc_math_##name##_f32(float, float, float);                                                 \
  double tc_math_##name##_f64(double, double, double);
TC_MATH_TERNARY(TC_MATH_DECLARE)
#undef TC_MATH_DECLARE
#define TC_MATH_DECLARE(name)                                                                      \
  float tc_math_##name##_f32(float, float, float, float);                                          \
  double tc_math_##name##_f64(double, double, double, double);
TC_MATH_QUATERNARY(TC_MATH_DECLARE)
#undef TC_MATH_DECLARE
}

namespace tc::math {

/// One builtin. `f32` and `f64` are the addresses of the functions above: `arity` arguments of
/// float or double; the result has the type of the arguments, or is `bool` where `returns_bool`.
struct ScalarFunction {
  std::string_view name;
  int arity;
  void* f32;
  void* f64;
  bool returns_bool = false;
};

/// All builtins, sorted by name.
const std::vector<ScalarFunction>& scalar_functions();

/// nullptr if there is no such builtin.
const ScalarFunction* find_scalar_function(std::string_view name);

}  // namespace tc::math
