// SPDX-License-Identifier: Apache-2.0
//
// What emulated kernel code calls: the interface between device headers compiled for the host and
// the emulator. Self-contained: it is compiled together with the kernel text, into a shared object
// of its own, and reaches the emulator through a table of functions.
//
//  * Threads of a block are numbered 0, 1, ...; 32 consecutive ones make a warp.
//  * Every access to shared or global memory is announced before it is made, in the size in which
//    the device would make it (a float4 load is one read of 16 bytes: the emulator checks that it
//    is aligned). Memory of one thread (registers, local arrays) is not announced.
//  * A hook that finds a defect ends the launch and does not return: it throws. Functions between
//    the kernel and a hook therefore may not be noexcept.
//  * `line` tells where in the kernel text something happened. A device function takes it as a
//    defaulted last parameter too (host implementation only) and hands it on, so that it names the
//    line of the caller. Two barriers at different lines are different barriers.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace tc::emulation::device {

/// The thread that is running.
struct Position {
  int thread = 0;
  int block[3] = {0, 0, 0};
};

/// The part of a thread in a product that its warp group has begun.
struct Product {
  float* sums = nullptr;  ///< `count` registers; undefined until the product is waited for
  int count = 0;
  const void* rows = nullptr;  ///< panels in shared memory
  const void* columns = nullptr;
  /// Calls read_panel() for all that this part reads.
  void (*announce)(const Product&, int line) = nullptr;
  /// Adds to what stands for the registers.
  void (*add)(const Product&, float* sums) = nullptr;
};

struct Hooks {
  void* emulator;
  const Position* position;
  void (*barrier_block)(void*, int line);
  void (*barrier_warp)(void*, int line);
  void (*barrier_named)(void*, int id, int threads, int line);
  void (*gather)(void*, const void* value, std::size_t bytes, void* all, int group, int line);
  void* (*shared_memory)(void*, std::size_t offset, std::size_t bytes, const char* name);
  void (*read)(void*, const void* address, std::size_t bytes, int line);
  void (*write)(void*, const void* address, std::size_t bytes, int line);
  void (*atomic_begin)(void*, const void* address, std::size_t bytes, int line);
  void (*atomic_partial_begin)(void*, const void* address, std::size_t bytes, int line);
  void (*atomic_end)(void*);
  void (*copy_async)(void*, void* shared, const void* global, std::size_t bytes,
                     std::size_t source_bytes, int line);
  void (*copy_async_commit)(void*);
  void (*copy_async_wait)(void*, int groups, int line);
  void (*copy_async_wait_all)(void*, int line);
  void (*publish)(void*);
  void (*read_panel)(void*, const void* address, std::size_t bytes, int line);
  void (*product_fence)(void*);
  void (*product_begin)(void*, const Product& product, int line);
  void (*product_commit)(void*);
  void (*product_wait)(void*, int groups);
};

/// Set by the emulator for each shared object before it runs one of its kernels.
inline const Hooks* current_hooks = nullptr;

/// Axis 0, 1, 2: x, y, z.
inline int block_index(int axis) {
  return current_hooks->position->block[axis];
}
inline int thread_index() {
  return current_hooks->position->thread;
}

/// All threads of the block.
inline void barrier_block(int line = __builtin_LINE()) {
  current_hooks->barrier_block(current_hooks->emulator, line);
}
/// All threads of the warp (fewer than 32 in the last warp of an odd block).
inline void barrier_warp(int line = __builtin_LINE()) {
  current_hooks->barrier_warp(current_hooks->emulator, line);
}
/// Barrier `id` (1..15): the first `threads` threads that arrive, a multiple of 32, in whole warps.
inline void barrier_named(int id, int threads, int line = __builtin_LINE()) {
  current_hooks->barrier_named(current_hooks->emulator, id, threads, line);
}

/// The threads of an aligned group of `group` consecutive ones (a power of two up to 32) each give
/// `bytes` bytes at `value`; each gets all values in `all`, in the order of the threads. Orders no
/// memory accesses.
inline void gather(const void* value, std::size_t bytes, void* all, int group,
                   int line = __builtin_LINE()) {
  current_hooks->gather(current_hooks->emulator, value, bytes, all, group, line);
}
/// Exclusive or shuffle: in the own value (at most 16 bytes), out that of the thread whose number
/// differs by `distance`.
inline void exchange(void* value, std::size_t bytes, int distance, int group,
                     int line = __builtin_LINE()) {
  unsigned char all[32 * 16];
  gather(value, bytes, all, group, line);
  const auto partner = static_cast<std::size_t>((thread_index() % group) ^ distance);
  __builtin_memcpy(value, all + partner * bytes, bytes);
}

/// Shared memory of the block, `bytes` bytes at byte `offset` of its one allocation; findings call
/// these bytes by `name`, which must outlive the launch. Ranges of different names are apart or one
/// of them, the first to be asked for, contains the other.
inline void* shared_memory(std::size_t offset, std::size_t bytes, const char* name) {
  return current_hooks->shared_memory(current_hooks->emulator, offset, bytes, name);
}

inline void read(const void* address, std::size_t bytes, int line = __builtin_LINE()) {
  current_hooks->read(current_hooks->emulator, address, bytes, line);
}
inline void write(void* address, std::size_t bytes, int line = __builtin_LINE()) {
  current_hooks->write(current_hooks->emulator, address, bytes, line);
}
/// Around an atomic read-modify-write, instead of `read` and `write`; no other hook in between.
inline void atomic_begin(void* address, std::size_t bytes, int line = __builtin_LINE()) {
  current_hooks->atomic_begin(current_hooks->emulator, address, bytes, line);
}
/// The same around an atomic change of some bits of these bytes that does not depend on any of
/// them, like a store to half a byte.
inline void atomic_partial_begin(void* address, std::size_t bytes, int line = __builtin_LINE()) {
  current_hooks->atomic_partial_begin(current_hooks->emulator, address, bytes, line);
}
inline void atomic_end() {
  current_hooks->atomic_end(current_hooks->emulator);
}

/// Asynchronous copy of this thread from global to shared memory (cp.async): makes the accesses
/// itself. The first `source_bytes` bytes come from `global`, the rest are zeros. The bytes arrive
/// when this thread waits for the copy's group; other threads see them after a barrier after that.
inline void copy_async(void* shared, const void* global, std::size_t bytes,
                       std::size_t source_bytes, int line = __builtin_LINE()) {
  current_hooks->copy_async(current_hooks->emulator, shared, global, bytes, source_bytes, line);
}
/// Copies since the last commit become one group.
inline void copy_async_commit() {
  current_hooks->copy_async_commit(current_hooks->emulator);
}
/// Waits until at most the last `groups` groups are in flight. Like cp.async.wait_group, not for
/// copies that no commit has put into a group.
inline void copy_async_wait(int groups, int line = __builtin_LINE()) {
  current_hooks->copy_async_wait(current_hooks->emulator, groups, line);
}
/// Waits for all copies of this thread (cp.async.wait_all).
inline void copy_async_wait_all(int line = __builtin_LINE()) {
  current_hooks->copy_async_wait_all(current_hooks->emulator, line);
}

/// What this thread has written to shared memory may be read by products of a warp group
/// (fence.proxy.async); a barrier behind it tells them.
inline void publish() {
  current_hooks->publish(current_hooks->emulator);
}
/// Products on warp groups (wgmma): a fence behind every other use of the registers, any number of
/// products, a commit that makes those since the last one a group, a wait until at most the last
/// `groups` groups are on their way. In between the registers are not a number, the panels are read
/// when a product begins and again when it ends.
inline void product_fence() {
  current_hooks->product_fence(current_hooks->emulator);
}
inline void product_begin(const Product& product, int line = __builtin_LINE()) {
  current_hooks->product_begin(current_hooks->emulator, product, line);
}
inline void product_commit() {
  current_hooks->product_commit(current_hooks->emulator);
}
inline void product_wait(int groups) {
  current_hooks->product_wait(current_hooks->emulator, groups);
}
/// Only from Product::announce.
inline void read_panel(const void* address, std::size_t bytes, int line) {
  current_hooks->read_panel(current_hooks->emulator, address, bytes, line);
}

template <class T>
T take_argument(void* const*& buffers, const long long*& ints) {
  if constexpr (std::is_pointer_v<T>)
    return static_cast<T>(*buffers++);
  else
    return static_cast<T>(*ints++);
}
/// Runs a kernel for the current thread. Its pointer parameters are the buffers in order, all
/// others are the integers in order.
template <class... Args>
void invoke(void (*kernel)(Args...), void* const* buffers, const long long* ints) {
  const std::tuple<Args...> arguments{take_argument<Args>(buffers, ints)...};
  std::apply(kernel, arguments);
}

}  // namespace tc::emulation::device

/// Stands after the definition of a kernel, in its namespace: the entry by which the emulator runs
/// it. Kernels themselves have internal linkage on the host, so that several texts with equal
/// kernel names can share one shared object.
#define TC_EMULATION_ENTRY(name)                                                                   \
  inline void name##__entry(void* const* buffers, const long long* ints) {                         \
    ::tc::emulation::device::invoke(&(name), buffers, ints);                                       \
  }
