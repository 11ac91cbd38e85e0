// SPDX-License-Identifier: Apache-2.0
//
// One statement, ready to run over its whole domain as often as its `for` loops ask for it.
#pragma once

#include <memory>

#include "tc/lang/interpreter_expr.h"

namespace tc::lang::interp {

/// Index variables of a statement in an order in which every bound refers to earlier ones only;
/// within that in order of first appearance. Fails (InternalError) on a cycle, which range
/// inference excludes.
std::vector<int> loop_order(const Statement& statement);

/// Adds what the bounds say about the values of every index variable to `ranges` (the slots of the
/// `for` variables are known already; the vector is grown as needed).
void add_index_ranges(const Statement& statement, int first_index, SlotRanges& ranges);

class StatementRunner {
public:
  virtual ~StatementRunner() = default;
  /// Executes the statement once. `vars` holds the `for` variables; the slots of the indices are
  /// overwritten.
  virtual void run(std::int64_t* vars) = 0;
};

/// `environment` must outlive the runner; `ranges` are those of the enclosing `for` variables.
std::unique_ptr<StatementRunner> make_runner(const Environment& environment,
                                             const Statement& statement, SlotRanges ranges);

}  // namespace tc::lang::interp
