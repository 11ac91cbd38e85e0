// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tc/lang/ranges_access.h"
#include "tc/lang/ranges_solve.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

/// Half-open per dimension.
struct Box {
  std::vector<Form> lo, hi;
};

/// What range inference knows of a tensor at one place in the text.
struct TensorBox {
  std::optional<Box> box;  ///< a parameter's dims, or what the textually earlier statements wrote
  bool poisoned = false;   ///< an error in an earlier statement left the box unknown
};

/// The rounds of language.md section 6 for one statement.
class RangeRounds {
public:
  /// `loops` holds the ranges of the enclosing for variables.
  RangeRounds(const TypedDef& def, const Statement& statement, const Accesses& accesses,
              const std::vector<TensorBox>& boxes, const VariableRanges& loops);

  struct Result {
    VariableRanges ranges;      ///< loops, given and found
    std::vector<int> unsolved;  ///< index variables
    std::vector<int> admitted;  ///< accesses whose guarded subscripts gave a range
    std::set<int> assumed;      ///< consts that had to be taken as positive
  };
  /// `extra` ranges of index variables count as given.
  Result run(const std::vector<std::pair<int, VariableRange>>& extra = {}) const;

  /// Reports a cycle among the given ranges and bounds that are no sums, products, quotients,
  /// remainders, minima and maxima.
  bool check_given(DiagnosticSink& sink) const;
  /// The error of rule 4: every unsolved variable, every constraint on it, a `where` clause that
  /// settles it.
  void report(const Result& result, DiagnosticSink& sink) const;

private:
  struct Constraint {
    int access;
    int dim;
    std::optional<AffineQuotient> subscript;  ///< nullopt: solves nothing
    std::optional<VariableRange> bounds;      ///< of the tensor's dimension; nullopt: not known
    bool guarded;
    std::set<int> assumed;
  };
  bool is_known(Variable variable, Variable solving, const VariableRanges& ranges) const;
  Solution solve_one(Variable variable, const VariableRanges& ranges, bool admit,
                     Result& result) const;
  bool round(Result& result, bool admit) const;
  std::string suggest(const Result& result) const;
  std::string suggested_end(int index, Form& end) const;
  std::string reason(const Constraint& constraint, int index, const Result& result) const;
  bool concerns(const Constraint& constraint, int index) const;

  const TypedDef& def_;
  const Statement& statement_;
  const Accesses& accesses_;
  const std::vector<TensorBox>& boxes_;
  VariableRanges loops_;
  std::vector<Constraint> constraints_;
};

/// Truth of a condition over whole ranges and for all sizes; nullopt if it varies or is not
/// decided.
std::optional<bool> constant_truth(const ExprPtr& condition, const VariableRanges& ranges);

/// Narrows the ranges of the variables of `conditions` to the values for which all of them can
/// hold.
VariableRanges narrowed(const VariableRanges& ranges, const std::vector<ExprPtr>& conditions);

}  // namespace tc::lang
