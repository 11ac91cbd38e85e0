// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include "tc/kernel/seal.h"
#include "tc/math/scalar.h"
#include "tc/runtime/cpu/locals.h"
#include "tc/runtime/cpu/module.h"

namespace tc::runtime::cpu {
namespace {

Rejection rejected(const std::string& reason) {
  return Rejection{RejectionKind::Unsupported, "the object does not link: " + reason};
}
Rejection rejected(llvm::Error error) {
  return rejected(llvm::toString(std::move(error)));
}

/// glibc's vector math, loaded once and kept; null where the system has none.
void* vector_math_library() {
  static void* const library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

/// What generated code may import; null for any other name.
void* import_address(llvm::StringRef name) {
  if (name == "tc_local_acquire") return address_of(&tc_local_acquire);
  if (name == "memcpy")
    return address_of(static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memcpy));
  if (name == "memmove")
    return address_of(static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memmove));
  if (name == "memset")
    return address_of(static_cast<void* (*)(void*, int, std::size_t)>(&std::memset));
  // What LLVM calls where the machine has no fused multiply-add.
  if (name == "fma") return address_of(static_cast<double (*)(double, double, double)>(&std::fma));
  if (name == "fmaf") return address_of(static_cast<float (*)(float, float, float)>(&std::fma));
  if (name.starts_with("_ZGV"))
    return vector_math_library() ? dlsym(vector_math_library(), name.str().c_str()) : nullptr;
  if (!name.consume_front("tc_math_")) return nullptr;
  const bool single = name.ends_with("_f32");
  if (!single && !name.ends_with("_f64")) return nullptr;
  const auto* function = math::find_scalar_function(std::string_view(name.data(), name.size() - 4));
  if (!function) return nullptr;
  return single ? function->f32 : function->f64;
}

/// Undefined symbols of an object that is an ELF file of this machine and whose tables lie inside
/// it.
llvm::Expected<std::vector<std::string>> imports_of(llvm::MemoryBufferRef bytes) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(bytes);
  if (!file) return file.takeError();
  const auto fail = [](const char* reason) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), reason);
  };
#if defined(__x86_64__)
  constexpr auto kArch = llvm::Triple::x86_64;
#else
  constexpr auto kArch = llvm::Triple::aarch64;
#endif
  if ((*file)->getArch() != kArch) return fail("it is for another machine");
  if (!(*file)->isRelocatableObject()) return fail("it is not relocatable");
  std::vector<std::string> imports;
  for (const auto& symbol : (*file)->symbols()) {
    auto name = symbol.getName();
    if (!name) return name.takeError();
    auto flags = symbol.getFlags();
    if (!flags) return flags.takeError();
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) != 0 && !name->empty())
      imports.push_back(name->str());
  }
  for (const auto& section : (*file)->sections()) {
    auto name = section.getName();
    if (!name) return name.takeError();
    if (section.isBSS() || section.isVirtual()) continue;
    auto contents = section.getContents();
    if (!contents) return contents.takeError();
  }
  return imports;
}

class LinkedModule final : public Module {
public:
  LinkedModule(std::unique_ptr<llvm::orc::ExecutorProcessControl> process)
      : session_(std::move(process)),
        layer_(session_, session_.getExecutorProcessControl().getMemMgr()) {
    // Errors come back from lookups; nothing is printed.
    session_.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  }
  ~LinkedModule() override { llvm::consumeError(session_.endSession()); }

  KernelFunction kernel(std::size_t index) const override { return functions_.at(index); }

  llvm::Error link(std::unique_ptr<llvm::MemoryBuffer> object,
                   const std::vector<std::string>& imports,
                   const std::vector<std::string>& kernels) {
    using namespace llvm::orc;
    JITDylib& library = session_.createBareJITDylib("kernels");
    SymbolMap symbols;
    for (const auto& name : imports) {
      void* address = import_address(name);
      if (!address)
        return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                       "it needs an unknown symbol " + name);
      symbols[session_.intern(name)] = {ExecutorAddr::fromPtr(address),
                                        llvm::JITSymbolFlags::Exported |
                                            llvm::JITSymbolFlags::Callable};
    }
    if (auto error = library.define(absoluteSymbols(std::move(symbols)))) return error;
    if (auto error = layer_.add(library, std::move(object))) return error;
    for (const auto& name : kernels) {
      auto found = session_.lookup({&library}, session_.intern(name));
      if (!found) return found.takeError();
      functions_.push_back(found->getAddress().toPtr<KernelFunction>());
    }
    return llvm::Error::success();
  }

private:
  llvm::orc::ExecutionSession session_;
  llvm::orc::ObjectLinkingLayer layer_;
  std::vector<KernelFunction> functions_;
};

}  // namespace

Result<std::shared_ptr<const Module>, Rejection>
Module::load(std::string_view object, const std::vector<std::string>& kernels) {
  const auto bare = kernel::unseal(object);
  if (!bare) return rejected("it is damaged");
  // A copy with a home of its own: the linker wants it aligned and alive.
  auto bytes =
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bare->data(), bare->size()), "kernels");
  auto imports = imports_of(bytes->getMemBufferRef());
  if (!imports) return rejected(imports.takeError());
  auto process = llvm::orc::SelfExecutorProcessControl::Create();
  if (!process) return rejected(process.takeError());
  auto module = std::make_shared<LinkedModule>(std::move(*process));
  if (auto error = module->link(std::move(bytes), *imports, kernels))
    return rejected(std::move(error));
  return std::shared_ptr<const Module>(std::move(module));
}

}  // namespace tc::runtime::cpu
