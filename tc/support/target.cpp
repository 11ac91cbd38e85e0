// SPDX-License-Identifier: Apache-2.0
#include "tc/support/target.h"

#include <fmt/format.h>

namespace tc {

std::string Target::to_string() const {
  return fmt::format(
      "{} arch={} features={} vector_bits={} vector_registers={} cores={} l1={} l2={} l3={}",
      kind == TargetKind::Cpu ? "cpu" : "cuda", arch, features.empty() ? "default" : features,
      vector_bits, vector_registers, cores, l1_bytes, l2_bytes, l3_bytes);
}

std::optional<Target> cpu_target(std::string_view arch) {
  struct Level {
    std::string_view name;
    int vector_bits;
    int vector_registers;
  };
  static constexpr Level kLevels[] = {
      {"aarch64", 128, 32},
      {"x86-64-v2", 128, 16},
      {"x86-64-v3", 256, 16},
      {"x86-64-v4", 512, 32},
  };
  for (const Level& level : kLevels) {
    if (level.name != arch) continue;
    Target target;
    target.arch = std::string(arch);
    target.vector_bits = level.vector_bits;
    target.vector_registers = level.vector_registers;
    return target;
  }
  return std::nullopt;
}

}  // namespace tc
