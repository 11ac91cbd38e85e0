// SPDX-License-Identifier: Apache-2.0
//
// Operations of the kernel IR on values of equal lanes. No operation has undefined behaviour and
// none makes poison. Internal to the room.
#pragma once

#include "tc/codegen/llvm/convert.h"

namespace tc::codegen::native {

/// `elem` is the element type of the operands.
llvm::Value* binary_value(Builder& b, kernel::BinaryOp op, DType elem, llvm::Value* x,
                          llvm::Value* y);
llvm::Value* unary_value(Builder& b, kernel::UnaryOp op, DType elem, llvm::Value* x);
/// x op y for the operation of a reduction.
llvm::Value* combine(Builder& b, kernel::ReduceOp op, DType elem, llvm::Value* x, llvm::Value* y);
/// All lanes combined: halves until one lane is left, an odd lane last. The order depends on the
/// lane count alone.
llvm::Value* reduce_value(Builder& b, kernel::ReduceOp op, DType elem, llvm::Value* vector);

/// Lanes [first, first + count) as a vector (a scalar for one lane).
llvm::Value* lanes_slice(Builder& b, llvm::Value* vector, int first, int count);
llvm::Value* reversed(Builder& b, llvm::Value* vector);

}  // namespace tc::codegen::native
