// SPDX-License-Identifier: Apache-2.0
//
// float16 to float32 where the machine has instructions for this conversion but no others on
// float16. Internal to the room.
//
// Of an `fpext` LLVM's passes take operations to the narrow side: a selection between values that
// came from float16 and go back to float16 becomes one of float16. The code generator then takes
// vectors apart for it, or calls functions of the C library that a kernel cannot rely on. So the
// conversion is a call of a declared function until those passes have run.
#pragma once

#include "tc/codegen/llvm/convert.h"

namespace tc::codegen::native {

/// Bits of float16 -> float32. The module holds calls until expand_half_extensions().
llvm::Value* extend_half(Builder& b, llvm::Value* bits);

/// Puts the instruction in the place of every call that extend_half() made.
/// Placement: after the last pass that rewrites operations.
void expand_half_extensions(llvm::Module& module);

}  // namespace tc::codegen::native
