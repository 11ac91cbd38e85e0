// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/interpreter_expr.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "tc/lang/interpreter_numeric.h"
#include "tc/math/scalar.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang::interp {

namespace {

using Real = NodePtr<double>;
using Integer = NodePtr<std::int64_t>;

template <class R>
const std::vector<R>& data_of(const Value& value) {
  if constexpr (std::is_same_v<R, double>) {
    return value.real;
  } else {
    return value.integer;
  }
}

/// Builtins for which there is one right answer in each type.
bool is_correctly_rounded(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "abs",  "ceil", "copysign",  "fabs", "fdim",      "fdivide", "floor", "fma",  "fmax", "fmin",
      "fmod", "logb", "nextafter", "relu", "remainder", "rint",    "round", "sqrt", "trunc"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool is_comparison(BinaryOp op) {
  switch (op) {
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne: return true;
  default: return false;
  }
}

/// Comparison of two values of type T given in representation R.
template <class T, class R>
Integer compare(BinaryOp op, NodePtr<R> left, NodePtr<R> right) {
  const auto make = [&](auto relation) {
    return make_node<std::int64_t>([l = std::move(left), r = std::move(right), relation](Vars v) {
      const R a = l->eval(v);
      const R b = r->eval(v);
      return std::int64_t{relation(static_cast<T>(a), static_cast<T>(b))};
    });
  };
  switch (op) {
  case BinaryOp::Lt: return make([](T a, T b) { return a < b; });
  case BinaryOp::Le: return make([](T a, T b) { return a <= b; });
  case BinaryOp::Gt: return make([](T a, T b) { return a > b; });
  case BinaryOp::Ge: return make([](T a, T b) { return a >= b; });
  case BinaryOp::Eq: return make([](T a, T b) { return a == b; });
  case BinaryOp::Ne: return make([](T a, T b) { return a != b; });
  default: break;
  }
  unreachable("comparison operator");
}

/// floor_div and floor_mod of one integer type.
template <class T>
T divide(T a, T b) {
  if constexpr (std::is_unsigned_v<T>) {
    return b == 0 ? T(0) : a / b;
  } else {
    return static_cast<T>(floor_div(a, b));
  }
}
template <class T>
T modulo(T a, T b) {
  if constexpr (std::is_unsigned_v<T>) {
    return b == 0 ? T(0) : a % b;
  } else {
    return static_cast<T>(floor_mod(a, b));
  }
}

/// The type in which an integer operator runs: its own as a value, 64 bits as an address.
DType operator_type(DType type, IntegerMode mode) {
  if (mode == IntegerMode::Value || type == DType::Bool || type == DType::UInt64) return type;
  return DType::Int64;
}

}  // namespace

// ---- reads
// ------------------------------------------------------------------------------------------------------------

Access ExprCompiler::access(TensorId tensor, const std::vector<ExprPtr>& subscripts) const {
  std::vector<Subscript> compiled;
  for (const ExprPtr& subscript : subscripts) {
    Subscript s;
    s.linear = linear_of(*subscript, environment_.first_index);
    if (!s.linear) s.general = integer(*subscript, IntegerMode::Address);
    compiled.push_back(std::move(s));
  }
  return Access(environment_.tensors[static_cast<std::size_t>(tensor)].placement,
                std::move(compiled), ranges_);
}

/// A read that the ranges show to be inside needs no check. Otherwise the semantics of typed.h:
/// `pad` if there is one, NaN or 0 for a gather; anything else the proofs have excluded.
template <class R>
NodePtr<R> ExprCompiler::read(const Read& read, NodePtr<R> pad, R outside) const {
  const BoundTensor& tensor = environment_.tensors[static_cast<std::size_t>(read.tensor)];
  const std::vector<R>* data = &data_of<R>(*tensor.value);
  Access at = access(read.tensor, read.subscripts);
  if (at.always_inside()) {
    return make_node<R>([data, at = std::move(at)](Vars v) {
      return (*data)[static_cast<std::size_t>(at.offset(v))];
    });
  }
  if (pad) {
    return make_node<R>([data, at = std::move(at), pad = std::move(pad)](Vars v) {
      const std::int64_t offset = at.offset(v);
      return offset < 0 ? pad->eval(v) : (*data)[static_cast<std::size_t>(offset)];
    });
  }
  const bool gathered = std::any_of(read.subscripts.begin(), read.subscripts.end(), &contains_read);
  return make_node<R>([data, at = std::move(at), gathered, outside, name = tensor.name](Vars v) {
    const std::int64_t offset = at.offset(v);
    if (offset >= 0) return (*data)[static_cast<std::size_t>(offset)];
    check(gathered, "a proven read of '" + name + "' is outside the tensor");
    return outside;
  });
}

// ---- floating expressions
// ---------------------------------------------------------------------------------------------

/// Arithmetic in T on values represented as double.
template <class T>
Real ExprCompiler::real_binary(const Binary& binary) const {
  Real left = real(*binary.left);
  Real right = real(*binary.right);
  const auto make = [&](auto operation) {
    return make_node<double>([l = std::move(left), r = std::move(right), operation](Vars v) {
      const double a = l->eval(v);
      const double b = r->eval(v);
      return static_cast<double>(operation(static_cast<T>(a), static_cast<T>(b)));
    });
  };
  switch (binary.op) {
  case BinaryOp::Add: return make([](T a, T b) { return static_cast<T>(a + b); });
  case BinaryOp::Sub: return make([](T a, T b) { return static_cast<T>(a - b); });
  case BinaryOp::Mul: return make([](T a, T b) { return static_cast<T>(a * b); });
  case BinaryOp::Div: return make([](T a, T b) { return static_cast<T>(a / b); });
  case BinaryOp::Min: return make([](T a, T b) { return min_of(a, b); });
  case BinaryOp::Max: return make([](T a, T b) { return max_of(a, b); });
  default: break;
  }
  unreachable("an operator with a floating result");
}

template <class T>
Real ExprCompiler::call_builtin(const Builtin& builtin, DType type) const {
  const math::ScalarFunction* function = math::find_scalar_function(builtin.name);
  check(function != nullptr && static_cast<std::size_t>(function->arity) == builtin.args.size(),
        "a resolved builtin is in the table with its arity");
  void* address = std::is_same_v<T, float> ? function->f32 : function->f64;
  std::array<Real, 4> args;
  for (std::size_t i = 0; i < builtin.args.size(); ++i)
    args[i] = real_as(*builtin.args[i], type);
  // What these show has either sign for a sum that underflows and for a NaN.
  if (environment_.shift_ulps != 0 && (builtin.name == "copysign" || builtin.name == "atan2")) {
    Real& shown = args[builtin.name == "copysign" ? 1 : 0];
    const double least = std::copysign(double{std::numeric_limits<T>::min()},
                                       static_cast<double>(environment_.shift_ulps));
    shown = make_node<double>([argument = std::move(shown), least](Vars v) {
      const double value = argument->eval(v);
      return std::isnan(value) ? std::copysign(value, least) : value + least;
    });
  }
  auto& [a, b, c, d] = args;
  const auto value = [](const Real& node, Vars v) { return static_cast<T>(node->eval(v)); };
  switch (function->arity) {
  case 1:
    return make_node<double>([f = reinterpret_cast<T (*)(T)>(address), a = std::move(a),
                              value](Vars v) { return static_cast<double>(f(value(a, v))); });
  case 2:
    return make_node<double>(
        [f = reinterpret_cast<T (*)(T, T)>(address), a = std::move(a), b = std::move(b),
         value](Vars v) { return static_cast<double>(f(value(a, v), value(b, v))); });
  case 3:
    return make_node<double>([f = reinterpret_cast<T (*)(T, T, T)>(address), a = std::move(a),
                              b = std::move(b), c = std::move(c), value](Vars v) {
      return static_cast<double>(f(value(a, v), value(b, v), value(c, v)));
    });
  case 4:
    return make_node<double>([f = reinterpret_cast<T (*)(T, T, T, T)>(address), a = std::move(a),
                              b = std::move(b), c = std::move(c), d = std::move(d), value](Vars v) {
      return static_cast<double>(f(value(a, v), value(b, v), value(c, v), value(d, v)));
    });
  default: break;
  }
  unreachable("builtins take one to four arguments");
}

Real ExprCompiler::real_builtin(const Builtin& builtin, DType type) const {
  Real exact =
      in_double(type) ? call_builtin<double>(builtin, type) : call_builtin<float>(builtin, type);
  if (environment_.shift_ulps == 0 || is_correctly_rounded(builtin.name)) return exact;
  const double ulp = in_double(type) ? std::numeric_limits<double>::epsilon()
                                     : double{std::numeric_limits<float>::epsilon()};
  const double factor = environment_.shift_ulps * ulp;
  return make_node<double>([value = std::move(exact), factor](Vars v) {
    const double result = value->eval(v);
    return result + std::fabs(result) * factor;
  });
}

Real ExprCompiler::real(const Expr& expr) const {
  check(is_float(expr.type), "a floating expression");
  const auto constant = [](double value) {
    return make_node<double>([value](Vars) { return value; });
  };
  return std::visit(
      Overloaded{
          [&](const FloatConst& c) { return constant(c.value); },
          [&](const IntConst& c) { return constant(static_cast<double>(c.value)); },
          [&](const Read& r) {
            return read<double>(r, r.pad ? real_as(*r.pad, expr.type) : nullptr,
                                std::numeric_limits<double>::quiet_NaN());
          },
          [&](const Unary& u) {
            check(u.op == UnaryOp::Negate, "the logical not of a float");
            return make_node<double>([a = real(*u.operand)](Vars v) { return -a->eval(v); });
          },
          [&](const Binary& b) {
            return in_double(expr.type) ? real_binary<double>(b) : real_binary<float>(b);
          },
          [&](const Select& s) {
            return make_node<double>([c = integer(*s.condition, IntegerMode::Value),
                                      a = real_as(*s.if_true, expr.type),
                                      b = real_as(*s.if_false, expr.type)](Vars v) {
              return c->eval(v) != 0 ? a->eval(v) : b->eval(v);
            });
          },
          [&](const Cast& c) { return real_as(*c.operand, c.to); },
          [&](const Builtin& b) { return real_builtin(b, expr.type); },
          [](const auto&) -> Real { unreachable("a specialised floating expression"); },
      },
      expr.node);
}

Real ExprCompiler::real_as(const Expr& expr, DType to) const {
  const Precision precision = environment_.precision;
  if (is_float(expr.type)) {
    Real value = real(expr);
    // No conversion where the value already is of the type.
    if (expr.type == to || in_double(to)) return value;
    return make_node<double>([value = std::move(value), to, precision](Vars v) {
      return real_to_real(to, value->eval(v), precision);
    });
  }
  return make_node<double>(
      [value = integer(expr, IntegerMode::Value), to, from = expr.type, precision](Vars v) {
        return integer_to_real(to, from, value->eval(v), precision);
      });
}

// ---- integer and bool expressions
// -------------------------------------------------------------------------------------

template <class T>
Integer ExprCompiler::integer_binary(const Binary& binary, IntegerMode mode) const {
  Integer left = integer(*binary.left, mode);
  Integer right = integer(*binary.right, mode);
  const auto make = [&](auto operation) {
    return make_node<std::int64_t>([l = std::move(left), r = std::move(right), operation](Vars v) {
      const std::int64_t a = l->eval(v);
      const std::int64_t b = r->eval(v);
      return static_cast<std::int64_t>(operation(static_cast<T>(a), static_cast<T>(b)));
    });
  };
  // Sums and products wrap: computed without sign, then cut to the width.
  const auto wide = [](T x) { return static_cast<std::uint64_t>(x); };
  switch (binary.op) {
  case BinaryOp::Add: return make([=](T a, T b) { return static_cast<T>(wide(a) + wide(b)); });
  case BinaryOp::Sub: return make([=](T a, T b) { return static_cast<T>(wide(a) - wide(b)); });
  case BinaryOp::Mul: return make([=](T a, T b) { return static_cast<T>(wide(a) * wide(b)); });
  case BinaryOp::Div: return make([](T a, T b) { return divide(a, b); });
  case BinaryOp::Mod: return make([](T a, T b) { return modulo(a, b); });
  case BinaryOp::Min: return make([](T a, T b) { return std::min(a, b); });
  case BinaryOp::Max: return make([](T a, T b) { return std::max(a, b); });
  default: break;
  }
  unreachable("an integer operator");
}

/// Arithmetic on bool: the exact value, converted to bool.
Integer ExprCompiler::bool_binary(const Binary& binary, IntegerMode mode) const {
  return make_node<std::int64_t>([value = integer_binary<std::int64_t>(binary, mode)](Vars v) {
    return std::int64_t{value->eval(v) != 0};
  });
}

Integer ExprCompiler::comparison(const Binary& binary, IntegerMode mode) const {
  const DType type = binary.left->type;
  if (is_float(type) || is_float(binary.right->type)) {
    return compare<double>(binary.op, real_as(*binary.left, type), real_as(*binary.right, type));
  }
  Integer left = integer(*binary.left, mode);
  Integer right = integer(*binary.right, mode);
  if (type == DType::UInt64) {
    return compare<std::uint64_t>(binary.op, std::move(left), std::move(right));
  }
  return compare<std::int64_t>(binary.op, std::move(left), std::move(right));
}

Integer ExprCompiler::arithmetic(const Binary& binary, DType type, IntegerMode mode) const {
  switch (operator_type(type, mode)) {
  case DType::Bool: return bool_binary(binary, mode);
  case DType::Int32: return integer_binary<std::int32_t>(binary, mode);
  case DType::UInt32: return integer_binary<std::uint32_t>(binary, mode);
  case DType::Int64: return integer_binary<std::int64_t>(binary, mode);
  case DType::UInt64: return integer_binary<std::uint64_t>(binary, mode);
  default: break;
  }
  unreachable("integer arithmetic runs in a compute type");
}

Integer ExprCompiler::integer_unary(const Unary& unary, DType type, IntegerMode mode) const {
  Integer operand = integer(*unary.operand, mode);
  if (unary.op == UnaryOp::Not) {
    return make_node<std::int64_t>(
        [a = std::move(operand)](Vars v) { return std::int64_t{a->eval(v) == 0}; });
  }
  return make_node<std::int64_t>([a = std::move(operand), to = operator_type(type, mode)](Vars v) {
    const auto negated = 0 - static_cast<std::uint64_t>(a->eval(v));
    return integer_to_integer(to, static_cast<std::int64_t>(negated));
  });
}

/// abs and relu keep integer types; isnan and isinf give bool.
Integer ExprCompiler::integer_builtin(const Builtin& builtin, DType type, IntegerMode mode) const {
  const math::ScalarFunction* function = math::find_scalar_function(builtin.name);
  check(function != nullptr && function->arity == 1 && builtin.args.size() == 1,
        "a builtin with an integer or bool result");
  const Expr& argument = *builtin.args[0];
  if (function->returns_bool) {
    if (!is_float(argument.type))
      return make_node<std::int64_t>([](Vars) { return std::int64_t{0}; });
    // A float is NaN or infinite exactly if its double is; a Double run keeps values that its type
    // could not hold.
    return make_node<std::int64_t>(
        [f = reinterpret_cast<bool (*)(double)>(function->f64), a = real(argument)](Vars v) {
          return std::int64_t{f(a->eval(v))};
        });
  }
  Integer value = integer_as(argument, type, mode);
  const bool is_unsigned = !is_signed_integer(type);
  if (is_unsigned) return value;  // both are the identity there, also for bool
  if (builtin.name == "abs") {
    return make_node<std::int64_t>([a = std::move(value), type](Vars v) {
      const std::int64_t x = a->eval(v);
      const auto magnitude =
          x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
      return integer_to_integer(type, static_cast<std::int64_t>(magnitude));
    });
  }
  check(builtin.name == "relu", "a builtin that keeps integer types");
  return make_node<std::int64_t>(
      [a = std::move(value)](Vars v) { return std::max<std::int64_t>(a->eval(v), 0); });
}

Integer ExprCompiler::integer(const Expr& expr, IntegerMode mode) const {
  check(!is_float(expr.type), "an integer expression");
  const auto variable = [](int slot) {
    return make_node<std::int64_t>([slot](Vars v) { return v[slot]; });
  };
  return std::visit(
      Overloaded{
          [](const IntConst& c) {
            return make_node<std::int64_t>([value = c.value](Vars) { return value; });
          },
          [&](const IndexRef& i) { return variable(environment_.first_index + i.index); },
          [&](const ForRef& f) { return variable(f.var); },
          [&](const Read& r) {
            return read<std::int64_t>(r, r.pad ? integer_as(*r.pad, expr.type, mode) : nullptr, 0);
          },
          [&](const Unary& u) { return integer_unary(u, expr.type, mode); },
          [&](const Binary& b) -> Integer {
            if (b.op == BinaryOp::And) {
              return make_node<std::int64_t>(
                  [l = integer(*b.left, mode), r = integer(*b.right, mode)](Vars v) {
                    return std::int64_t{l->eval(v) != 0 && r->eval(v) != 0};
                  });
            }
            if (b.op == BinaryOp::Or) {
              return make_node<std::int64_t>(
                  [l = integer(*b.left, mode), r = integer(*b.right, mode)](Vars v) {
                    return std::int64_t{l->eval(v) != 0 || r->eval(v) != 0};
                  });
            }
            if (is_comparison(b.op)) return comparison(b, mode);
            return arithmetic(b, expr.type, mode);
          },
          [&](const Select& s) {
            return make_node<std::int64_t>([c = integer(*s.condition, mode),
                                            a = integer_as(*s.if_true, expr.type, mode),
                                            b = integer_as(*s.if_false, expr.type, mode)](Vars v) {
              return c->eval(v) != 0 ? a->eval(v) : b->eval(v);
            });
          },
          [&](const Cast& c) -> Integer {
            // Also where the types agree: in address mode the operand may hold more than its type.
            if (is_float(c.operand->type)) return integer_as(*c.operand, c.to, mode);
            return make_node<std::int64_t>([a = integer(*c.operand, mode), to = c.to](Vars v) {
              return integer_to_integer(to, a->eval(v));
            });
          },
          [&](const Builtin& b) { return integer_builtin(b, expr.type, mode); },
          [](const auto&) -> Integer { unreachable("a specialised integer expression"); },
      },
      expr.node);
}

Integer ExprCompiler::integer_as(const Expr& expr, DType to, IntegerMode mode) const {
  if (is_float(expr.type)) {
    constexpr double kUlp = std::numeric_limits<float>::epsilon();
    const double factor = 16 * environment_.shift_ulps * kUlp;
    return make_node<std::int64_t>([value = real(expr), to, factor](Vars v) {
      const double x = value->eval(v);
      return real_to_integer(to, factor == 0 ? x : x + std::fabs(x) * factor);
    });
  }
  Integer value = integer(expr, mode);
  if (expr.type == to) return value;
  return make_node<std::int64_t>(
      [value = std::move(value), to](Vars v) { return integer_to_integer(to, value->eval(v)); });
}

}  // namespace tc::lang::interp
