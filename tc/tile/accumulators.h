// SPDX-License-Identifier: Apache-2.0
//
// Contractions that a GPU computes on tensor cores: their sums fill the registers of a block of
// threads. Internal to the room; tc/lower/cuda decides from the tile program, this foresees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tc/support/options.h"
#include "tc/support/target.h"
#include "tc/tile/footprint.h"

namespace tc::tile {

struct FragmentProducts {
  std::vector<std::size_t> positions;  ///< in Group::statements
  /// Private temporaries that only these statements write and only element-wise ones read: they
  /// stay in registers.
  std::vector<int> accumulators;
  /// Sums that the block of threads has registers for, of all products together.
  std::int64_t most_sums = 0;
};

/// The products of two tensors of one 16-bit float type in a group; none where the options or the
/// target keep them from tensor cores.
FragmentProducts find_fragment_products(const poly::Scop& scop, const GroupContext& context,
                                        const MappingOptions& options, const tc::Target& target);

/// Sums of one product in a tile, whole instructions: rows are `row` points along the innermost dim
/// times `rows` of the others. 0: the tile is too small or too wide for them.
std::int64_t fragment_sums(std::int64_t rows, std::int64_t row, std::int64_t columns);

}  // namespace tc::tile
