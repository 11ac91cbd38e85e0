// SPDX-License-Identifier: Apache-2.0
//
// Types and conversions between storage types, compute types and casts, on scalars and vectors
// alike. Internal to the room.
//
// A value of a storage type is held as its bits (an integer of that width; bool as i8, 4-bit types
// as i8 with the low nibble in use); float32 and float64 are held as themselves.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tc/codegen/llvm/machine.h"
#include "tc/kernel/ir.h"

namespace tc::codegen::native {

using Builder = llvm::IRBuilder<>;

llvm::Type* with_lanes(llvm::Type* element, int lanes);
llvm::Type* value_type(llvm::LLVMContext& context, kernel::Type type);
/// Element type of a buffer in memory.
llvm::Type* storage_type(llvm::LLVMContext& context, DType type);
int lanes_of(const llvm::Value* value);
/// A type with element `element` and the lanes of `like`.
llvm::Type* like(const llvm::Value* value, llvm::Type* element);

llvm::Value* splat(Builder& b, llvm::Value* scalar, int lanes);

/// Storage bits -> value of the compute type.
llvm::Value* from_storage(Builder& b, const Facts& facts, DType storage, llvm::Value* bits);
/// Value of the compute type -> storage bits.
llvm::Value* to_storage(Builder& b, const Facts& facts, DType storage, llvm::Value* value);
/// Cast of language.md section 5 from a compute type; the result is of compute_type(to).
llvm::Value* convert(Builder& b, const Facts& facts, DType from, DType to, llvm::Value* value);

}  // namespace tc::codegen::native
