// SPDX-License-Identifier: Apache-2.0
//
// Element-wise operations behind a reduction that may work on its accumulators. Internal to the
// room.
#pragma once

#include <optional>

#include "tc/lower/op/op_info.h"

namespace tc::lower::cuda {

/// Whether `next`, which follows `op`, does nothing but replace every element that `op` writes by a
/// value that reads no other element of that buffer. `next` as an operation over the dims of `op`;
/// nullopt: it does more, or less, or something would be rounded in between.
std::optional<tile::Op> as_finish(const tile::Op& op, const tile::Op& next, const Ranges& outer);

}  // namespace tc::lower::cuda
