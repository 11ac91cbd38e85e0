// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/fold.h"

#include <cmath>

#include "tc/kernel/host_arithmetic.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::kernel {
namespace {

ExprPtr fold_compare(BinaryOp op, int order) {
  switch (op) {
  case BinaryOp::Lt: return bool_imm(order < 0);
  case BinaryOp::Le: return bool_imm(order <= 0);
  case BinaryOp::Gt: return bool_imm(order > 0);
  case BinaryOp::Ge: return bool_imm(order >= 0);
  case BinaryOp::Eq: return bool_imm(order == 0);
  case BinaryOp::Ne: return bool_imm(order != 0);
  default: return nullptr;
  }
}

ExprPtr fold_unsigned(BinaryOp op, DType type, std::uint64_t a, std::uint64_t b) {
  const auto imm = [&](std::uint64_t v) { return int_imm(static_cast<std::int64_t>(v), type); };
  switch (op) {
  case BinaryOp::FloorDiv: return imm(b == 0 ? 0 : a / b);
  case BinaryOp::FloorMod: return imm(b == 0 ? 0 : a % b);
  case BinaryOp::Min: return imm(a < b ? a : b);
  case BinaryOp::Max: return imm(a < b ? b : a);
  default: return fold_compare(op, a < b ? -1 : a > b ? 1 : 0);
  }
}

ExprPtr fold_integer(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul: return int_imm(wrapping(op, a, b), type);
  case BinaryOp::And:
  case BinaryOp::Or:
  case BinaryOp::Div: return nullptr;
  default: break;
  }
  if (is_unsigned_integer(type))
    return fold_unsigned(op, type, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
  switch (op) {
  case BinaryOp::FloorDiv: return int_imm(floor_div(a, b), type);
  case BinaryOp::FloorMod: return int_imm(floor_mod(a, b), type);
  case BinaryOp::Min: return int_imm(a < b ? a : b, type);
  case BinaryOp::Max: return int_imm(a < b ? b : a, type);
  default: return fold_compare(op, a < b ? -1 : a > b ? 1 : 0);
  }
}

ExprPtr fold_bool(BinaryOp op, bool a, bool b) {
  switch (op) {
  case BinaryOp::And: return bool_imm(a && b);
  case BinaryOp::Or: return bool_imm(a || b);
  case BinaryOp::Eq: return bool_imm(a == b);
  case BinaryOp::Ne: return bool_imm(a != b);
  default: return nullptr;
  }
}

template <class T>
ExprPtr fold_floating(BinaryOp op, DType type, T a, T b) {
  const auto imm = [&](T v) { return float_imm(static_cast<double>(v), type); };
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (op) {
  case BinaryOp::Add: return imm(a + b);
  case BinaryOp::Sub: return imm(a - b);
  case BinaryOp::Mul: return imm(a * b);
  case BinaryOp::Div: return imm(a / b);
  // A NaN operand is the result; of two zeros of different sign, -0 counts as the smaller.
  case BinaryOp::Min:
    if (unordered) return imm(a + b);
    if (a == b) return imm(std::signbit(a) ? a : b);
    return imm(a < b ? a : b);
  case BinaryOp::Max:
    if (unordered) return imm(a + b);
    if (a == b) return imm(std::signbit(a) ? b : a);
    return imm(a < b ? b : a);
  case BinaryOp::Ne: return bool_imm(a != b);
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
    if (unordered) return bool_imm(false);
    return fold_compare(op, a < b ? -1 : a > b ? 1 : 0);
  default: return nullptr;
  }
}

}  // namespace

std::optional<std::int64_t> constant_int(const ExprPtr& expr) {
  if (const auto* imm = std::get_if<IntImm>(&expr->node)) return imm->value;
  if (const auto* splat = std::get_if<Broadcast>(&expr->node)) return constant_int(splat->value);
  return std::nullopt;
}

std::optional<double> constant_float(const ExprPtr& expr) {
  if (const auto* imm = std::get_if<FloatImm>(&expr->node)) return imm->value;
  if (const auto* splat = std::get_if<Broadcast>(&expr->node)) return constant_float(splat->value);
  return std::nullopt;
}

ExprPtr fold_binary(BinaryOp op, const ExprPtr& left, const ExprPtr& right) {
  const DType type = left->type.elem;
  if (is_float(type)) {
    const auto* a = std::get_if<FloatImm>(&left->node);
    const auto* b = std::get_if<FloatImm>(&right->node);
    if (!a || !b) return nullptr;
    if (type == DType::Float64) return fold_floating<double>(op, type, a->value, b->value);
    return fold_floating<float>(op, type, static_cast<float>(a->value),
                                static_cast<float>(b->value));
  }
  const auto* a = std::get_if<IntImm>(&left->node);
  const auto* b = std::get_if<IntImm>(&right->node);
  if (!a || !b) return nullptr;
  if (type == DType::Bool) return fold_bool(op, a->value != 0, b->value != 0);
  return fold_integer(op, type, a->value, b->value);
}

ExprPtr fold_cast(DType to, const ExprPtr& operand) {
  const DType result = compute_type(to);
  const DType from = operand->type.elem;
  if (const auto* imm = std::get_if<FloatImm>(&operand->node)) {
    if (is_float(to)) return float_imm(round_to(to, imm->value), result);
    if (to == DType::Bool) return bool_imm(imm->value != 0);
    return int_imm(float_to_integer(to, imm->value), result);
  }
  const auto* imm = std::get_if<IntImm>(&operand->node);
  if (!imm) return nullptr;
  if (to == DType::Bool) return bool_imm(imm->value != 0);
  if (is_integer(to)) return int_imm(wrap_to(to, imm->value), result);
  const bool wide = from == DType::UInt64;
  const auto bits = static_cast<std::uint64_t>(imm->value);
  // Straight to float32: a detour through double would round twice.
  if (to == DType::Float32)
    return float_imm(wide ? static_cast<float>(bits) : static_cast<float>(imm->value), result);
  if (to == DType::Float64)
    return float_imm(wide ? static_cast<double>(bits) : static_cast<double>(imm->value), result);
  return float_imm(round_to(to, wide ? round_to_odd(bits) : round_to_odd(imm->value)), result);
}

const char* symbol(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add: return "+";
  case BinaryOp::Sub: return "-";
  case BinaryOp::Mul: return "*";
  case BinaryOp::Div:
  case BinaryOp::FloorDiv: return "/";
  case BinaryOp::FloorMod: return "%";
  case BinaryOp::Min: return "min";
  case BinaryOp::Max: return "max";
  case BinaryOp::Lt: return "<";
  case BinaryOp::Le: return "<=";
  case BinaryOp::Gt: return ">";
  case BinaryOp::Ge: return ">=";
  case BinaryOp::Eq: return "==";
  case BinaryOp::Ne: return "!=";
  case BinaryOp::And: return "&&";
  case BinaryOp::Or: return "||";
  }
  unreachable("binary operation");
}

const char* symbol(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add: return "add";
  case ReduceOp::Mul: return "mul";
  case ReduceOp::Min: return "min";
  case ReduceOp::Max: return "max";
  case ReduceOp::And: return "and";
  case ReduceOp::Or: return "or";
  }
  unreachable("reduction");
}

}  // namespace tc::kernel
