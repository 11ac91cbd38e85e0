// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/poly/schedule.h"
#include "tc/support/target.h"
#include "tc/support/tensor_meta.h"
#include "tc/tile/ir.h"

namespace tc::tile {

/// What is known of the tensors of one call beyond the sizes: strides and alignment of inputs and
/// outputs.
struct Placement {
  std::vector<TensorMeta> inputs;   ///< by parameter position
  std::vector<TensorMeta> outputs;  ///< by return position
};

/// Builds the tile program of a schedule.
///
/// Order of events: (1) tile sizes of each group's band, from the options or the model; full tiles
/// and the clipped last ones share one body, whose box ends are min(...) of tile and domain; (2)
/// storage of every temporary: tile-local where all its accesses lie in one group, at distance zero
/// on the band, and the footprint of a tile is a box within the limit; else scratch; (3) each
/// statement becomes an operation over its part of the tile: band indices within the tile, the
/// others over their whole range, loads and stores with 0-based subscripts; (4) an Init that
/// directly precedes the reduction over the same elements is folded into it (from_identity); (5)
/// the launch steps. Layouts are left empty: the target's selection fills them. Errors:
/// Rejection{ScratchOverflow, LocalMemoryOverflow}.
Result<Program, Rejection> build(const poly::Scop& scop, const poly::Schedule& schedule,
                                 const Placement& placement, const MappingOptions& options,
                                 const tc::Target& target);

}  // namespace tc::tile
