// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tc::python {

/// Scratch in this machine's memory, kept by the calling thread between runs; null for 0 bytes.
/// Throws std::bad_alloc.
void* host_scratch(std::size_t bytes);

}  // namespace tc::python
