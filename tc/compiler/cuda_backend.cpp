// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <sstream>

#include "tc/compiler/backend.h"
#include "tc/compiler/cuda_build.h"
#include "tc/kernel/seal.h"
#include "tc/runtime/cuda/memory.h"
#include "tc/runtime/cuda/module.h"
#include "tc/runtime/cuda/placement.h"
#include "tc/support/check.h"

namespace tc::compiler {

namespace {

namespace cuda = runtime::cuda;

/// The launch table as the cache keeps it, behind what the kernels take.
constexpr std::string_view kTableMark = "launches\n";

std::string to_text(const std::vector<KernelResources>& resources, const cuda::LaunchTable& table) {
  std::string text;
  for (const KernelResources& kernel : resources) {
    text += fmt::format("{} {} {} {} {} {}\n", kernel.name, kernel.registers, kernel.local_bytes,
                        kernel.spill_stores, kernel.spill_loads, kernel.shared_bytes);
  }
  return text + std::string(kTableMark) + cuda::to_text(table);
}

std::optional<std::vector<KernelResources>> read_resources(const std::string& text) {
  std::vector<KernelResources> resources;
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line)) {
    std::istringstream words(line);
    KernelResources kernel;
    if (!(words >> kernel.name >> kernel.registers >> kernel.local_bytes >> kernel.spill_stores >>
          kernel.spill_loads >> kernel.shared_bytes))
      return std::nullopt;
    resources.push_back(std::move(kernel));
  }
  return resources;
}

/// Lines in the order of the launches' kernels, which the assembler's log does not keep.
std::vector<KernelResources> describe(const codegen::cuda::Source& source,
                                      const cuda::Compiled& compiled) {
  std::vector<KernelResources> resources;
  for (const codegen::cuda::KernelInfo& kernel : source.kernels) {
    KernelResources entry;
    entry.name = kernel.name;
    entry.shared_bytes = kernel.dynamic_shared_bytes;
    for (const cuda::KernelResources& counted : compiled.kernels) {
      if (counted.name != kernel.name) continue;
      entry.registers = counted.registers;
      entry.local_bytes = counted.stack_bytes;
      entry.spill_stores = counted.spill_stores;
      entry.spill_loads = counted.spill_loads;
      entry.shared_bytes += counted.static_shared;
    }
    resources.push_back(std::move(entry));
  }
  return resources;
}

cuda::LaunchTable launch_table(const kernel::Plan& plan, const codegen::cuda::Source& source) {
  std::vector<cuda::KernelLaunch> launches;
  for (const codegen::cuda::KernelInfo& kernel : source.kernels) {
    cuda::KernelLaunch launch;
    launch.name = kernel.name;
    launch.grid = kernel.grid;
    for (std::size_t axis = 0; axis < 3; ++axis)
      launch.block[axis] = kernel.block[axis];
    launch.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
    launch.work = kernel.work.total;
    launch.thread_work = kernel.work.thread;
    launches.push_back(std::move(launch));
  }
  return cuda::launch_table(plan, std::move(launches));
}

Failure target_failure(Rejection rejection) {
  Failure failure = mapping_failure(std::move(rejection));
  failure.kind = Failure::Kind::Target;
  return failure;
}

Failure launch_failure(const cuda::LaunchFailure& failure) {
  Failure result = target_failure(failure.rejection);
  if (!failure.kernel.empty() && result.message.find(failure.kernel) == std::string::npos)
    result.message = fmt::format("kernel '{}': {}", failure.kernel, result.message);
  return result;
}

/// Code that can be described everywhere and run where there is a driver.
class CudaCode final : public Code {
public:
  using LoadedModule = Result<std::shared_ptr<const cuda::Module>, Rejection>;

  CudaCode(cuda::LaunchTable table, std::vector<KernelResources> resources, LoadedModule module)
      : table_(std::move(table)), resources_(std::move(resources)), module_(std::move(module)) {}

  const std::vector<kernel::Argument>& arguments() const override { return table_.arguments; }
  std::int64_t scratch_bytes() const override { return table_.scratch_bytes; }
  int kernels() const override { return static_cast<int>(table_.kernels.size()); }
  std::vector<KernelResources> resources() const override { return resources_; }

  std::optional<Failure> prepare(int device) const override {
    if (!module_) return no_driver();
    if (auto problem = (*module_)->prepare(device)) return target_failure(std::move(*problem));
    return std::nullopt;
  }

  std::optional<std::string> misplaced(const void* address, int device) const override {
    if (!module_) return std::nullopt;
    return cuda::misplaced(**module_, device, address);
  }

  std::optional<Failure> run(void* const* pointers, const Place& place) const override {
    if (!module_) return no_driver();
    if (auto failure = cuda::run(**module_, place.device, pointers, place.stream))
      return launch_failure(*failure);
    return std::nullopt;
  }

  Result<Status, Failure> read_status(const void* address, const Place& place) const override {
    if (!module_) return no_driver();
    Status status{};
    if (auto problem = cuda::copy_to_host((*module_)->driver(), place.device, place.stream,
                                          status.data(), address, sizeof status))
      return target_failure(std::move(*problem));
    return status;
  }

private:
  Failure no_driver() const { return target_failure(module_.error()); }

  cuda::LaunchTable table_;
  std::vector<KernelResources> resources_;
  LoadedModule module_;
};

class CudaBackend final : public Backend {
public:
  CudaBackend(std::shared_ptr<const CudaPlatform> platform, const RunLimits& limits)
      : platform_(std::move(platform)), limits_(limits) {}

  std::optional<Failure> unavailable() const override {
    if (const auto& nvrtc = platform_->nvrtc(); !nvrtc) return mapping_failure(nvrtc.error());
    return std::nullopt;
  }

  std::string identity() const override {
    const cuda::Nvrtc& nvrtc = **platform_->nvrtc();
    return fmt::format("{}, NVRTC {}.{}", codegen::cuda::version(), nvrtc.major(), nvrtc.minor());
  }

  Result<StoredKernel, Failure> build(const kernel::Plan& plan, const MappingOptions& options,
                                      const Target& target,
                                      const StageObserver& observe) const override {
    Result<codegen::cuda::Source, Failure> source = cuda_source(plan, options, target);
    if (!source) return source.error();
    observe(Stage::Cuda, [&] { return source->text; });
    Result<cuda::Compiled, Failure> compiled =
        cuda_binary(*platform_, plan, *source, options, target);
    if (!compiled) return compiled.error();
    observe(Stage::Ptx, [&] { return compiled->ptx; });
    StoredKernel stored;
    stored.launch_table = to_text(describe(*source, *compiled), launch_table(plan, *source));
    stored.object = kernel::seal(std::move(compiled->cubin));
    return stored;
  }

  Result<std::shared_ptr<const Code>, Failure> load(const StoredKernel& stored) const override {
    const std::shared_ptr<const Code> damaged;
    const std::size_t mark = stored.launch_table.find(kTableMark);
    if (mark == std::string::npos || !kernel::unseal(stored.object)) return damaged;
    auto resources = read_resources(stored.launch_table.substr(0, mark));
    Result<cuda::LaunchTable, std::string> table = cuda::launch_table_from_text(
        std::string_view(stored.launch_table).substr(mark + kTableMark.size()));
    if (!resources || !table) return damaged;
    const auto& driver = platform_->driver();
    CudaCode::LoadedModule module =
        driver ? cuda::Module::create(*driver, stored.object, *table, limits_) : driver.error();
    // A machine without a driver still compiles; what a driver is there to refuse is final.
    if (!module && driver) return target_failure(module.error());
    return std::shared_ptr<const Code>(std::make_shared<CudaCode>(
        std::move(table).value(), std::move(*resources), std::move(module)));
  }

  Result<std::string, Failure> text(const kernel::Plan& plan, const MappingOptions& options,
                                    const Target& target, Stage stage) const override {
    if (stage != Stage::Cuda && stage != Stage::Ptx) {
      return argument_failure(
          fmt::format("code for CUDA has no text of stage '{}'", to_string(stage)));
    }
    Result<codegen::cuda::Source, Failure> source = cuda_source(plan, options, target);
    if (!source) return source.error();
    if (stage == Stage::Cuda) return source->text;
    Result<cuda::Compiled, Failure> compiled =
        cuda_binary(*platform_, plan, *source, options, target);
    if (!compiled) return compiled.error();
    return std::move(compiled->ptx);
  }

private:
  std::shared_ptr<const CudaPlatform> platform_;
  RunLimits limits_;
};

}  // namespace

std::shared_ptr<const Backend> cuda_backend(std::shared_ptr<const CudaPlatform> platform,
                                            const RunLimits& limits) {
  return std::make_shared<CudaBackend>(std::move(platform), limits);
}

}  // namespace tc::compiler
