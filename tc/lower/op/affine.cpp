// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/affine.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lower {

using kernel::Binary;
using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

std::int64_t clamp(std::int64_t value) {
  return std::clamp(value, -Interval::kInfinity, Interval::kInfinity);
}

std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (checked_mul(a, b, product)) return clamp(product);
  return (a < 0) == (b < 0) ? Interval::kInfinity : -Interval::kInfinity;
}

bool is_int64_scalar(const ExprPtr& expr) {
  return expr->type == kernel::Type{DType::Int64, 1};
}

const kernel::VarRef* as_var(const ExprPtr& expr) {
  return std::get_if<kernel::VarRef>(&expr->node);
}

bool same_atom(const ExprPtr& a, const ExprPtr& b) {
  const auto* va = as_var(a);
  const auto* vb = as_var(b);
  if (va || vb) return va && vb && va->var.id == vb->var.id;
  return kernel::equal(a, b);
}

/// Values that survive in a sum without wrapping doubts; beyond it the expression stays opaque.
bool is_moderate(const Affine& sum) {
  const auto small = [](std::int64_t v) {
    return v > -Interval::kInfinity && v < Interval::kInfinity;
  };
  return small(sum.constant) && std::all_of(sum.terms.begin(), sum.terms.end(),
                                            [&](const auto& t) { return small(t.coefficient); });
}

}  // namespace

Interval operator+(Interval a, Interval b) {
  const auto end = [](std::int64_t x, std::int64_t y, std::int64_t infinite) {
    return x == infinite || y == infinite ? infinite : clamp(x + y);
  };
  return {end(a.lo, b.lo, -Interval::kInfinity), end(a.hi, b.hi, Interval::kInfinity)};
}

Interval operator*(Interval a, std::int64_t factor) {
  if (factor == 0) return Interval::point(0);
  const std::int64_t x = saturating_mul(a.lo, factor);
  const std::int64_t y = saturating_mul(a.hi, factor);
  return {std::min(x, y), std::max(x, y)};
}

Interval intersect(Interval a, Interval b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}

// ---- sums ----

void Affine::add(const ExprPtr& atom, std::int64_t coefficient) {
  if (coefficient == 0) return;
  for (auto it = terms.begin(); it != terms.end(); ++it) {
    if (!same_atom(it->atom, atom)) continue;
    it->coefficient += coefficient;
    if (it->coefficient == 0) terms.erase(it);
    return;
  }
  terms.push_back({atom, coefficient});
}

Affine& Affine::operator+=(const Affine& other) {
  constant += other.constant;
  for (const auto& term : other.terms)
    add(term.atom, term.coefficient);
  return *this;
}

Affine& Affine::operator*=(std::int64_t factor) {
  if (factor == 0) {
    *this = Affine{};
    return *this;
  }
  constant = saturating_mul(constant, factor);
  for (auto& term : terms)
    term.coefficient = saturating_mul(term.coefficient, factor);
  return *this;
}

std::optional<std::int64_t> Affine::coefficient(int var) const {
  std::int64_t result = 0;
  for (const auto& term : terms) {
    if (const auto* v = as_var(term.atom)) {
      if (v->var.id == var) result = term.coefficient;
    } else if (depends_on(term.atom, var)) {
      return std::nullopt;
    }
  }
  return result;
}

bool equal(const Affine& a, const Affine& b) {
  Affine difference = b;
  difference *= -1;
  difference += a;
  return difference.is_constant() && difference.constant == 0;
}

std::optional<std::int64_t> constant_of(const ExprPtr& expr) {
  if (const auto* imm = std::get_if<kernel::IntImm>(&expr->node)) return imm->value;
  return std::nullopt;
}

bool depends_on(const ExprPtr& expr, int var) {
  bool found = false;
  kernel::walk(expr, [&](const kernel::Expr& e) {
    if (const auto* v = std::get_if<kernel::VarRef>(&e.node)) found = found || v->var.id == var;
  });
  return found;
}

std::vector<int> variables(const ExprPtr& expr) {
  std::vector<int> ids;
  kernel::walk(expr, [&](const kernel::Expr& e) {
    if (const auto* v = std::get_if<kernel::VarRef>(&e.node)) ids.push_back(v->var.id);
  });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool contains_load(const ExprPtr& expr) {
  bool found = false;
  kernel::walk(expr, [&](const kernel::Expr& e) {
    found = found || std::holds_alternative<kernel::Load>(e.node);
  });
  return found;
}

ExprPtr to_expr(const Affine& sum) {
  ExprPtr result;
  for (const auto& term : sum.terms) {
    if (term.coefficient < 0) continue;
    ExprPtr product = kernel::mul(term.atom, kernel::int_imm(term.coefficient));
    result = result ? kernel::add(result, product) : product;
  }
  // Without a positive term the constant comes first, so that nothing is subtracted from 0.
  const bool constant_first = !result;
  if (constant_first) result = kernel::int_imm(sum.constant);
  for (const auto& term : sum.terms) {
    if (term.coefficient >= 0) continue;
    result = kernel::sub(result, kernel::mul(term.atom, kernel::int_imm(-term.coefficient)));
  }
  if (constant_first) return result;
  if (sum.constant < 0) return kernel::sub(result, kernel::int_imm(-sum.constant));
  return kernel::add(result, kernel::int_imm(sum.constant));
}

// ---- facts ----

void Ranges::set(int var, Interval interval) {
  set(var, interval, nullptr, {});
}

void Ranges::set(int var, Interval interval, ExprPtr begin, Interval offset) {
  std::erase_if(facts_, [&](const Fact& fact) { return fact.var == var; });
  facts_.push_back({var, interval, std::move(begin), offset});
}

const Ranges::Fact* Ranges::find(int var) const {
  const auto at =
      std::find_if(facts_.begin(), facts_.end(), [&](const Fact& fact) { return fact.var == var; });
  return at != facts_.end() ? &*at : nullptr;
}

Interval Ranges::of_atom(const ExprPtr& atom) const {
  if (const auto* v = as_var(atom)) {
    const Fact* fact = find(v->var.id);
    return fact ? fact->interval : Interval{};
  }
  if (const auto value = constant_of(atom)) return Interval::point(*value);
  if (const auto* cast = std::get_if<kernel::Cast>(&atom->node)) {
    if (!is_integer(cast->to)) return {};
    const Interval inner =
        is_integer(cast->operand->type.elem) ? of_atom(cast->operand) : Interval{};
    const Interval limits{min_value(cast->to),
                          clamp(static_cast<std::int64_t>(
                              std::min<std::uint64_t>(max_value(cast->to), Interval::kInfinity)))};
    return inner.is_within(limits.lo, limits.hi) ? inner : limits;
  }
  if (const auto* load = std::get_if<kernel::Load>(&atom->node)) {
    const DType type = load->buffer->type;
    if (is_integer(type) && bits(type) <= 32)
      return {min_value(type), static_cast<std::int64_t>(max_value(type))};
    return {};
  }
  const auto* node = std::get_if<Binary>(&atom->node);
  if (!node) return {};
  const Interval a = of(node->left);
  const Interval b = of(node->right);
  const auto divisor = constant_of(node->right);
  switch (node->op) {
  case BinaryOp::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  case BinaryOp::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  case BinaryOp::FloorDiv:
    if (!divisor || *divisor <= 0) return {};
    return {a.lo == -Interval::kInfinity ? a.lo : floor_div(a.lo, *divisor),
            a.hi == Interval::kInfinity ? a.hi : floor_div(a.hi, *divisor)};
  case BinaryOp::FloorMod:
    if (!divisor || *divisor <= 0) return {};
    if (a.is_bounded() && floor_div(a.lo, *divisor) == floor_div(a.hi, *divisor))
      return {floor_mod(a.lo, *divisor), floor_mod(a.hi, *divisor)};
    return {0, *divisor - 1};
  default: return {};
  }
}

Interval Ranges::direct(const Affine& sum) const {
  Interval result = Interval::point(sum.constant);
  for (const auto& term : sum.terms)
    result = result + of_atom(term.atom) * term.coefficient;
  return result;
}

/// min(a, b) + rest lies where a + rest and b + rest do; so do differences such as min(t + 6, n) -
/// t become small.
Interval Ranges::split(const Affine& sum, int depth) const {
  const Interval whole = of_sum(sum);
  if (depth == 0) return whole;
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    const auto* node = std::get_if<Binary>(&sum.terms[i].atom->node);
    if (!node || (node->op != BinaryOp::Min && node->op != BinaryOp::Max)) continue;
    Affine rest = sum;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
    const std::int64_t factor = sum.terms[i].coefficient;
    const auto with = [&](const ExprPtr& operand) {
      Affine branch = affine(operand);
      branch *= factor;
      branch += rest;
      return split(branch, depth - 1);
    };
    const Interval a = with(node->left);
    const Interval b = with(node->right);
    const bool lower = (node->op == BinaryOp::Min) == (factor > 0);
    const Interval both = lower ? Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)}
                                : Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    return intersect(whole, both);
  }
  return whole;
}

Interval Ranges::of(const Affine& sum) const {
  constexpr int kDepth = 3;
  return split(sum, kDepth);
}

Interval Ranges::of_sum(const Affine& sum) const {
  Interval result = direct(sum);
  // Replace variables by begin + offset, the innermost (latest) first, and keep the better bound
  // each time.
  Affine rest = sum;
  Interval offsets = Interval::point(0);
  for (auto fact = facts_.rbegin(); fact != facts_.rend(); ++fact) {
    if (!fact->begin) continue;
    const auto coefficient = rest.coefficient(fact->var);
    if (!coefficient || *coefficient == 0) continue;
    for (auto it = rest.terms.begin(); it != rest.terms.end(); ++it) {
      const auto* v = as_var(it->atom);
      if (!v || v->var.id != fact->var) continue;
      rest.terms.erase(it);
      break;
    }
    Affine begin = affine(fact->begin);
    begin *= *coefficient;
    rest += begin;
    offsets = offsets + fact->offset * *coefficient;
    result = intersect(result, direct(rest) + offsets);
  }
  return result;
}

Interval Ranges::of(const ExprPtr& expr) const {
  return is_int64_scalar(expr) ? of(affine(expr)) : of_atom(expr);
}

// ---- sum form ----

Affine Ranges::divide(const Binary& node, const ExprPtr& expr) const {
  Affine opaque;
  const auto divisor = constant_of(node.right);
  const Affine sum = affine(node.left);
  const bool is_div = node.op == BinaryOp::FloorDiv;
  if (!divisor || *divisor <= 0) {
    opaque.add(expr, 1);
    return opaque;
  }
  // sum = divisor * whole + rest with rest in one period: the division is exact term by term.
  Affine whole, rest;
  for (const auto& term : sum.terms) {
    if (term.coefficient % *divisor == 0)
      whole.add(term.atom, term.coefficient / *divisor);
    else
      rest.add(term.atom, term.coefficient);
  }
  whole.constant = floor_div(sum.constant, *divisor);
  rest.constant = floor_mod(sum.constant, *divisor);
  const Interval range = of(rest);
  if (range.is_bounded() && floor_div(range.lo, *divisor) == floor_div(range.hi, *divisor)) {
    const std::int64_t period = floor_div(range.lo, *divisor);
    if (is_div) {
      whole.constant += period;
      return whole;
    }
    rest.constant -= period * *divisor;
    return rest;
  }
  const ExprPtr remaining = to_expr(rest);
  const ExprPtr atom = kernel::binary(node.op, remaining, node.right);
  if (is_div) {
    whole.add(atom, 1);
    return whole;
  }
  opaque.add(atom, 1);
  return opaque;
}

Affine Ranges::binary(const Binary& node, const ExprPtr& expr) const {
  Affine opaque;
  switch (node.op) {
  case BinaryOp::Add:
  case BinaryOp::Sub: {
    Affine right = affine(node.right);
    if (node.op == BinaryOp::Sub) right *= -1;
    Affine sum = affine(node.left);
    sum += right;
    if (is_moderate(sum)) return sum;
    break;
  }
  case BinaryOp::Mul: {
    Affine left = affine(node.left);
    Affine right = affine(node.right);
    if (!left.is_constant() && !right.is_constant()) break;
    Affine product = left.is_constant() ? right : left;
    product *= left.is_constant() ? left.constant : right.constant;
    if (is_moderate(product)) return product;
    break;
  }
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod: return divide(node, expr);
  case BinaryOp::Min:
  case BinaryOp::Max: {
    const Affine left = affine(node.left);
    const Affine right = affine(node.right);
    Affine difference = right;
    difference *= -1;
    difference += left;
    const Interval range = of(difference);
    const bool is_min = node.op == BinaryOp::Min;
    if (range.hi <= 0) return is_min ? left : right;
    if (range.lo >= 0) return is_min ? right : left;
    opaque.add(kernel::binary(node.op, to_expr(left), to_expr(right)), 1);
    return opaque;
  }
  default: break;
  }
  opaque.add(expr, 1);
  return opaque;
}

Affine Ranges::affine(const ExprPtr& expr) const {
  check(is_int64_scalar(expr), "a sum is an int64 scalar");
  Affine result;
  if (const auto value = constant_of(expr)) {
    if (std::abs(*value) < Interval::kInfinity) {
      result.constant = *value;
      return result;
    }
  } else if (const auto* node = std::get_if<Binary>(&expr->node)) {
    return binary(*node, expr);
  } else if (const auto* negated = std::get_if<kernel::Unary>(&expr->node)) {
    if (negated->op == kernel::UnaryOp::Negate) {
      result = affine(negated->operand);
      result *= -1;
      return result;
    }
  } else if (const auto* v = as_var(expr)) {
    const Fact* fact = find(v->var.id);
    if (fact && fact->interval.lo == fact->interval.hi) {
      result.constant = fact->interval.lo;
      return result;
    }
  }
  result.add(expr, 1);
  return result;
}

ExprPtr Ranges::simplify(const ExprPtr& expr) const {
  return is_int64_scalar(expr) ? to_expr(affine(expr)) : expr;
}

bool Ranges::proves_within(const ExprPtr& expr, std::int64_t lo, std::int64_t hi) const {
  return of(expr).is_within(lo, hi);
}

std::optional<int> direction(const ExprPtr& expr, int var) {
  if (!depends_on(expr, var)) return 0;
  if (as_var(expr)) return 1;
  if (const auto* negated = std::get_if<kernel::Unary>(&expr->node)) {
    const auto inner = direction(negated->operand, var);
    if (negated->op != kernel::UnaryOp::Negate || !inner) return std::nullopt;
    return -*inner;
  }
  const auto* node = std::get_if<Binary>(&expr->node);
  if (!node || !is_int64_scalar(expr)) return std::nullopt;
  const auto a = direction(node->left, var);
  const auto b = direction(node->right, var);
  if (!a || !b) return std::nullopt;
  const auto join = [](int x, int y) -> std::optional<int> {
    if (x == 0) return y;
    if (y == 0 || x == y) return x;
    return std::nullopt;
  };
  const auto right = constant_of(node->right);
  const auto left = constant_of(node->left);
  switch (node->op) {
  case BinaryOp::Add:
  case BinaryOp::Min:
  case BinaryOp::Max: return join(*a, *b);
  case BinaryOp::Sub: return join(*a, -*b);
  case BinaryOp::Mul:
    if (right) return *right >= 0 ? *a : -*a;
    if (left) return *left >= 0 ? *b : -*b;
    return std::nullopt;
  case BinaryOp::FloorDiv:
    if (right && *right > 0) return *a;
    return std::nullopt;
  default: return std::nullopt;
  }
}

}  // namespace tc::lower
