// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::lower {

/// What a target adds where the nodes of a task become statements.
struct BodyHooks {
  /// Statements before the nest of an operation, after its comment.
  std::function<void(const tile::Op&, std::vector<kernel::StmtPtr>&)> before_op;
  /// Statements of a barrier.
  std::function<void(const tile::Barrier&, std::vector<kernel::StmtPtr>&)> barrier;
  /// What the nest of an operation becomes.
  std::function<Result<kernel::StmtPtr, Rejection>(const tile::Op&, const kernel::StmtPtr&)> nest;
};

/// Operations as loop nests (nest.h), loops as loops, local buffers as allocations.
/// Errors: those of lower_op().
Result<kernel::StmtPtr, Rejection> lower_body(const std::vector<tile::Node>& nodes,
                                              const Ranges& ranges, Names& names,
                                              const BodyHooks& hooks);

/// The grid of a kernel: tasks numbered from 0. Where a grid loop starts or steps otherwise, `out`
/// gets the definition of its variable; `suffix` is added to the name of the task's number.
std::vector<kernel::GridDim> lower_grid(const tile::Kernel& source, const char* suffix,
                                        Names& names, std::vector<kernel::StmtPtr>& out);

}  // namespace tc::lower
