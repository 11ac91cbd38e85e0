// SPDX-License-Identifier: Apache-2.0
//
// Scalar expressions of a tile operation at one place of its register tile. For the lowerings of
// all targets.
//
// Worked example: x(i, j + 1) with i -> i0 + 2, j -> j0 + lane, 8 lanes gives load x[i0 + 2,
// ramp(j0 + 1, 1)]. Invariants: an expression that does not depend on the lane stays scalar; a
// subscript that is affine in the lane becomes a ramp, so contiguous access stays visible; a lane
// that is masked off touches no memory unless the load is in bounds anyway.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"

namespace tc::lower {

/// Where a place of the register tile is active. Each part is null (everywhere), a scalar or a
/// vector of bool.
struct Mask {
  kernel::ExprPtr tail;       ///< lanes below the end of the vector dim; lane 0 is always active
  kernel::ExprPtr condition;  ///< lanes whose conditions hold; possibly none

  kernel::ExprPtr both() const;
};

/// Value of each dim's variable at one place, in terms of loop variables and the lane variable.
using Point = std::vector<std::pair<int, kernel::ExprPtr>>;

class Vectoriser {
public:
  /// `lane`: a variable that stands for the lane number in points; it never reaches the result.
  Vectoriser(Ranges ranges, kernel::Var lane, int lanes,
             const std::map<const kernel::Expr*, Safety>& safety);

  kernel::ExprPtr operator()(const kernel::ExprPtr& expr, const Point& point,
                             const Mask& mask) const;
  std::vector<kernel::ExprPtr> operator()(const std::vector<kernel::ExprPtr>& exprs,
                                          const Point& point, const Mask& mask) const;

private:
  kernel::ExprPtr spread(const kernel::ExprPtr& expr) const;
  kernel::ExprPtr load(const kernel::ExprPtr& expr, const Point& point, const Mask& mask) const;

  Ranges ranges_;
  kernel::Var lane_;
  int lanes_;
  const std::map<const kernel::Expr*, Safety>& safety_;  // looked up only, never iterated
};

/// Names the loads and calls of expressions once, so that places of a register tile that read the
/// same element share one value.
class Sharer {
public:
  explicit Sharer(Names& names) : names_(names) {}
  /// The expression with its loads and calls replaced by variables, whose definitions are appended
  /// to `out`.
  kernel::ExprPtr operator()(const kernel::ExprPtr& expr, std::vector<kernel::StmtPtr>& out);

private:
  Names& names_;
  std::vector<std::pair<kernel::ExprPtr, kernel::ExprPtr>> known_;
};

}  // namespace tc::lower
