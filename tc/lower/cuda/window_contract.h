// SPDX-License-Identifier: Apache-2.0
//
// Sums of products over windows, with boxes of the factors in shared memory and accumulators in
// registers. Internal to the room.
//
//   O(o, h, w) += I(c, h + kh, w + kw) * W(o, c, kh, kw)   becomes
//
//   Register acc;  Shared I_box, W_box
//   acc = 0
//   for cb in c step CC:                    boxes of the next step on their way meanwhile, where
//                                           factors are elements as they lie in memory
//     I_box[c - cb][h'][w'] = I(c, h', w')  each element once, whatever windows read it; zero
//     W_box[c - cb][kh][kw][o] = W(...)     beyond the box, so the product needs no guards
//     acc += I_box * W_box                  rows of a thread side by side, points of their window
//                                           written out: what they share is read once
//   O(o, h, w) = acc                        or what element-wise operations behind it make of that
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tc/lower/cuda/register_tile.h"
#include "tc/lower/op/names.h"

namespace tc::lower::cuda {

/// Threads of a block for an operation that stage_windows() takes; nullopt: it takes it not.
std::optional<std::int64_t> window_threads(const tile::Op& op, const Ranges& outer,
                                           const TileLimits& limits, const MappingOptions& options);

struct StagedWindows {
  std::vector<tile::Node> nodes;  ///< all with layouts
  std::size_t finished = 0;       ///< element-wise operations that are part of them
};

/// The operation in the form above, with as many of the operations that follow it as work on its
/// elements alone. nullopt: it is no sum over windows, or its boxes do not fit in `room` bytes of
/// shared memory. `limits.threads`: of the block.
std::optional<StagedWindows> stage_windows(const tile::Op& op,
                                           const std::vector<const tile::Op*>& following,
                                           const Ranges& outer, const TileLimits& limits,
                                           std::int64_t room, const MappingOptions& options,
                                           Names& names);

}  // namespace tc::lower::cuda
