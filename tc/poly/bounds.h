// SPDX-License-Identifier: Apache-2.0
//
// Constant hulls of indices and integer expressions by interval arithmetic: cheap, and exact for
// the ranges people write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tc/lang/typed.h"
#include "tc/poly/scop.h"

namespace tc::poly {

/// Half-open: lo, lo + 1, ..., hi - 1. Never negative in length.
struct Interval {
  std::int64_t lo = 0, hi = 0;
  std::int64_t extent() const { return hi - lo; }
};

/// Values of each `for` variable over the whole run, by ForLoop::var.
using LoopRanges = std::map<int, Interval>;
LoopRanges loop_ranges(const std::vector<Node>& body);

/// Hull of every index over all values of the indices and loops that bound it; conditions are not
/// considered.
std::vector<Interval> index_ranges(const std::vector<lang::Index>& indices,
                                   const LoopRanges& loops);

/// Hull of an integer expression over the given index and loop hulls; nullopt for reads and
/// unbounded operators.
std::optional<Interval> value_range(const lang::ExprPtr& expr, const std::vector<Interval>& indices,
                                    const LoopRanges& loops);

/// The indices of the statement that `expr` mentions, ascending.
std::vector<int> indices_in(const lang::ExprPtr& expr);
/// True if `expr` mentions a `for` variable.
bool mentions_loop(const lang::ExprPtr& expr);

}  // namespace tc::poly
