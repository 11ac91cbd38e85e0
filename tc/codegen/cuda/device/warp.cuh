// SPDX-License-Identifier: Apache-2.0
//
// Exchange of values between the threads of a warp.
#pragma once

#include "tc/codegen/cuda/device/platform.cuh"

namespace tc {

/// The value of the thread whose number differs in the bit `distance`. All threads of the aligned
/// group of `Group` consecutive ones take part.
template <int Group, class T>
TC_DEVICE T shuffle_xor(T value, int distance TC_CALLER) {
#if defined(__CUDACC__)
  const uint32 mask = Group == 32
                          ? 0xffffffffu
                          : ((1u << (Group % 32)) - 1u)
                                << (static_cast<uint32>(thread_index()) & 31u & ~(Group - 1u));
  if constexpr (is_same<T, bool>)
    return __shfl_xor_sync(mask, static_cast<int>(value), distance) != 0;
  else
    return __shfl_xor_sync(mask, value, distance);
#else
  emulation::device::exchange(&value, sizeof value, distance, Group, line);
  return value;
#endif
}

}  // namespace tc
