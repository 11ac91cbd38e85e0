// SPDX-License-Identifier: Apache-2.0
//
// A layout for one operation from its accesses, by a small cost model. Internal to the room.
//
// Cost of a candidate = cycles per point of the innermost body, a register tile of places:
//
//   cycles = the largest of (loads / 2, stores, arithmetic / 2) + a quarter of the others, at least
//   4 while a reduction runs (the
//     latency of an FMA), + 1 for the loop
//   loads, stores: each access counts once per different combination of the places of the dims it
//   depends on (reuse), weighted
//     1 contiguous in the vector dim + 3/4 per run of vectors for straddled cache lines (2
//     reversed), 1/2 the same for all lanes, 1.5 per lane else; accesses that do not depend on the
//     loops of a reduction are outside of it and count by its length
//   per point: divided by places * lanes * utilisation; utilisation = what partial spans and
//   vectors waste
//
// Candidates: vector dims (and none), factors of the vector dim and of at most two kept dims,
// within the vector registers: accumulators + operands held at once + 1. The cheapest wins, the
// first among equals.
#pragma once

#include "tc/lower/op/access.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"
#include "tc/support/target.h"

namespace tc::lower::cpu {

/// Vector bits that options and target agree on; 1: scalar code.
int vector_bits(const MappingOptions& options, const Target& target);

struct LayoutChoice {
  tile::Layout layout;
  double cost = 0;  ///< cycles per point
};
LayoutChoice choose_layout(const tile::Op& op, const Ranges& outer, const MappingOptions& options,
                           const Target& target);

}  // namespace tc::lower::cpu
