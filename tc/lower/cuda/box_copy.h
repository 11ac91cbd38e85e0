// SPDX-License-Identifier: Apache-2.0
//
// Copies of boxes whose sides fit no number of threads. Internal to the room.
#pragma once

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"

namespace tc::lower::cuda {

/// A copy shared by the threads of a block so that each has as few accesses as possible, all of
/// them at constant distances from its first and many in flight. `copy` has no layout; its dims are
/// the subscripts of its target, counted from their begin. The target of the result may be longer
/// along some of them, by `spare` bytes in all at most, and zero there: then no thread needs to
/// know whether it has a last access.
tile::Op share_copy(const tile::Op& copy, const Ranges& outer, std::int64_t threads,
                    std::int64_t spare, const MappingOptions& options, Names& names);

/// The operation with a value in place of a variable around it, and digits of its own.
tile::Op with_value(tile::Op op, const kernel::Var& var, const kernel::ExprPtr& value,
                    Names& names);

}  // namespace tc::lower::cuda
