// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/combine.h"

#include "tc/support/check.h"

namespace tc::lower {

using kernel::BinaryOp;
using kernel::ExprPtr;
using kernel::ReduceOp;
using tile::Combine;

namespace {

BinaryOp binary_op(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add: return BinaryOp::Add;
  case ReduceOp::Mul: return BinaryOp::Mul;
  case ReduceOp::Min: return BinaryOp::Min;
  case ReduceOp::Max: return BinaryOp::Max;
  case ReduceOp::And: return BinaryOp::And;
  case ReduceOp::Or: return BinaryOp::Or;
  }
  unreachable("reduction");
}

/// True where (value, position) `b` replaces `a`.
ExprPtr replaces(bool is_max, const Partial& a, const Partial& b) {
  const BinaryOp order = is_max ? BinaryOp::Gt : BinaryOp::Lt;
  ExprPtr better = kernel::binary(order, b[0], a[0]);
  ExprPtr ties = kernel::binary(BinaryOp::Eq, b[0], a[0]);
  if (is_float(a[0]->type.elem)) {
    const ExprPtr a_nan = kernel::binary(BinaryOp::Ne, a[0], a[0]);
    const ExprPtr b_nan = kernel::binary(BinaryOp::Ne, b[0], b[0]);
    const ExprPtr first_nan =
        kernel::binary(BinaryOp::And, b_nan, kernel::unary(kernel::UnaryOp::Not, a_nan));
    better = kernel::binary(BinaryOp::Or, better, first_nan);
    ties = kernel::binary(BinaryOp::Or, ties, kernel::binary(BinaryOp::And, a_nan, b_nan));
  }
  const ExprPtr earlier = kernel::binary(BinaryOp::Lt, b[1], a[1]);
  return kernel::binary(BinaryOp::Or, better, kernel::binary(BinaryOp::And, ties, earlier));
}

}  // namespace

bool is_arg_reduction(const tile::Op& op) {
  return op.combine && (*op.combine == Combine::ArgMin || *op.combine == Combine::ArgMax);
}

ReduceOp reduce_op(const tile::Op& op) {
  const bool logical = compute_type(op.targets[0].buffer->type) == DType::Bool;
  switch (*op.combine) {
  case Combine::Add: return logical ? ReduceOp::Or : ReduceOp::Add;
  case Combine::Mul: return logical ? ReduceOp::And : ReduceOp::Mul;
  case Combine::Min: return logical ? ReduceOp::And : ReduceOp::Min;
  case Combine::Max: return logical ? ReduceOp::Or : ReduceOp::Max;
  case Combine::ArgMin:
  case Combine::ArgMax: break;
  }
  unreachable("a reduction to a position has no single operation");
}

Partial identity_of(const tile::Op& op, int lanes) {
  if (!is_arg_reduction(op)) {
    const DType type = compute_type(op.targets[0].buffer->type);
    return Partial(op.targets.size(),
                   kernel::broadcast(kernel::identity(reduce_op(op), type), lanes));
  }
  const ReduceOp value = *op.combine == Combine::ArgMax ? ReduceOp::Max : ReduceOp::Min;
  return {
      kernel::broadcast(kernel::identity(value, compute_type(op.targets[0].buffer->type)), lanes),
      kernel::broadcast(kernel::identity(ReduceOp::Min, compute_type(op.targets[1].buffer->type)),
                        lanes)};
}

ExprPtr differs_from_identity(const tile::Op& op, const Partial& values, int lanes) {
  const Partial identity = identity_of(op, lanes);
  ExprPtr any;
  for (std::size_t t = is_arg_reduction(op) ? 1 : 0; t < values.size(); ++t) {
    const ExprPtr differs = kernel::binary(BinaryOp::Ne, values[t], identity[t]);
    any = any ? kernel::binary(BinaryOp::Or, any, differs) : differs;
  }
  return any;
}

Partial combine(const tile::Op& op, const Partial& left, const Partial& right) {
  return combine_where(op, nullptr, left, right);
}

Partial combine_where(const tile::Op& op, const ExprPtr& mask, const Partial& left,
                      const Partial& right) {
  if (is_arg_reduction(op)) {
    ExprPtr take = replaces(*op.combine == Combine::ArgMax, left, right);
    if (mask) take = kernel::binary(BinaryOp::And, mask, take);
    return {kernel::select(take, right[0], left[0]), kernel::select(take, right[1], left[1])};
  }
  Partial result;
  for (std::size_t t = 0; t < left.size(); ++t) {
    ExprPtr together = kernel::binary(binary_op(reduce_op(op)), left[t], right[t]);
    result.push_back(mask ? kernel::select(mask, together, left[t]) : std::move(together));
  }
  return result;
}

}  // namespace tc::lower
