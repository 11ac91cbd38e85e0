// SPDX-License-Identifier: Apache-2.0
//
// Which points of an operation write one element, and whether updates that meet may be atomic.
// Internal to the room.
#pragma once

#include <cstddef>

#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"

namespace tc::lower::cuda {

/// Neighbours of a packed type share a byte, so one thread writes all values of the dim.
bool splits_bytes(const tile::Op& op, std::size_t dim);

/// Points with different values of the dim meet in one element when a reduction dim makes up for
/// the difference, as in y(i+j), or an index tensor does.
bool meets_others(const tile::Op& op, std::size_t dim);

/// Whether threads may update the target atomically, in any order, with the same result in every
/// run: updates of integers and bools, minima and maxima; sums and products of floats only without
/// option `deterministic`. Never where a narrow element would round partial results, and never what
/// the operation reads as well.
bool may_update_atomically(const tile::Op& op, const MappingOptions& options);

}  // namespace tc::lower::cuda
