// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/specialise_fold.h"

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang {

namespace {

bool is_arithmetic(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul;
}

}  // namespace

bool fits_int32(std::int64_t value) {
  return wrap_to(DType::Int32, value) == value;
}

ExprPtr make_position(std::int64_t value, SourceRange range) {
  return make_int(value, fits_int32(value) ? DType::Int32 : DType::Int64, range);
}

ExprPtr Folder::position(const ExprPtr& expr) const {
  return expr ? fold(expr, true) : expr;
}

ExprPtr Folder::value(const ExprPtr& expr) const {
  return expr ? fold(expr, false) : expr;
}

ExprPtr Folder::widened(const ExprPtr& expr) const {
  return make_cast(DType::Int64, expr, expr->range);
}

ExprPtr Folder::constant_of(const ExprPtr& expr, const ConstRef& node) const {
  const Bindings::ConstValue& bound = values_.consts.at(static_cast<std::size_t>(node.id));
  const DType declared = def_.consts.at(static_cast<std::size_t>(node.id)).type;
  if (is_float(declared))
    return make_float(round_to(declared, bound.real), expr->type, expr->range);
  const std::int64_t value = declared == DType::Bool ? bound.integer != 0 : bound.integer;
  return make_int(value, expr->type, expr->range);
}

ExprPtr Folder::binary(const ExprPtr& expr, const Binary& node, bool is_position) const {
  ExprPtr left = fold(node.left, is_position);
  ExprPtr right = fold(node.right, is_position);
  const bool narrow = left->type == DType::Int32 && right->type == DType::Int32;
  if (is_position && narrow && is_arithmetic(node.op)) {
    const auto plain = make_expr(DType::Int32, expr->range, Binary{node.op, left, right});
    const std::optional<Interval> values = interval(def_, plain, intervals);
    if (!values || !fits_int32(values->lo) || !fits_int32(values->hi)) left = widened(left);
  }
  ExprPtr result = make_binary(node.op, left, right, expr->range);
  // Bounds with large constants fold to int64 and come back to int32 when they can.
  if (const auto* constant = std::get_if<IntConst>(&result->node);
      is_position && constant && result->type == DType::Int64) {
    return make_position(constant->value, expr->range);
  }
  return result;
}

ExprPtr Folder::select(const ExprPtr& expr, const Select& node, bool is_position) const {
  const ExprPtr condition = fold(node.condition, is_position);
  ExprPtr if_true = fold(node.if_true, is_position);
  ExprPtr if_false = fold(node.if_false, is_position);
  if (if_true->type != if_false->type) {
    const DType wide = promote(if_true->type, if_false->type).value_or(if_true->type);
    if_true = make_cast(wide, if_true, if_true->range);
    if_false = make_cast(wide, if_false, if_false->range);
  }
  if (const auto* known = std::get_if<IntConst>(&condition->node)) {
    return known->value != 0 ? if_true : if_false;
  }
  const DType type = if_true->type;
  return make_expr(type, expr->range, Select{condition, std::move(if_true), std::move(if_false)});
}

ExprPtr Folder::fold(const ExprPtr& expr, bool is_position) const {
  return std::visit(
      Overloaded{
          [&](const IntConst&) { return expr; },
          [&](const FloatConst&) { return expr; },
          [&](const IndexRef& node) {
            const DType type = index_types.at(static_cast<std::size_t>(node.index));
            return type == expr->type ? expr : make_index(node.index, type, expr->range);
          },
          [&](const ForRef& node) {
            const DType type = for_types.at(node.var);
            return type == expr->type ? expr : make_expr(type, expr->range, node);
          },
          [&](const SizeRef& node) {
            return make_position(values_.sizes.at(static_cast<std::size_t>(node.size)),
                                 expr->range);
          },
          [&](const ConstRef& node) { return constant_of(expr, node); },
          [&](const DimOf&) -> ExprPtr { unreachable("a DimOf after range inference"); },
          [&](const Read& node) {
            Read copy = node;
            for (ExprPtr& subscript : copy.subscripts)
              subscript = fold(subscript, true);
            const DType stored = def_.tensors.at(static_cast<std::size_t>(node.tensor)).type;
            const DType type = compute_type(read_type(stored));
            if (copy.pad) copy.pad = make_cast(type, fold(copy.pad, false), copy.pad->range);
            return make_expr(type, expr->range, std::move(copy));
          },
          [&](const Unary& node) {
            ExprPtr operand = fold(node.operand, is_position);
            if (is_position && node.op == UnaryOp::Negate && operand->type == DType::Int32) {
              const std::optional<Interval> values = interval(def_, operand, intervals);
              if (!values || values->lo <= INT32_MIN) operand = widened(operand);
            }
            return make_unary(node.op, operand, expr->range);
          },
          [&](const Binary& node) { return binary(expr, node, is_position); },
          [&](const Select& node) { return select(expr, node, is_position); },
          [&](const Cast& node) {
            const ExprPtr operand = fold(node.operand, is_position);
            return make_cast(node.to, operand, expr->range);
          },
          [&](const Builtin& node) {
            Builtin copy = node;
            DType type = expr->type;
            for (ExprPtr& arg : copy.args)
              arg = fold(arg, is_position);
            // A builtin that keeps the type of its argument follows it.
            const bool follows =
                is_integer(type) && copy.args.size() == 1 && is_integer(copy.args[0]->type);
            if (follows) type = copy.args[0]->type;
            return make_expr(type, expr->range, std::move(copy));
          },
      },
      expr->node);
}

}  // namespace tc::lang
