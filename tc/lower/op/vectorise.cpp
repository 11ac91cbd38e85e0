// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/vectorise.h"

#include <algorithm>

#include "tc/support/check.h"

namespace tc::lower {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

ExprPtr both_of(const ExprPtr& a, const ExprPtr& b) {
  if (!a || !b) return a ? a : b;
  return kernel::binary(BinaryOp::And, a, b);
}

ExprPtr zero(DType type) {
  return is_float(type) ? kernel::float_imm(0, type) : kernel::int_imm(0, type);
}

}  // namespace

ExprPtr Mask::both() const {
  return both_of(tail, condition);
}

Vectoriser::Vectoriser(Ranges ranges, kernel::Var lane, int lanes,
                       const std::map<const kernel::Expr*, Safety>& safety)
    : ranges_(std::move(ranges)), lane_(std::move(lane)), lanes_(lanes), safety_(safety) {
  ranges_.set(lane_.id, {0, lanes_ - 1});
}

/// Replaces the lane variable by the vector 0, 1, ...; builders keep ramps and scalars what they
/// are.
ExprPtr Vectoriser::spread(const ExprPtr& expr) const {
  if (const auto* v = std::get_if<kernel::VarRef>(&expr->node))
    return v->var.id == lane_.id ? kernel::ramp(kernel::int_imm(0), 1, lanes_) : expr;
  return kernel::map_children(expr, [&](const ExprPtr& child) { return spread(child); });
}

ExprPtr Vectoriser::load(const ExprPtr& expr, const Point& point, const Mask& mask) const {
  const auto& node = std::get<kernel::Load>(expr->node);
  const std::vector<ExprPtr> indices = (*this)(node.indices, point, mask);
  const ExprPtr own = node.mask ? (*this)(node.mask, point, mask) : nullptr;
  ExprPtr otherwise = node.otherwise ? (*this)(node.otherwise, point, mask) : nullptr;
  if (!otherwise) otherwise = zero(expr->type.elem);
  const auto known = safety_.find(expr.get());
  const Safety safety = known == safety_.end() ? Safety::Executed : known->second;
  const bool uniform = std::all_of(indices.begin(), indices.end(),
                                   [](const ExprPtr& index) { return index->type.lanes == 1; });
  ExprPtr guard = own;
  if (safety == Safety::Executed) guard = both_of(mask.condition, guard);
  // One element for all lanes: lane 0 is inside the tail, so only conditions may forbid the access.
  if (!uniform && safety != Safety::Always) guard = both_of(mask.tail, guard);
  if (!guard) return kernel::load(node.buffer, indices);
  if (!uniform || guard->type.lanes == 1)
    return kernel::load(node.buffer, indices, guard, otherwise);
  const ExprPtr value = kernel::load(
      node.buffer, indices, kernel::reduce(kernel::ReduceOp::Or, guard), zero(expr->type.elem));
  return own ? kernel::select(own, value, otherwise) : value;
}

ExprPtr Vectoriser::operator()(const ExprPtr& expr, const Point& point, const Mask& mask) const {
  if (std::holds_alternative<kernel::Load>(expr->node)) return load(expr, point, mask);
  if (expr->type == kernel::Type{} && !contains_load(expr))
    return spread(ranges_.simplify(kernel::substitute(expr, point)));
  if (std::holds_alternative<kernel::VarRef>(expr->node))
    return spread(kernel::substitute(expr, point));
  return kernel::map_children(expr,
                              [&](const ExprPtr& child) { return (*this)(child, point, mask); });
}

std::vector<ExprPtr> Vectoriser::operator()(const std::vector<ExprPtr>& exprs, const Point& point,
                                            const Mask& mask) const {
  std::vector<ExprPtr> result;
  for (const auto& expr : exprs)
    result.push_back((*this)(expr, point, mask));
  return result;
}

ExprPtr Sharer::operator()(const ExprPtr& expr, std::vector<kernel::StmtPtr>& out) {
  const ExprPtr inner =
      kernel::map_children(expr, [&](const ExprPtr& child) { return (*this)(child, out); });
  const bool costly = std::holds_alternative<kernel::Load>(inner->node) ||
                      std::holds_alternative<kernel::Call>(inner->node);
  if (!costly) return inner;
  for (const auto& [known, value] : known_)
    if (kernel::equal(known, inner)) return value;
  const kernel::Var var = names_.variable("v", inner->type);
  out.push_back(kernel::make_stmt(kernel::Let{var, inner}));
  known_.emplace_back(inner, kernel::var_ref(var));
  return known_.back().second;
}

}  // namespace tc::lower
