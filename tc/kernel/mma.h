// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tc/kernel/ir.h"
#include "tc/support/target.h"

namespace tc::kernel {

constexpr std::int64_t kMmaThreads = 128;  ///< of a warp group
constexpr std::int64_t kMmaRows = 64;      ///< of a block
constexpr std::int64_t kMmaDepth = 16;     ///< of one instruction
constexpr std::int64_t kMmaLine = 8;       ///< elements of a line of a core matrix, and its lines
constexpr std::int64_t kMmaMostColumns = 256;
constexpr std::int64_t kSwizzledLine = 64;         ///< elements of a line in a swizzled buffer
constexpr std::int64_t kSwizzledAlignment = 1024;  ///< bytes, of such a buffer and its corners

/// Elements of a line of a core matrix in this buffer.
inline std::int64_t line_elements(const Buffer& buffer) {
  return buffer.swizzled ? kSwizzledLine : kMmaLine;
}

/// Products are begun by instructions of the four warps of a group together (wgmma), which are
/// those of one architecture; else each warp computes its part at once.
bool has_warp_groups(const Target& target);

/// What is wrong with a product on tensor cores as such, whatever surrounds it: types, spaces,
/// sizes, distances that do not fit the buffers. Empty if nothing is.
std::vector<std::string> mma_problems(const Mma& mma);

}  // namespace tc::kernel
