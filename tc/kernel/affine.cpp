// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/affine.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tc/kernel/fold.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::kernel {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::optional<Interval> sum(const Interval& a, const Interval& b) {
  Interval r;
  if (!checked_add(a.lo, b.lo, r.lo) || !checked_add(a.hi, b.hi, r.hi)) return std::nullopt;
  return r;
}

std::optional<Interval> product(const Interval& a, const Interval& b) {
  std::int64_t v[4];
  if (!checked_mul(a.lo, b.lo, v[0]) || !checked_mul(a.lo, b.hi, v[1]) ||
      !checked_mul(a.hi, b.lo, v[2]) || !checked_mul(a.hi, b.hi, v[3]))
    return std::nullopt;
  return Interval{*std::min_element(v, v + 4), *std::max_element(v, v + 4)};
}

bool is_index(const Type& type) {
  return type == Type{DType::Int64, 1};
}

void collect(const ExprPtr& expr, std::int64_t factor, Affine& out) {
  if (const auto* imm = std::get_if<IntImm>(&expr->node)) {
    out.constant = wrap_add(out.constant, wrap_mul(imm->value, factor));
    return;
  }
  if (const auto* n = std::get_if<Unary>(&expr->node)) {
    if (n->op == UnaryOp::Negate) return collect(n->operand, wrap_mul(factor, -1), out);
  }
  if (const auto* n = std::get_if<Binary>(&expr->node)) {
    if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) {
      collect(n->left, factor, out);
      return collect(n->right, n->op == BinaryOp::Add ? factor : wrap_mul(factor, -1), out);
    }
    if (n->op == BinaryOp::Mul) {
      if (const auto c = constant_int(n->right)) return collect(n->left, wrap_mul(factor, *c), out);
      if (const auto c = constant_int(n->left)) return collect(n->right, wrap_mul(factor, *c), out);
    }
  }
  out.add_term(expr, factor);
}

}  // namespace

Interval full_interval(DType type) {
  if (type == DType::Bool) return {0, 1};
  if (type == DType::UInt64 || is_float(type)) return {kMin, kMax};
  return {min_value(type), static_cast<std::int64_t>(max_value(type))};
}

void Affine::add_term(const ExprPtr& atom, std::int64_t coefficient) {
  if (coefficient == 0) return;
  for (auto it = terms.begin(); it != terms.end(); ++it) {
    if (!equal(it->first, atom)) continue;
    it->second = wrap_add(it->second, coefficient);
    if (it->second == 0) terms.erase(it);
    return;
  }
  terms.emplace_back(atom, coefficient);
}

void Affine::add(const Affine& other, std::int64_t factor) {
  for (const auto& [atom, coefficient] : other.terms)
    add_term(atom, wrap_mul(coefficient, factor));
  constant = wrap_add(constant, wrap_mul(other.constant, factor));
}

Affine affine(const ExprPtr& expr) {
  check(is_index(expr->type), "an affine form is of an int64 scalar");
  Affine form;
  collect(expr, 1, form);
  return form;
}

ExprPtr to_expr(const Affine& form) {
  ExprPtr result;
  // Positive terms first, so that no negation is needed where one of them exists.
  for (const bool positive : {true, false}) {
    for (const auto& [atom, coefficient] : form.terms) {
      if ((coefficient > 0) != positive) continue;
      if (!result)
        result = mul(atom, int_imm(coefficient));
      else if (positive || coefficient == kMin)
        result = kernel::add(result, mul(atom, int_imm(coefficient)));
      else
        result = sub(result, mul(atom, int_imm(-coefficient)));
    }
  }
  if (!result) return int_imm(form.constant);
  if (form.constant < 0 && form.constant != kMin) return sub(result, int_imm(-form.constant));
  return kernel::add(result, int_imm(form.constant));
}

std::optional<LaneAffine> lane_affine(const ExprPtr& expr) {
  if (expr->type.elem != DType::Int64) return std::nullopt;
  if (expr->type.lanes == 1) return LaneAffine{affine(expr), 0, 1};
  if (const auto* r = std::get_if<Ramp>(&expr->node))
    return LaneAffine{affine(r->base), r->stride, expr->type.lanes};
  if (const auto* b = std::get_if<Broadcast>(&expr->node))
    return LaneAffine{affine(b->value), 0, expr->type.lanes};
  return std::nullopt;
}

Interval Facts::range(const ExprPtr& expr) const {
  const DType type = expr->type.elem;
  const Interval full = full_interval(type);
  return std::visit(Overloaded{
                        [&](const IntImm& n) { return Interval{n.value, n.value}; },
                        [&](const VarRef& n) {
                          const auto known = ranges_.find(n.var.id);
                          return known == ranges_.end() ? full : known->second;
                        },
                        [&](const Binary& n) {
                          return is_float(n.left->type.elem) ? full : binary_range(n, type);
                        },
                        [&](const Unary& n) {
                          if (n.op == UnaryOp::Not || !is_integer(type)) return full;
                          const auto r = product(range(n.operand), {-1, -1});
                          return r && r->lo >= full.lo && r->hi <= full.hi ? *r : full;
                        },
                        [&](const Select& n) {
                          const Interval a = range(n.if_true);
                          const Interval b = range(n.if_false);
                          return Interval{std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
                        },
                        [&](const Cast& n) {
                          const DType from = n.operand->type.elem;
                          if (!is_integer(n.to) || is_float(from)) return full;
                          const Interval target = full_interval(n.to);
                          const Interval r =
                              from == DType::UInt64 ? full_interval(from) : range(n.operand);
                          return r.lo >= target.lo && r.hi <= target.hi ? r : target;
                        },
                        [&](const Load& n) {
                          if (!is_integer(type) || n.mask || type == DType::UInt64) return full;
                          return full_interval(n.buffer->type);
                        },
                        [&](const Ramp& n) {
                          const Interval lanes{0, expr->type.lanes - 1};
                          const auto spread = product(lanes, {n.stride, n.stride});
                          const auto r = spread ? sum(range(n.base), *spread) : std::nullopt;
                          return r && r->lo >= full.lo && r->hi <= full.hi ? *r : full;
                        },
                        [&](const Broadcast& n) { return range(n.value); },
                        [&](const Lane& n) { return range(n.vector); },
                        [&](const Shuffle& n) { return range(n.value); },
                        [&](const auto&) { return full; },
                    },
                    expr->node);
}

Interval Facts::binary_range(const Binary& n, DType type) const {
  const Interval full = full_interval(type);
  if (type == DType::UInt64) return full;
  const DType operand = n.left->type.elem;
  if (operand == DType::Bool || operand == DType::UInt64) return full;
  const Interval a = range(n.left);
  const Interval b = range(n.right);
  const auto fitting = [&](const std::optional<Interval>& r) {
    return r && r->lo >= full.lo && r->hi <= full.hi ? *r : full;
  };
  switch (n.op) {
  case BinaryOp::Add: return fitting(sum(a, b));
  case BinaryOp::Sub:
    if (b.lo == kMin) return full;
    return fitting(sum(a, {-b.hi, -b.lo}));
  case BinaryOp::Mul: return fitting(product(a, b));
  case BinaryOp::FloorDiv:
    if (b.lo != b.hi || b.lo <= 0) return full;
    return {floor_div(a.lo, b.lo), floor_div(a.hi, b.lo)};
  case BinaryOp::FloorMod:
    if (b.lo != b.hi || b.lo <= 0) return full;
    if (floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo))
      return {floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo)};
    return {0, b.lo - 1};
  case BinaryOp::Min: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  case BinaryOp::Max: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  default: return full;
  }
}

std::optional<Interval> Facts::exact_range(const Affine& form) const {
  std::optional<Interval> total = Interval{form.constant, form.constant};
  for (const auto& [atom, coefficient] : form.terms) {
    if (coefficient == kMin) return std::nullopt;  // has no magnitude, which rules rely on
    const auto term = product(range(atom), {coefficient, coefficient});
    total = term ? sum(*total, *term) : std::nullopt;
    if (!total) return std::nullopt;
  }
  return total;
}

std::optional<Interval> Facts::exact_range(const LaneAffine& form) const {
  const auto base = exact_range(form.base);
  const auto spread = product({0, form.lanes - 1}, {form.step, form.step});
  if (!base || !spread) return std::nullopt;
  return sum(*base, *spread);
}

std::int64_t Facts::multiple(const ExprPtr& atom) const {
  if (const auto* ref = std::get_if<VarRef>(&atom->node)) {
    const auto known = multiples_.find(ref->var.id);
    return known == multiples_.end() ? 1 : known->second;
  }
  if (const auto* n = std::get_if<Binary>(&atom->node)) {
    if (n->op == BinaryOp::Min || n->op == BinaryOp::Max) {
      const auto factor = [&](const ExprPtr& side) {
        const Affine form = affine(side);
        std::int64_t g = form.constant == kMin ? 1 : form.constant;
        for (const auto& [inner, coefficient] : form.terms) {
          std::int64_t f = 1;
          if (!checked_mul(coefficient, multiple(inner), f) || f == kMin) f = 1;
          g = std::gcd(g, f);
        }
        return g;
      };
      if (!is_index(atom->type)) return 1;
      const std::int64_t g = std::gcd(factor(n->left), factor(n->right));
      return g == 0 ? 1 : g;
    }
  }
  return 1;
}

std::optional<bool> Facts::at_most(const ExprPtr& a, const ExprPtr& b) const {
  if (a->type.elem == DType::UInt64 || is_float(a->type.elem)) return std::nullopt;
  const Interval ra = range(a);
  const Interval rb = range(b);
  if (ra.hi <= rb.lo) return true;
  if (ra.lo > rb.hi) return false;
  const auto fa = lane_affine(a);
  const auto fb = lane_affine(b);
  if (!fa || !fb || !exact_range(*fa) || !exact_range(*fb)) return std::nullopt;
  LaneAffine difference = *fa;
  difference.base.add(fb->base, -1);
  difference.step = wrap_add(fa->step, wrap_mul(fb->step, -1));
  const auto r = exact_range(difference);
  if (!r) return std::nullopt;
  if (r->hi <= 0) return true;
  if (r->lo > 0) return false;
  // All lanes at most zero: the largest one decides. All positive: 1 - smallest is at most zero.
  const std::int64_t spread = wrap_mul(difference.step, difference.lanes - 1);
  Affine largest = difference.base;
  largest.constant = wrap_add(largest.constant, std::max<std::int64_t>(spread, 0));
  if (known_not_positive(largest)) return true;
  Affine above;
  above.add(difference.base, -1);
  above.constant =
      wrap_add(wrap_add(above.constant, 1), std::max(wrap_mul(spread, -1), std::int64_t{0}));
  if (known_not_positive(above)) return false;
  return std::nullopt;
}

bool Facts::known_not_positive(const Affine& form) const {
  const auto own = exact_range(form);
  if (!own) return false;
  for (const auto& fact : not_positive_) {
    Affine rest = form;
    rest.add(fact, -1);
    const auto r = exact_range(rest);
    if (r && r->hi <= 0) return true;
  }
  return false;
}

void Facts::assume_not_positive(const Affine& form) {
  if (!exact_range(form)) return;
  not_positive_.push_back(form);
  // One variable alone: its interval shrinks.
  if (form.terms.size() != 1) return;
  const auto& [atom, coefficient] = form.terms.front();
  const auto* ref = std::get_if<VarRef>(&atom->node);
  if (!ref || form.constant == kMin || coefficient == kMin) return;
  Interval known = range(atom);
  if (coefficient > 0)
    known.hi = std::min(known.hi, floor_div(-form.constant, coefficient));
  else
    known.lo = std::max(known.lo, ceil_div(form.constant, -coefficient));
  if (known.lo <= known.hi) set_range(ref->var, known);
}

void Facts::assume(const ExprPtr& condition, bool holds) {
  if (const auto* n = std::get_if<Unary>(&condition->node)) return assume(n->operand, !holds);
  const auto* n = std::get_if<Binary>(&condition->node);
  if (!n) return;
  if ((n->op == BinaryOp::And && holds) || (n->op == BinaryOp::Or && !holds)) {
    assume(n->left, holds);
    return assume(n->right, holds);
  }
  if (!is_index(n->left->type)) return;
  // Below a minimum, or above a maximum, is that for both of its operands.
  const bool order = holds && (n->op == BinaryOp::Lt || n->op == BinaryOp::Le);
  const auto* bound = order ? std::get_if<Binary>(&n->right->node) : nullptr;
  if (bound && bound->op == BinaryOp::Min) {
    assume(binary(n->op, n->left, bound->left), true);
    assume(binary(n->op, n->left, bound->right), true);
  }
  bound = order ? std::get_if<Binary>(&n->left->node) : nullptr;
  if (bound && bound->op == BinaryOp::Max) {
    assume(binary(n->op, bound->left, n->right), true);
    assume(binary(n->op, bound->right, n->right), true);
  }
  Affine difference = affine(n->left);
  if (!exact_range(difference) || !exact_range(affine(n->right))) return;
  difference.add(affine(n->right), -1);
  Affine reverse;
  reverse.add(difference, -1);
  // left <= right is difference <= 0; left < right is difference + 1 <= 0.
  const auto strictly = [](Affine form) {
    form.constant = wrap_add(form.constant, 1);
    return form;
  };
  switch (n->op) {
  case BinaryOp::Lt: return assume_not_positive(holds ? strictly(difference) : reverse);
  case BinaryOp::Le: return assume_not_positive(holds ? difference : strictly(reverse));
  case BinaryOp::Gt: return assume_not_positive(holds ? strictly(reverse) : difference);
  case BinaryOp::Ge: return assume_not_positive(holds ? reverse : strictly(difference));
  case BinaryOp::Eq:
    if (!holds) return;
    assume_not_positive(difference);
    return assume_not_positive(reverse);
  case BinaryOp::Ne:
    if (holds) return;
    assume_not_positive(difference);
    return assume_not_positive(reverse);
  default: return;
  }
}

}  // namespace tc::kernel
