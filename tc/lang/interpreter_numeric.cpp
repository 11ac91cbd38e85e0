// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/interpreter_numeric.h"

#include <cmath>
#include <limits>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang::interp {

namespace {

template <class Integer>
double from_integer(DType to, Integer value, Precision precision) {
  if (precision == Precision::Double || to == DType::Float64) return static_cast<double>(value);
  if (to == DType::Float32) return static_cast<double>(static_cast<float>(value));
  return round_to(to, round_to_odd(value));
}

template <class T>
RealCombine real_combine_in(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add:
    return [](double a, double b) {
      return static_cast<double>(static_cast<T>(static_cast<T>(a) + static_cast<T>(b)));
    };
  case ReduceOp::Mul:
    return [](double a, double b) {
      return static_cast<double>(static_cast<T>(static_cast<T>(a) * static_cast<T>(b)));
    };
  case ReduceOp::Min: return &min_of;
  case ReduceOp::Max: return &max_of;
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: break;
  }
  unreachable("argmin and argmax have no combine function");
}

template <class T>
IntegerCombine integer_combine_in(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add:
    return [](std::int64_t a, std::int64_t b) {
      const auto sum = static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b);
      return static_cast<std::int64_t>(static_cast<T>(sum));
    };
  case ReduceOp::Mul:
    return [](std::int64_t a, std::int64_t b) {
      const auto product = static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
      return static_cast<std::int64_t>(static_cast<T>(product));
    };
  case ReduceOp::Min:
    return [](std::int64_t a, std::int64_t b) {
      return static_cast<T>(b) < static_cast<T>(a) ? b : a;
    };
  case ReduceOp::Max:
    return [](std::int64_t a, std::int64_t b) {
      return static_cast<T>(b) > static_cast<T>(a) ? b : a;
    };
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: break;
  }
  unreachable("argmin and argmax have no combine function");
}

/// Sums of bool are "any", products "all": what a conversion of the exact value to bool gives.
IntegerCombine bool_combine(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add:
  case ReduceOp::Max: return [](std::int64_t a, std::int64_t b) { return a | b; };
  case ReduceOp::Mul:
  case ReduceOp::Min: return [](std::int64_t a, std::int64_t b) { return a & b; };
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: break;
  }
  unreachable("argmin and argmax have no combine function");
}

}  // namespace

std::int64_t integer_to_integer(DType to, std::int64_t value) {
  return to == DType::Bool ? (value != 0 ? 1 : 0) : wrap_to(to, value);
}

std::int64_t real_to_integer(DType to, double value) {
  return to == DType::Bool ? (value != 0 ? 1 : 0) : float_to_integer(to, value);
}

double integer_to_real(DType to, DType from, std::int64_t value, Precision precision) {
  if (from == DType::UInt64) {
    return from_integer(to, static_cast<std::uint64_t>(value), precision);
  }
  return from_integer(to, value, precision);
}

double real_to_real(DType to, double value, Precision precision) {
  if (precision == Precision::Double || to == DType::Float64) return value;
  if (to == DType::Float32) return static_cast<double>(static_cast<float>(value));
  return round_to(to, value);
}

RealCombine real_combine(ReduceOp op, DType accumulator, Precision precision) {
  const bool in_double = precision == Precision::Double || accumulator == DType::Float64;
  return in_double ? real_combine_in<double>(op) : real_combine_in<float>(op);
}

IntegerCombine integer_combine(ReduceOp op, DType accumulator) {
  switch (accumulator) {
  case DType::Bool: return bool_combine(op);
  case DType::Int32: return integer_combine_in<std::int32_t>(op);
  case DType::UInt32: return integer_combine_in<std::uint32_t>(op);
  case DType::Int64: return integer_combine_in<std::int64_t>(op);
  case DType::UInt64: return integer_combine_in<std::uint64_t>(op);
  default: break;
  }
  unreachable("an integer accumulator has a compute type");
}

double real_identity(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add: return 0;
  case ReduceOp::Mul: return 1;
  case ReduceOp::Min: return std::numeric_limits<double>::infinity();
  case ReduceOp::Max: return -std::numeric_limits<double>::infinity();
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: break;
  }
  unreachable("argmin and argmax have no identity value");
}

std::int64_t integer_identity(ReduceOp op, DType accumulator) {
  const bool is_bool = accumulator == DType::Bool;
  switch (op) {
  case ReduceOp::Add: return 0;
  case ReduceOp::Mul: return 1;
  case ReduceOp::Min: return is_bool ? 1 : static_cast<std::int64_t>(max_value(accumulator));
  case ReduceOp::Max: return is_bool ? 0 : min_value(accumulator);
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: break;
  }
  unreachable("argmin and argmax have no identity value");
}

double min_of(double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  return b < a ? b : a;
}

double max_of(double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  return b > a ? b : a;
}

}  // namespace tc::lang::interp
