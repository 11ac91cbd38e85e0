// SPDX-License-Identifier: Apache-2.0
//
// Builders: the only way to make expressions. They check types, broadcast scalars beside vectors,
// fold constants, keep scalar work scalar (an operation on two broadcasts is a broadcast) and keep
// ramps ramps, so that a subscript that is contiguous stays visibly so.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tc/kernel/fold.h"
#include "tc/kernel/ir.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::kernel {
namespace {

ExprPtr make(Type type, decltype(Expr::node) node) {
  return std::make_shared<const Expr>(Expr{type, std::move(node)});
}

bool is_compute_type(DType type) {
  return compute_type(type) == type;
}

bool is_comparison(BinaryOp op) {
  return op >= BinaryOp::Lt && op <= BinaryOp::Ne;
}

/// Brings operands to one lane count: equal already, or scalars that are repeated.
void unify_lanes(std::vector<ExprPtr*> operands) {
  int lanes = 1;
  for (const auto* operand : operands)
    if (*operand) lanes = std::max(lanes, (*operand)->type.lanes);
  for (auto* operand : operands)
    if (*operand) *operand = broadcast(*operand, lanes);
}

void check_operands(BinaryOp op, const Type& left, const Type& right) {
  check(left.elem == right.elem, "operands of a kernel expression have one element type");
  const bool number = left.elem != DType::Bool;
  switch (op) {
  case BinaryOp::Div: check(is_float(left.elem), "Div is for floating types"); break;
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod: check(is_integer(left.elem), "floor division is for integers"); break;
  case BinaryOp::And:
  case BinaryOp::Or: check(!number, "And and Or are for bool"); break;
  case BinaryOp::Eq:
  case BinaryOp::Ne: break;
  default: check(number, "arithmetic and order are not for bool"); break;
  }
}

/// Neutral and absorbing constants of scalar integer and bool operations; null if none applies.
ExprPtr absorb_integer(BinaryOp op, const ExprPtr& left, const ExprPtr& right) {
  const auto a = constant_int(left);
  const auto b = constant_int(right);
  switch (op) {
  case BinaryOp::Add:
    if (a == 0) return right;
    if (b == 0) return left;
    break;
  case BinaryOp::Sub:
    if (b == 0) return left;
    break;
  case BinaryOp::Mul:
    if (a == 0) return left;
    if (b == 0) return right;
    if (a == 1) return right;
    if (b == 1) return left;
    break;
  case BinaryOp::FloorDiv:
    if (b == 0 || b == 1) return b == 0 ? right : left;
    break;
  case BinaryOp::FloorMod:
    if (b == 0) return right;
    if (b == 1) return broadcast(int_imm(0, left->type.elem), left->type.lanes);
    break;
  case BinaryOp::And:
    if (a) return *a != 0 ? right : left;
    if (b) return *b != 0 ? left : right;
    break;
  case BinaryOp::Or:
    if (a) return *a != 0 ? left : right;
    if (b) return *b != 0 ? right : left;
    break;
  default: break;
  }
  return nullptr;
}

/// Operations that return an operand unchanged for every value (x+0 is not one: it turns -0 into
/// 0).
ExprPtr absorb_float(BinaryOp op, const ExprPtr& left, const ExprPtr& right) {
  const auto a = constant_float(left);
  const auto b = constant_float(right);
  if (op == BinaryOp::Mul && a == 1.0) return right;
  if ((op == BinaryOp::Mul || op == BinaryOp::Div) && b == 1.0) return left;
  return nullptr;
}

/// Sums of ramps and products with a constant; null if the result is not a ramp. Correct modulo the
/// width of the type.
ExprPtr ramp_arithmetic(BinaryOp op, const ExprPtr& left, const ExprPtr& right) {
  const int lanes = left->type.lanes;
  const auto* ra = std::get_if<Ramp>(&left->node);
  const auto* rb = std::get_if<Ramp>(&right->node);
  const auto* sa = std::get_if<Broadcast>(&left->node);
  const auto* sb = std::get_if<Broadcast>(&right->node);
  if (!(ra || sa) || !(rb || sb) || !(ra || rb)) return nullptr;
  const ExprPtr base_a = ra ? ra->base : sa->value;
  const ExprPtr base_b = rb ? rb->base : sb->value;
  const std::int64_t stride_a = ra ? ra->stride : 0;
  const std::int64_t stride_b = rb ? rb->stride : 0;
  const auto wrap = [](auto f, std::int64_t x, std::int64_t y) {
    return static_cast<std::int64_t>(
        f(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
  };
  switch (op) {
  case BinaryOp::Add:
    return ramp(add(base_a, base_b), wrap(std::plus<>(), stride_a, stride_b), lanes);
  case BinaryOp::Sub:
    return ramp(sub(base_a, base_b), wrap(std::minus<>(), stride_a, stride_b), lanes);
  case BinaryOp::Mul: {
    const auto factor = ra ? constant_int(right) : constant_int(left);
    if (!factor || (ra && rb)) return nullptr;
    return ramp(mul(base_a, base_b), wrap(std::multiplies<>(), ra ? stride_a : stride_b, *factor),
                lanes);
  }
  default: return nullptr;
  }
}

}  // namespace

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t d = extents.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<std::int64_t>(extents[d], 1);
  return strides;
}

std::int64_t span_elements(const Buffer& buffer) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < buffer.extents.size(); ++d)
    last += std::max<std::int64_t>(buffer.extents[d] - 1, 0) * buffer.strides[d];
  return last + 1;
}

std::int64_t span_bytes(const Buffer& buffer) {
  return ceil_div(span_elements(buffer) * bits(buffer.type), std::int64_t{8});
}

ExprPtr int_imm(std::int64_t value, DType type) {
  check(is_compute_type(type) && !is_float(type), "an integer constant has an integer type");
  if (type == DType::Bool) return make({type, 1}, IntImm{value != 0});
  return make({type, 1}, IntImm{wrap_to(type, value)});
}

ExprPtr float_imm(double value, DType type) {
  check(type == DType::Float32 || type == DType::Float64, "a float constant has a float type");
  return make({type, 1}, FloatImm{type == DType::Float32 ? static_cast<float>(value) : value});
}

ExprPtr bool_imm(bool value) {
  return make({DType::Bool, 1}, IntImm{value});
}

ExprPtr var_ref(const Var& var) {
  return make(var.type, VarRef{var});
}

ExprPtr reg_ref(int reg, ExprPtr slot, Type type) {
  check(slot->type == Type{DType::Int64, 1}, "a register slot is an int64 scalar");
  return make(type, RegRef{reg, std::move(slot)});
}

ExprPtr unary(UnaryOp op, ExprPtr operand) {
  const Type type = operand->type;
  if (op == UnaryOp::Not)
    check(type.elem == DType::Bool, "Not is for bool");
  else
    check(type.elem != DType::Bool, "Negate is not for bool");
  if (const auto* splat = std::get_if<Broadcast>(&operand->node))
    return broadcast(unary(op, splat->value), type.lanes);
  if (op == UnaryOp::Not) {
    if (const auto value = constant_int(operand)) return bool_imm(*value == 0);
    if (const auto* inner = std::get_if<Unary>(&operand->node)) return inner->operand;
    return make(type, Unary{op, std::move(operand)});
  }
  if (is_integer(type.elem) && !std::holds_alternative<Unary>(operand->node)) {
    if (const auto value = constant_int(operand))
      return sub(int_imm(0, type.elem), int_imm(*value, type.elem));
    if (const auto* r = std::get_if<Ramp>(&operand->node))
      return ramp(unary(op, r->base),
                  static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(r->stride)), type.lanes);
  }
  if (const auto value = constant_float(operand)) return float_imm(-*value, type.elem);
  if (const auto* inner = std::get_if<Unary>(&operand->node)) return inner->operand;
  return make(type, Unary{op, std::move(operand)});
}

ExprPtr binary(BinaryOp op, ExprPtr left, ExprPtr right) {
  check(left && right, "a binary operation has two operands");
  check_operands(op, left->type, right->type);
  unify_lanes({&left, &right});
  const int lanes = left->type.lanes;
  check(right->type.lanes == lanes, "operands of a kernel expression have one lane count");
  const DType elem = left->type.elem;
  const auto* sa = std::get_if<Broadcast>(&left->node);
  const auto* sb = std::get_if<Broadcast>(&right->node);
  if (sa && sb) return broadcast(binary(op, sa->value, sb->value), lanes);
  if (auto folded = fold_binary(op, left, right)) return folded;
  if (is_float(elem)) {
    if (auto absorbed = absorb_float(op, left, right)) return absorbed;
  } else {
    if (auto absorbed = absorb_integer(op, left, right)) return absorbed;
    if (auto combined = ramp_arithmetic(op, left, right)) return combined;
  }
  const Type type{is_comparison(op) ? DType::Bool : elem, lanes};
  return make(type, Binary{op, std::move(left), std::move(right)});
}

ExprPtr select(ExprPtr condition, ExprPtr if_true, ExprPtr if_false) {
  check(condition->type.elem == DType::Bool, "the condition of a Select is bool");
  check(if_true->type.elem == if_false->type.elem, "both sides of a Select have one type");
  unify_lanes({&condition, &if_true, &if_false});
  const Type type = if_true->type;
  check(condition->type.lanes == type.lanes && if_false->type.lanes == type.lanes,
        "operands of a Select have one lane count");
  if (const auto value = constant_int(condition)) return *value != 0 ? if_true : if_false;
  if (equal(if_true, if_false)) return if_true;
  const auto* sc = std::get_if<Broadcast>(&condition->node);
  const auto* st = std::get_if<Broadcast>(&if_true->node);
  const auto* sf = std::get_if<Broadcast>(&if_false->node);
  if (sc && st && sf) return broadcast(select(sc->value, st->value, sf->value), type.lanes);
  return make(type, Select{std::move(condition), std::move(if_true), std::move(if_false)});
}

ExprPtr cast(DType to, ExprPtr operand) {
  const Type from = operand->type;
  const Type type{compute_type(to), from.lanes};
  // A cast to a compute type that the operand already has changes nothing.
  if (to == from.elem) return operand;
  if (const auto* splat = std::get_if<Broadcast>(&operand->node))
    return broadcast(cast(to, splat->value), from.lanes);
  if (auto folded = fold_cast(to, operand)) return folded;
  if (const auto* inner = std::get_if<Cast>(&operand->node))
    if (inner->to == to) return operand;
  return make(type, Cast{to, std::move(operand)});
}

ExprPtr load(BufferPtr buffer, std::vector<ExprPtr> indices, ExprPtr mask, ExprPtr otherwise) {
  check(buffer != nullptr, "a load names its buffer");
  check(indices.size() == buffer->extents.size(), "a load has one subscript per dimension");
  int lanes = 1;
  for (const auto& index : indices)
    lanes = std::max(lanes, index->type.lanes);
  if (mask) lanes = std::max(lanes, mask->type.lanes);
  if (otherwise) lanes = std::max(lanes, otherwise->type.lanes);
  const Type type{compute_type(buffer->type), lanes};
  for (auto& index : indices) {
    check(index->type.elem == DType::Int64 || index->type.elem == DType::Int32,
          "a subscript is int32 or int64");
    check(index->type.lanes == 1 || index->type.lanes == lanes,
          "vector subscripts have the lanes of the result");
  }
  if (mask) {
    check(mask->type.elem == DType::Bool, "a mask is bool");
    mask = broadcast(mask, lanes);
  }
  if (otherwise) {
    check(otherwise->type.elem == type.elem, "a load and its replacement have one type");
    otherwise = broadcast(otherwise, lanes);
  }
  if (const auto value = mask ? constant_int(mask) : std::optional<std::int64_t>(1)) {
    if (*value == 0) {
      if (otherwise) return otherwise;
      return broadcast(is_float(type.elem) ? float_imm(0, type.elem) : int_imm(0, type.elem),
                       lanes);
    }
    mask = nullptr;
    otherwise = nullptr;
  }
  // One element for all lanes is one scalar load.
  const auto is_uniform = [](const ExprPtr& e) {
    return !e || e->type.lanes == 1 || std::holds_alternative<Broadcast>(e->node);
  };
  const auto scalar = [](const ExprPtr& e) {
    if (!e || e->type.lanes == 1) return e;
    return std::get<Broadcast>(e->node).value;
  };
  if (lanes > 1 && is_uniform(mask) && is_uniform(otherwise) &&
      std::all_of(indices.begin(), indices.end(), is_uniform)) {
    for (auto& index : indices)
      index = scalar(index);
    return broadcast(load(std::move(buffer), std::move(indices), scalar(mask), scalar(otherwise)),
                     lanes);
  }
  for (auto& index : indices)
    if (is_uniform(index)) index = scalar(index);
  return make(type,
              Load{std::move(buffer), std::move(indices), std::move(mask), std::move(otherwise)});
}

ExprPtr ramp(ExprPtr base, std::int64_t stride, int lanes) {
  check(base->type.lanes == 1, "the base of a ramp is a scalar");
  check(is_integer(base->type.elem), "a ramp has integers");
  check(lanes >= 1, "a ramp has at least one lane");
  stride = wrap_to(base->type.elem, stride);
  if (lanes == 1) return base;
  if (stride == 0) return broadcast(std::move(base), lanes);
  const Type type{base->type.elem, lanes};
  return make(type, Ramp{std::move(base), stride});
}

ExprPtr broadcast(ExprPtr value, int lanes) {
  if (value->type.lanes == lanes) return value;
  check(value->type.lanes == 1, "only a scalar is broadcast");
  check(lanes >= 1, "a broadcast has at least one lane");
  const Type type{value->type.elem, lanes};
  return make(type, Broadcast{std::move(value)});
}

ExprPtr call(std::string function, std::vector<ExprPtr> args, DType result) {
  check(is_compute_type(result), "a call has a compute type");
  check(!args.empty(), "a builtin has arguments");
  std::vector<ExprPtr*> operands;
  for (auto& arg : args)
    operands.push_back(&arg);
  unify_lanes(operands);
  const int lanes = args.front()->type.lanes;
  for (const auto& arg : args)
    check(arg->type.lanes == lanes, "arguments of a call have one lane count");
  if (std::all_of(args.begin(), args.end(), [](const ExprPtr& arg) {
        return std::holds_alternative<Broadcast>(arg->node);
      })) {
    std::vector<ExprPtr> scalars;
    for (const auto& arg : args)
      scalars.push_back(std::get<Broadcast>(arg->node).value);
    return broadcast(call(std::move(function), std::move(scalars), result), lanes);
  }
  return make({result, lanes}, Call{std::move(function), std::move(args)});
}

ExprPtr reduce(ReduceOp op, ExprPtr vector) {
  const bool logical = op == ReduceOp::And || op == ReduceOp::Or;
  check((vector->type.elem == DType::Bool) == logical,
        "And and Or reduce bool, the others numbers");
  if (vector->type.lanes == 1) return vector;
  const Type type{vector->type.elem, 1};
  if (const auto* splat = std::get_if<Broadcast>(&vector->node))
    if (op != ReduceOp::Add && op != ReduceOp::Mul) return splat->value;
  return make(type, Reduce{op, std::move(vector)});
}

ExprPtr lane(ExprPtr vector, int lane) {
  check(lane >= 0 && lane < vector->type.lanes, "a lane lies in its vector");
  if (vector->type.lanes == 1) return vector;
  if (const auto* splat = std::get_if<Broadcast>(&vector->node)) return splat->value;
  if (const auto* r = std::get_if<Ramp>(&vector->node)) {
    const DType elem = vector->type.elem;
    return add(r->base, mul(int_imm(r->stride, elem), int_imm(lane, elem)));
  }
  const Type type{vector->type.elem, 1};
  return make(type, Lane{std::move(vector), lane});
}

ExprPtr shuffle(ExprPtr value, int distance, int group) {
  const auto power = [](int n) { return n > 0 && (n & (n - 1)) == 0; };
  check(value->type.lanes == 1, "threads exchange scalars");
  check(power(group) && group <= 32 && power(distance) && distance < group,
        "a shuffle stays in its group");
  const Type type = value->type;
  return make(type, Shuffle{std::move(value), distance, group});
}

ExprPtr identity(ReduceOp op, DType type) {
  check(is_compute_type(type), "an identity has a compute type");
  if (type == DType::Bool)
    return bool_imm(op == ReduceOp::Mul || op == ReduceOp::Min || op == ReduceOp::And);
  const bool floating = is_float(type);
  switch (op) {
  case ReduceOp::Add: return floating ? float_imm(0, type) : int_imm(0, type);
  case ReduceOp::Mul: return floating ? float_imm(1, type) : int_imm(1, type);
  case ReduceOp::Min:
    if (floating) return float_imm(std::numeric_limits<double>::infinity(), type);
    return int_imm(static_cast<std::int64_t>(max_value(type)), type);
  case ReduceOp::Max:
    if (floating) return float_imm(-std::numeric_limits<double>::infinity(), type);
    return int_imm(min_value(type), type);
  case ReduceOp::And: return bool_imm(true);
  case ReduceOp::Or: return bool_imm(false);
  }
  unreachable("reduction");
}

StmtPtr make_stmt(decltype(Stmt::node) node) {
  return std::make_shared<const Stmt>(Stmt{std::move(node)});
}

StmtPtr block(std::vector<StmtPtr> stmts) {
  std::vector<StmtPtr> flat;
  for (auto& stmt : stmts) {
    if (!stmt) continue;
    if (const auto* inner = std::get_if<Block>(&stmt->node))
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    else
      flat.push_back(std::move(stmt));
  }
  if (flat.size() == 1) return flat.front();
  return make_stmt(Block{std::move(flat)});
}

}  // namespace tc::kernel
