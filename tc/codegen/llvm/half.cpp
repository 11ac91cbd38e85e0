// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/llvm/half.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <llvm/IR/Instructions.h>

namespace tc::codegen::native {
namespace {

constexpr const char* kName = "tc.extend_half.";

llvm::Value* extension(Builder& b, llvm::Value* bits) {
  return b.CreateFPExt(b.CreateBitCast(bits, like(bits, b.getHalfTy())),
                       like(bits, b.getFloatTy()));
}

}  // namespace

llvm::Value* extend_half(Builder& b, llvm::Value* bits) {
  if (llvm::isa<llvm::Constant>(bits)) return extension(b, bits);
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      fmt::format("{}{}", kName, lanes_of(bits)), like(bits, b.getFloatTy()), bits->getType());
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  // Calls move and merge like the instruction.
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->addFnAttr(llvm::Attribute::Speculatable);
  return b.CreateCall(callee, {bits});
}

void expand_half_extensions(llvm::Module& module) {
  std::vector<llvm::Function*> declared;
  for (llvm::Function& function : module) {
    if (function.getName().starts_with(kName)) declared.push_back(&function);
  }
  for (llvm::Function* function : declared) {
    const std::vector<llvm::User*> users(function->user_begin(), function->user_end());
    for (llvm::User* user : users) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      Builder b(call);
      call->replaceAllUsesWith(extension(b, call->getArgOperand(0)));
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
}

}  // namespace tc::codegen::native
