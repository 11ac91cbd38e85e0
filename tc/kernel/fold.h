// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of operations on constants, exactly as every code generator evaluates them (ir.h).
// For this room and the
// code generators.
#pragma once

#include <optional>

#include "tc/kernel/ir.h"

namespace tc::kernel {

/// Value of a scalar integer or bool constant, also below a Broadcast.
std::optional<std::int64_t> constant_int(const ExprPtr& expr);
/// Value of a scalar float constant, also below a Broadcast.
std::optional<double> constant_float(const ExprPtr& expr);

/// Result of `op` on two scalar constants of one type, null if either is not a constant.
ExprPtr fold_binary(BinaryOp op, const ExprPtr& left, const ExprPtr& right);
/// Result of a cast of a scalar constant, null if it is not a constant.
ExprPtr fold_cast(DType to, const ExprPtr& operand);

/// Text names of operations, shared by printer, parser and messages.
const char* symbol(BinaryOp op);
const char* symbol(ReduceOp op);

}  // namespace tc::kernel
