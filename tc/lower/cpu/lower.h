// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/kernel/plan.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"
#include "tc/support/target.h"
#include "tc/tile/ir.h"

namespace tc::lower::cpu {

/// Chooses what the CPU needs of every operation that has no layout yet: vector dim, lanes,
/// register tile, loop order; stages and packs the operands of contractions (Load operations into
/// Local panels, a sequential loop over blocks of the reduction) where the model says it pays.
/// Decisions rest on the accesses alone. The result is a tile program that prints, parses and
/// lowers to the same code.
Result<tile::Program, Rejection> select(const tile::Program& program, const MappingOptions& options,
                                        const Target& target);

/// Tile program with layouts -> kernel IR: loops, vectors, masks for the last partial vector,
/// register tiles.
Result<kernel::Plan, Rejection> lower(const tile::Program& program, const MappingOptions& options,
                                      const Target& target);

}  // namespace tc::lower::cpu
