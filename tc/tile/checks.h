// SPDX-License-Identifier: Apache-2.0
//
// Option bounds=error: the first out-of-range gather or scatter is recorded. Internal to the room.
//
// The record is a scratch buffer "status" of four int64: {1 if there is one, statement, dimension
// of the access, index value}. It is cleared by the first kernel of a call. Each gathered subscript
// gets its own operations, run by one task: an argmax over the points of the statement that finds
// the first one (in the order of its dims) whose subscript is out of range, a sum that picks its
// value, and four stores that happen only if something was found and nothing is recorded yet. So
// the record does not depend on timing: it is the first offender of the first statement, in the
// order of execution. The statement itself never touches memory out of range.
#pragma once

#include <vector>

#include "tc/tile/frame.h"
#include "tc/tile/translate.h"

namespace tc::tile {

/// The operations of all tests, one after the other. `status` has four elements; `next_buffer`
/// numbers new local buffers.
std::vector<Node> check_nodes(const StatementFrame& frame,
                              const std::vector<kernel::ExprPtr>& conditions,
                              const std::vector<GatherTest>& tests, const kernel::BufferPtr& status,
                              int& next_buffer);

/// Sets the record to "nothing found".
Op clear_status(const kernel::BufferPtr& status, int var_id);

}  // namespace tc::tile
