// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/tile/ir.h"

namespace tc::lower {

/// One partial result of a reduction: a value per target. Values are scalars or vectors.
using Partial = std::vector<kernel::ExprPtr>;

/// Neutral element per target: for ArgMin/ArgMax the neutral value and the largest position.
Partial identity_of(const tile::Op& op, int lanes);
/// True where some component is not neutral, of ArgMin/ArgMax the position.
kernel::ExprPtr differs_from_identity(const tile::Op& op, const Partial& values, int lanes);
/// `left` combined with `right`. ArgMin/ArgMax: the better value, NaN before numbers, the lower
/// position among equals; so the result does not depend on the order. Reductions over bool are
/// logical: Add and Max are Or, Mul and Min are And.
Partial combine(const tile::Op& op, const Partial& left, const Partial& right);
/// The same where `mask` holds, `left` elsewhere. A null mask holds everywhere.
Partial combine_where(const tile::Op& op, const kernel::ExprPtr& mask, const Partial& left,
                      const Partial& right);
/// How lanes of target 0 combine; requires that the operation is no ArgMin/ArgMax.
kernel::ReduceOp reduce_op(const tile::Op& op);
bool is_arg_reduction(const tile::Op& op);

}  // namespace tc::lower
