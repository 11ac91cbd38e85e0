// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

extern "C" {
/// Memory for the local buffers of one kernel call: 64-byte aligned, the calling thread's own,
/// contents undefined, valid until the thread's next call. Generated code calls it once per kernel
/// call when its local buffers are too large for the stack.
void* tc_local_acquire(std::int64_t bytes) noexcept;
}
