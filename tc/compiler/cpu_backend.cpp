// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "tc/codegen/llvm/codegen.h"
#include "tc/compiler/backend.h"
#include "tc/compiler/cuda_platform.h"
#include "tc/runtime/cpu/module.h"
#include "tc/support/check.h"

namespace tc::compiler {

namespace {

using codegen::native::Output;

class CpuCode final : public Code {
public:
  CpuCode(runtime::cpu::LaunchTable table, std::shared_ptr<const runtime::cpu::Module> module)
      : table_(std::move(table)), module_(std::move(module)) {}

  const std::vector<kernel::Argument>& arguments() const override { return table_.arguments; }
  std::int64_t scratch_bytes() const override { return table_.scratch_bytes; }
  int kernels() const override { return static_cast<int>(table_.kernels.size()); }

  std::optional<Failure> prepare(int) const override { return std::nullopt; }
  std::optional<Failure> run(void* const* pointers, const Place&) const override {
    runtime::cpu::run(table_, *module_, pointers);
    return std::nullopt;
  }
  Result<Status, Failure> read_status(const void* address, const Place&) const override {
    Status status;
    std::memcpy(status.data(), address, sizeof status);
    return status;
  }

private:
  runtime::cpu::LaunchTable table_;
  std::shared_ptr<const runtime::cpu::Module> module_;
};

Result<std::string, Failure> emit(const kernel::Plan& plan, const MappingOptions& options,
                                  const Target& target, Output output) {
  codegen::native::Request request;
  request.fast_math = options.fast_math;
  request.output = output;
  Result<std::string, Rejection> text = codegen::native::emit(plan, target, request);
  if (!text) return mapping_failure(text.error());
  return std::move(text).value();
}

class CpuBackend final : public Backend {
public:
  std::string identity() const override { return {}; }

  Result<StoredKernel, Failure> build(const kernel::Plan& plan, const MappingOptions& options,
                                      const Target& target,
                                      const StageObserver& observe) const override {
    observe(Stage::Llvm, [&] {
      Result<std::string, Failure> text = emit(plan, options, target, Output::LlvmText);
      return text ? *text : text.error().message;
    });
    Result<std::string, Failure> object = emit(plan, options, target, Output::Object);
    if (!object) return object.error();
    StoredKernel stored;
    stored.launch_table = runtime::cpu::to_text(runtime::cpu::launch_table(plan));
    stored.object = std::move(object).value();
    return stored;
  }

  Result<std::shared_ptr<const Code>, Failure> load(const StoredKernel& stored) const override {
    const std::shared_ptr<const Code> damaged;
    Result<runtime::cpu::LaunchTable, std::string> table =
        runtime::cpu::launch_table_from_text(stored.launch_table);
    if (!table) return damaged;
    std::vector<std::string> names;
    for (const auto& kernel : table->kernels)
      names.push_back(kernel.name);
    auto module = runtime::cpu::Module::load(stored.object, names);
    if (!module) return damaged;
    return std::shared_ptr<const Code>(
        std::make_shared<CpuCode>(std::move(table).value(), std::move(module).value()));
  }

  Result<std::string, Failure> text(const kernel::Plan& plan, const MappingOptions& options,
                                    const Target& target, Stage stage) const override {
    if (stage == Stage::Llvm) return emit(plan, options, target, Output::LlvmText);
    if (stage == Stage::Asm) return emit(plan, options, target, Output::Assembly);
    return argument_failure(
        fmt::format("code for the CPU has no text of stage '{}'", to_string(stage)));
  }
};

}  // namespace

std::shared_ptr<const Backend> cpu_backend() {
  return std::make_shared<CpuBackend>();
}

std::shared_ptr<const Backend> backend_for(const Target& target, const CompileContext& context) {
  switch (target.kind) {
  case TargetKind::Cpu: return cpu_backend();
  case TargetKind::Cuda: return cuda_backend(cuda_platform(context), context.limits);
  }
  unreachable("unknown kind of target");
}

}  // namespace tc::compiler
