// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/agreed.h"

#include <algorithm>

#include "tc/lower/op/affine.h"
#include "tc/lower/op/op_info.h"
#include "tc/tile/structure.h"

namespace tc::lower {

using kernel::ExprPtr;

namespace {

/// Equal subscripts but for a distance that is the same all over the box.
bool moves_with(const tile::Op& op, const ExprPtr& expr, const ExprPtr& subscript) {
  if (expr->type != kernel::Type{} || subscript->type != kernel::Type{}) return false;
  const Affine distance = Ranges().affine(kernel::sub(expr, subscript));
  return std::all_of(distance.terms.begin(), distance.terms.end(),
                     [&](const Affine::Term& term) { return dims_in(op, term.atom).empty(); });
}

/// Whether points that write one element have one value of the expression.
bool follows_from_element(const tile::Op& op, const tile::Target& target, const ExprPtr& expr) {
  const auto* load = std::get_if<kernel::Load>(&expr->node);
  // Each thread has registers of its own, and what the operation writes has two values.
  if (load &&
      (load->buffer->space == kernel::Space::Register || load->buffer->id == target.buffer->id))
    return false;
  if (!contains_load(expr)) {
    if (dims_in(op, expr).empty()) return true;
    if (std::any_of(target.subscripts.begin(), target.subscripts.end(),
                    [&](const ExprPtr& subscript) { return moves_with(op, expr, subscript); }))
      return true;
  }
  if (std::holds_alternative<kernel::VarRef>(expr->node)) return false;
  bool all = true;
  kernel::map_children(expr, [&](const ExprPtr& child) {
    all = all && follows_from_element(op, target, child);
    return child;
  });
  return all;
}

}  // namespace

bool is_agreed(const tile::Op& op, const tile::Target& target) {
  return !op.combine && target.buffer->space != kernel::Space::Register &&
         !tile::undetermined_dims(op.dims, target.subscripts).empty() &&
         follows_from_element(op, target, target.value);
}

}  // namespace tc::lower
