// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/structure.h"

#include <algorithm>

#include "tc/tile/bounds.h"

namespace tc::tile {
namespace {

using kernel::BinaryOp;
using kernel::Expr;
using kernel::ExprPtr;

bool any_of(const ExprPtr& expr, const std::function<bool(const Expr&)>& predicate) {
  bool found = false;
  kernel::walk(expr, [&](const Expr& e) { found = found || predicate(e); });
  return found;
}

bool is_gathered(const ExprPtr& expr) {
  return any_of(expr, [](const Expr& e) {
    const auto* load = std::get_if<kernel::Load>(&e.node);
    return load && std::any_of(load->indices.begin(), load->indices.end(), contains_load);
  });
}

/// The dims of the operation that an expression depends on, one flag each.
std::vector<bool> dims_of(const Op& op, const ExprPtr& expr) {
  std::vector<bool> used;
  for (const auto& dim : op.dims)
    used.push_back(mentions(expr, dim.var.id));
  return used;
}

bool is_contraction(const Op& op) {
  const auto* product = std::get_if<kernel::Binary>(&op.targets.front().value->node);
  if (!product || product->op != BinaryOp::Mul) return false;
  const bool reduces =
      std::any_of(op.dims.begin(), op.dims.end(), [](const Dim& dim) { return dim.reduction; });
  return reduces && dims_of(op, product->left) != dims_of(op, product->right);
}

/// A value that is one load, at most cast to the type of the target: a copy. Null if it is not.
const kernel::Load* copied_load(const Target& target) {
  const Expr* value = target.value.get();
  if (const auto* cast = std::get_if<kernel::Cast>(&value->node))
    if (cast->to == target.buffer->type) value = cast->operand.get();
  return std::get_if<kernel::Load>(&value->node);
}

OpKind classify_copy(const Target& target, const kernel::Load& load) {
  if (load.buffer->type != target.buffer->type) return OpKind::Convert;
  const auto of_tile = [](const kernel::Buffer& buffer) {
    return buffer.space != kernel::Space::Global && buffer.space != kernel::Space::Scratch;
  };
  const bool from_local = of_tile(*load.buffer);
  const bool to_local = of_tile(*target.buffer);
  if (to_local && !from_local) return OpKind::Load;
  if (from_local && !to_local) return OpKind::Store;
  return OpKind::Map;
}

/// A sum without its summands that are the same all over the box, whatever they are.
ExprPtr varying_part(const std::vector<Dim>& dims, const ExprPtr& sum) {
  const auto* node = std::get_if<kernel::Binary>(&sum->node);
  if (node == nullptr || (node->op != kernel::BinaryOp::Add && node->op != kernel::BinaryOp::Sub))
    return sum;
  const auto varies = [&](const ExprPtr& expr) {
    return std::any_of(dims.begin(), dims.end(),
                       [&](const Dim& dim) { return mentions(expr, dim.var.id); });
  };
  if (!varies(node->right)) return varying_part(dims, node->left);
  if (node->op == kernel::BinaryOp::Add && !varies(node->left))
    return varying_part(dims, node->right);
  return sum;
}

}  // namespace

bool contains_load(const ExprPtr& expr) {
  return any_of(expr, [](const Expr& e) { return std::holds_alternative<kernel::Load>(e.node); });
}

bool mentions(const ExprPtr& expr, int var_id) {
  return any_of(expr, [&](const Expr& e) {
    const auto* ref = std::get_if<kernel::VarRef>(&e.node);
    return ref && ref->var.id == var_id;
  });
}

void for_each_expr(const Op& op, const std::function<void(const ExprPtr&)>& f) {
  for (const auto& dim : op.dims) {
    f(dim.begin);
    f(dim.end);
  }
  for (const auto& condition : op.conditions)
    f(condition);
  for (const auto& target : op.targets) {
    for (const auto& subscript : target.subscripts)
      f(subscript);
    f(target.value);
  }
}

std::vector<int> undetermined_dims(const std::vector<Dim>& dims,
                                   const std::vector<ExprPtr>& subscripts) {
  std::vector<int> unknown;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (!dims[i].reduction) unknown.push_back(static_cast<int>(i));
  std::vector<Affine> equations;
  for (const auto& subscript : subscripts)
    if (auto affine = as_affine(varying_part(dims, subscript)))
      equations.push_back(std::move(*affine));
  const auto involves = [&](const Affine& equation, int dim) {
    const int id = dims[static_cast<std::size_t>(dim)].var.id;
    return std::any_of(equation.terms.begin(), equation.terms.end(),
                       [&](const auto& term) { return term.first == id; });
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (const auto& equation : equations) {
      std::vector<int> open;
      for (const int dim : unknown)
        if (involves(equation, dim)) open.push_back(dim);
      if (open.size() != 1) continue;
      std::erase(unknown, open.front());
      progress = true;
    }
  }
  return unknown;
}

void mark_reduction_dims(Op& op) {
  while (true) {
    const auto open = undetermined_dims(op.dims, op.targets.front().subscripts);
    if (open.empty()) return;
    op.dims[static_cast<std::size_t>(open.back())].reduction = true;
  }
}

bool can_start_from_identity(const Op& op) {
  if (!op.combine) return false;
  for (const auto& target : op.targets) {
    for (const auto& subscript : target.subscripts) {
      if (contains_load(subscript)) return false;
      for (const auto& dim : op.dims)
        if (dim.reduction && mentions(subscript, dim.var.id)) return false;
    }
    if (!undetermined_dims(op.dims, target.subscripts).empty()) return false;
  }
  return true;
}

bool has_right_targets(const Op& op) {
  if (op.combine == Combine::ArgMin || op.combine == Combine::ArgMax) return op.targets.size() == 2;
  if (!op.combine) return op.targets.size() == 1;
  return !op.targets.empty() &&
         std::all_of(op.targets.begin(), op.targets.end(), [&](const Target& target) {
           return compute_type(target.buffer->type) == compute_type(op.targets[0].buffer->type);
         });
}

OpKind classify(const Op& op) {
  const auto& target = op.targets.front();
  if (std::any_of(target.subscripts.begin(), target.subscripts.end(), contains_load))
    return OpKind::Scatter;
  if (op.combine) {
    if (*op.combine == Combine::Add && is_contraction(op)) return OpKind::Contract;
    return OpKind::Reduce;
  }
  for (const auto& t : op.targets)
    if (is_gathered(t.value)) return OpKind::Gather;
  if (const auto* load = copied_load(target); load && op.targets.size() == 1)
    return classify_copy(target, *load);
  return OpKind::Map;
}

}  // namespace tc::tile
