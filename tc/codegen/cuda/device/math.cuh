// SPDX-License-Identifier: Apache-2.0
//
// The builtins of the language for float and double, and lane by lane for vectors of them. On the
// device they are the functions of CUDA, whose accuracy the CUDA C++ Programming Guide tabulates;
// on the host those of the CPU target (tc/math/scalar.h, to be linked with the text).
#pragma once

#include "tc/codegen/cuda/device/arithmetic.cuh"

namespace tc {

#if defined(__CUDACC__)
#define TC_FUNCTION(name, single, twice, parameters, arguments)                                    \
  TC_DEVICE float name parameters(float) {                                                         \
    return single arguments;                                                                       \
  }                                                                                                \
  TC_DEVICE double name parameters(double) {                                                       \
    return twice arguments;                                                                        \
  }
#define TC_LIBRARY(name, parameters, arguments)                                                    \
  TC_FUNCTION(name, ::name##f, ::name, parameters, arguments)
#else
#define TC_LIBRARY(name, parameters, arguments)                                                    \
  extern "C" float tc_math_##name##_f32 parameters(float);                                         \
  extern "C" double tc_math_##name##_f64 parameters(double);                                       \
  inline float name parameters(float) {                                                            \
    return tc_math_##name##_f32 arguments;                                                         \
  }                                                                                                \
  inline double name parameters(double) {                                                          \
    return tc_math_##name##_f64 arguments;                                                         \
  }
#endif
#define TC_ONE(T) (T x)
#define TC_TWO(T) (T x, T y)
#define TC_THREE(T) (T x, T y, T z)
#define TC_FOUR(T) (T x, T y, T z, T w)
#define TC_UNARY(name) TC_LIBRARY(name, TC_ONE, (x))
#define TC_BINARY(name) TC_LIBRARY(name, TC_TWO, (x, y))

TC_UNARY(acos)
TC_UNARY(acosh)
TC_UNARY(asin)
TC_UNARY(asinh)
TC_UNARY(atan)
TC_UNARY(atanh)
TC_UNARY(cbrt)
TC_UNARY(ceil)
TC_UNARY(cos)
TC_UNARY(cosh)
TC_UNARY(cospi)
TC_UNARY(cyl_bessel_i0)
TC_UNARY(cyl_bessel_i1)
TC_UNARY(erf)
TC_UNARY(erfc)
TC_UNARY(erfcinv)
TC_UNARY(erfcx)
TC_UNARY(erfinv)
TC_UNARY(exp)
TC_UNARY(exp10)
TC_UNARY(exp2)
TC_UNARY(expm1)
TC_UNARY(fabs)
TC_UNARY(floor)
TC_UNARY(j0)
TC_UNARY(j1)
TC_UNARY(lgamma)
TC_UNARY(log)
TC_UNARY(log10)
TC_UNARY(log1p)
TC_UNARY(log2)
TC_UNARY(logb)
TC_UNARY(normcdf)
TC_UNARY(normcdfinv)
TC_UNARY(rcbrt)
TC_UNARY(rint)
TC_UNARY(round)
TC_UNARY(rsqrt)
TC_UNARY(sin)
TC_UNARY(sinh)
TC_UNARY(sinpi)
TC_UNARY(sqrt)
TC_UNARY(tan)
TC_UNARY(tanh)
TC_UNARY(tgamma)
TC_UNARY(trunc)
TC_UNARY(y0)
TC_UNARY(y1)
TC_BINARY(atan2)
TC_BINARY(copysign)
TC_BINARY(fdim)
TC_BINARY(fmax)
TC_BINARY(fmin)
TC_BINARY(fmod)
TC_BINARY(hypot)
TC_BINARY(nextafter)
TC_BINARY(pow)
TC_BINARY(remainder)
TC_BINARY(rhypot)
TC_LIBRARY(fma, TC_THREE, (x, y, z))
TC_LIBRARY(norm3d, TC_THREE, (x, y, z))
TC_LIBRARY(rnorm3d, TC_THREE, (x, y, z))
TC_LIBRARY(norm4d, TC_FOUR, (x, y, z, w))
TC_LIBRARY(rnorm4d, TC_FOUR, (x, y, z, w))

#undef TC_UNARY
#undef TC_BINARY
#undef TC_LIBRARY
#undef TC_FUNCTION
#undef TC_ONE
#undef TC_TWO
#undef TC_THREE
#undef TC_FOUR

/// Not CUDA's fdividef, which gives 0 for large divisors.
template <class T>
TC_DEVICE T fdivide(T x, T y) {
  return x / y;
}
template <class T>
TC_DEVICE bool isnan(T x) {
  return x != x;
}
template <class T>
TC_DEVICE bool isinf(T x) {
  return fabs(x) == infinity<T>();
}
template <class T>
TC_DEVICE T abs(T x) {
  if constexpr (is_floating<T>)
    return fabs(x);
  else if constexpr (T(-1) < T(0) && !is_same<T, bool>)
    return x < 0 ? wrap_negate(x) : x;
  else
    return x;
}
template <class T>
TC_DEVICE T relu(T x) {
  return max(x, T(0));
}
/// 1 / (1 + e^-x), with e^-|x| so that nothing overflows and small results keep their digits.
template <class T>
TC_DEVICE T sigmoid(T x) {
  const T e = exp(-fabs(x));
  return (x < T(0) ? e : T(1)) / (e + T(1));
}

#define TC_UNARY(name)                                                                             \
  template <class T, int N>                                                                        \
  TC_DEVICE auto name(const vec<T, N>& x) {                                                        \
    return map([](T a) { return name(a); }, x);                                                    \
  }
#define TC_BINARY(name)                                                                            \
  template <class T, int N>                                                                        \
  TC_DEVICE auto name(const vec<T, N>& x, const vec<T, N>& y) {                                    \
    return map([](T a, T b) { return name(a, b); }, x, y);                                         \
  }
#define TC_TERNARY(name)                                                                           \
  template <class T, int N>                                                                        \
  TC_DEVICE auto name(const vec<T, N>& x, const vec<T, N>& y, const vec<T, N>& z) {                \
    return map([](T a, T b, T c) { return name(a, b, c); }, x, y, z);                              \
  }
#define TC_QUATERNARY(name)                                                                        \
  template <class T, int N>                                                                        \
  TC_DEVICE auto name(const vec<T, N>& x, const vec<T, N>& y, const vec<T, N>& z,                  \
                      const vec<T, N>& w) {                                                        \
    return map([](T a, T b, T c, T d) { return name(a, b, c, d); }, x, y, z, w);                   \
  }
TC_UNARY(abs)
TC_UNARY(acos)
TC_UNARY(acosh)
TC_UNARY(asin)
TC_UNARY(asinh)
TC_UNARY(atan)
TC_UNARY(atanh)
TC_UNARY(cbrt)
TC_UNARY(ceil)
TC_UNARY(cos)
TC_UNARY(cosh)
TC_UNARY(cospi)
TC_UNARY(cyl_bessel_i0)
TC_UNARY(cyl_bessel_i1)
TC_UNARY(erf)
TC_UNARY(erfc)
TC_UNARY(erfcinv)
TC_UNARY(erfcx)
TC_UNARY(erfinv)
TC_UNARY(exp)
TC_UNARY(exp10)
TC_UNARY(exp2)
TC_UNARY(expm1)
TC_UNARY(fabs)
TC_UNARY(floor)
TC_UNARY(isinf)
TC_UNARY(isnan)
TC_UNARY(j0)
TC_UNARY(j1)
TC_UNARY(lgamma)
TC_UNARY(log)
TC_UNARY(log10)
TC_UNARY(log1p)
TC_UNARY(log2)
TC_UNARY(logb)
TC_UNARY(normcdf)
TC_UNARY(normcdfinv)
TC_UNARY(rcbrt)
TC_UNARY(relu)
TC_UNARY(rint)
TC_UNARY(round)
TC_UNARY(rsqrt)
TC_UNARY(sigmoid)
TC_UNARY(sin)
TC_UNARY(sinh)
TC_UNARY(sinpi)
TC_UNARY(sqrt)
TC_UNARY(tan)
TC_UNARY(tanh)
TC_UNARY(tgamma)
TC_UNARY(trunc)
TC_UNARY(y0)
TC_UNARY(y1)
TC_BINARY(atan2)
TC_BINARY(copysign)
TC_BINARY(fdim)
TC_BINARY(fdivide)
TC_BINARY(fmax)
TC_BINARY(fmin)
TC_BINARY(fmod)
TC_BINARY(hypot)
TC_BINARY(nextafter)
TC_BINARY(pow)
TC_BINARY(remainder)
TC_BINARY(rhypot)
TC_TERNARY(fma)
TC_TERNARY(norm3d)
TC_TERNARY(rnorm3d)
TC_QUATERNARY(norm4d)
TC_QUATERNARY(rnorm4d)
#undef TC_UNARY
#undef TC_BINARY
#undef TC_TERNARY
#undef TC_QUATERNARY

}  // namespace tc
