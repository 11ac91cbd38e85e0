// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tc/codegen/cuda/builtins.h"
#include "tc/codegen/cuda/emitter.h"
#include "tc/kernel/fold.h"
#include "tc/support/check.h"

namespace tc::codegen::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

constexpr std::int64_t kIntMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();

bool is_int_range(const kernel::Interval& range) {
  return range.lo >= kIntMin && range.hi <= kIntMax;
}

Binding binding_of(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub: return Binding::Sum;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod: return Binding::Product;
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge: return Binding::Order;
  case BinaryOp::Eq:
  case BinaryOp::Ne: return Binding::Equality;
  case BinaryOp::And: return Binding::And;
  case BinaryOp::Or: return Binding::Or;
  case BinaryOp::Min:
  case BinaryOp::Max: return Binding::Whole;
  }
  unreachable("binary operation");
}

const char* reduce_name(kernel::ReduceOp op) {
  switch (op) {
  case kernel::ReduceOp::Add: return "tc::reduce_add";
  case kernel::ReduceOp::Mul: return "tc::reduce_mul";
  case kernel::ReduceOp::Min: return "tc::reduce_min";
  case kernel::ReduceOp::Max: return "tc::reduce_max";
  case kernel::ReduceOp::And: return "tc::reduce_and";
  case kernel::ReduceOp::Or: return "tc::reduce_or";
  }
  unreachable("reduction");
}

}  // namespace

std::string value_type(kernel::Type type) {
  const std::string elem = type.elem == DType::Bool ? "bool" : storage_type(type.elem);
  return type.lanes == 1 ? elem : fmt::format("tc::vec<{}, {}>", elem, type.lanes);
}

std::string storage_type(DType type) {
  switch (type) {
  case DType::Bool: return "tc::boolean";
  case DType::Int32: return "int";
  case DType::Float32: return "float";
  case DType::Float64: return "double";
  case DType::Int4: return "tc::packed_int4";
  case DType::UInt4: return "tc::packed_uint4";
  default: return "tc::" + std::string(name(type));
  }
}

std::string Emitter::wrapped(const Text& text, Binding at_least) const {
  return text.binding < at_least ? "(" + text.code + ")" : text.code;
}

Text Emitter::infix(const Text& left, const char* op, Binding binding, const Text& right,
                    DType elem) const {
  // The operators associate to the left: an equal one on the right needs parentheses.
  const auto tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
  return {fmt::format("{} {} {}", wrapped(left, binding), op, wrapped(right, tighter)), binding,
          elem, std::max(left.lanes, right.lanes)};
}

Text Emitter::function(const std::string& name, const std::vector<Text>& args, DType elem,
                       int lanes) const {
  std::string list;
  for (const auto& arg : args)
    list += (list.empty() ? "" : ", ") + arg.code;
  return {fmt::format("{}({})", name, list), Binding::Whole, elem, lanes};
}

Text Emitter::widened(Text text) const {
  if (text.elem != DType::Int32) return text;
  const bool vector = text.lanes > 1;
  return function(vector ? "tc::cast<tc::int64>" : "tc::int64", {text}, DType::Int64, text.lanes);
}

void Emitter::unify(Text& a, Text& b) const {
  if (a.elem == b.elem) return;
  a = widened(std::move(a));
  b = widened(std::move(b));
}

Text Emitter::typed(const ExprPtr& expr) {
  Text text = value(expr);
  return expr->type.elem == DType::Int64 ? widened(std::move(text)) : text;
}

Text Emitter::value(const ExprPtr& expr, int lanes) {
  Text text = value(expr);
  if (text.lanes == lanes) return text;
  return function(fmt::format("tc::splat<{}>", lanes), {text}, text.elem, lanes);
}

Text Emitter::literal(std::int64_t value, DType type) const {
  const Binding binding = value < 0 ? Binding::Prefix : Binding::Whole;
  switch (type) {
  case DType::Bool: return {value != 0 ? "true" : "false", Binding::Whole, type};
  case DType::UInt32:
    return {fmt::format("{}u", static_cast<std::uint32_t>(value)), Binding::Whole, type};
  case DType::UInt64:
    return {fmt::format("{}ull", static_cast<std::uint64_t>(value)), Binding::Whole, type};
  default: break;
  }
  if (value > kIntMin && value <= kIntMax) return {std::to_string(value), binding, DType::Int32};
  if (value == kIntMin) return {"(-2147483647 - 1)", Binding::Whole, DType::Int32};
  if (value == std::numeric_limits<std::int64_t>::min())
    return {"(-9223372036854775807ll - 1)", Binding::Whole, DType::Int64};
  return {fmt::format("{}ll", value), binding, DType::Int64};
}

Text Emitter::float_literal(double value, DType type) const {
  const bool single = type == DType::Float32;
  const char* name = single ? "float" : "double";
  if (std::isnan(value)) return {fmt::format("tc::nan<{}>()", name), Binding::Whole, type};
  if (std::isinf(value))
    return {fmt::format("{}tc::infinity<{}>()", value < 0 ? "-" : "", name),
            value < 0 ? Binding::Prefix : Binding::Whole, type};
  // The shortest decimal number that reads back as the same value.
  std::string text =
      single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (single) text += "f";
  return {text, std::signbit(value) ? Binding::Prefix : Binding::Whole, type};
}

bool Emitter::fits_int(const ExprPtr& expr) const {
  return is_int_range(facts_.range(expr));
}

Text Emitter::value(const ExprPtr& expr) {
  const kernel::Type type = expr->type;
  return std::visit(
      Overloaded{
          [&](const kernel::IntImm& n) { return literal(n.value, type.elem); },
          [&](const kernel::FloatImm& n) { return float_literal(n.value, type.elem); },
          [&](const kernel::VarRef& n) -> Text {
            const auto found = vars_.find(n.var.id);
            check(found != vars_.end(), "a variable of a verified kernel is in scope");
            return {found->second.name, Binding::Whole,
                    found->second.is_int ? DType::Int32 : type.elem, type.lanes};
          },
          [&](const kernel::RegRef& n) { return register_text(n.reg, n.slot, type); },
          [&](const kernel::Unary& n) { return unary_text(n, expr); },
          [&](const kernel::Binary& n) { return binary_text(n, expr); },
          [&](const kernel::Select& n) { return select_text(n); },
          [&](const kernel::Cast& n) { return cast_text(n, type); },
          [&](const kernel::Load& n) { return load_text(n, type); },
          [&](const kernel::Ramp& n) { return ramp_text(n, expr); },
          [&](const kernel::Broadcast& n) { return value(n.value, type.lanes); },
          [&](const kernel::Call& n) { return call_text(n, type); },
          [&](const kernel::Reduce& n) {
            return function(reduce_name(n.op), {typed(n.vector)}, type.elem, 1);
          },
          [&](const kernel::Lane& n) -> Text {
            const Text vector = value(n.vector);
            return {fmt::format("{}[{}]", wrapped(vector, Binding::Whole), n.lane), Binding::Whole,
                    vector.elem};
          },
          [&](const kernel::Shuffle& n) { return shuffle_text(n, type); },
      },
      expr->node);
}

Text Emitter::register_text(int reg, const ExprPtr& slot, kernel::Type type) {
  const auto found = registers_.find(reg);
  check(found != registers_.end(), "a register of a verified kernel is in scope");
  if (found->second.count == 1) return {found->second.name, Binding::Whole, type.elem, type.lanes};
  return {fmt::format("{}[{}]", found->second.name, value(slot).code), Binding::Whole, type.elem,
          type.lanes};
}

Text Emitter::unary_text(const kernel::Unary& n, const ExprPtr& expr) {
  Text operand = value(n.operand);
  const DType elem = expr->type.elem;
  const auto prefixed = [&](const char* op) {
    return Text{fmt::format("{}{}", op, wrapped(operand, Binding::Whole)), Binding::Prefix,
                operand.elem, operand.lanes};
  };
  if (n.op == kernel::UnaryOp::Not) return prefixed("!");
  if (is_float(elem)) return prefixed("-");
  // The range is the whole type where the result may wrap.
  const kernel::Interval range = facts_.range(expr);
  const bool exact =
      elem != DType::UInt32 && elem != DType::UInt64 && range != kernel::full_interval(elem);
  if (elem == DType::Int64 && operand.elem == DType::Int32 && !is_int_range(range))
    operand = widened(std::move(operand));
  if (exact) return prefixed("-");
  return function("tc::wrap_negate", {operand}, operand.elem, operand.lanes);
}

Text Emitter::binary_text(const kernel::Binary& n, const ExprPtr& expr) {
  // A scalar in all lanes stays one where the other operand has the lanes.
  const auto* splat_left = std::get_if<kernel::Broadcast>(&n.left->node);
  const auto* splat_right = std::get_if<kernel::Broadcast>(&n.right->node);
  Text left = value(splat_left && !splat_right ? splat_left->value : n.left);
  Text right = value(splat_right ? splat_right->value : n.right);
  const DType elem = n.left->type.elem;
  switch (n.op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul: return arithmetic_text(n, expr, std::move(left), std::move(right));
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod: return division_text(n, expr, std::move(left), std::move(right));
  case BinaryOp::Div: return infix(left, "/", Binding::Product, right, elem);
  case BinaryOp::Min:
  case BinaryOp::Max:
    unify(left, right);
    if (elem == DType::Bool)
      return infix(left, n.op == BinaryOp::Min ? "&&" : "||",
                   n.op == BinaryOp::Min ? Binding::And : Binding::Or, right, elem);
    return function(fmt::format("tc::{}", kernel::symbol(n.op)), {left, right}, left.elem,
                    expr->type.lanes);
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
    if (expr->type.lanes > 1) unify(left, right);
    return infix(left, kernel::symbol(n.op), binding_of(n.op), right, DType::Bool);
  case BinaryOp::And:
  case BinaryOp::Or: return infix(left, kernel::symbol(n.op), binding_of(n.op), right, DType::Bool);
  }
  unreachable("binary operation");
}

Text Emitter::arithmetic_text(const kernel::Binary& n, const ExprPtr& expr, Text left, Text right) {
  const DType elem = expr->type.elem;
  const char* op = kernel::symbol(n.op);
  const Binding binding = binding_of(n.op);
  if (is_float(elem) || is_unsigned_integer(elem)) return infix(left, op, binding, right, elem);
  const kernel::Interval range = facts_.range(expr);
  const bool exact = range != kernel::full_interval(elem);
  const bool ints = left.elem == DType::Int32 && right.elem == DType::Int32;
  if (elem == DType::Int64 && !(ints && exact && is_int_range(range))) {
    // One wide scalar widens the other by the rules of C++; vectors and functions need both.
    const bool one_is_wide = left.elem != right.elem;
    if (!exact || expr->type.lanes > 1) {
      left = widened(std::move(left));
      right = widened(std::move(right));
    } else if (!one_is_wide) {
      left = widened(std::move(left));
    }
  }
  const DType result = left.elem == right.elem ? left.elem : DType::Int64;
  if (exact) return infix(left, op, binding, right, result);
  const char* name = n.op == BinaryOp::Add   ? "tc::wrap_add"
                     : n.op == BinaryOp::Sub ? "tc::wrap_sub"
                                             : "tc::wrap_mul";
  return function(name, {left, right}, result, expr->type.lanes);
}

Text Emitter::division_text(const kernel::Binary& n, const ExprPtr& expr, Text left, Text right) {
  const DType elem = expr->type.elem;
  const bool quotient = n.op == BinaryOp::FloorDiv;
  const char* op = quotient ? "/" : "%";
  const auto constant = kernel::constant_int(n.right);
  unify(left, right);
  if (is_unsigned_integer(elem)) {
    if (constant && *constant != 0) return infix(left, op, Binding::Product, right, elem);
  } else {
    const kernel::Interval a = facts_.range(n.left);
    const kernel::Interval b = facts_.range(n.right);
    // Toward minus infinity and toward zero agree.
    if (a.lo >= 0 && b.lo > 0) return infix(left, op, Binding::Product, right, left.elem);
    if (constant && *constant > 0 && std::has_single_bit(static_cast<std::uint64_t>(*constant))) {
      if (quotient)
        return infix(left, ">>", Binding::Shift,
                     literal(std::countr_zero(static_cast<std::uint64_t>(*constant)), DType::Int32),
                     left.elem);
      return infix(left, "&", Binding::BitAnd, literal(*constant - 1, DType::Int32), left.elem);
    }
    // The one quotient that is larger than its operands.
    if (elem == DType::Int64 && left.elem == DType::Int32 && quotient && a.lo <= kIntMin &&
        b.lo <= -1) {
      left = widened(std::move(left));
      right = widened(std::move(right));
    }
  }
  return function(quotient ? "tc::floor_div" : "tc::floor_mod", {left, right}, left.elem,
                  expr->type.lanes);
}

Text Emitter::select_text(const kernel::Select& n) {
  const Text condition = value(n.condition);
  Text if_true = value(n.if_true);
  Text if_false = value(n.if_false);
  unify(if_true, if_false);
  const int lanes = std::max(if_true.lanes, if_false.lanes);
  if (condition.lanes > 1 || lanes > 1) {
    const auto all_lanes = std::max(lanes, condition.lanes);
    return function("tc::select", {value(n.condition, all_lanes), if_true, if_false}, if_true.elem,
                    all_lanes);
  }
  return {fmt::format("{} ? {} : {}", wrapped(condition, Binding::Or),
                      wrapped(if_true, Binding::Or), wrapped(if_false, Binding::Or)),
          Binding::Ternary, if_true.elem};
}

Text Emitter::cast_text(const kernel::Cast& n, kernel::Type type) {
  const Text operand = value(n.operand);
  const DType from = n.operand->type.elem;
  if (n.to == from) return operand;
  // An int64 that the text holds as int already.
  if (operand.elem == DType::Int32 && (n.to == DType::Int64 || n.to == DType::Int32))
    return operand;
  if (type.lanes == 1 && is_float(n.to) && n.to == type.elem)
    return function(storage_type(n.to), {operand}, type.elem, 1);
  return function(fmt::format("tc::cast<{}>", storage_type(n.to)), {operand}, type.elem,
                  type.lanes);
}

Text Emitter::call_text(const kernel::Call& n, kernel::Type type) {
  const bool predicate = is_predicate(n.function);
  // Arguments of other types convert to the type of the result, as the language says.
  const DType elem = predicate ? n.args.front()->type.elem : type.elem;
  std::vector<Text> args;
  for (const auto& arg : n.args) {
    Text text = arg->type.elem == elem ? typed(arg) : value(kernel::cast(elem, arg));
    if (elem == DType::Int64) text = widened(std::move(text));
    if (text.lanes != type.lanes)
      text = function(fmt::format("tc::splat<{}>", type.lanes), {text}, text.elem, type.lanes);
    args.push_back(std::move(text));
  }
  headers_.insert("math");
  return function("tc::" + n.function, args, type.elem, type.lanes);
}

Text Emitter::ramp_text(const kernel::Ramp& n, const ExprPtr& expr) {
  Text base = value(n.base);
  if (expr->type.elem == DType::Int64 && !fits_int(expr)) base = widened(std::move(base));
  const Text stride = literal(n.stride, DType::Int64);
  return function(fmt::format("tc::ramp<{}>", expr->type.lanes), {base, stride}, base.elem,
                  expr->type.lanes);
}

Text Emitter::shuffle_text(const kernel::Shuffle& n, kernel::Type type) {
  // In a statement of its own: all threads of the group must come by, also where the expression
  // around it takes another way.
  const Text given = typed(n.value);
  const std::string name = identifiers_.unique("partner");
  headers_.insert("warp");
  line(fmt::format("const {} {} = tc::shuffle_xor<{}>({}, {});", value_type(type), name, n.group,
                   given.code, n.distance));
  return {name, Binding::Whole, type.elem};
}

}  // namespace tc::codegen::cuda
