// SPDX-License-Identifier: Apache-2.0
//
// The target machine of one emission, and what the emitters ask about it. Internal to the room.
#pragma once

#include <memory>
#include <string>

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "tc/codegen/llvm/codegen.h"

namespace tc::codegen::native {

/// Widest libmvec functions that the target can call.
enum class VectorMath { None, Sse, Avx2, Avx512 };

struct Facts {
  bool half_conversion = false;  ///< instructions between float16 and float32
  VectorMath vector_math = VectorMath::None;
  int vector_bits = 128;
  bool x86 = false;
  Request request;
};

struct Machine {
  std::unique_ptr<llvm::TargetMachine> target;
  Facts facts;
};

/// Errors: Rejection{TargetMissing} when this LLVM cannot make code for the target.
Result<std::shared_ptr<Machine>, Rejection> make_machine(const Target& target,
                                                         const Request& request);

/// Attributes that tell LLVM the target of one function.
void set_target_attributes(llvm::Function& function, const Machine& machine);

/// A hand-picked pipeline: what remains to be done on code whose loops and vectors are already
/// chosen.
void optimise(llvm::Module& module, const Machine& machine);

/// Assembly or object bytes.
std::string machine_code(llvm::Module& module, const Machine& machine, Output output);

}  // namespace tc::codegen::native
