// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "tc/lang/builtins.h"
#include "tc/lang/operand.h"
#include "tc/support/check.h"

namespace tc::lang {

Operand Operand::poison(SourceRange range) {
  Operand out;
  out.range = range;
  return out;
}

Operand Operand::pending(SourceRange range) {
  Operand out;
  out.kind = Kind::Pending;
  out.range = range;
  return out;
}

Operand Operand::typed(DType type, ExprPtr expr, SourceRange range) {
  check(expr && expr->type == compute_type(type), "a typed operand must be of its compute type");
  Operand out;
  out.kind = Kind::Typed;
  out.type = type;
  out.expr = std::move(expr);
  out.range = range;
  return out;
}

std::string describe(const Operand& operand) {
  if (operand.is(Operand::Kind::Literal))
    return fmt::format("the literal {}", to_string(operand.literal));
  return std::string(name(operand.type));
}

namespace {

BinaryOp typed_op(ast::BinaryOp op) {
  switch (op) {
  case ast::BinaryOp::Add: return BinaryOp::Add;
  case ast::BinaryOp::Sub: return BinaryOp::Sub;
  case ast::BinaryOp::Mul: return BinaryOp::Mul;
  case ast::BinaryOp::Div: return BinaryOp::Div;
  case ast::BinaryOp::Mod: return BinaryOp::Mod;
  case ast::BinaryOp::Lt: return BinaryOp::Lt;
  case ast::BinaryOp::Gt: return BinaryOp::Gt;
  case ast::BinaryOp::Le: return BinaryOp::Le;
  case ast::BinaryOp::Ge: return BinaryOp::Ge;
  case ast::BinaryOp::Eq: return BinaryOp::Eq;
  case ast::BinaryOp::Ne: return BinaryOp::Ne;
  case ast::BinaryOp::And: return BinaryOp::And;
  case ast::BinaryOp::Or: return BinaryOp::Or;
  }
  unreachable("BinaryOp");
}

bool is_comparison(BinaryOp op) {
  return op == BinaryOp::Lt || op == BinaryOp::Le || op == BinaryOp::Gt || op == BinaryOp::Ge ||
         op == BinaryOp::Eq || op == BinaryOp::Ne;
}

bool all_literals(const std::vector<Operand>& operands) {
  return std::all_of(operands.begin(), operands.end(),
                     [](const Operand& operand) { return operand.is(Operand::Kind::Literal); });
}

/// Levels that combine_bools() puts on its operands, at most.
constexpr int kBoolLevels = 3;

/// An operator of two bools other than && and ||. Without a tensor read on the right it is logic,
/// which conditions in `where` understand. With one it is a number's: the right side of && and ||
/// is guarded by the left, and here both are evaluated.
ExprPtr combine_bools(BinaryOp op, const ExprPtr& left, const ExprPtr& right, SourceRange range) {
  if (op == BinaryOp::Eq || op == BinaryOp::Ne) return make_binary(op, left, right, range);
  const auto negated = [&](const ExprPtr& e) { return make_unary(UnaryOp::Not, e, range); };
  if (!contains_read(right)) {
    switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Max: return make_binary(BinaryOp::Or, left, right, range);
    case BinaryOp::Mul:
    case BinaryOp::Min: return make_binary(BinaryOp::And, left, right, range);
    case BinaryOp::Lt: return make_binary(BinaryOp::And, negated(left), right, range);
    case BinaryOp::Le: return make_binary(BinaryOp::Or, negated(left), right, range);
    case BinaryOp::Gt: return make_binary(BinaryOp::And, left, negated(right), range);
    case BinaryOp::Ge: return make_binary(BinaryOp::Or, left, negated(right), range);
    case BinaryOp::Sub:
    case BinaryOp::Div:
    case BinaryOp::Mod:
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::And:
    case BinaryOp::Or: unreachable("an operator that bools lack or that is logic already");
    }
  }
  if (op == BinaryOp::Add) op = BinaryOp::Max;
  if (op == BinaryOp::Mul) op = BinaryOp::Min;
  ExprPtr number = make_binary(op, make_cast(DType::Int32, left, range),
                               make_cast(DType::Int32, right, range), range);
  if (is_comparison(op)) return number;
  return make_binary(BinaryOp::Ne, std::move(number), make_int(0, DType::Int32, range), range);
}

bool is_zero(const Operand& operand) {
  if (operand.is(Operand::Kind::Literal))
    return !operand.literal.is_float && operand.literal.int_value == 0;
  if (!operand.is(Operand::Kind::Typed)) return false;
  const auto* constant = std::get_if<IntConst>(&operand.expr->node);
  return constant && constant->value == 0;
}

}  // namespace

/// Poison wins; without any typed operand an unknown type stays unknown. nullopt: the operands can
/// be combined.
std::optional<Operand> Typing::passed_through(const std::vector<Operand>& operands,
                                              SourceRange range) const {
  bool pending = false;
  bool typed = false;
  for (const Operand& operand : operands) {
    if (operand.is(Operand::Kind::Poison)) return Operand::poison(range);
    pending = pending || operand.is(Operand::Kind::Pending);
    typed = typed || operand.is(Operand::Kind::Typed);
  }
  if (pending && !typed) return Operand::pending(range);
  return std::nullopt;
}

std::string large_expression(std::int64_t count, const char* what, std::int64_t limit) {
  return fmt::format("expression of {} {}, more than {}; split it into statements", count, what,
                     limit);
}

/// Bounds depth and size of what was built from `parts`, so that later traversals cannot exhaust
/// the stack.
Operand Typing::sized(Operand result, const std::vector<Operand>& parts) {
  if (result.is(Operand::Kind::Poison)) return result;
  std::int64_t nodes = 1;
  for (const Operand& part : parts) {
    result.depth = std::max(result.depth, part.depth + 1);
    nodes += part.nodes;
  }
  if (result.depth > kMaxExprDepth || nodes > kMaxExprNodes) {
    const bool deep = result.depth > kMaxExprDepth;
    sink_->error("E0233", result.range,
                 deep ? large_expression(result.depth, "levels", kMaxExprDepth)
                      : large_expression(nodes, "operations", kMaxExprNodes));
    return Operand::poison(result.range);
  }
  result.nodes = static_cast<int>(nodes);
  return result;
}

ExprPtr Typing::coerce(const Operand& operand, DType type) const {
  switch (operand.kind) {
  case Operand::Kind::Literal: return literal_constant(operand.literal, type, operand.range);
  case Operand::Kind::Typed: return make_cast(compute_type(type), operand.expr, operand.range);
  case Operand::Kind::Pending:
  case Operand::Kind::Poison:
    // A stand-in while types are being found: that tree is thrown away.
    return make_cast(compute_type(type), make_int(0, DType::Int32, operand.range), operand.range);
  }
  unreachable("Operand::Kind");
}

/// The common type of operands: promotion between typed ones, literals adapt. Requires that
/// passed_through() let them pass.
std::optional<DType> Typing::join(const std::vector<Operand>& operands, SourceRange range) {
  std::optional<DType> type;
  const auto meet = [&](DType next) {
    const std::optional<DType> joined = type ? promote(*type, next) : next;
    if (!joined) {
      sink_->error(
          "E0241", range,
          fmt::format("no type holds both {} and {}; cast one of them", name(*type), name(next)));
    }
    type = joined;
    return joined.has_value();
  };
  for (const Operand& operand : operands)
    if (operand.is(Operand::Kind::Typed) && !meet(operand.type)) return std::nullopt;
  const bool only_literals = !type.has_value();
  for (const Operand& operand : operands) {
    if (!operand.is(Operand::Kind::Literal) || operand.literal.is_float) continue;
    // An integer literal takes any type that it fits; otherwise it counts as int32 or wider.
    const bool adapts = !only_literals && literal_fits(operand.literal, *type);
    if (!adapts && !meet(own_type(operand))) return std::nullopt;
  }
  for (const Operand& operand : operands) {
    if (operand.is(Operand::Kind::Literal) && operand.literal.is_float &&
        !(type && is_float(*type)))
      type = DType::Float32;
  }
  return type;
}

Operand Typing::unary(ast::UnaryOp op, const Operand& operand, SourceRange range) {
  if (const auto passed = passed_through({operand}, range)) return *passed;
  if (op == ast::UnaryOp::Not) {
    const ExprPtr value = condition(operand, "the operand of '!'");
    if (!value) return Operand::poison(range);
    return sized(Operand::typed(DType::Bool, make_unary(UnaryOp::Not, value, range), range),
                 {operand});
  }
  if (operand.is(Operand::Kind::Literal)) return fold_unary_minus(operand, *sink_, range);
  if (operand.type == DType::Bool) {
    sink_->error("E0245", range, "'-' of a bool; use '!' or cast to an integer type");
    return Operand::poison(range);
  }
  return sized(
      Operand::typed(operand.type, make_unary(UnaryOp::Negate, operand.expr, range), range),
      {operand});
}

Operand Typing::binary(ast::BinaryOp op, const Operand& left, const Operand& right,
                       SourceRange range) {
  const bool is_logic = op == ast::BinaryOp::And || op == ast::BinaryOp::Or;
  if (const auto passed = passed_through({left, right}, range)) {
    const bool gives_bool = is_logic || is_comparison(typed_op(op));
    if (passed->is(Operand::Kind::Pending) && gives_bool)
      return Operand::typed(DType::Bool, make_int(0, DType::Bool, range), range);
    return *passed;
  }
  if (is_logic) return sized(logic(typed_op(op), left, right, range), {left, right});
  if (all_literals({left, right})) return fold_binary(op, left, right, range);
  return sized(arithmetic(typed_op(op), left, right, range), {left, right});
}

Operand Typing::logic(BinaryOp op, const Operand& left, const Operand& right, SourceRange range) {
  const std::string what = fmt::format("operand of '{}'", spelling(op));
  const ExprPtr a = condition(left, "the left " + what);
  const ExprPtr b = condition(right, "the right " + what);
  if (!a || !b) return Operand::poison(range);
  return Operand::typed(DType::Bool, make_binary(op, a, b, range), range);
}

/// PyTorch's rules: '+' and '*' of two bools are "or" and "and"; the other operators have no
/// meaning.
Operand Typing::bool_arithmetic(BinaryOp op, const Operand& left, const Operand& right,
                                SourceRange range) {
  if (op == BinaryOp::Sub || op == BinaryOp::Div || op == BinaryOp::Mod) {
    sink_->error("E0245", range,
                 fmt::format("'{}' of two bools; cast to an integer type", spelling(op)));
    return Operand::poison(range);
  }
  Operand result = Operand::typed(
      DType::Bool, combine_bools(op, coerce(left, DType::Bool), coerce(right, DType::Bool), range),
      range);
  result.depth = std::max(left.depth, right.depth) + kBoolLevels;
  return result;
}

Operand Typing::arithmetic(BinaryOp op, const Operand& left, const Operand& right,
                           SourceRange range) {
  const std::optional<DType> type = join({left, right}, range);
  if (!type) return Operand::poison(range);
  if (*type == DType::Bool) return bool_arithmetic(op, left, right, range);
  if (is_comparison(op))
    return Operand::typed(DType::Bool,
                          make_binary(op, coerce(left, *type), coerce(right, *type), range), range);
  if (op == BinaryOp::Mod && is_float(*type)) {
    sink_->error("E0243", range, fmt::format("'%' of {}: use fmod or remainder", name(*type)));
    return Operand::poison(range);
  }
  if ((op == BinaryOp::Div || op == BinaryOp::Mod) && !is_float(*type) && is_zero(right)) {
    sink_->error("E0244", range, "division by the constant zero");
    return Operand::poison(range);
  }
  return Operand::typed(*type, make_binary(op, coerce(left, *type), coerce(right, *type), range),
                        range);
}

Operand Typing::select(const Operand& condition_operand, const Operand& if_true,
                       const Operand& if_false, SourceRange range) {
  ExprPtr guard;
  if (condition_operand.is(Operand::Kind::Typed) || condition_operand.is(Operand::Kind::Literal)) {
    guard = condition(condition_operand, "the condition of '?:'");
    if (!guard) return Operand::poison(range);
  }
  if (condition_operand.is(Operand::Kind::Poison)) return Operand::poison(range);
  if (const auto passed = passed_through({if_true, if_false}, range)) return *passed;
  const std::optional<DType> type = join({if_true, if_false}, range);
  if (!type) return Operand::poison(range);
  if (!guard) guard = make_int(1, DType::Bool, range);
  ExprPtr node = make_expr(compute_type(*type), range,
                           Select{guard, coerce(if_true, *type), coerce(if_false, *type)});
  return sized(Operand::typed(*type, std::move(node), range),
               {condition_operand, if_true, if_false});
}

Operand Typing::min_max(bool is_max, const std::vector<Operand>& args, SourceRange range) {
  if (args.empty()) return Operand::poison(range);  // the parser has reported it
  if (const auto passed = passed_through(args, range)) return *passed;
  if (all_literals(args)) return fold_min_max(is_max, args, range);
  const std::optional<DType> type = join(args, range);
  if (!type) return Operand::poison(range);
  // The arguments become a chain of binary nodes as deep as there are arguments, which is not made
  // when it is too deep.
  const std::size_t levels = *type == DType::Bool ? kBoolLevels * args.size() : args.size();
  std::vector<Operand> parts = args;
  for (Operand& part : parts)
    part.depth += static_cast<int>(std::min<std::size_t>(levels, kMaxExprDepth));
  const Operand size = sized(Operand::pending(range), parts);
  if (size.is(Operand::Kind::Poison)) return size;
  const BinaryOp op = is_max ? BinaryOp::Max : BinaryOp::Min;
  ExprPtr value = coerce(args[0], *type);
  for (std::size_t i = 1; i < args.size(); ++i) {
    ExprPtr next = coerce(args[i], *type);
    value = *type == DType::Bool ? combine_bools(op, value, next, range)
                                 : make_binary(op, value, next, range);
  }
  Operand result = Operand::typed(*type, std::move(value), range);
  result.depth = size.depth;
  result.nodes = size.nodes;
  return result;
}

Operand Typing::cast(DType to, const Operand& operand, SourceRange range) {
  if (operand.is(Operand::Kind::Poison)) return operand;
  const DType type = read_type(to);
  const DType compute = compute_type(to);
  if (operand.is(Operand::Kind::Pending))
    return Operand::typed(type, make_cast(compute, make_int(0, DType::Int32, range), range), range);
  if (operand.is(Operand::Kind::Literal)) {
    ExprPtr value = literal_constant(operand.literal, to, range);
    // A constant of a narrow float type is rounded from the full literal, not from float32.
    if (is_float(to) && to != compute)
      value = make_cast(to,
                        make_float(operand.literal.is_float
                                       ? operand.literal.float_value
                                       : static_cast<double>(operand.literal.int_value),
                                   DType::Float64, range),
                        range);
    return Operand::typed(type, std::move(value), range);
  }
  // A tensor's own value is representable in its own type; any other expression may hold more.
  const bool exact = operand.type == to && std::holds_alternative<Read>(operand.expr->node) &&
                     !std::get<Read>(operand.expr->node).pad;
  if (exact) {
    Operand out = operand;
    out.range = range;
    return out;
  }
  return sized(Operand::typed(type, make_cast(to, operand.expr, range), range), {operand});
}

Operand Typing::builtin(const std::string& name_of, const std::vector<Operand>& args,
                        SourceRange range) {
  const BuiltinInfo* info = find_builtin(name_of);
  check(info != nullptr, "not a builtin");
  if (static_cast<int>(args.size()) != info->arity) {
    sink_->error("E0213", range,
                 fmt::format("'{}' takes {} argument{}, {} given", name_of, info->arity,
                             info->arity == 1 ? "" : "s", args.size()));
    return Operand::poison(range);
  }
  const bool gives_bool = info->result == BuiltinInfo::Result::Bool;
  if (const auto passed = passed_through(args, range)) {
    if (passed->is(Operand::Kind::Pending) && gives_bool)
      return Operand::typed(DType::Bool, make_int(0, DType::Bool, range), range);
    return *passed;
  }
  std::optional<DType> type;
  if (info->result == BuiltinInfo::Result::Keep) {
    type = join(args, range);
    if (type == DType::Bool) {
      sink_->error("E0245", range, fmt::format("'{}' of a bool; cast to an integer type", name_of));
      return Operand::poison(range);
    }
  } else {
    // Integers count as float32, so that they never narrow another argument to 16 bits.
    std::vector<Operand> floats = args;
    for (Operand& arg : floats)
      if (arg.is(Operand::Kind::Typed) && !is_float(arg.type)) arg.type = DType::Float32;
    type = join(floats, range);
    if (type && !is_float(*type)) type = DType::Float32;
  }
  if (!type) return Operand::poison(range);
  std::vector<ExprPtr> values;
  for (const Operand& arg : args)
    values.push_back(coerce(arg, *type));
  const DType result = gives_bool ? DType::Bool : *type;
  ExprPtr node = make_expr(compute_type(result), range, Builtin{name_of, std::move(values)});
  return sized(Operand::typed(result, std::move(node), range), args);
}

Operand Typing::pad(const Operand& read, const Operand& value, SourceRange range) {
  if (const auto passed = passed_through({read, value}, range)) return *passed;
  const auto* access =
      read.is(Operand::Kind::Typed) ? std::get_if<Read>(&read.expr->node) : nullptr;
  if (read.is(Operand::Kind::Pending)) return Operand::pending(range);
  if (!access || access->pad) {
    sink_->error("E0250", read.range,
                 "the first argument of 'pad' must be a read of a tensor, as in pad(A(i-1), 0)");
    return Operand::poison(range);
  }
  const std::optional<DType> type = join({read, value}, range);
  if (!type) return Operand::poison(range);
  if (compute_type(*type) != compute_type(read.type)) {
    sink_->error("E0251", value.range,
                 fmt::format("'pad' of a {} tensor with {}: cast the value to {}", name(read.type),
                             describe(value), name(read.type)));
    return Operand::poison(range);
  }
  ExprPtr node = make_expr(read.expr->type, range,
                           Read{access->tensor, access->subscripts, coerce(value, *type)});
  return sized(Operand::typed(*type, std::move(node), range), {read, value});
}

ExprPtr Typing::integral(const Operand& operand, const std::string& what) {
  if (operand.is(Operand::Kind::Poison) || operand.is(Operand::Kind::Pending)) return nullptr;
  const DType type = own_type(operand);
  if (is_integer(type)) return coerce(operand, type);
  sink_->error("E0240", operand.range,
               fmt::format("{} must be an integer, {} given", what, describe(operand)));
  return nullptr;
}

ExprPtr Typing::condition(const Operand& operand, const std::string& what) {
  if (operand.is(Operand::Kind::Poison)) return nullptr;
  if (operand.is(Operand::Kind::Pending)) return make_int(1, DType::Bool, operand.range);
  if (own_type(operand) == DType::Bool) return operand.expr;
  sink_->error("E0242", operand.range,
               fmt::format("{} must be a bool, {} given; compare it, as in x != 0", what,
                           describe(operand)));
  return nullptr;
}

}  // namespace tc::lang
