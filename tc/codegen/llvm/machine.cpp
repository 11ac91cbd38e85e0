// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/llvm/machine.h"

#include <mutex>

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <fmt/format.h>

#include "tc/codegen/llvm/half.h"
#include "tc/support/check.h"

namespace tc::codegen::native {
namespace {

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    // Only assembly text of inline fragments would need a parser; cross targets come with a full
    // LLVM only.
    llvm::InitializeNativeTargetAsmParser();
  });
}

std::string triple_of(const std::string& arch) {
  if (arch.rfind("x86-64", 0) == 0) return "x86_64-unknown-linux-gnu";
  if (arch == "aarch64") return "aarch64-unknown-linux-gnu";
  return llvm::sys::getProcessTriple();
}

VectorMath vector_math_of(const llvm::MCSubtargetInfo& subtarget, bool x86, int vector_bits) {
  if (!x86) return VectorMath::None;
  if (vector_bits >= 512 && subtarget.checkFeatures("+avx512f")) return VectorMath::Avx512;
  if (vector_bits >= 256 && subtarget.checkFeatures("+avx2")) return VectorMath::Avx2;
  return VectorMath::Sse;
}

}  // namespace

Result<std::shared_ptr<Machine>, Rejection> make_machine(const Target& target,
                                                         const Request& request) {
  initialise_llvm();
  if (target.kind != TargetKind::Cpu)
    return Rejection{RejectionKind::TargetMissing, "LLVM code is for CPU targets"};
  const std::string triple = triple_of(target.arch);
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return Rejection{RejectionKind::TargetMissing,
                     fmt::format("no code generator for '{}': {}", target.arch, error)};
  const std::string cpu = target.arch == "aarch64" ? "generic" : target.arch;
  // Asked of a generic subtarget, because one of an unknown CPU complains on the terminal.
  const std::unique_ptr<llvm::MCSubtargetInfo> generic(
      found->createMCSubtargetInfo(triple, "", ""));
  if (!generic->isCPUStringValid(cpu))
    return Rejection{RejectionKind::TargetMissing,
                     fmt::format("unknown CPU '{}' for {}", target.arch, triple)};

  llvm::TargetOptions options;
  // Only operations that carry the flag `contract` become fused multiply-adds.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.MCOptions.AsmVerbose = false;
  options.EmulatedTLS = false;
  auto machine = std::make_shared<Machine>();
  machine->target.reset(found->createTargetMachine(triple, cpu, target.features, options,
                                                   llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                   llvm::CodeGenOptLevel::Default));
  check(machine->target != nullptr, "LLVM makes a target machine for a target that it found");
  const llvm::MCSubtargetInfo& subtarget = *machine->target->getMCSubtargetInfo();
  Facts& facts = machine->facts;
  facts.x86 = machine->target->getTargetTriple().isX86();
  facts.half_conversion = !facts.x86 || subtarget.checkFeatures("+f16c");
  facts.vector_bits = target.vector_bits;
  facts.vector_math = vector_math_of(subtarget, facts.x86, target.vector_bits);
  facts.request = request;
  return machine;
}

void set_target_attributes(llvm::Function& function, const Machine& machine) {
  function.addFnAttr("target-cpu", machine.target->getTargetCPU());
  function.addFnAttr("target-features", machine.target->getTargetFeatureString());
  const std::string width = std::to_string(machine.facts.vector_bits);
  function.addFnAttr("prefer-vector-width", width);
  // Without this attribute every type that the features allow would count as legal.
  function.addFnAttr("min-legal-vector-width", width);
  function.addFnAttr("frame-pointer", "none");
  function.addFnAttr(llvm::Attribute::NoUnwind);
}

void optimise(llvm::Module& module, const Machine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.target.get());
  // No call is to be replaced by one of a C library that a kernel cannot rely on.
  llvm::TargetLibraryInfoImpl library(machine.target->getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  llvm::FunctionPassManager passes;
  // Registers and small local buffers out of memory first: everything else sees through them.
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  // Addresses and broadcasts out of loops. Loops are emitted in rotated form, with a preheader.
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true, /*UseBlockFrequencyInfo=*/false));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::DSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  for (auto& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
  expand_half_extensions(module);
}

std::string machine_code(llvm::Module& module, const Machine& machine, Output output) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  const auto type = output == Output::Assembly ? llvm::CodeGenFileType::AssemblyFile
                                               : llvm::CodeGenFileType::ObjectFile;
  const bool failed = machine.target->addPassesToEmitFile(passes, stream, nullptr, type,
                                                          /*DisableVerify=*/true);
  check(!failed, "the target writes assembly and objects");
  passes.run(module);
  return std::string(bytes);
}

}  // namespace tc::codegen::native
