// SPDX-License-Identifier: Apache-2.0
//
// Short vectors that one thread holds in registers: N lanes, every operation lane by lane.
#pragma once

#include "tc/codegen/cuda/device/platform.cuh"

namespace tc {

template <class T, int N>
struct vec {
  T lanes[N];
  TC_DEVICE T& operator[](int i) { return lanes[i]; }
  TC_DEVICE const T& operator[](int i) const { return lanes[i]; }
};

template <class T>
struct type_identity {
  using type = T;
};
/// A parameter type that takes no part in deduction, so that a literal converts.
template <class T>
using as_given = typename type_identity<T>::type;

/// A scalar in every lane.
template <int N, class T>
TC_DEVICE vec<T, N> splat(T value) {
  vec<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result[i] = value;
  return result;
}

/// base, base + stride, base + 2 stride, ...
template <int N, class T>
TC_DEVICE vec<T, N> ramp(T base, as_given<T> stride) {
  vec<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result[i] = base + static_cast<T>(i) * stride;
  return result;
}

/// f of each lane of one, two, three or four vectors.
template <class F, class T, int N>
TC_DEVICE auto map(F f, const vec<T, N>& a) {
  vec<decltype(f(a[0])), N> result;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result[i] = f(a[i]);
  return result;
}
template <class F, class T, class U, int N>
TC_DEVICE auto map(F f, const vec<T, N>& a, const vec<U, N>& b) {
  vec<decltype(f(a[0], b[0])), N> result;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result[i] = f(a[i], b[i]);
  return result;
}
template <class F, class T, class U, class V, int N>
TC_DEVICE auto map(F f, const vec<T, N>& a, const vec<U, N>& b, const vec<V, N>& c) {
  vec<decltype(f(a[0], b[0], c[0])), N> result;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result[i] = f(a[i], b[i], c[i]);
  return result;
}
template <class F, class T, int N>
TC_DEVICE auto map(F f, const vec<T, N>& a, const vec<T, N>& b, const vec<T, N>& c,
                   const vec<T, N>& d) {
  vec<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result[i] = f(a[i], b[i], c[i], d[i]);
  return result;
}

// Operators between vectors, and between a vector and a scalar for all lanes.
#define TC_VECTOR_OPERATOR(op)                                                                     \
  template <class T, int N>                                                                        \
  TC_DEVICE auto operator op(const vec<T, N>& a, const vec<T, N>& b) {                             \
    return map([](T x, T y) { return x op y; }, a, b);                                             \
  }                                                                                                \
  template <class T, int N>                                                                        \
  TC_DEVICE auto operator op(const vec<T, N>& a, as_given<T> b) {                                  \
    return map([b](T x) { return x op b; }, a);                                                    \
  }                                                                                                \
  template <class T, int N>                                                                        \
  TC_DEVICE auto operator op(as_given<T> a, const vec<T, N>& b) {                                  \
    return map([a](T y) { return a op y; }, b);                                                    \
  }
TC_VECTOR_OPERATOR(+)
TC_VECTOR_OPERATOR(-)
TC_VECTOR_OPERATOR(*)
TC_VECTOR_OPERATOR(/)
TC_VECTOR_OPERATOR(%)
TC_VECTOR_OPERATOR(>>)
TC_VECTOR_OPERATOR(&)
TC_VECTOR_OPERATOR(<)
TC_VECTOR_OPERATOR(<=)
TC_VECTOR_OPERATOR(>)
TC_VECTOR_OPERATOR(>=)
TC_VECTOR_OPERATOR(==)
TC_VECTOR_OPERATOR(!=)
TC_VECTOR_OPERATOR(&&)
TC_VECTOR_OPERATOR(||)
#undef TC_VECTOR_OPERATOR

template <class T, int N>
TC_DEVICE vec<T, N> operator-(const vec<T, N>& a) {
  return map([](T x) { return -x; }, a);
}
template <int N>
TC_DEVICE vec<bool, N> operator!(const vec<bool, N>& a) {
  return map([](bool x) { return !x; }, a);
}

/// Lane by lane condition ? a : b.
template <class T, int N>
TC_DEVICE vec<T, N> select(const vec<bool, N>& condition, const vec<T, N>& a, const vec<T, N>& b) {
  return map([](bool c, T x, T y) { return c ? x : y; }, condition, a, b);
}

template <int N>
TC_DEVICE bool all(const vec<bool, N>& a) {
  bool result = true;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result = result && a[i];
  return result;
}
template <int N>
TC_DEVICE bool any(const vec<bool, N>& a) {
  return !all(!a);
}

/// Combines all lanes: the lower half with the upper half, again and again; a lane left over comes
/// last.
template <class F, class T, int N>
TC_DEVICE T combine_lanes(F f, const vec<T, N>& a) {
  if constexpr (N == 1) {
    return a[0];
  } else {
    vec<T, N / 2> half;
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
      half[i] = f(a[i], a[i + N / 2]);
    const T result = combine_lanes(f, half);
    if constexpr (N % 2 == 0)
      return result;
    else
      return f(result, a[N - 1]);
  }
}

}  // namespace tc
