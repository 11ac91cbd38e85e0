// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"

namespace tc::lower::cuda {

/// The operation as the threads of a block share it: digits, stepped dims, a layout (share_plan.h).
/// Where a reduction is split into parts it becomes, with `parts` in a shared buffer of at most
/// `room` bytes,
///
///   part[kept, p] = combine over the part of p       then       target = combine over p of
///   part[kept, p]
///
/// Waiting between operations is not the concern of this function (barriers.h).
std::vector<tile::Node> distribute(const tile::Op& op, const Ranges& outer, std::int64_t threads,
                                   std::int64_t room, const MappingOptions& options, Names& names);

}  // namespace tc::lower::cuda
