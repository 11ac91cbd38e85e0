// SPDX-License-Identifier: Apache-2.0
//
// Dimensions in declarations: sizes of parameters, annotated outputs and the new sizes that those
// name.
#include <fmt/format.h>

#include "tc/lang/resolver.h"
#include "tc/support/check.h"

namespace tc::lang {

bool mentions(const ExprPtr& expr, const std::function<bool(const Expr&)>& predicate) {
  bool found = false;
  walk(expr, [&](const Expr& node) { found = found || predicate(node); });
  return found;
}

namespace {

std::optional<LinearForm> linear_binary(const Binary& binary,
                                        const std::function<bool(const Expr&)>& is_unknown) {
  const auto left = linear_in(binary.left, is_unknown);
  const auto right = linear_in(binary.right, is_unknown);
  if (!left || !right) return std::nullopt;
  switch (binary.op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return LinearForm{make_binary(binary.op, left->factor, right->factor),
                      make_binary(binary.op, left->rest, right->rest)};
  case BinaryOp::Mul: {
    const bool left_free = !mentions(binary.left, is_unknown);
    if (!left_free && mentions(binary.right, is_unknown)) return std::nullopt;
    const ExprPtr& scale = left_free ? binary.left : binary.right;
    const LinearForm& form = left_free ? *right : *left;
    return LinearForm{make_binary(BinaryOp::Mul, form.factor, scale),
                      make_binary(BinaryOp::Mul, form.rest, scale)};
  }
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::And:
  case BinaryOp::Or: return std::nullopt;
  }
  unreachable("BinaryOp");
}

}  // namespace

std::optional<LinearForm> linear_in(const ExprPtr& expr,
                                    const std::function<bool(const Expr&)>& is_unknown) {
  if (is_unknown(*expr)) return LinearForm{make_int(1, expr->type), make_int(0, expr->type)};
  if (!mentions(expr, is_unknown)) return LinearForm{make_int(0, expr->type), expr};
  if (const auto* cast = std::get_if<Cast>(&expr->node))
    return linear_in(cast->operand, is_unknown);
  if (const auto* unary = std::get_if<Unary>(&expr->node); unary && unary->op == UnaryOp::Negate) {
    const auto inner = linear_in(unary->operand, is_unknown);
    if (!inner) return std::nullopt;
    return LinearForm{make_unary(UnaryOp::Negate, inner->factor),
                      make_unary(UnaryOp::Negate, inner->rest)};
  }
  const auto* binary = std::get_if<Binary>(&expr->node);
  if (!binary) return std::nullopt;
  return linear_binary(*binary, is_unknown);
}

/// A dim over sizes, consts and integers; null after an error.
ExprPtr DefResolver::dim_expr(const ast::Expr& dim) {
  const ExprPtr value = typing_.integral(resolve(dim), "a dimension");
  if (!value) return nullptr;
  if (contains_read(value)) {
    error("E0252", dim.range,
          "a dimension is an expression over sizes, const scalars and integers; the value of a "
          "tensor cannot stand in it");
    return nullptr;
  }
  const auto* constant = std::get_if<IntConst>(&value->node);
  if (constant && constant->value < 0) {
    error("E0252", dim.range, fmt::format("a dimension of {} elements", constant->value));
    return nullptr;
  }
  return value;
}

void DefResolver::require(ExprPtr condition) {
  const auto* constant = std::get_if<IntConst>(&condition->node);
  if (constant && constant->value != 0) return;
  for (const ExprPtr& known : def_.preconditions)
    if (equal(known, condition)) return;
  def_.preconditions.push_back(std::move(condition));
}

void DefResolver::param_dims(const ast::Param& param, TensorId tensor) {
  new_name_ = NewName::Size;
  for (int d = 0; d < def_.tensors[tensor].rank; ++d) {
    ExprPtr extent = dim_expr(*param.type.dims[d]);
    if (!extent) extent = make_int(0, DType::Int32, param.type.dims[d]->range);
    const bool bare = std::holds_alternative<SizeRef>(extent->node) ||
                      std::holds_alternative<IntConst>(extent->node);
    if (!bare) require(make_binary(BinaryOp::Ge, extent, make_int(0, extent->type), extent->range));
    def_.tensors[tensor].begin[d] = make_int(0);
    def_.tensors[tensor].extent[d] = std::move(extent);
  }
  new_name_ = NewName::Error;
}

ExprPtr DefResolver::extent_of(TensorId tensor, int dim, SourceRange range) const {
  const ExprPtr& known = def_.tensors[tensor].extent[dim];
  if (known) return make_expr(known->type, range, known->node);
  return make_expr(DType::Int32, range, DimOf{tensor, dim, DimOf::Part::Extent});
}

ExprPtr DefResolver::begin_of(TensorId tensor, int dim, SourceRange range) const {
  const ExprPtr& known = def_.tensors[tensor].begin[dim];
  if (known) return make_expr(known->type, range, known->node);
  return make_expr(DType::Int32, range, DimOf{tensor, dim, DimOf::Part::Begin});
}

void DefResolver::declare_bare_sizes(const ast::Return& ret, TensorId tensor) {
  const int rank =
      std::min<int>(def_.tensors[tensor].rank, static_cast<int>(ret.type->dims.size()));
  for (int d = 0; d < rank; ++d) {
    const ast::Expr& dim = *ret.type->dims[d];
    const auto* name = std::get_if<ast::Name>(&dim.node);
    if (!name || find_symbol(name->name)) continue;
    declare({name->name, dim.range},
            {Symbol::Kind::OutputSize, 0, {}, extent_of(tensor, d, dim.range)}, "size");
  }
}

void DefResolver::return_dims(const ast::Return& ret, TensorId tensor) {
  const int rank = def_.tensors[tensor].rank;
  if (static_cast<int>(ret.type->dims.size()) != rank) {
    error("E0247", ret.range,
          fmt::format("'{}' has {} dimensions; its annotation has {}", ret.name.name, rank,
                      ret.type->dims.size()));
    return;
  }
  for (int d = 0; d < rank; ++d)
    return_dim(*ret.type->dims[d], tensor, d);
}

void DefResolver::return_dim(const ast::Expr& dim, TensorId tensor, int position) {
  if (define_by_solving(dim, tensor, position)) return;
  const ExprPtr value = dim_expr(dim);
  if (!value) return;
  const ExprPtr own = extent_of(tensor, position, dim.range);
  if (equal(own, value)) return;  // the dim that defines its own name
  const bool inferred =
      mentions(value, [](const Expr& node) { return std::holds_alternative<DimOf>(node.node); });
  if (!inferred && !def_.tensors[tensor].extent[position]) {
    const bool bare = std::holds_alternative<SizeRef>(value->node) ||
                      std::holds_alternative<IntConst>(value->node);
    if (!bare) require(make_binary(BinaryOp::Ge, value, make_int(0, value->type), value->range));
    def_.tensors[tensor].extent[position] = value;
    return;
  }
  require(make_binary(BinaryOp::Eq, own, value, dim.range));
}

/// A dim such as `2*H2` with one new name in it defines that name, if it is affine in it. False:
/// there is no new name to define.
bool DefResolver::define_by_solving(const ast::Expr& dim, TensorId tensor, int position) {
  const auto is_unknown = [](const Expr& node) {
    const auto* part = std::get_if<DimOf>(&node.node);
    return part && part->tensor < 0;
  };
  std::vector<std::pair<std::string, SourceRange>> fresh;
  std::vector<const ast::Expr*> todo = {&dim};
  while (!todo.empty()) {
    const ast::Expr* next = todo.back();
    todo.pop_back();
    if (const auto* name = std::get_if<ast::Name>(&next->node)) {
      if (!find_symbol(name->name)) fresh.emplace_back(name->name, next->range);
    } else if (const auto* binary = std::get_if<ast::Binary>(&next->node)) {
      todo.push_back(binary->right.get());
      todo.push_back(binary->left.get());
    } else if (const auto* unary = std::get_if<ast::Unary>(&next->node)) {
      todo.push_back(unary->operand.get());
    }
  }
  if (fresh.empty()) return false;
  const auto& [name, range] = fresh.front();
  const ExprPtr unknown = make_expr(DType::Int32, range, DimOf{-1, 0, DimOf::Part::Extent});
  for (const auto& [other, other_range] : fresh) {
    if (other == name) continue;
    error(
        "E0252", dim.range,
        fmt::format("the dimension has two new sizes, '{}' and '{}'; only one can be found from it",
                    name, other));
    return true;
  }
  declare({name, range}, {Symbol::Kind::OutputSize, 0, {}, unknown}, "size");
  const ExprPtr value = dim_expr(dim);
  const ExprPtr own = extent_of(tensor, position, dim.range);
  symbols_.at(name).value = own;  // stays after an error
  if (!value) return true;
  const auto form = linear_in(value, is_unknown);
  const auto* factor = form ? std::get_if<IntConst>(&form->factor->node) : nullptr;
  if (!form || (factor && factor->value == 0)) {
    error(
        "E0252", dim.range,
        fmt::format("size '{}' cannot be found from this dimension: it is not affine in it", name));
    return true;
  }
  const ExprPtr solved =
      make_binary(BinaryOp::Div, make_binary(BinaryOp::Sub, own, form->rest), form->factor, range);
  symbols_.at(name).value = solved;
  const ExprPtr substituted =
      rewrite(value, [&](const ExprPtr& node) { return is_unknown(*node) ? solved : nullptr; });
  require(make_binary(BinaryOp::Eq, own, substituted, dim.range));
  return true;
}

}  // namespace tc::lang
