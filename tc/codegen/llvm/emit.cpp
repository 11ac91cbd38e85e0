// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "tc/codegen/llvm/entry.h"
#include "tc/codegen/llvm/math.h"
#include "tc/kernel/aliasing.h"
#include "tc/kernel/passes.h"
#include "tc/kernel/seal.h"
#include "tc/support/check.h"

namespace tc::codegen::native {
namespace {

/// Every builtin of the plan exists under the linkage asked for.
std::string unsupported(const kernel::Plan& plan, const Facts& facts) {
  std::string reason;
  const auto expr = [&](const kernel::Expr& e) {
    const auto* call = std::get_if<kernel::Call>(&e.node);
    if (call && reason.empty()) reason = why_unsupported(facts, call->function, call->args.size());
  };
  for (const auto& kernel : plan.kernels)
    walk(kernel.body, [](const kernel::Stmt&) {}, expr);
  return reason;
}

/// The verifier of LLVM in builds with assertions of our own: a broken module is our defect.
void check_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  check(!llvm::verifyModule(module, &stream), "LLVM rejects the emitted module: " + text);
}

}  // namespace

Result<std::string, Rejection> emit(const kernel::Plan& plan, const Target& target,
                                    const Request& request) {
  auto made = make_machine(target, request);
  if (!made) return made.error();
  const Machine& machine = **made;
  if (const std::string reason = unsupported(plan, machine.facts); !reason.empty())
    return Rejection{RejectionKind::Unsupported, reason};

  llvm::LLVMContext context;
  llvm::Module module(plan.name, context);
  module.setTargetTriple(machine.target->getTargetTriple().str());
  module.setDataLayout(machine.target->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  std::vector<llvm::Function*> kernels;
  const bool jit = request.linkage == Request::Linkage::Jit;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    // Constant register slots and the folding that they allow come with the expansion.
    const kernel::Kernel kernel = kernel::simplify(kernel::unroll(plan.kernels[i]));
    const std::string symbol = jit ? kernel.name : fmt::format("{}.kernel{}", entry_name(plan), i);
    kernels.push_back(emit_kernel(module, machine, kernel, symbol, kernel::alias_groups(plan, i)));
  }
  if (!jit) emit_entry(module, machine, plan, kernels);
  check_module(module);
  optimise(module, machine);
  if (request.output == Output::LlvmText) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    return text;
  }
  std::string code = machine_code(module, machine, request.output);
  // An object for the loader may come back from a cache file: see seal.h.
  return jit && request.output == Output::Object ? kernel::seal(std::move(code)) : code;
}

std::string version() {
  return fmt::format("native 1, LLVM {}", LLVM_VERSION_STRING);
}

}  // namespace tc::codegen::native
