// SPDX-License-Identifier: Apache-2.0
//
// The cast of the language: cast<S>(x) rounds, wraps or saturates to the element type S and gives
// the result in the compute type of S.
#pragma once

#include "tc/codegen/cuda/device/storage.cuh"

namespace tc {

template <class S>
inline constexpr bool is_narrow_float = is_same<S, float16> || is_same<S, bfloat16> ||
                                        is_same<S, float8_e4m3fn> || is_same<S, float8_e5m2>;

/// Range of an integer element type.
template <class S>
struct integer_limits {
  static constexpr bool is_signed = S(-1) < S(0);
  static constexpr S highest =
      is_signed ? static_cast<S>((uint64{1} << (8 * sizeof(S) - 1)) - 1) : static_cast<S>(-1);
  static constexpr S lowest = is_signed ? static_cast<S>(-highest - 1) : S(0);
  using value = value_of<S>;
};
template <>
struct integer_limits<packed_int4> {
  static constexpr int lowest = -8, highest = 7;
  using value = int;
};
template <>
struct integer_limits<packed_uint4> {
  static constexpr int lowest = 0, highest = 15;
  using value = int;
};

/// Truncates and saturates; NaN gives 0.
template <class S, class From>
TC_DEVICE value_of<S> float_to_integer(From x) {
  using limits = integer_limits<S>;
  using V = value_of<S>;
  // The first number above the range is a power of two, exact in every float type.
  const From above = static_cast<From>(limits::highest / 2 + 1) * From(2);
  const From lowest = static_cast<From>(limits::lowest);
  if (x != x) return V(0);
  if (x >= above) return static_cast<V>(limits::highest);
  if (x <= lowest) return static_cast<V>(limits::lowest);
  return static_cast<V>(x);
}

/// A value as a float64 that a rounding to a narrow float takes for it. What a float64 has no room
/// for in an integer of 64 bits becomes one bit, far below every bit that decides.
template <class From>
TC_DEVICE double to_double_odd(From x) {
  if constexpr (is_same<From, int64> || is_same<From, uint64>) {
    constexpr From room = From(1) << 53;
    bool exact = x <= room;
    if constexpr (is_same<From, int64>) exact = exact && x >= -room;
    if (!exact && (x & 4095) != 0) x = (x & ~From(4095)) | 2048;
  }
  return static_cast<double>(x);
}

template <class S, class From>
TC_DEVICE auto cast(From x) -> value_of<S> {
  using V = value_of<S>;
  if constexpr (is_same<S, boolean>) {
    return x != From(0);
  } else if constexpr (is_narrow_float<S>) {
    // By way of float64, so that one rounding is left.
    if constexpr (is_same<From, float>)
      return storage<S>::decode(storage<S>::encode(x));
    else
      return storage<S>::decode(storage<S>::encode(to_float_odd(to_double_odd(x))));
  } else if constexpr (is_floating<S>) {
    return static_cast<S>(x);
  } else if constexpr (is_floating<From>) {
    return float_to_integer<S>(x);
  } else {
    return storage<S>::decode(storage<S>::encode(static_cast<V>(x)));
  }
}
template <class S, class From, int N>
TC_DEVICE vec<value_of<S>, N> cast(const vec<From, N>& x) {
  return map([](From y) { return cast<S>(y); }, x);
}

}  // namespace tc
