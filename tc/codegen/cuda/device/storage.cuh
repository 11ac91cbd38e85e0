// SPDX-License-Identifier: Apache-2.0
//
// Element types of tensors that no register holds as they are, and their conversions: a load widens
// to the compute type, a store rounds to nearest even (float8 saturates) or wraps.
#pragma once

#include "tc/codegen/cuda/device/vec.cuh"

namespace tc {

struct boolean {
  uint8 byte;
};
struct float16 {
  uint16 bits;
};
struct bfloat16 {
  uint16 bits;
};
struct float8_e4m3fn {
  uint8 bits;
};
struct float8_e5m2 {
  uint8 bits;
};
/// One byte with two elements, the first in the low nibble.
struct packed_int4 {
  uint8 byte;
};
struct packed_uint4 {
  uint8 byte;
};
template <class T>
inline constexpr bool is_packed = is_same<T, packed_int4> || is_same<T, packed_uint4>;

/// A float format of at most 16 bits; float32 has bias 127 and 23 mantissa bits.
template <int Bits, int Mantissa, int Bias, bool Infinity, bool Saturates, uint32 Largest,
          uint32 NaN>
struct narrow_format {
  static constexpr int shift = 23 - Mantissa;
  static constexpr uint32 rebias = static_cast<uint32>(127 - Bias) << 23;
  static constexpr uint32 smallest_normal = static_cast<uint32>(127 - Bias + 1) << 23;
  /// float32 bits of the smallest subnormal, and of the number whose last mantissa bit is worth it.
  static constexpr uint32 unit = static_cast<uint32>(127 + 1 - Bias - Mantissa) << 23;
  static constexpr uint32 magic = static_cast<uint32>(127 + 1 - Bias - Mantissa + 23) << 23;
  static constexpr uint32 largest_as_float = (Largest << shift) + rebias;

  TC_DEVICE static uint32 encode(float value) {
    const uint32 pattern = to_bits(value);
    const uint32 sign = (pattern & 0x80000000u) >> (32 - Bits);
    uint32 magnitude = pattern & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return NaN | sign;
    if (Saturates && magnitude > largest_as_float) magnitude = largest_as_float;
    if (magnitude == 0x7f800000u) return (Largest + 1) | sign;
    uint32 bits;
    if (magnitude < smallest_normal) {
      // The addition leaves the rounded multiple of the smallest subnormal in the low bits.
      bits = to_bits(from_bits(magnitude) + from_bits(magic)) - magic;
    } else {
      // A carry out of the mantissa moves on to the exponent by itself.
      const uint32 odd = (magnitude >> shift) & 1;
      bits = (magnitude - rebias + odd + ((1u << (shift - 1)) - 1)) >> shift;
    }
    if (!Saturates && bits > Largest) bits = Largest + 1;
    return bits | sign;
  }

  TC_DEVICE static float decode(uint32 bits) {
    const uint32 magnitude = bits & ((1u << (Bits - 1)) - 1);
    uint32 result = (magnitude << shift) + rebias;
    if (magnitude < (1u << Mantissa)) {
      result = to_bits(static_cast<float>(magnitude) * from_bits(unit));
    } else if (Infinity ? magnitude > Largest : magnitude == NaN) {
      result = Infinity && magnitude == Largest + 1 ? 0x7f800000u : 0x7fc00000u;
    }
    return from_bits(result | (bits >> (Bits - 1) << 31));
  }
};
using float16_format = narrow_format<16, 10, 15, true, false, 0x7bff, 0x7e00>;
using e4m3fn_format = narrow_format<8, 3, 7, false, true, 0x7e, 0x7f>;
using e5m2_format = narrow_format<8, 2, 15, true, true, 0x7b, 0x7e>;

/// float64 -> float32 rounded to odd: a second rounding, to a format of at most 22 mantissa bits,
/// then gives what one rounding would.
TC_DEVICE float to_float_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (back == value || value != value) return nearest;
  const bool beyond = (back < 0 ? -back : back) > (value < 0 ? -value : value);
  return from_bits((to_bits(nearest) - (beyond ? 1u : 0u)) | 1u);
}

/// How a storage type S is read into `value` and written from it.
template <class S>
struct storage {
  using value = S;
  TC_DEVICE static S decode(S stored) { return stored; }
  TC_DEVICE static S encode(S given) { return given; }
};
template <class S>
struct narrow_integer {
  using value = int;
  TC_DEVICE static int decode(S stored) { return stored; }
  TC_DEVICE static S encode(int given) { return static_cast<S>(given); }
};
template <>
struct storage<int8> : narrow_integer<int8> {};
template <>
struct storage<int16> : narrow_integer<int16> {};
template <>
struct storage<uint8> : narrow_integer<uint8> {};
template <>
struct storage<uint16> : narrow_integer<uint16> {};
template <>
struct storage<boolean> {
  using value = bool;
  TC_DEVICE static bool decode(boolean stored) { return stored.byte != 0; }
  TC_DEVICE static boolean encode(bool given) { return {static_cast<uint8>(given ? 1 : 0)}; }
};
template <>
struct storage<float16> {
  using value = float;
  TC_DEVICE static float decode(float16 stored) {
#if defined(__CUDACC__)
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(stored.bits));
    return result;
#else
    return float16_format::decode(stored.bits);
#endif
  }
  TC_DEVICE static float16 encode(float given) {
#if defined(__CUDACC__)
    float16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(given));
    return result;
#else
    return {static_cast<uint16>(float16_format::encode(given))};
#endif
  }
};
template <>
struct storage<bfloat16> {
  using value = float;
  TC_DEVICE static float decode(bfloat16 stored) {
    return from_bits(static_cast<uint32>(stored.bits) << 16);
  }
  TC_DEVICE static bfloat16 encode(float given) {
#if defined(__CUDACC__)
    bfloat16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(given));
    return result;
#else
    const uint32 pattern = to_bits(given);
    const uint32 high = pattern >> 16;
    if (given != given) return {static_cast<uint16>((high & 0x8000u) | 0x7fc0u)};
    return {static_cast<uint16>((pattern + (high & 1) + 0x7fffu) >> 16)};
#endif
  }
};
template <>
struct storage<float8_e4m3fn> {
  using value = float;
  TC_DEVICE static float decode(float8_e4m3fn stored) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint32 pair;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(static_cast<uint16>(stored.bits)));
    return storage<float16>::decode({static_cast<uint16>(pair)});
#else
    return e4m3fn_format::decode(stored.bits);
#endif
  }
  TC_DEVICE static float8_e4m3fn encode(float given) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16 pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(given));
    return {static_cast<uint8>(pair)};
#else
    return {static_cast<uint8>(e4m3fn_format::encode(given))};
#endif
  }
};
template <>
struct storage<float8_e5m2> {
  using value = float;
  /// The high byte of a float16.
  TC_DEVICE static float decode(float8_e5m2 stored) {
    return storage<float16>::decode({static_cast<uint16>(stored.bits << 8)});
  }
  TC_DEVICE static float8_e5m2 encode(float given) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16 pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(given));
    return {static_cast<uint8>(pair)};
#else
    return {static_cast<uint8>(e5m2_format::encode(given))};
#endif
  }
};
// Of 4-bit types: one nibble in the low bits.
template <>
struct storage<packed_int4> {
  using value = int;
  TC_DEVICE static int decode(uint8 nibble) {
    return static_cast<int>(static_cast<uint32>(nibble) << 28) >> 28;
  }
  TC_DEVICE static uint8 encode(int given) { return static_cast<uint8>(given & 15); }
};
template <>
struct storage<packed_uint4> {
  using value = int;
  TC_DEVICE static int decode(uint8 nibble) { return nibble & 15; }
  TC_DEVICE static uint8 encode(int given) { return static_cast<uint8>(given & 15); }
};

template <class S>
using value_of = typename storage<S>::value;

#if defined(__CUDACC__)
/// The machine rounds two values to S in one step.
template <class S>
inline constexpr bool rounds_pairs = is_same<S, float16> || is_same<S, bfloat16>;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
template <>
inline constexpr bool rounds_pairs<float8_e4m3fn> = true;
template <>
inline constexpr bool rounds_pairs<float8_e5m2> = true;
#endif

/// Bits of both, the first value in the low half.
template <class S>
TC_DEVICE uint32 encode_pair(float first, float second) {
  if constexpr (sizeof(S) == 2) {
    uint32 pair;
    if constexpr (is_same<S, float16>)
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    else
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
  } else {
    uint16 pair;
    if constexpr (is_same<S, float8_e4m3fn>)
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
    else
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
    return pair;
  }
}
#else
template <class S>
inline constexpr bool rounds_pairs = false;
#endif

/// All lanes as they are stored.
template <class S, int N>
TC_DEVICE void encode_lanes(const vec<value_of<S>, N>& values, S (&elements)[N]) {
  if constexpr (rounds_pairs<S> && N % 2 == 0) {
#if defined(__CUDACC__)
#pragma unroll
    for (int i = 0; i < N; i += 2) {
      const uint32 pair = encode_pair<S>(values[i], values[i + 1]);
      elements[i].bits = static_cast<unsigned_of<S>>(pair);
      elements[i + 1].bits = static_cast<unsigned_of<S>>(pair >> (8 * sizeof(S)));
    }
#endif
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      elements[i] = storage<S>::encode(values[i]);
  }
}

}  // namespace tc
