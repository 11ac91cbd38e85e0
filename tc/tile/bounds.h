// SPDX-License-Identifier: Apache-2.0
//
// Bounds of index expressions over nested variables.
//
// A scope lists variables outermost first; each runs over begin <= v < end, where begin and end are
// int64 expressions over variables declared earlier. The bound of an expression is found by
// eliminating the innermost variable in favour of its own bound, so that `i - j` with j in 0:i+1 is
// known to be at least 0, and by following either side of a min or max. Every bound found is valid
// on all points of the scope; none found means "unknown", not "unbounded". Points of an empty scope
// do not exist, so anything holds for them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tc/kernel/ir.h"
#include "tc/tile/ir.h"

namespace tc::tile {

class Scope {
public:
  struct Entry {
    kernel::Var var;
    kernel::ExprPtr begin, last;  ///< both inclusive
  };

  void push(const kernel::Var& var, const kernel::ExprPtr& begin, const kernel::ExprPtr& end);
  void push(const GridLoop& loop);
  void pop() { entries_.pop_back(); }

  const std::vector<Entry>& entries() const { return entries_; }
  /// Position of the variable, -1 if it is not in scope.
  int find(int var_id) const;

private:
  std::vector<Entry> entries_;
};

/// constant + sum of coefficient * variable, ordered by variable id, no zero coefficients.
struct Affine {
  std::int64_t constant = 0;
  std::vector<std::pair<int, std::int64_t>> terms;
  bool operator==(const Affine&) const = default;
};

/// Least known upper and greatest known lower bound of an int64 expression; nullopt: none known.
std::optional<std::int64_t> upper_bound(const kernel::ExprPtr& expr, const Scope& scope);
std::optional<std::int64_t> lower_bound(const kernel::ExprPtr& expr, const Scope& scope);

/// Bounds that are affine in the outermost `kept` variables of the scope; the other variables are
/// eliminated. At most one for each set of terms, the tightest.
std::vector<Affine> affine_upper_bounds(const kernel::ExprPtr& expr, const Scope& scope,
                                        std::size_t kept);
std::vector<Affine> affine_lower_bounds(const kernel::ExprPtr& expr, const Scope& scope,
                                        std::size_t kept);

/// The expression as an affine form of all its variables; nullopt if it is not one.
std::optional<Affine> as_affine(const kernel::ExprPtr& expr);

/// Value of an integer or bool expression for given values of variables (by id); nullopt if it
/// loads, uses another variable or overflows.
std::optional<std::int64_t> evaluate(const kernel::ExprPtr& expr,
                                     const std::vector<std::pair<int, std::int64_t>>& values);

/// The value of an integer or bool constant.
std::optional<std::int64_t> constant(const kernel::ExprPtr& expr);

}  // namespace tc::tile
