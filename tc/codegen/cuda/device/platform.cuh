// SPDX-License-Identifier: Apache-2.0
//
// What every kernel text rests on: how a kernel, its shared memory and its position in the grid are
// spelled. Each name has two implementations, for the device (nvcc, NVRTC: no standard headers) and
// for the emulator on the host. On the host every access to global and shared memory is announced
// to the emulator (tc/emulation/device_hooks.h), with the line of the kernel text that makes it.
#pragma once

#if defined(__CUDACC__)

// A loop may only count: its variable is then not referenced.
#pragma nv_diag_suppress 177

#define TC_DEVICE __device__ __forceinline__
/// A kernel launched with at most `threads` threads a block.
#define TC_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
/// Stands behind the definition of each kernel.
#define TC_KERNEL_END(name)
/// An array in the shared memory of the block. The host needs its place among them.
#define TC_SHARED(type, name, count, alignment, offset)                                            \
  __shared__ alignas(alignment) type name[tc::in_whole_words<type>(count)]
/// The same in the shared memory whose size is given at launch.
#define TC_SHARED_DYNAMIC(type, name, count, alignment, offset)                                    \
  type* const name = reinterpret_cast<type*>(tc::dynamic_shared + (offset))
/// Last parameter of functions that access memory, and what they hand on: the caller's line.
#define TC_CALLER
#define TC_CALLER_LINE

#else

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tc/emulation/device_hooks.h"

#define TC_DEVICE inline
#define TC_KERNEL(threads) static inline void
#define TC_KERNEL_END(name) TC_EMULATION_ENTRY(name)
#define TC_SHARED(type, name, count, alignment, offset)                                            \
  type* const name = static_cast<type*>(                                                           \
      tc::emulation::device::shared_memory(offset, (count) * sizeof(type), #name))
#define TC_SHARED_DYNAMIC(type, name, count, alignment, offset)                                    \
  TC_SHARED(type, name, count, alignment, offset)
#define TC_CALLER , int line = __builtin_LINE()
#define TC_CALLER_LINE , line

#endif

namespace tc {

using int8 = signed char;
using int16 = short;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;

#if defined(__CUDACC__)

extern __shared__ __align__(1024) unsigned char dynamic_shared[];

/// Elements of an array that ends with a whole word: atomic.cuh exchanges words.
template <class T>
TC_DEVICE constexpr int in_whole_words(int count) {
  constexpr int elements = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
  return (count + elements - 1) / elements * elements;
}

/// Axis 0, 1, 2: x, y, z.
template <int Axis>
TC_DEVICE int block_index() {
  if constexpr (Axis == 0) return static_cast<int>(blockIdx.x);
  if constexpr (Axis == 1) return static_cast<int>(blockIdx.y);
  return static_cast<int>(blockIdx.z);
}
/// Number of the thread in its block.
TC_DEVICE int thread_index() {
  return static_cast<int>(threadIdx.x);
}
/// All threads of the block.
TC_DEVICE void barrier_block() {
  __syncthreads();
}
/// The threads of the warp.
TC_DEVICE void barrier_warp() {
  __syncwarp();
}

TC_DEVICE uint32 to_bits(float value) {
  return __float_as_uint(value);
}
TC_DEVICE uint64 to_bits(double value) {
  return static_cast<uint64>(__double_as_longlong(value));
}
TC_DEVICE float from_bits(uint32 bits) {
  return __uint_as_float(bits);
}
TC_DEVICE double from_bits(uint64 bits) {
  return __longlong_as_double(static_cast<int64>(bits));
}

#else

template <int Axis>
inline int block_index() {
  return emulation::device::block_index(Axis);
}
inline int thread_index() {
  return emulation::device::thread_index();
}
inline void barrier_block(int line = __builtin_LINE()) {
  emulation::device::barrier_block(line);
}
inline void barrier_warp(int line = __builtin_LINE()) {
  emulation::device::barrier_warp(line);
}

template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline uint32 to_bits(float value) {
  return same_bits<uint32>(value);
}
inline uint64 to_bits(double value) {
  return same_bits<uint64>(value);
}
inline float from_bits(uint32 bits) {
  return same_bits<float>(bits);
}
inline double from_bits(uint64 bits) {
  return same_bits<double>(bits);
}

#endif

template <class T>
TC_DEVICE T infinity() {
  if constexpr (sizeof(T) == 4)
    return from_bits(uint32{0x7f800000u});
  else
    return from_bits(uint64{0x7ff0000000000000ull});
}
template <class T>
TC_DEVICE T nan() {
  if constexpr (sizeof(T) == 4)
    return from_bits(uint32{0x7fc00000u});
  else
    return from_bits(uint64{0x7ff8000000000000ull});
}

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;
template <class T>
inline constexpr bool is_floating = is_same<T, float> || is_same<T, double>;

/// The unsigned integer of a type's size.
template <int Bytes>
struct unsigned_of_size;
template <>
struct unsigned_of_size<1> {
  using type = uint8;
};
template <>
struct unsigned_of_size<2> {
  using type = uint16;
};
template <>
struct unsigned_of_size<4> {
  using type = uint32;
};
template <>
struct unsigned_of_size<8> {
  using type = uint64;
};
template <class T>
using unsigned_of = typename unsigned_of_size<sizeof(T)>::type;

}  // namespace tc
