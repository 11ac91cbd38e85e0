// SPDX-License-Identifier: Apache-2.0
#include "tc/support/target.h"

#include <fmt/format.h>

#include "tc/support/cuda_limits.h"

namespace tc {

const char* to_string(TargetKind kind) {
  return kind == TargetKind::Cpu ? "cpu" : "cuda";
}

std::string Target::to_string() const {
  return fmt::format(
      "{} arch={} features={} vector_bits={} vector_registers={} cores={} l1={} l2={} l3={} "
      "shared={} threads={}",
      tc::to_string(kind), arch, features.empty() ? "default" : features, vector_bits,
      vector_registers, cores, l1_bytes, l2_bytes, l3_bytes, shared_bytes, max_threads);
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

std::optional<Target> cuda_target(std::string_view arch) {
  struct Card {
    std::string_view name;
    int cores;
    std::int64_t shared_bytes;  ///< largest opt-in size of a block (CUDA programming guide, table
                                ///< of technical specifications)
    std::int64_t l2_bytes;
  };
  static constexpr Card kCards[] = {
      {"sm_80", 108, 163 << 10, 40 << 20},   // A100
      {"sm_86", 84, 99 << 10, 6 << 20},      // A40
      {"sm_89", 142, 99 << 10, 96 << 20},    // L40
      {"sm_90a", 132, 227 << 10, 50 << 20},  // H100, H200
      {"sm_100a", 148, 227 << 10, 126 << 20},
  };
  for (const Card& card : kCards) {
    if (card.name != arch) continue;
    Target target;
    target.kind = TargetKind::Cuda;
    target.arch = std::string(arch);
    target.vector_bits = 128;
    target.vector_registers = 255;
    target.cores = card.cores;
    target.l1_bytes = 128 << 10;
    target.l2_bytes = card.l2_bytes;
    target.l3_bytes = 0;
    target.shared_bytes = card.shared_bytes;
    target.max_threads = cuda_limits::kThreads;
    return target;
  }
  return std::nullopt;
}

}  // namespace tc
