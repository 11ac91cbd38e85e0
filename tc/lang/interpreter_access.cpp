// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/interpreter_access.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang::interp {

namespace {

using Maybe = std::optional<Interval>;

std::optional<std::int64_t> add(std::int64_t a, std::int64_t b) {
  std::int64_t out;
  if (!checked_add(a, b, out)) return std::nullopt;
  return out;
}
std::optional<std::int64_t> multiply(std::int64_t a, std::int64_t b) {
  std::int64_t out;
  if (!checked_mul(a, b, out)) return std::nullopt;
  return out;
}

Maybe sum(Interval a, Interval b) {
  const auto lo = add(a.min, b.min);
  const auto hi = add(a.max, b.max);
  if (!lo || !hi) return std::nullopt;
  return Interval{*lo, *hi};
}

Maybe negated(Interval a) {
  const auto lo = multiply(a.max, -1);
  const auto hi = multiply(a.min, -1);
  if (!lo || !hi) return std::nullopt;
  return Interval{*lo, *hi};
}

Maybe product(Interval a, Interval b) {
  Maybe hull;
  for (const std::int64_t x : {a.min, a.max}) {
    for (const std::int64_t y : {b.min, b.max}) {
      const auto p = multiply(x, y);
      if (!p) return std::nullopt;
      hull = hull ? Interval{std::min(hull->min, *p), std::max(hull->max, *p)} : Interval{*p, *p};
    }
  }
  return hull;
}

Maybe of_binary(const Binary& binary, const SlotRanges& ranges, int first_index) {
  const Maybe left = interval_of(*binary.left, ranges, first_index);
  const Maybe right = interval_of(*binary.right, ranges, first_index);
  if (!left || !right) return std::nullopt;
  const bool by_positive_constant = right->min == right->max && right->min > 0;
  switch (binary.op) {
  case BinaryOp::Add: return sum(*left, *right);
  case BinaryOp::Sub: {
    const Maybe minus = negated(*right);
    return minus ? sum(*left, *minus) : std::nullopt;
  }
  case BinaryOp::Mul: return product(*left, *right);
  case BinaryOp::Div:
    if (!by_positive_constant) return std::nullopt;
    return Interval{floor_div(left->min, right->min), floor_div(left->max, right->min)};
  case BinaryOp::Mod:
    if (!by_positive_constant) return std::nullopt;
    return Interval{0, right->min - 1};
  case BinaryOp::Min:
    return Interval{std::min(left->min, right->min), std::min(left->max, right->max)};
  case BinaryOp::Max:
    return Interval{std::max(left->min, right->min), std::max(left->max, right->max)};
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::And:
  case BinaryOp::Or: return Interval{0, 1};
  }
  unreachable("binary operator");
}

/// a + factor * b
std::optional<Linear> combine(const Linear& a, const Linear& b, std::int64_t factor) {
  Linear out = a;
  const auto scaled = multiply(b.constant, factor);
  const auto constant = scaled ? add(a.constant, *scaled) : std::nullopt;
  if (!constant) return std::nullopt;
  out.constant = *constant;
  for (const Linear::Term& term : b.terms) {
    const auto coefficient = multiply(term.coefficient, factor);
    if (!coefficient) return std::nullopt;
    const auto at =
        std::find_if(out.terms.begin(), out.terms.end(),
                     [&](const Linear::Term& existing) { return existing.slot >= term.slot; });
    if (at == out.terms.end() || at->slot != term.slot) {
      out.terms.insert(at, {term.slot, *coefficient});
      continue;
    }
    const auto total = add(at->coefficient, *coefficient);
    if (!total) return std::nullopt;
    at->coefficient = *total;
  }
  out.terms.erase(std::remove_if(out.terms.begin(), out.terms.end(),
                                 [](const Linear::Term& term) { return term.coefficient == 0; }),
                  out.terms.end());
  return out;
}

std::optional<Linear> linear_of_binary(const Binary& binary, int first_index) {
  const auto left = linear_of(*binary.left, first_index);
  const auto right = linear_of(*binary.right, first_index);
  if (!left || !right) return std::nullopt;
  switch (binary.op) {
  case BinaryOp::Add: return combine(*left, *right, 1);
  case BinaryOp::Sub: return combine(*left, *right, -1);
  case BinaryOp::Mul:
    if (left->terms.empty()) return combine({}, *right, left->constant);
    if (right->terms.empty()) return combine({}, *left, right->constant);
    return std::nullopt;
  default: return std::nullopt;
  }
}

}  // namespace

std::optional<Interval> interval_of(const Expr& expr, const SlotRanges& ranges, int first_index) {
  const auto slot = [&](int at) { return ranges[static_cast<std::size_t>(at)]; };
  const auto of = [&](const ExprPtr& e) { return interval_of(*e, ranges, first_index); };
  return std::visit(Overloaded{
                        [](const IntConst& c) { return Maybe(Interval{c.value, c.value}); },
                        [&](const IndexRef& i) { return slot(first_index + i.index); },
                        [&](const ForRef& f) { return slot(f.var); },
                        [&](const Unary& u) -> Maybe {
                          const Maybe operand = of(u.operand);
                          if (u.op == UnaryOp::Not) return Interval{0, 1};
                          return operand ? negated(*operand) : std::nullopt;
                        },
                        [&](const Binary& b) { return of_binary(b, ranges, first_index); },
                        [&](const Select& s) -> Maybe {
                          const Maybe a = of(s.if_true);
                          const Maybe b = of(s.if_false);
                          if (!a || !b) return std::nullopt;
                          return Interval{std::min(a->min, b->min), std::max(a->max, b->max)};
                        },
                        // A widening of an index keeps its values; anything else may wrap.
                        [&](const Cast& c) -> Maybe {
                          return c.to == DType::Int64 && is_integer(c.operand->type) ? of(c.operand)
                                                                                     : std::nullopt;
                        },
                        [](const auto&) -> Maybe { return std::nullopt; },
                    },
                    expr.node);
}

std::optional<Interval> interval_of(const Linear& linear, const SlotRanges& ranges) {
  Maybe total = Interval{linear.constant, linear.constant};
  for (const Linear::Term& term : linear.terms) {
    const Maybe range = ranges[static_cast<std::size_t>(term.slot)];
    const Maybe scaled =
        range ? product(*range, {term.coefficient, term.coefficient}) : std::nullopt;
    total = scaled ? sum(*total, *scaled) : std::nullopt;
    if (!total) return std::nullopt;
  }
  return total;
}

std::optional<Linear> linear_of(const Expr& expr, int first_index) {
  return std::visit(
      Overloaded{
          [](const IntConst& c) { return std::optional(Linear{c.value, {}}); },
          [&](const IndexRef& i) { return std::optional(Linear{0, {{first_index + i.index, 1}}}); },
          [](const ForRef& f) { return std::optional(Linear{0, {{f.var, 1}}}); },
          [&](const Unary& u) -> std::optional<Linear> {
            const auto operand = linear_of(*u.operand, first_index);
            if (!operand || u.op != UnaryOp::Negate) return std::nullopt;
            return combine({}, *operand, -1);
          },
          [&](const Binary& b) { return linear_of_binary(b, first_index); },
          [&](const Cast& c) -> std::optional<Linear> {
            if (c.to != DType::Int64 || !is_integer(c.operand->type)) return std::nullopt;
            return linear_of(*c.operand, first_index);
          },
          [](const auto&) -> std::optional<Linear> { return std::nullopt; },
      },
      expr.node);
}

Access::Access(const Placement& placement, std::vector<Subscript> subscripts,
               const SlotRanges& ranges)
    : always_inside_(true) {
  check(subscripts.size() == placement.extent.size(), "an access has one subscript per dimension");
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    Dimension dimension{std::move(subscripts[d]), placement.begin[d], placement.extent[d],
                        placement.stride[d]};
    const auto& linear = dimension.subscript.linear;
    const Maybe values = linear ? interval_of(*linear, ranges) : std::nullopt;
    always_inside_ = always_inside_ && values && values->min >= dimension.begin &&
                     values->max - dimension.begin < dimension.extent;
    if (always_inside_) {
      auto next = combine(sum_, *linear, dimension.stride);
      const auto shift = multiply(dimension.begin, dimension.stride);
      const auto constant =
          next && shift ? add(next->constant, -*shift) : std::optional<std::int64_t>();
      always_inside_ = constant.has_value();
      if (constant) {
        next->constant = *constant;
        sum_ = std::move(*next);
      }
    }
    dimensions_.push_back(std::move(dimension));
  }
}

std::int64_t Access::checked_offset(Vars vars) const {
  std::int64_t offset = 0;
  for (const Dimension& dimension : dimensions_) {
    const Subscript& subscript = dimension.subscript;
    const std::int64_t value =
        subscript.linear ? subscript.linear->eval(vars) : subscript.general->eval(vars);
    // Compared without the subtraction, which a wild gathered value could overflow.
    if (value < dimension.begin || value >= dimension.begin + dimension.extent) return -1;
    offset += (value - dimension.begin) * dimension.stride;
  }
  return offset;
}

}  // namespace tc::lang::interp
