// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/affine.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang {

namespace {

bool is_index_type(DType type) {
  return type == DType::Int32 || type == DType::Int64;
}

/// A conversion that keeps every value of an index expression.
bool is_transparent(const Cast& cast) {
  return is_index_type(cast.to) && is_signed_integer(cast.operand->type) &&
         bits(cast.to) >= bits(cast.operand->type);
}

BinaryOp negated(BinaryOp op) {
  switch (op) {
  case BinaryOp::Lt: return BinaryOp::Ge;
  case BinaryOp::Le: return BinaryOp::Gt;
  case BinaryOp::Gt: return BinaryOp::Le;
  case BinaryOp::Ge: return BinaryOp::Lt;
  case BinaryOp::Eq: return BinaryOp::Ne;
  case BinaryOp::Ne: return BinaryOp::Eq;
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::And:
  case BinaryOp::Or: break;
  }
  unreachable("negated() of an operator that is not a comparison");
}

bool is_comparison(BinaryOp op) {
  return op == BinaryOp::Lt || op == BinaryOp::Le || op == BinaryOp::Gt || op == BinaryOp::Ge ||
         op == BinaryOp::Eq || op == BinaryOp::Ne;
}

std::optional<std::int64_t> constant_value(const ExprPtr& expr) {
  return evaluate(expr, IntEnv{});
}

}  // namespace

bool AffineAccess::exact() const {
  return std::all_of(affine.begin(), affine.end(), [](bool one) { return one; });
}

AffineParams affine_params(const TypedDef& def) {
  AffineParams params;
  for (const Size& size : def.sizes)
    params.sizes.push_back(size.name);
  for (const Const& constant : def.consts) {
    params.consts.push_back(is_integer(constant.type) ? constant.name : "");
  }
  return params;
}

AffineScope::AffineScope(const sets::IslContext& context, const std::string& tuple,
                         std::vector<AffineLoop> loops, std::vector<Index> indices,
                         AffineParams params)
    : ctx_(context.get()), space_(isl::space::unit(ctx_)), loops_(std::move(loops)),
      indices_(std::move(indices)), params_(std::move(params)) {
  auto add = [&](const std::string& name, std::vector<int>& positions) {
    if (name.empty()) {
      positions.push_back(-1);
      return;
    }
    space_ = space_.add_param(sets::named_id(ctx_, name));
    positions.push_back(num_params_++);
  };
  for (const std::string& name : params_.sizes)
    add(name, size_param_);
  for (const std::string& name : params_.consts)
    add(name, const_param_);
  space_ = space_.add_named_tuple(sets::named_id(ctx_, tuple), static_cast<unsigned>(dims()));
}

int AffineScope::loop_position(int var) const {
  for (std::size_t k = 0; k < loops_.size(); ++k) {
    if (loops_[k].var == var) return static_cast<int>(k);
  }
  unreachable("a for variable outside its loop");
}

// ---- linear expressions, without isl: by far the most frequent kind ----

std::optional<AffineScope::Linear> AffineScope::linear(const ExprPtr& expr) const {
  Linear zero;
  zero.params.assign(static_cast<std::size_t>(num_params_), 0);
  zero.dims.assign(static_cast<std::size_t>(dims()), 0);
  auto unit = [&](std::vector<std::int64_t> Linear::* part, int position) -> std::optional<Linear> {
    if (position < 0) return std::nullopt;
    (zero.*part).at(static_cast<std::size_t>(position)) = 1;
    return zero;
  };
  if (!is_index_type(expr->type)) return std::nullopt;
  if (const auto* node = std::get_if<IntConst>(&expr->node)) {
    zero.constant = node->value;
    return zero;
  }
  if (const auto* node = std::get_if<IndexRef>(&expr->node)) {
    return unit(&Linear::dims, loops() + node->index);
  }
  if (const auto* node = std::get_if<ForRef>(&expr->node)) {
    return unit(&Linear::dims, loop_position(node->var));
  }
  if (const auto* node = std::get_if<SizeRef>(&expr->node)) {
    const auto at = static_cast<std::size_t>(node->size);
    return unit(&Linear::params, at < size_param_.size() ? size_param_[at] : -1);
  }
  if (const auto* node = std::get_if<ConstRef>(&expr->node)) {
    const auto at = static_cast<std::size_t>(node->id);
    return unit(&Linear::params, at < const_param_.size() ? const_param_[at] : -1);
  }
  if (const auto* node = std::get_if<Cast>(&expr->node)) {
    return is_transparent(*node) ? linear(node->operand) : std::nullopt;
  }
  if (const auto* node = std::get_if<Unary>(&expr->node)) {
    if (node->op != UnaryOp::Negate) return std::nullopt;
    return linear_binary(Binary{BinaryOp::Mul, make_int(-1, expr->type), node->operand});
  }
  if (const auto* node = std::get_if<Binary>(&expr->node)) return linear_binary(*node);
  return std::nullopt;
}

std::optional<AffineScope::Linear> AffineScope::linear_binary(const Binary& node) const {
  if (node.op != BinaryOp::Add && node.op != BinaryOp::Sub && node.op != BinaryOp::Mul) {
    return std::nullopt;
  }
  std::optional<Linear> left = linear(node.left);
  std::optional<Linear> right = left ? linear(node.right) : std::nullopt;
  if (!right) return std::nullopt;
  auto is_constant = [](const Linear& form) {
    auto zero = [](std::int64_t c) { return c == 0; };
    return std::all_of(form.params.begin(), form.params.end(), zero) &&
           std::all_of(form.dims.begin(), form.dims.end(), zero);
  };
  std::int64_t factor = node.op == BinaryOp::Sub ? -1 : 1;
  if (node.op == BinaryOp::Mul) {
    if (is_constant(*left)) std::swap(left, right);
    if (!is_constant(*right)) return std::nullopt;
    factor = right->constant;
    right = *left;
    std::fill(left->params.begin(), left->params.end(), 0);
    std::fill(left->dims.begin(), left->dims.end(), 0);
    left->constant = 0;
  }
  auto accumulate = [&](std::int64_t& to, std::int64_t from) {
    std::int64_t product = 0;
    return checked_mul(from, factor, product) && checked_add(to, product, to);
  };
  for (std::size_t k = 0; k < left->params.size(); ++k) {
    if (!accumulate(left->params[k], right->params[k])) return std::nullopt;
  }
  for (std::size_t k = 0; k < left->dims.size(); ++k) {
    if (!accumulate(left->dims[k], right->dims[k])) return std::nullopt;
  }
  if (!accumulate(left->constant, right->constant)) return std::nullopt;
  return left;
}

isl::aff AffineScope::to_aff(const Linear& form) const {
  isl_aff* aff = isl_aff_zero_on_domain_space(space_.copy());
  auto set = [&](isl_dim_type type, const std::vector<std::int64_t>& coefficients) {
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      if (coefficients[k] == 0) continue;
      aff = isl_aff_set_coefficient_val(aff, type, static_cast<int>(k),
                                        isl_val_int_from_si(isl_aff_get_ctx(aff), coefficients[k]));
    }
  };
  set(isl_dim_param, form.params);
  set(isl_dim_in, form.dims);
  aff = isl_aff_set_constant_val(aff, isl_val_int_from_si(isl_aff_get_ctx(aff), form.constant));
  return isl::manage(aff);
}

// ---- the general case ----

std::optional<isl::pw_aff> AffineScope::value(const ExprPtr& expr) const {
  if (std::optional<Linear> form = linear(expr)) return isl::pw_aff(to_aff(*form));
  if (!is_index_type(expr->type)) return std::nullopt;
  if (const auto* node = std::get_if<Cast>(&expr->node)) {
    return is_transparent(*node) ? value(node->operand) : std::nullopt;
  }
  if (const auto* node = std::get_if<Unary>(&expr->node)) {
    std::optional<isl::pw_aff> operand = value(node->operand);
    if (!operand || node->op != UnaryOp::Negate) return std::nullopt;
    return operand->neg();
  }
  if (const auto* node = std::get_if<Select>(&expr->node)) {
    std::optional<isl::set> condition = where(node->condition);
    std::optional<isl::pw_aff> yes = condition ? value(node->if_true) : std::nullopt;
    std::optional<isl::pw_aff> no = yes ? value(node->if_false) : std::nullopt;
    if (!no) return std::nullopt;
    return condition->indicator_function().cond(*yes, *no);
  }
  if (const auto* node = std::get_if<Binary>(&expr->node)) return piecewise(*node);
  return std::nullopt;
}

std::optional<isl::pw_aff> AffineScope::piecewise(const Binary& node) const {
  std::optional<isl::pw_aff> left = value(node.left);
  std::optional<isl::pw_aff> right = left ? value(node.right) : std::nullopt;
  if (!right) return std::nullopt;
  const std::optional<std::int64_t> by = constant_value(node.right);
  switch (node.op) {
  case BinaryOp::Add: return left->add(*right);
  case BinaryOp::Sub: return left->sub(*right);
  case BinaryOp::Min: return left->min(*right);
  case BinaryOp::Max: return left->max(*right);
  case BinaryOp::Mul:
    if (by) return left->scale(isl::val(ctx_, *by));
    if (const auto factor = constant_value(node.left)) return right->scale(isl::val(ctx_, *factor));
    return std::nullopt;
  case BinaryOp::Div:
  case BinaryOp::Mod: {
    if (!by) return std::nullopt;
    if (*by == 0) return left->scale(isl::val::zero(ctx_));
    const isl::val divisor(ctx_, *by);
    const isl::pw_aff quotient = left->scale(divisor.inv()).floor();
    return node.op == BinaryOp::Div ? quotient : left->sub(quotient.scale(divisor));
  }
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::And:
  case BinaryOp::Or: return std::nullopt;
  }
  unreachable("a binary operator");
}

/// left >= right + slack, split at max on the right and min on the left so that the set stays
/// convex.
std::optional<isl::set> AffineScope::at_least(const ExprPtr& left, const ExprPtr& right,
                                              std::int64_t slack) const {
  auto both = [&](const std::optional<isl::set>& a,
                  const std::optional<isl::set>& b) -> std::optional<isl::set> {
    if (!a || !b) return std::nullopt;
    return a->intersect(*b);
  };
  if (const auto* node = std::get_if<Binary>(&right->node); node && node->op == BinaryOp::Max) {
    return both(at_least(left, node->left, slack), at_least(left, node->right, slack));
  }
  if (const auto* node = std::get_if<Binary>(&left->node); node && node->op == BinaryOp::Min) {
    return both(at_least(node->left, right, slack), at_least(node->right, right, slack));
  }
  if (auto difference = linear_binary(Binary{BinaryOp::Sub, left, right})) {
    if (!checked_add(difference->constant, -slack, difference->constant)) return std::nullopt;
    return isl::set(isl::manage(
        isl_basic_set_from_constraint(isl_inequality_from_aff(to_aff(*difference).release()))));
  }
  const std::optional<isl::pw_aff> a = value(left);
  const std::optional<isl::pw_aff> b = a ? value(right) : std::nullopt;
  if (!b) return std::nullopt;
  return a->ge_set(b->add_constant(isl::val(ctx_, slack)));
}

std::optional<isl::set> AffineScope::compare(BinaryOp op, const ExprPtr& left,
                                             const ExprPtr& right) const {
  if (!is_index_type(left->type) || !is_index_type(right->type)) return std::nullopt;
  switch (op) {
  case BinaryOp::Ge: return at_least(left, right, 0);
  case BinaryOp::Gt: return at_least(left, right, 1);
  case BinaryOp::Le: return at_least(right, left, 0);
  case BinaryOp::Lt: return at_least(right, left, 1);
  case BinaryOp::Eq:
  case BinaryOp::Ne: {
    const int slack = op == BinaryOp::Ne ? 1 : 0;
    const std::optional<isl::set> above = at_least(left, right, slack);
    const std::optional<isl::set> below = above ? at_least(right, left, slack) : std::nullopt;
    if (!below) return std::nullopt;
    return op == BinaryOp::Eq ? above->intersect(*below) : above->unite(*below);
  }
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::And:
  case BinaryOp::Or: break;
  }
  unreachable("compare() of an operator that is not a comparison");
}

/// { S : condition == positive }.
std::optional<isl::set> AffineScope::holds(const ExprPtr& condition, bool positive) const {
  if (condition->type != DType::Bool) return std::nullopt;
  if (const auto* node = std::get_if<IntConst>(&condition->node)) {
    return (node->value != 0) == positive ? isl::set::universe(space_) : isl::set::empty(space_);
  }
  if (const auto* node = std::get_if<Unary>(&condition->node)) {
    if (node->op != UnaryOp::Not) return std::nullopt;
    return holds(node->operand, !positive);
  }
  if (const auto* node = std::get_if<Select>(&condition->node)) {
    const auto yes = holds(node->condition, true);
    const auto no = yes ? holds(node->condition, false) : std::nullopt;
    const auto if_true = no ? holds(node->if_true, positive) : std::nullopt;
    const auto if_false = if_true ? holds(node->if_false, positive) : std::nullopt;
    if (!if_false) return std::nullopt;
    return yes->intersect(*if_true).unite(no->intersect(*if_false));
  }
  const auto* node = std::get_if<Binary>(&condition->node);
  if (!node) return std::nullopt;
  if (node->op == BinaryOp::And || node->op == BinaryOp::Or) {
    const auto left = holds(node->left, positive);
    const auto right = left ? holds(node->right, positive) : std::nullopt;
    if (!right) return std::nullopt;
    return (node->op == BinaryOp::And) == positive ? left->intersect(*right) : left->unite(*right);
  }
  if (!is_comparison(node->op)) return std::nullopt;
  if (node->left->type == DType::Bool) {
    // == or != of two conditions; types have refused or rewritten their order.
    const bool alike = (node->op == BinaryOp::Eq) == positive;
    const auto left_true = holds(node->left, true);
    const auto left_false = left_true ? holds(node->left, false) : std::nullopt;
    const auto right_true = left_false ? holds(node->right, true) : std::nullopt;
    const auto right_false = right_true ? holds(node->right, false) : std::nullopt;
    if (!right_false) return std::nullopt;
    return left_true->intersect(alike ? *right_true : *right_false)
        .unite(left_false->intersect(alike ? *right_false : *right_true));
  }
  return compare(positive ? node->op : negated(node->op), node->left, node->right);
}

std::optional<isl::set> AffineScope::where(const ExprPtr& condition) const {
  return holds(condition, true);
}

isl::set AffineScope::may_be(const ExprPtr& condition, bool positive) const {
  if (const auto* node = std::get_if<Unary>(&condition->node); node && node->op == UnaryOp::Not) {
    return may_be(node->operand, !positive);
  }
  if (const auto* node = std::get_if<Binary>(&condition->node)) {
    if (node->op == BinaryOp::And || node->op == BinaryOp::Or) {
      const isl::set left = may_be(node->left, positive);
      const isl::set right = may_be(node->right, positive);
      return (node->op == BinaryOp::And) == positive ? left.intersect(right) : left.unite(right);
    }
  }
  const std::optional<isl::set> exact = holds(condition, positive);
  return exact ? *exact : isl::set::universe(space_);
}

// ---- domains and accesses ----

std::optional<isl::set> AffineScope::between(const ExprPtr& var, const ExprPtr& lo,
                                             const ExprPtr& hi) const {
  const std::optional<isl::set> above = at_least(var, lo, 0);
  const std::optional<isl::set> below = above ? at_least(hi, var, 1) : std::nullopt;
  if (!below) return std::nullopt;
  return above->intersect(*below);
}

std::optional<isl::set> AffineScope::loop_domain() const {
  isl::set result = isl::set::universe(space_);
  for (const AffineLoop& loop : loops_) {
    const ExprPtr var = make_expr(DType::Int32, {}, ForRef{loop.var});
    const std::optional<isl::set> range = between(var, loop.lo, loop.hi);
    if (!range) return std::nullopt;
    result = result.intersect(*range);
  }
  return result;
}

std::optional<isl::set> AffineScope::index_range(int index) const {
  const Index& variable = indices_.at(static_cast<std::size_t>(index));
  return between(make_index(index), variable.lo, variable.hi);
}

std::optional<isl::set> AffineScope::domain(const std::vector<ExprPtr>& conditions) const {
  std::optional<isl::set> result = loop_domain();
  for (std::size_t k = 0; result && k < indices_.size(); ++k) {
    const std::optional<isl::set> range = index_range(static_cast<int>(k));
    if (!range) return std::nullopt;
    result = result->intersect(*range);
  }
  for (const ExprPtr& condition : conditions) {
    if (!result) return std::nullopt;
    const std::optional<isl::set> cut = where(condition);
    if (!cut) return std::nullopt;
    result = result->intersect(*cut);
  }
  return result;
}

AffineAccess AffineScope::access(const std::string& tensor,
                                 const std::vector<ExprPtr>& subscripts) const {
  const auto rank = static_cast<unsigned>(subscripts.size());
  const isl::space range = space_.params().add_named_tuple(sets::named_id(ctx_, tensor), rank);
  const isl::space pair =
      isl::manage(isl_space_map_from_domain_and_range(space_.copy(), range.copy()));
  AffineAccess result;
  isl_map* relation = isl_map_universe(pair.copy());
  for (unsigned d = 0; d < rank; ++d) {
    const std::optional<isl::pw_aff> position = value(subscripts[d]);
    result.affine.push_back(position.has_value());
    if (!position) continue;
    // { S[...] -> [position] } placed at dimension d of the tensor's tuple.
    isl_map* one = isl_map_from_pw_aff(position->copy());
    one = isl_map_insert_dims(one, isl_dim_out, 0, d);
    one = isl_map_add_dims(one, isl_dim_out, rank - d - 1);
    one = isl_map_set_tuple_id(one, isl_dim_out, sets::named_id(ctx_, tensor).release());
    relation = isl_map_intersect(relation, one);
  }
  result.relation = isl::manage(relation);
  return result;
}

}  // namespace tc::lang
