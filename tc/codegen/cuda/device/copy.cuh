// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies from global to shared memory (cp.async, sm_80). What a thread copies belongs
// to the group that its next commit closes; the bytes are there for this thread after a wait for
// that group, for others after a barrier behind it.
#pragma once

#include "tc/codegen/cuda/device/platform.cuh"

namespace tc {

/// Copies Bytes (4, 8, 16) bytes between addresses that are multiples of it. Without `predicate`
/// zeros arrive and nothing is read.
template <int Bytes, class T>
TC_DEVICE void copy_async(T* shared, const T* global, bool predicate = true TC_CALLER) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
#if defined(__CUDACC__)
  const auto to = static_cast<uint32>(__cvta_generic_to_shared(shared));
  const auto from = static_cast<uint64>(__cvta_generic_to_global(global));
  const uint32 source_bytes = predicate ? Bytes : 0;
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(source_bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(Bytes),
                 "r"(source_bytes)
                 : "memory");
#else
  emulation::device::copy_async(shared, global, Bytes, predicate ? Bytes : 0, line);
#endif
}

/// Copies Count elements side by side, whose addresses are multiples of Align bytes.
template <int Count, int Align, class T>
TC_DEVICE void copy_elements(T* shared, const T* global, bool predicate = true TC_CALLER) {
  constexpr int bytes = Count * static_cast<int>(sizeof(T));
  constexpr int piece = Align < bytes ? Align : bytes;
  static_assert(piece >= 4, "elements that cp.async can copy");
#pragma unroll
  for (int at = 0; at < bytes; at += piece)
    copy_async<piece>(shared + at / static_cast<int>(sizeof(T)),
                      global + at / static_cast<int>(sizeof(T)), predicate TC_CALLER_LINE);
}

/// Closes the group of the copies since the last commit.
TC_DEVICE void copy_commit() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulation::device::copy_async_commit();
#endif
}

/// Waits until at most the last `Groups` groups are on their way.
template <int Groups>
TC_DEVICE void copy_wait(
#if !defined(__CUDACC__)
    int line = __builtin_LINE()
#endif
) {
#if defined(__CUDACC__)
  if constexpr (Groups == 0)
    asm volatile("cp.async.wait_all;" ::: "memory");
  else
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
#else
  emulation::device::copy_async_wait(Groups, line);
#endif
}

/// Closes a group and waits until at most the last `Groups` groups are on their way.
template <int Groups>
TC_DEVICE void copy_await(
#if !defined(__CUDACC__)
    int line = __builtin_LINE()
#endif
) {
  copy_commit();
#if defined(__CUDACC__)
  copy_wait<Groups>();
#else
  copy_wait<Groups>(line);
#endif
}

}  // namespace tc
