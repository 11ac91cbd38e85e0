// SPDX-License-Identifier: Apache-2.0
//
// Builtins of language.md section 9 on vectors. Internal to the room.
//
//   instruction   sqrt floor fma ... and what is composed of them (relu, sigmoid, rsqrt, isnan,
//   ...): every linkage libmvec       vectors of exp, tanh, ...: linkage Jit on x86-64, for the
//   widths of the target tc_math_*     everything else lane by lane: linkage Jit; the loader
//   resolves them to tc/math libm          lane by lane under the C name, or composed of such
//   functions: linkage Freestanding
#pragma once

#include <string>
#include <vector>

#include "tc/codegen/llvm/convert.h"

namespace tc::codegen::native {

/// Why a builtin cannot be had under this linkage; empty if it can.
std::string why_unsupported(const Facts& facts, const std::string& function, std::size_t arity);

class Math {
public:
  Math(Builder& builder, llvm::Module& module, const Facts& facts)
      : b_(builder), module_(module), facts_(facts) {}

  /// Arguments of compute type `elem` (float for all but abs and relu), equal lanes.
  llvm::Value* call(const std::string& function, DType elem, const std::vector<llvm::Value*>& args);

private:
  llvm::Value* inline_call(const std::string& function, DType elem,
                           const std::vector<llvm::Value*>& args);
  llvm::Value* composed(const std::string& function, DType elem,
                        const std::vector<llvm::Value*>& args);
  llvm::Value* vector_call(const std::string& function, DType elem,
                           const std::vector<llvm::Value*>& args);
  llvm::Value* lane_by_lane(const std::string& symbol, const std::vector<llvm::Value*>& args);
  llvm::Value* constant(const llvm::Value* shape, double value) const;
  llvm::Value* sigmoid(DType elem, llvm::Value* x);
  llvm::Value* rest_of_period(llvm::Value* x);
  llvm::Value* sin_pi(DType elem, llvm::Value* x);
  llvm::Value* cos_pi(DType elem, llvm::Value* x);
  llvm::Value* normal_cdf(DType elem, llvm::Value* x);
  llvm::Value* call_symbol(const std::string& symbol, llvm::Type* result,
                           const std::vector<llvm::Value*>& args);

  Builder& b_;
  llvm::Module& module_;
  const Facts& facts_;
};

}  // namespace tc::codegen::native
