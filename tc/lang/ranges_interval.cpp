// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/ranges_interval.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang {

namespace {

std::optional<Interval> hull_of(std::initializer_list<std::optional<std::int64_t>> values) {
  Interval hull{INT64_MAX, INT64_MIN};
  for (const std::optional<std::int64_t>& value : values) {
    if (!value) return std::nullopt;
    hull.lo = std::min(hull.lo, *value);
    hull.hi = std::max(hull.hi, *value);
  }
  return hull;
}

std::optional<std::int64_t> sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return checked_add(a, b, out) ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return checked_mul(a, b, out) ? std::optional(out) : std::nullopt;
}

std::optional<Interval> limits(DType type) {
  if (type == DType::Bool) return Interval{0, 1};
  if (!is_integer(type) || type == DType::UInt64) return std::nullopt;
  return Interval{min_value(type), static_cast<std::int64_t>(max_value(type))};
}

std::optional<Interval> divide(const Interval& a, const Interval& b) {
  if (b.lo <= 0 && b.hi >= 0) {
    if (b.lo != 0 || b.hi != 0) return std::nullopt;
    return Interval{0, 0};
  }
  if (a.lo == INT64_MIN) return std::nullopt;
  return hull_of(
      {floor_div(a.lo, b.lo), floor_div(a.lo, b.hi), floor_div(a.hi, b.lo), floor_div(a.hi, b.hi)});
}

std::optional<Interval> remainder_of(const Interval& a, const Interval& b) {
  if (b.lo != b.hi) return std::nullopt;
  if (b.lo == 0) return Interval{0, 0};
  if (b.lo == INT64_MIN || a.lo == INT64_MIN) return std::nullopt;
  if (floor_div(a.lo, b.lo) == floor_div(a.hi, b.lo))
    return hull_of({floor_mod(a.lo, b.lo), floor_mod(a.hi, b.lo)});
  return b.lo > 0 ? Interval{0, b.lo - 1} : Interval{b.lo + 1, 0};
}

std::optional<Interval> combine(BinaryOp op, const Interval& a, const Interval& b) {
  switch (op) {
  case BinaryOp::Add: return hull_of({sum(a.lo, b.lo), sum(a.hi, b.hi)});
  case BinaryOp::Sub: {
    if (b.lo == INT64_MIN || b.hi == INT64_MIN) return std::nullopt;
    return hull_of({sum(a.lo, -b.hi), sum(a.hi, -b.lo)});
  }
  case BinaryOp::Mul:
    return hull_of(
        {product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo), product(a.hi, b.hi)});
  case BinaryOp::Div: return divide(a, b);
  case BinaryOp::Mod: return remainder_of(a, b);
  case BinaryOp::Min: return Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  case BinaryOp::Max: return Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::And:
  case BinaryOp::Or: return Interval{0, 1};
  }
  unreachable("a binary operator");
}

std::optional<Interval> lookup(const Intervals& variables, Variable variable) {
  const auto at = variables.find(variable);
  if (at == variables.end()) return std::nullopt;
  return at->second;
}

}  // namespace

std::optional<Interval> interval(const TypedDef& def, const ExprPtr& expr,
                                 const Intervals& variables) {
  using Answer = std::optional<Interval>;
  if (!expr || is_float(expr->type)) return std::nullopt;
  auto of = [&](const ExprPtr& child) { return interval(def, child, variables); };
  return std::visit(
      Overloaded{
          [](const IntConst& node) -> Answer { return Interval{node.value, node.value}; },
          [](const FloatConst&) -> Answer { return std::nullopt; },
          [&](const IndexRef& node) -> Answer { return lookup(variables, {false, node.index}); },
          [&](const ForRef& node) -> Answer { return lookup(variables, {true, node.var}); },
          [](const SizeRef&) -> Answer { return std::nullopt; },
          [](const ConstRef&) -> Answer { return std::nullopt; },
          [](const DimOf&) -> Answer { return std::nullopt; },
          [&](const Read& node) -> Answer {
            return limits(read_type(def.tensors[static_cast<std::size_t>(node.tensor)].type));
          },
          [&](const Unary& node) -> Answer {
            if (node.op == UnaryOp::Not) return Interval{0, 1};
            const Answer operand = of(node.operand);
            if (!operand || operand->lo == INT64_MIN || operand->hi == INT64_MIN)
              return std::nullopt;
            return hull_of({-operand->hi, -operand->lo});
          },
          [&](const Binary& node) -> Answer {
            const Answer left = of(node.left);
            const Answer right = left ? of(node.right) : std::nullopt;
            if (!right) return expr->type == DType::Bool ? Answer(Interval{0, 1}) : std::nullopt;
            return combine(node.op, *left, *right);
          },
          [&](const Select& node) -> Answer {
            const Answer yes = of(node.if_true);
            const Answer no = yes ? of(node.if_false) : std::nullopt;
            if (!no) return std::nullopt;
            return hull_of({yes->lo, yes->hi, no->lo, no->hi});
          },
          [&](const Cast& node) -> Answer {
            const Answer range = limits(node.to);
            const Answer operand = of(node.operand);
            // A conversion that may wrap takes any value of its type.
            if (operand && range && operand->lo >= range->lo && operand->hi <= range->hi)
              return operand;
            return range;
          },
          [&](const Builtin&) -> Answer { return limits(expr->type); },
      },
      expr->node);
}

namespace {

bool is_affine_binary(const Binary& node) {
  switch (node.op) {
  case BinaryOp::Mul:
    return is_affine(node.left) && is_affine(node.right) &&
           (evaluate(node.left, IntEnv{}) || evaluate(node.right, IntEnv{}));
  case BinaryOp::Div:
  case BinaryOp::Mod: return is_affine(node.left) && evaluate(node.right, IntEnv{}).has_value();
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::And:
  case BinaryOp::Or: return is_affine(node.left) && is_affine(node.right);
  }
  unreachable("a binary operator");
}

}  // namespace

bool is_affine(const ExprPtr& expr) {
  if (expr->type != DType::Int32 && expr->type != DType::Int64 && expr->type != DType::Bool)
    return false;
  if (std::holds_alternative<IntConst>(expr->node) ||
      std::holds_alternative<IndexRef>(expr->node) || std::holds_alternative<ForRef>(expr->node)) {
    return true;
  }
  if (const auto* node = std::get_if<Unary>(&expr->node)) return is_affine(node->operand);
  if (const auto* node = std::get_if<Binary>(&expr->node)) return is_affine_binary(*node);
  if (const auto* node = std::get_if<Cast>(&expr->node)) {
    return is_signed_integer(node->to) && is_signed_integer(node->operand->type) &&
           bits(node->to) >= bits(node->operand->type) && bits(node->to) >= 32 &&
           is_affine(node->operand);
  }
  if (const auto* node = std::get_if<Select>(&expr->node)) {
    return is_affine(node->condition) && is_affine(node->if_true) && is_affine(node->if_false);
  }
  return false;
}

}  // namespace tc::lang
