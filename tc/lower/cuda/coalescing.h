// SPDX-License-Identifier: Apache-2.0
//
// Which dim of an operation runs along memory, and how wide its accesses may be. Internal to the
// room.
#pragma once

#include "tc/lower/op/access.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/target.h"

namespace tc::lower::cuda {

/// What the accesses of one point cost a warp whose lanes lie along a dim: sectors of global memory
/// (32 for lanes far apart, 1 for an element that all share), and less for shared memory, where
/// only lanes that meet in a bank wait. `extents`: of all dims.
double warp_cost(const std::vector<Access>& accesses, const std::vector<std::int64_t>& extents,
                 std::size_t dim);

/// Largest number of neighbouring elements along `dim` (a power of two, at most `limit`) that every
/// access which runs along it can move at once: at most 16 bytes, at an address that is a multiple
/// of their size whenever the dim's value differs from its begin by a multiple of the number. 1:
/// single elements.
int widest_access(const tile::Op& op, const OpInfo& info, std::size_t dim, int limit);

}  // namespace tc::lower::cuda
