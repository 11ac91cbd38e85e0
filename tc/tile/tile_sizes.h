// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tc/support/options.h"
#include "tc/support/target.h"
#include "tc/tile/footprint.h"

namespace tc::tile {

/// Rows, columns or reduction points below which a GPU does not stage a product in shared memory.
inline constexpr std::int64_t kFewestStaged = 16;

/// Tile sizes of a group's band, one per member.
///
/// With options.tile: as given, 0 or absent meaning the whole extent. Otherwise the model, in this
/// order:
///  1. One task. Below 20000 points in all, or if one task is asked for.
///  2. Caps. Where product reductions (target += a * b) make up at least half of the points, the
///     members that only one factor of the heaviest depends on are its rows or its columns (the
///     columns are those of the target's innermost member). They are taken from the inside out
///     until there are about 16 register tiles of rows and 256 columns (more, where rows are few):
///     one packed block of each operand then stays in L2 while a tile is computed. Otherwise, where
///     a statement accesses tensors whose contiguous dimensions run along different members (a
///     transposition), these are capped at 64, so that whole cache lines are used on both sides.
///  3. Space. While what has reuse inside a tile does not fit, a member is halved: temporaries must
///     fit in local_bytes; what is accessed twice or by several points, operands of products
///     excepted (their reduction is blocked inside the tile), in half of L2. Halved is the
///     outermost member that is not yet 1; an innermost member along which a tensor as large as the
///     work lies stays 256 bytes wide, unless temporaries ask for less.
///  4. Tasks. Members are halved likewise, while there are fewer tasks than options.tasks, or else
///     than four per core with 5000 points each. In a product, batches are halved first, then the
///     larger of rows and columns.
///  5. Rounding. Tiles are evened out, then rounded to whole register tiles and cache lines.
/// On a GPU, where a task is a block of threads, members grow from 1 instead: to 32 along
/// contiguous memory; then, in a product, rows and columns alternately, the fewer ones first (those
/// along indices that are no members count too, and a side without a window for each point of the
/// other's), to 16384 elements together (32768 of all products together, where tensor cores compute
/// them) while each core has a block, or where a side is below kFewestStaged to 8192 if the product
/// is read through windows, else to 2048; else the innermost ones to 2048 points of the heaviest
/// statement (4096 of a reduction) while each core has two, and members that share what a long
/// reduction reads to 8; always within local_bytes. A member along the innermost dimension of a
/// written 4-bit tensor is never split: two tasks would share a byte.
///
/// `contiguous`: for each tensor of the scop, the dimension of stride 1, -1 if none.
/// Cost: two frames and one set of footprints.
std::vector<std::int64_t> choose_tile_sizes(const poly::Scop& scop, const GroupContext& context,
                                            const std::vector<int>& contiguous,
                                            const MappingOptions& options,
                                            const tc::Target& target);

/// Temporaries that tiles of these sizes keep in registers on a GPU (accumulators.h).
std::vector<int> find_register_temporaries(const poly::Scop& scop, const GroupContext& context,
                                           const std::vector<int>& contiguous,
                                           const std::vector<std::int64_t>& sizes,
                                           const MappingOptions& options, const tc::Target& target);

/// Limit on tile-local storage in bytes.
std::int64_t local_limit(const MappingOptions& options, const tc::Target& target);

}  // namespace tc::tile
