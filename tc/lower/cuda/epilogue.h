// SPDX-License-Identifier: Apache-2.0
//
// Element-wise operations that read a contraction where its accumulators are. Internal to the room.
#pragma once

#include <map>
#include <optional>

#include "tc/lower/cuda/fragment_contract.h"

namespace tc::lower::cuda {

/// Contractions that have not been stored, by the buffer that they stand for.
using HeldProducts = std::map<int, FragmentProduct>;

/// Ids of the held buffers that an operation reads.
std::vector<int> held_reads(const tile::Op& op, const HeldProducts& held);

/// The operation on the accumulators, each element in the thread that has it. nullopt: it is not
/// element-wise over the box of all contractions that it reads, or they lie differently.
std::optional<tile::Op> read_accumulators(const tile::Op& op, const HeldProducts& held,
                                          const Ranges& outer, Names& names);

}  // namespace tc::lower::cuda
