// SPDX-License-Identifier: Apache-2.0
//
// Questions about the structure of an operation. Internal to the room.
#pragma once

#include <functional>
#include <vector>

#include "tc/tile/ir.h"

namespace tc::tile {

bool contains_load(const kernel::ExprPtr& expr);
bool mentions(const kernel::ExprPtr& expr, int var_id);
/// Every expression of an operation: bounds, conditions, subscripts, values.
void for_each_expr(const Op& op, const std::function<void(const kernel::ExprPtr&)>& f);

/// Whether two points of the box that agree in the reduction dims and write one element are one
/// point: then the order over the other dims is free without any combining. Subscripts are solved
/// one by one, each for its only unknown dim. Returns the positions of non-reduction dims that stay
/// undetermined; empty: the target is unique.
std::vector<int> undetermined_dims(const std::vector<Dim>& dims,
                                   const std::vector<kernel::ExprPtr>& subscripts);

/// Marks further dims as reduction until the rest determines the target.
void mark_reduction_dims(Op& op);

/// Whether the operation may start from the identity: a combine, a target that depends on no
/// reduction dim and is determined by the others.
bool can_start_from_identity(const Op& op);

}  // namespace tc::tile
