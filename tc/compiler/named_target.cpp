// SPDX-License-Identifier: Apache-2.0
//
// tc::find_target: a target from its name.
#include <fmt/format.h>

#include <charconv>

#include "tc/compiler/cuda_platform.h"
#include "tc/compiler/pipeline.h"
#include "tc/runtime/cpu/module.h"

namespace tc {

namespace {

constexpr int kMinimumCapability = 8;

Result<NamedTarget, Failure> named_arch(std::string_view arch,
                                        std::optional<Target> (*find)(std::string_view),
                                        std::string_view known) {
  if (const std::optional<Target> target = find(arch)) return NamedTarget{*target, 0};
  return compiler::argument_failure(
      fmt::format("unknown architecture '{}'; known are {}", arch, known));
}

Result<NamedTarget, Failure> device(int ordinal, const CompileContext& context) {
  const auto platform = compiler::cuda_platform(context);
  const auto& driver = platform->driver();
  if (!driver) return compiler::mapping_failure(driver.error());
  const auto& devices = (*driver)->devices();
  if (static_cast<std::size_t>(ordinal) < devices.size()) {
    const runtime::cuda::Device& device = devices[static_cast<std::size_t>(ordinal)];
    if (device.major >= kMinimumCapability)
      return NamedTarget{compiler::device_target(device), ordinal};
    return compiler::mapping_failure(Rejection{
        RejectionKind::TargetMissing,
        fmt::format("{} has compute capability {}.{}; kernels are made for {}.0 and newer",
                    (*driver)->device_text(ordinal), device.major, device.minor,
                    kMinimumCapability),
        device.major, kMinimumCapability});
  }
  return compiler::mapping_failure(Rejection{
      RejectionKind::TargetMissing,
      fmt::format("there is no CUDA device {}: the driver shows {}", ordinal,
                  devices.size() == 1 ? "device 0 only"
                                      : fmt::format("devices 0 to {}", devices.size() - 1)),
      ordinal, static_cast<std::int64_t>(devices.size())});
}

}  // namespace

Result<NamedTarget, Failure> find_target(std::string_view name, const CompileContext& context) {
  if (name == "cpu") return NamedTarget{runtime::cpu::host_target(), 0};
  if (name == "cuda") return device(0, context);
  if (name.substr(0, 4) == "cpu-")
    return named_arch(name.substr(4), cpu_target, "x86-64-v2, x86-64-v3, x86-64-v4, aarch64");
  if (name.substr(0, 5) == "cuda-")
    return named_arch(name.substr(5), cuda_target, "sm_80, sm_86, sm_89, sm_90a, sm_100a");
  if (name.substr(0, 5) == "cuda:") {
    const std::string_view digits = name.substr(5);
    int ordinal = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc() && end == digits.data() + digits.size() && ordinal >= 0)
      return device(ordinal, context);
  }
  return compiler::argument_failure(
      fmt::format("unknown target '{}'; known are cpu and cuda[:N], and both with an "
                  "architecture: cpu-x86-64-v3, cuda-sm_90a",
                  name));
}

}  // namespace tc
