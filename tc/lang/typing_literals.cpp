// SPDX-License-Identifier: Apache-2.0
//
// Untyped literals: what they are, how operators on literals alone fold, and how a literal becomes
// a constant of a type.
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tc/lang/operand.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang {

namespace {

constexpr Int128 kInt64Min = std::numeric_limits<std::int64_t>::min();
constexpr Int128 kUInt64Max = std::numeric_limits<std::uint64_t>::max();

Operand make_literal(UntypedLiteral literal, SourceRange range) {
  Operand out;
  out.kind = Operand::Kind::Literal;
  out.literal = std::move(literal);
  out.range = range;
  return out;
}

Operand int_literal(Int128 value, SourceRange range) {
  UntypedLiteral literal;
  literal.int_value = value;
  return make_literal(std::move(literal), range);
}

Operand float_literal(double value, SourceRange range) {
  UntypedLiteral literal;
  literal.is_float = true;
  literal.float_value = value;
  return make_literal(std::move(literal), range);
}

Operand bool_constant(bool value, SourceRange range) {
  return Operand::typed(DType::Bool, make_int(value, DType::Bool, range), range);
}

double as_double(const UntypedLiteral& literal) {
  return literal.is_float ? literal.float_value : static_cast<double>(literal.int_value);
}

Int128 floor_quotient(Int128 a, Int128 b) {
  const Int128 quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

bool compare(ast::BinaryOp op, auto a, auto b) {
  switch (op) {
  case ast::BinaryOp::Lt: return a < b;
  case ast::BinaryOp::Gt: return a > b;
  case ast::BinaryOp::Le: return a <= b;
  case ast::BinaryOp::Ge: return a >= b;
  case ast::BinaryOp::Eq: return a == b;
  case ast::BinaryOp::Ne: return a != b;
  case ast::BinaryOp::Add:
  case ast::BinaryOp::Sub:
  case ast::BinaryOp::Mul:
  case ast::BinaryOp::Div:
  case ast::BinaryOp::Mod:
  case ast::BinaryOp::And:
  case ast::BinaryOp::Or: break;
  }
  unreachable("not a comparison");
}

/// The float nearest to a decimal text, rounded once; nullopt where the text is no plain decimal
/// number in range.
std::optional<float> parse_float(const std::string& spelling) {
  float value = 0;
  const char* end = spelling.data() + spelling.size();
  const auto [stop, error] = std::from_chars(spelling.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::string to_string(const UntypedLiteral& literal) {
  if (literal.is_float)
    return literal.spelling.empty() ? fmt::format("{}", literal.float_value) : literal.spelling;
  if (literal.int_value < 0) return fmt::format("{}", static_cast<std::int64_t>(literal.int_value));
  return fmt::format("{}", static_cast<std::uint64_t>(literal.int_value));
}

Operand Typing::literal(const ast::Literal& literal, SourceRange range) {
  switch (literal.kind) {
  case ast::Literal::Kind::Bool: return bool_constant(literal.int_value != 0, range);
  case ast::Literal::Kind::Int:
    if (literal.overflows) {
      sink_->error("E0246", range,
                   fmt::format("the integer {} does not fit 64 bits", literal.spelling));
      return Operand::poison(range);
    }
    return int_literal(literal.int_value, range);
  case ast::Literal::Kind::Float: {
    Operand out = float_literal(literal.float_value, range);
    out.literal.spelling = literal.spelling;
    return out;
  }
  }
  unreachable("Literal::Kind");
}

bool Typing::literal_fits(const UntypedLiteral& literal, DType type) {
  if (is_float(type)) return true;
  if (literal.is_float || !is_integer(type)) return false;
  return literal.int_value >= static_cast<Int128>(min_value(type)) &&
         literal.int_value <= static_cast<Int128>(max_value(type));
}

DType Typing::own_type(const Operand& operand) {
  if (operand.is(Operand::Kind::Typed)) return operand.type;
  check(operand.is(Operand::Kind::Literal), "only literals and typed operands have a type");
  if (operand.literal.is_float) return DType::Float32;
  for (const DType type : {DType::Int32, DType::Int64})
    if (literal_fits(operand.literal, type)) return type;
  return DType::UInt64;
}

ExprPtr literal_constant(const UntypedLiteral& literal, DType type, SourceRange range) {
  const DType compute = compute_type(type);
  if (is_float(compute)) {
    if (compute == DType::Float32) {
      if (const auto exact = parse_float(literal.spelling))
        return make_float(*exact, compute, range);
      if (!literal.is_float)
        return make_float(static_cast<float>(literal.int_value), compute, range);
    }
    return make_float(as_double(literal), compute, range);
  }
  if (type == DType::Bool) return make_int(as_double(literal) != 0, DType::Bool, range);
  if (literal.is_float)
    return make_int(float_to_integer(type, literal.float_value), compute, range);
  // Through unsigned arithmetic: a value beyond int64 becomes its bit pattern.
  const auto bits = static_cast<std::int64_t>(static_cast<std::uint64_t>(literal.int_value));
  return make_int(wrap_to(type, bits), compute, range);
}

Operand fold_unary_minus(const Operand& operand, DiagnosticSink& sink, SourceRange range) {
  const UntypedLiteral& literal = operand.literal;
  if (!literal.is_float) {
    if (-literal.int_value < kInt64Min) {
      sink.error("E0246", range, fmt::format("-{} does not fit 64 bits", to_string(literal)));
      return Operand::poison(range);
    }
    return int_literal(-literal.int_value, range);
  }
  Operand out = float_literal(-literal.float_value, range);
  if (!literal.spelling.empty())
    out.literal.spelling =
        literal.spelling[0] == '-' ? literal.spelling.substr(1) : "-" + literal.spelling;
  return out;
}

Operand Typing::fold_int(ast::BinaryOp op, Int128 a, Int128 b, SourceRange range) {
  Int128 value = 0;
  switch (op) {
  case ast::BinaryOp::Add: value = a + b; break;
  case ast::BinaryOp::Sub: value = a - b; break;
  case ast::BinaryOp::Mul:
    // |a|, |b| < 2^64, so only the extreme product could leave 128 bits; saturate it to a value
    // that is reported below.
    if (__builtin_mul_overflow(a, b, &value)) value = kUInt64Max + 1;
    break;
  case ast::BinaryOp::Div:
  case ast::BinaryOp::Mod:
    if (b == 0) {
      sink_->error("E0244", range, "division by the constant zero");
      return Operand::poison(range);
    }
    value = op == ast::BinaryOp::Div ? floor_quotient(a, b) : a - floor_quotient(a, b) * b;
    break;
  case ast::BinaryOp::Lt:
  case ast::BinaryOp::Gt:
  case ast::BinaryOp::Le:
  case ast::BinaryOp::Ge:
  case ast::BinaryOp::Eq:
  case ast::BinaryOp::Ne: return bool_constant(compare(op, a, b), range);
  case ast::BinaryOp::And:
  case ast::BinaryOp::Or: unreachable("logic does not fold");
  }
  if (value < kInt64Min || value > kUInt64Max) {
    sink_->error("E0246", range, "the value of this integer expression does not fit 64 bits");
    return Operand::poison(range);
  }
  return int_literal(value, range);
}

Operand Typing::fold_float(ast::BinaryOp op, double a, double b, SourceRange range) {
  switch (op) {
  case ast::BinaryOp::Add: return float_literal(a + b, range);
  case ast::BinaryOp::Sub: return float_literal(a - b, range);
  case ast::BinaryOp::Mul: return float_literal(a * b, range);
  case ast::BinaryOp::Div: return float_literal(a / b, range);
  case ast::BinaryOp::Mod:
    sink_->error("E0243", range, "'%' of floating-point numbers: use fmod or remainder");
    return Operand::poison(range);
  case ast::BinaryOp::Lt:
  case ast::BinaryOp::Gt:
  case ast::BinaryOp::Le:
  case ast::BinaryOp::Ge:
  case ast::BinaryOp::Eq:
  case ast::BinaryOp::Ne: return bool_constant(compare(op, a, b), range);
  case ast::BinaryOp::And:
  case ast::BinaryOp::Or: unreachable("logic does not fold");
  }
  unreachable("BinaryOp");
}

Operand Typing::fold_binary(ast::BinaryOp op, const Operand& left, const Operand& right,
                            SourceRange range) {
  if (left.literal.is_float || right.literal.is_float)
    return fold_float(op, as_double(left.literal), as_double(right.literal), range);
  return fold_int(op, left.literal.int_value, right.literal.int_value, range);
}

Operand Typing::fold_min_max(bool is_max, const std::vector<Operand>& args,
                             SourceRange range) const {
  bool any_float = false;
  for (const Operand& arg : args)
    any_float = any_float || arg.literal.is_float;
  const Operand* best = &args[0];
  for (const Operand& arg : args) {
    if (any_float && std::isnan(as_double(arg.literal)))
      return float_literal(as_double(arg.literal), range);
    const bool less = any_float ? as_double(arg.literal) < as_double(best->literal)
                                : arg.literal.int_value < best->literal.int_value;
    const bool greater = any_float ? as_double(arg.literal) > as_double(best->literal)
                                   : arg.literal.int_value > best->literal.int_value;
    if (is_max ? greater : less) best = &arg;
  }
  if (any_float && !best->literal.is_float) return float_literal(as_double(best->literal), range);
  Operand out = *best;
  out.range = range;
  return out;
}

}  // namespace tc::lang
