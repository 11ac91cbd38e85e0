// SPDX-License-Identifier: Apache-2.0
#include "host_scratch.h"

#include <cstdlib>
#include <memory>
#include <new>

namespace tc::python {

namespace {

constexpr std::size_t kScratchAlignment = 64;

struct FreeAligned {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

void* host_scratch(std::size_t bytes) {
  thread_local std::unique_ptr<void, FreeAligned> memory;
  thread_local std::size_t size = 0;
  if (bytes > size) {
    const std::size_t rounded =
        (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    memory.reset(std::aligned_alloc(kScratchAlignment, rounded));
    size = memory ? rounded : 0;
    if (!memory) throw std::bad_alloc();
  }
  return memory.get();
}

}  // namespace tc::python
