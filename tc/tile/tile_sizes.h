// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tc/support/options.h"
#include "tc/support/target.h"
#include "tc/tile/footprint.h"

namespace tc::tile {

/// Tile sizes of a group's band, one per member.
///
/// With options.tile: as given, 0 or absent meaning the whole extent. Otherwise the model, in this
/// order:
///  1. Below 20000 points in all, or with one task asked for: one task.
///  2. Caps. If a product reduction (target += a * b) makes up at least half of the points, the
///  members that only one factor depends on are
///     its rows or its columns (the columns are those of the target's innermost member), and they
///     are taken from the inside out until there are about 16 register tiles of rows and 256
///     columns (more, where rows are few): one packed block of each operand then stays in L2 while
///     a tile is computed. Otherwise, where a statement accesses tensors whose contiguous
///     dimensions run along different members (a transposition), these are capped at 64, so that
///     whole cache lines are used on both sides.
///  3. Halve a member, while what has reuse inside a tile does not fit: temporaries in local_bytes;
///  everything that is accessed twice or
///     by several points, operands of products excepted (their reduction is blocked inside the
///     tile), in half of L2. Halved is the outermost member that is not yet 1; an innermost member
///     along which something is written stays 256 bytes wide.
///  4. Halve likewise, while there are fewer tasks than options.tasks, or else four per core but no
///  task below 5000 points. In a
///     product the largest of rows and columns is halved.
///  5. Round to whole register tiles and cache lines where the member is larger than one, and even
///  out the tiles.
/// A member that runs along the innermost dimension of a written 4-bit tensor is never split: two
/// tasks would share a byte.
///
/// `contiguous`: for each tensor of the scop, the dimension of stride 1, -1 if none.
/// Cost: one frame and its footprints per halving.
std::vector<std::int64_t> choose_tile_sizes(const poly::Scop& scop, const GroupContext& context,
                                            const std::vector<int>& contiguous,
                                            const MappingOptions& options,
                                            const tc::Target& target);

/// Limit on tile-local storage in bytes.
std::int64_t local_limit(const MappingOptions& options, const tc::Target& target);

}  // namespace tc::tile
