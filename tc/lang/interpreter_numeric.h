// SPDX-License-Identifier: Apache-2.0
//
// Scalar conversions and reductions of the interpreter. Values have the representation of
// lang::Value: floats of every width as double, integers and bool as int64 in canonical form (sign-
// or zero-extended; uint64 as bit pattern).
#pragma once

#include <cstdint>

#include "tc/lang/interpreter.h"

namespace tc::lang::interp {

/// Conversions of language.md section 5. With Precision::Double a conversion to a float keeps the
/// double.
std::int64_t integer_to_integer(DType to, std::int64_t value);
std::int64_t real_to_integer(DType to, double value);
double integer_to_real(DType to, DType from, std::int64_t value, Precision precision);
double real_to_real(DType to, double value, Precision precision);

/// One step of a reduction in the accumulator's type.
using RealCombine = double (*)(double, double);
using IntegerCombine = std::int64_t (*)(std::int64_t, std::int64_t);
RealCombine real_combine(ReduceOp op, DType accumulator, Precision precision);
IntegerCombine integer_combine(ReduceOp op, DType accumulator);

/// Identity of Add, Mul, Min, Max.
double real_identity(ReduceOp op);
std::int64_t integer_identity(ReduceOp op, DType accumulator);

/// NaN-propagating minimum and maximum.
double min_of(double a, double b);
double max_of(double a, double b);

}  // namespace tc::lang::interp
