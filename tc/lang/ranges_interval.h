// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "tc/lang/ranges_form.h"
#include "tc/lang/typed.h"

namespace tc::lang {

/// Closed interval of integers; `lo > hi` for an empty range, which counts by its ends.
struct Interval {
  std::int64_t lo = 0, hi = 0;
};

/// Values that the variables of a specialised statement take.
using Intervals = std::map<Variable, Interval>;

/// Hull of the values of an integer expression over independent intervals of its variables; a Read
/// takes any value of its type. nullopt: beyond int64, or of another kind.
std::optional<Interval> interval(const TypedDef& def, const ExprPtr& expr,
                                 const Intervals& variables);

/// Linear over indices and for variables, floor division and remainder by integer constants, min,
/// max, selection by an affine condition. Of a specialised def: what AffineScope::value() and
/// where() accept.
bool is_affine(const ExprPtr& expr);

}  // namespace tc::lang
