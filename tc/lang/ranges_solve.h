// SPDX-License-Identifier: Apache-2.0
//
// Interval reasoning of range inference: extreme values of a form over the ranges of its variables,
// and the largest range of one variable for which a subscript stays in bounds.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "tc/lang/ranges_form.h"

namespace tc::lang {

/// Half-open; the ends may mention other variables (a triangle).
struct VariableRange {
  Form lo, hi;
};

/// Ranges that are known. A variable whose ends mention other variables has a higher rank than
/// these.
class VariableRanges {
public:
  void set(Variable variable, VariableRange range);
  bool has(Variable variable) const { return ranges_.count(variable) > 0; }
  const VariableRange& at(Variable variable) const { return ranges_.at(variable); }
  int rank(Variable variable) const;
  const std::map<Variable, VariableRange>& all() const { return ranges_; }

private:
  std::map<Variable, VariableRange> ranges_;
};

enum class End { Smallest, Largest };

/// Smallest or largest value of `form` over all values of its variables except `keep`, which stays
/// a symbol. A variable of the highest rank is replaced first, by its own end, so that what its
/// ends mention is still there. Exact where every variable moves the form in one direction;
/// otherwise on the safe side; invalid for products of variables. An empty range counts by its
/// ends. Consts that had to be taken as positive are added to `assumed`.
Form extreme(const Form& form, End end, const VariableRanges& ranges, std::optional<Variable> keep,
             std::set<int>& assumed);

/// A range of one variable. Empty optionals: not bounded on that side.
struct Solution {
  bool solvable = true;        ///< false: this subscript says nothing (not affine, or no interval)
  bool never = false;          ///< no value at all, whatever the sizes are
  std::optional<Form> lo, hi;  ///< half-open
};
Solution intersect(const Solution& a, const Solution& b);

/// The subscript as numerator / divisor: affine, or affine divided by something positive that is
/// the same everywhere. nullopt for all others.
struct AffineQuotient {
  Form numerator, divisor;
};
std::optional<AffineQuotient> affine_quotient(const ExprPtr& subscript, std::set<int>& assumed);

/// The largest interval of `variable` for which begin <= subscript < end for all values of the
/// other variables.
Solution solve(const AffineQuotient& subscript, const Form& begin, const Form& end,
               Variable variable, const VariableRanges& ranges, std::set<int>& assumed);

}  // namespace tc::lang
