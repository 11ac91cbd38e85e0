// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/devices.h"

#include <fmt/format.h>
#include <sched.h>

#include "tc/compiler/cuda_platform.h"
#include "tc/compiler/pipeline.h"

namespace tc {

namespace {

std::optional<Failure> wrong_cuda_devices(const std::vector<int>& devices,
                                          const CompileContext& context) {
  std::optional<NamedTarget> first;
  for (const int device : devices) {
    const Result<NamedTarget, Failure> found = find_target(fmt::format("cuda:{}", device), context);
    if (!found) return found.error();
    if (!first) first = *found;
    if (found->target == first->target) continue;
    return compiler::argument_failure(fmt::format("devices {} and {} differ, and what is fast on "
                                                  "the one need not be so on the other:\n{}\n{}",
                                                  first->device, device, first->target.to_string(),
                                                  found->target.to_string()));
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> devices_like(const NamedTarget& target, const CompileContext& context) {
  if (target.target.kind == TargetKind::Cpu) return {0};
  std::vector<int> devices = {target.device};
  const auto platform = compiler::cuda_platform(context);
  const auto& driver = platform->driver();
  if (!driver) return devices;
  const auto& all = (*driver)->devices();
  const auto own = static_cast<std::size_t>(target.device);
  for (std::size_t d = 0; d < all.size() && own < all.size(); ++d) {
    const bool is_alike = compiler::device_target(all[d]) == compiler::device_target(all[own]);
    if (d != own && is_alike) devices.push_back(static_cast<int>(d));
  }
  return devices;
}

namespace tuner {

std::optional<Failure> wrong_devices(const std::vector<int>& devices, TargetKind kind,
                                     const CompileContext& context) {
  if (kind == TargetKind::Cuda) return wrong_cuda_devices(devices, context);
  const std::size_t cores = usable_cores().size();
  if (devices.size() <= cores) return std::nullopt;
  return compiler::argument_failure(
      fmt::format("{} devices need a core each, and this process may use {}: what shares a core "
                  "cannot be timed",
                  devices.size(), cores));
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

std::vector<int> cores_of(const std::vector<int>& cores, std::size_t part, std::size_t parts) {
  const std::size_t each = cores.size() / parts;
  const auto begin = cores.begin() + static_cast<std::ptrdiff_t>(part * each);
  return {begin, begin + static_cast<std::ptrdiff_t>(each)};
}

}  // namespace tuner
}  // namespace tc
