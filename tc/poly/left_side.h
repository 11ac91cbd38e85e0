// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/poly/bounds.h"
#include "tc/poly/scop.h"

namespace tc::poly {

/// The elements that a left-hand side reaches over the ranges of its own indices: what Init, read
/// and store statements run over.
struct LeftSide {
  std::vector<lang::Index> indices;
  std::vector<lang::ExprPtr> conditions;
  std::vector<lang::ExprPtr> subscripts;  ///< over `indices`
};

/// \param indices     of the whole statement
/// \param conditions  of the whole statement; those on left-hand indices only are kept
/// \param subscripts  the left side
/// \param tensor      that is written; all of it is reached where a subscript is gathered
LeftSide left_side(const std::vector<lang::Index>& indices,
                   const std::vector<lang::ExprPtr>& conditions,
                   const std::vector<lang::ExprPtr>& subscripts, const Tensor& tensor,
                   const LoopRanges& loops);

/// `expr` with every IndexRef(i) replaced by replacement[i]; null replacements must not be reached.
lang::ExprPtr substitute_indices(const lang::ExprPtr& expr,
                                 const std::vector<lang::ExprPtr>& replacement);

}  // namespace tc::poly
