// SPDX-License-Identifier: Apache-2.0
//
// The path of every call. Everything that can be known before is in LoadedModule and HostProgram;
// what is left is to write the parameters to the stack and to hand them to the driver.
#include <cstdint>

#include <fmt/format.h>

#include "tc/runtime/cuda/loaded_module.h"
#include "tc/runtime/cuda/module.h"
#include "tc/support/cuda_limits.h"

namespace tc::runtime::cuda {
namespace {

LaunchFailure failure(const Driver& driver, CuResult code, const std::string& kernel, int device) {
  LaunchFailure result;
  result.kernel = kernel;
  result.driver =
      driver.error(code, kernel.empty() ? "using " + driver.device_text(device)
                                        : fmt::format("launching kernel '{}' on {}", kernel,
                                                      driver.device_text(device)));
  result.rejection = rejection(*result.driver);
  return result;
}

CuResult launch(const DriverApi& api, const HostProgram& program, const HostStep& step,
                const HostProgram::Counters& counters, const LoadedKernel& kernel,
                void* const* pointers, CuStream stream) {
  if (kernel.is_empty) return result::kSuccess;
  std::uint64_t parameters[cuda_limits::kParameters];
  std::uint64_t* next = parameters;
  for (std::uint32_t i = 0; i < step.count; ++i)
    *next++ = reinterpret_cast<std::uintptr_t>(
        pointers[program.arguments[static_cast<std::size_t>(step.first) + i]]);
  for (std::uint32_t i = 0; i < step.ints; ++i)
    *next++ = static_cast<std::uint64_t>(
        program.evaluate(program.values[static_cast<std::size_t>(step.first_int) + i], counters));
  std::size_t bytes = static_cast<std::size_t>(next - parameters) * sizeof *parameters;
  void* extra[] = {kParameterBuffer, parameters, kParameterSize, &bytes, kParameterEnd};
  LaunchConfig config = kernel.config;
  config.stream = stream;
  return api.launch(&config, kernel.function, nullptr, extra);
}

}  // namespace

std::optional<LaunchFailure> run(const Module& module, int device, void* const* pointers,
                                 void* stream) {
  const LoadedModule* loaded = module.loaded(device);
  if (loaded == nullptr) {
    if (auto problem = module.prepare(device)) return LaunchFailure{"", *problem, std::nullopt};
    loaded = module.loaded(device);
  }
  const Driver& driver = module.driver();
  const DriverApi& api = driver.api();
  const ContextScope scope(api, loaded->context);
  if (scope.status() != result::kSuccess) return failure(driver, scope.status(), "", device);
  const HostProgram& program = module.program();
  CuResult code = result::kSuccess;
  std::size_t failed = 0;
  follow(program, [&](const HostStep& step, const HostProgram::Counters& counters) {
    failed = static_cast<std::size_t>(step.index);
    code = launch(api, program, step, counters, loaded->kernels[failed], pointers,
                  static_cast<CuStream>(stream));
    return code == result::kSuccess;
  });
  if (code == result::kSuccess) return std::nullopt;
  return failure(driver, code, module.table().kernels[failed].name, device);
}

}  // namespace tc::runtime::cuda
