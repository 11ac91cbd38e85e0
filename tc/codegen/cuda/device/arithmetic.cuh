// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of the kernel IR where C++ has another meaning or none: wrapping integers, division
// toward minus infinity, minima that propagate NaN, the reductions of lanes.
#pragma once

#include "tc/codegen/cuda/device/vec.cuh"

namespace tc {

// ---- integers that wrap ----
template <class T>
TC_DEVICE T wrap_add(T a, as_given<T> b) {
  using U = unsigned_of<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <class T>
TC_DEVICE T wrap_sub(T a, as_given<T> b) {
  using U = unsigned_of<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}
template <class T>
TC_DEVICE T wrap_mul(T a, as_given<T> b) {
  using U = unsigned_of<T>;
  return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
}
template <class T>
TC_DEVICE T wrap_negate(T a) {
  return wrap_sub(T(0), a);
}

// ---- division toward minus infinity; by zero: 0; lowest / -1 wraps ----
template <class T>
TC_DEVICE T floor_div(T a, as_given<T> b) {
  if (b == 0) return 0;
  if constexpr (T(-1) < T(0)) {
    if (b == -1) return wrap_negate(a);
    const T quotient = a / b;
    const T remainder = a - quotient * b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? quotient - 1 : quotient;
  } else {
    return a / b;
  }
}
template <class T>
TC_DEVICE T floor_mod(T a, as_given<T> b) {
  if (b == 0) return 0;
  if constexpr (T(-1) < T(0)) {
    if (b == -1) return 0;
    const T remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  } else {
    return a % b;
  }
}

// ---- minimum and maximum; NaN if either is ----
template <class T>
TC_DEVICE T min(T a, as_given<T> b) {
  if constexpr (is_floating<T>) {
#if defined(__CUDACC__)
    if constexpr (sizeof(T) == 4) {
      float result;
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
      return result;
    }
#endif
    return a < b || a != a ? a : b;
  }
  return a < b ? a : b;
}
template <class T>
TC_DEVICE T max(T a, as_given<T> b) {
  if constexpr (is_floating<T>) {
#if defined(__CUDACC__)
    if constexpr (sizeof(T) == 4) {
      float result;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
      return result;
    }
#endif
    return a > b || a != a ? a : b;
  }
  return a > b ? a : b;
}

// The same lane by lane; a scalar stands for all lanes.
#define TC_LIFT_BINARY(name)                                                                       \
  template <class T, int N>                                                                        \
  TC_DEVICE vec<T, N> name(const vec<T, N>& a, const vec<T, N>& b) {                               \
    return map([](T x, T y) { return name(x, y); }, a, b);                                         \
  }                                                                                                \
  template <class T, int N>                                                                        \
  TC_DEVICE vec<T, N> name(const vec<T, N>& a, as_given<T> b) {                                    \
    return map([b](T x) { return name(x, b); }, a);                                                \
  }                                                                                                \
  template <class T, int N>                                                                        \
  TC_DEVICE vec<T, N> name(as_given<T> a, const vec<T, N>& b) {                                    \
    return map([a](T y) { return name(a, y); }, b);                                                \
  }
TC_LIFT_BINARY(wrap_add)
TC_LIFT_BINARY(wrap_sub)
TC_LIFT_BINARY(wrap_mul)
TC_LIFT_BINARY(floor_div)
TC_LIFT_BINARY(floor_mod)
TC_LIFT_BINARY(min)
TC_LIFT_BINARY(max)
#undef TC_LIFT_BINARY
template <class T, int N>
TC_DEVICE vec<T, N> wrap_negate(const vec<T, N>& a) {
  return map([](T x) { return wrap_negate(x); }, a);
}

// ---- all lanes of a vector combined ----
template <class T, int N>
TC_DEVICE T reduce_add(const vec<T, N>& a) {
  return combine_lanes(
      [](T x, T y) {
        if constexpr (is_floating<T>)
          return x + y;
        else
          return wrap_add(x, y);
      },
      a);
}
template <class T, int N>
TC_DEVICE T reduce_mul(const vec<T, N>& a) {
  return combine_lanes(
      [](T x, T y) {
        if constexpr (is_floating<T>)
          return x * y;
        else
          return wrap_mul(x, y);
      },
      a);
}
template <class T, int N>
TC_DEVICE T reduce_min(const vec<T, N>& a) {
  return combine_lanes([](T x, T y) { return min(x, y); }, a);
}
template <class T, int N>
TC_DEVICE T reduce_max(const vec<T, N>& a) {
  return combine_lanes([](T x, T y) { return max(x, y); }, a);
}
template <class T, int N>
TC_DEVICE T reduce_and(const vec<T, N>& a) {
  return combine_lanes([](T x, T y) { return static_cast<T>(x & y); }, a);
}
template <class T, int N>
TC_DEVICE T reduce_or(const vec<T, N>& a) {
  return combine_lanes([](T x, T y) { return static_cast<T>(x | y); }, a);
}

}  // namespace tc
