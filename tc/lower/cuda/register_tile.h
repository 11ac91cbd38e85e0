// SPDX-License-Identifier: Apache-2.0
//
// Which elements a thread of a sum over windows accumulates. Internal to the room.
//
//   rows along a window lie side by side in one thread, so that an element read once serves several
//   rows and points of the window:     acc(h)   += x(h + kh) * w(kh)      h = 0..2, kh = 0..2:
//                                      reads 5 elements of x instead of 9
//   other rows share what the columns read, and the reverse
//   the lanes of a warp lie along the innermost dim of the target, so that what they read from
//   shared memory and write to the target lies side by side
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tc/lower/cuda/windows.h"

namespace tc::lower::cuda {

/// How threads and registers cover one kept dim: extent <= threads * count.
struct TileCover {
  std::int64_t threads = 1;
  std::int64_t count = 1;   ///< elements of a thread
  std::int64_t stride = 1;  ///< of the digit in the number of the thread
  bool neighbours = true;   ///< a thread has elements side by side, else `threads` apart
  std::int64_t reach() const { return threads * count; }
};

struct RegisterTile {
  std::vector<TileCover> covers;  ///< per dim of the operation; of kept dims of the product only
  std::vector<int> unrolled;      ///< reductions whose points share what they read
  std::int64_t threads = 1;       ///< that have elements
};

/// What a machine and the options allow.
struct TileLimits {
  std::int64_t threads = 0;  ///< of a block, at most
  std::int64_t tasks = 1;    ///< blocks of the kernel
  std::int64_t cores = 1;
  bool are_given = false;  ///< the block has all these threads, with or without elements
};

/// The tile with the fewest instructions for a product: those of its own, loads from shared memory,
/// threads without elements, and a price for cores with few warps. nullopt: the threads cannot
/// cover the box with the accumulators that a thread may have.
std::optional<RegisterTile> choose_register_tile(const tile::Op& op, const Roles& roles,
                                                 const Boxes& boxes, const TileLimits& limits,
                                                 const MappingOptions& options);

}  // namespace tc::lower::cuda
