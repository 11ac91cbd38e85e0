// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

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
/// Order of events:
///  1. Tile sizes of each group's band, from the options or the model (tile_sizes.h). Full tiles
///     and the clipped last ones share one body, whose box ends are min(...) of tile and domain.
///  2. Storage of every temporary (storage.h): tile-local where all its accesses lie in one group,
///     no value survives a launch, and the footprint of a tile is a box within the limit; else
///     scratch, shared by temporaries that do not live at the same time.
///  3. Each statement becomes an operation over its part of the tile: band indices within the tile,
///     the others over their whole range, loads and stores with 0-based subscripts, guards as masks
///     (translate.h).
///  4. An Init whose elements the next access reduces into, and that sets exactly these, is folded
///     into the reduction (from_identity; fold_init.h).
///  5. The launch steps. Statements, loops and kernels without work vanish.
/// Layouts are left empty: the target's selection fills them.
///
/// Tiles for tensor cores leave some temporaries to registers (accumulators.h). Whether they can
/// stay there only the selection knows: `fits` is asked for such a program, and if it does not fit,
/// temporaries take their memory in all tiles.
///
/// With bounds=error the first out-of-range gather or scatter is recorded in the scratch argument
/// "status", four int64: {1 if there is one, statement, dimension, index value}, see checks.h.
///
/// Errors: Rejection{ScratchOverflow} beyond 1 TiB. Temporaries that do not fit in local_bytes are
/// no error, they are scratch.
Result<Program, Rejection> build(const poly::Scop& scop, const poly::Schedule& schedule,
                                 const Placement& placement, const MappingOptions& options,
                                 const tc::Target& target,
                                 const std::function<bool(const Program&)>& fits = {});

}  // namespace tc::tile
