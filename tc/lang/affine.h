// SPDX-License-Identifier: Apache-2.0
//
// From integer expressions of the typed program to isl: the domain of a statement, its conditions,
// its access relations. Shared by the proofs and by tc/poly.
#pragma once

#include <isl/cpp.h>

#include <optional>
#include <string>
#include <vector>

#include "tc/lang/typed.h"
#include "tc/sets/context.h"

namespace tc::lang {

/// One enclosing `for` of a statement, outermost first.
struct AffineLoop {
  int var = 0;
  ExprPtr lo, hi;
};

/// Names of the isl parameters for SizeRef and ConstRef; empty for a specialised def, which has
/// neither.
struct AffineParams {
  std::vector<std::string> sizes;  ///< position = SizeRef::size
  std::vector<std::string>
      consts;  ///< position = ConstRef::id; an empty name: not integral, never affine
};
AffineParams affine_params(const TypedDef& def);

/// { S[t..., i...] -> A[a...] }, not yet cut to the domain of S.
struct AffineAccess {
  isl::map relation;
  std::vector<bool> affine;  ///< per dimension; where false the subscript is gathered or not affine
                             ///< and `a` is unconstrained
  bool exact() const;        ///< all dimensions are affine
};

/// The instances of one statement as an isl tuple: first the variables of the enclosing loops, then
/// the index variables, in order.
///
/// Affine means: linear over these variables (and parameters), floor division and remainder by
/// integer constants, min, max, and selection by an affine condition. Conversions between integer
/// types that keep the value are transparent.
class AffineScope {
public:
  AffineScope(const sets::IslContext& context, const std::string& tuple,
              std::vector<AffineLoop> loops, std::vector<Index> indices, AffineParams params = {});

  const isl::space& space() const { return space_; }  ///< { S[t..., i...] }
  int loops() const { return static_cast<int>(loops_.size()); }
  int dims() const { return static_cast<int>(loops_.size() + indices_.size()); }

  /// Value over all of S; nullopt if not affine. Exact: nothing wraps.
  std::optional<isl::pw_aff> value(const ExprPtr& expr) const;

  /// { S[...] : condition }; nullopt if a part of it is not affine.
  std::optional<isl::set> where(const ExprPtr& condition) const;
  /// Where the affine part of `condition` lets it be `holds`: parts that are not affine are taken
  /// to be either. A superset of the truth.
  isl::set may_be(const ExprPtr& condition, bool holds) const;

  /// Ranges of loops and indices, and all `conditions`. nullopt if a bound or condition is not
  /// affine (never for a def that passed infer_ranges and specialise).
  std::optional<isl::set> domain(const std::vector<ExprPtr>& conditions) const;
  /// Ranges of the loops alone, indices unconstrained.
  std::optional<isl::set> loop_domain() const;
  /// lo <= index < hi for one index, everything else unconstrained.
  std::optional<isl::set> index_range(int index) const;

  AffineAccess access(const std::string& tensor, const std::vector<ExprPtr>& subscripts) const;

private:
  struct Linear {
    std::vector<std::int64_t> params, dims;
    std::int64_t constant = 0;
  };
  std::optional<Linear> linear(const ExprPtr& expr) const;
  std::optional<Linear> linear_binary(const Binary& node) const;
  isl::aff to_aff(const Linear& form) const;
  std::optional<isl::pw_aff> piecewise(const Binary& node) const;
  std::optional<isl::set> compare(BinaryOp op, const ExprPtr& left, const ExprPtr& right) const;
  std::optional<isl::set> at_least(const ExprPtr& left, const ExprPtr& right,
                                   std::int64_t slack) const;
  std::optional<isl::set> holds(const ExprPtr& condition, bool positive) const;
  isl::set may(const ExprPtr& condition, bool positive) const;
  std::optional<isl::set> between(const ExprPtr& var, const ExprPtr& lo, const ExprPtr& hi) const;
  int loop_position(int var) const;

  isl::ctx ctx_;
  isl::space space_;
  std::vector<AffineLoop> loops_;
  std::vector<Index> indices_;
  AffineParams params_;
  std::vector<int> size_param_, const_param_;  ///< position among the isl parameters; -1: none
  int num_params_ = 0;
};

}  // namespace tc::lang
