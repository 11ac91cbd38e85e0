// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cpu/locals.h"

#include <new>

namespace {

/// Grows to the largest request of its thread and goes with the thread.
class Arena {
public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { release(); }

  void* acquire(std::size_t bytes) {
    if (bytes > size_) {
      release();
      memory_ = ::operator new(bytes, kAlignment);
      size_ = bytes;
    }
    return memory_;
  }

private:
  static constexpr std::align_val_t kAlignment{64};

  void release() {
    ::operator delete(memory_, kAlignment);
    memory_ = nullptr;
    size_ = 0;
  }

  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

void* tc_local_acquire(std::int64_t bytes) noexcept {
  thread_local Arena arena;
  return arena.acquire(static_cast<std::size_t>(bytes));
}
