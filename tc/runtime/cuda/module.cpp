// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/module.h"

#include <array>

#include <fmt/format.h>

#include "tc/kernel/seal.h"
#include "tc/runtime/cuda/loaded_module.h"

namespace tc::runtime::cuda {
namespace {

Rejection damaged() {
  return {RejectionKind::Unsupported, "the kernels' code does not load: it is damaged"};
}

/// Hands an image to the driver; its own words are added to the error.
Result<CuModule, Rejection> load_image(const Driver& driver, int device, const std::string& image,
                                       const LaunchTable& table) {
  constexpr int kErrorLog = 5;      // CU_JIT_ERROR_LOG_BUFFER
  constexpr int kErrorLogSize = 6;  // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
  std::array<char, 4096> log{};
  std::array<int, 2> options{kErrorLog, kErrorLogSize};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
  CuModule module = nullptr;
  const CuResult code = driver.api().module_load_data(&module, image.c_str(), options.size(),
                                                      options.data(), values.data());
  if (code == result::kSuccess) return module;
  std::string names;
  for (const auto& kernel : table.kernels)
    names += (names.empty() ? "'" : ", '") + kernel.name + "'";
  auto error = driver.error(
      code, fmt::format("loading the code of {} on {}", names, driver.device_text(device)));
  log.back() = '\0';
  if (log.front() != '\0') error->text += fmt::format(" ({})", log.data());
  return rejection(*error);
}

}  // namespace

Module::Module(std::shared_ptr<const Driver> driver, std::string image, LaunchTable table,
               HostProgram program)
    : driver_(std::move(driver)), image_(std::move(image)), table_(std::move(table)),
      program_(std::move(program)), slots_(driver_->devices().size()) {}

Module::~Module() {
  if (driver_->is_forked()) return;
  // At the end of the process the driver may be gone already; its answers do not matter.
  for (const auto& loaded : owned_) {
    const RelaxedCapture relaxed(driver_->api());
    const ContextScope scope(driver_->api(), loaded->context);
    if (scope.status() == result::kSuccess) driver_->api().module_unload(loaded->module);
  }
}

Result<std::shared_ptr<const Module>, Rejection>
Module::create(std::shared_ptr<const Driver> driver, std::string_view image, LaunchTable table,
               const RunLimits& limits) {
  const auto bare = kernel::unseal(image);
  if (!bare || bare->empty()) return damaged();
  for (const auto& kernel : table.kernels)
    if (auto problem = check_launch(kernel)) return *problem;
  auto program = compile_steps(table);
  if (!program) return program.error();
  if (auto problem = check_run(table, *program, limits)) return *problem;
  return std::shared_ptr<const Module>(
      new Module(std::move(driver), std::string(*bare), std::move(table), std::move(*program)));
}

std::optional<Rejection> Module::prepare(int device) const {
  if (loaded(device) != nullptr) return std::nullopt;
  const auto context = driver_->context(device);
  if (!context) return context.error();
  const std::lock_guard lock(mutex_);
  if (loaded(device) != nullptr) return std::nullopt;
  for (const auto& kernel : table_.kernels)
    if (auto problem = check_launch(kernel, *driver_, device)) return problem;
  const RelaxedCapture relaxed(driver_->api());
  const ContextScope scope(driver_->api(), *context);
  if (const auto error = driver_->error(scope.status(), "using " + driver_->device_text(device)))
    return rejection(*error);
  auto made = std::make_unique<LoadedModule>();
  made->context = *context;
  auto module = load_image(*driver_, device, image_, table_);
  if (!module) return module.error();
  made->module = *module;
  made->kernels.reserve(table_.kernels.size());
  for (const auto& kernel : table_.kernels) {
    auto resolved = load_kernel(*driver_, device, made->module, kernel);
    if (!resolved) {
      driver_->api().module_unload(made->module);
      return resolved.error();
    }
    LoadedKernel& kept = made->kernels.emplace_back(*resolved);
    if (kept.config.attribute_count > 0) kept.config.attributes = kept.attributes.data();
  }
  owned_.push_back(std::move(made));
  slots_[static_cast<std::size_t>(device)].store(owned_.back().get(), std::memory_order_release);
  return std::nullopt;
}

}  // namespace tc::runtime::cuda
