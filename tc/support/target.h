// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tc {

enum class TargetKind { Cpu, Cuda };

/// Facts of one target that decisions in the compiler may rest on. Everything here is part of the
/// cache key.
struct Target {
  TargetKind kind = TargetKind::Cpu;
  std::string arch =
      "x86-64-v3";  ///< as given with --arch; "native" is resolved before it gets here
  std::string
      features;  ///< LLVM feature string, "+avx2,+fma,..."; empty: those that `arch` implies
  int vector_bits = 256;  ///< widest vector register to use
  int vector_registers = 16;
  int cores = 1;  ///< tasks that can run at once; cuda: multiprocessors
  std::int64_t l1_bytes = 32 << 10;
  std::int64_t l2_bytes = 512 << 10;
  std::int64_t l3_bytes = 8 << 20;
  std::int64_t shared_bytes = 0;  ///< cuda: shared memory that a block may have
  std::int64_t max_threads = 1;   ///< cuda: threads that a block may have

  bool operator==(const Target&) const = default;
  /// One line that names every fact, for keys and `info`.
  std::string to_string() const;
};

/// "cpu" or "cuda".
const char* to_string(TargetKind kind);

/// Facts for a named CPU level: x86-64-v2, x86-64-v3, x86-64-v4, aarch64. nullopt: unknown name.
std::optional<Target> cpu_target(std::string_view arch);
/// Facts for a CUDA architecture: sm_80, sm_86, sm_89, sm_90a, sm_100a; `cores` are the
/// multiprocessors of its usual card. nullopt: unknown name.
std::optional<Target> cuda_target(std::string_view arch);

}  // namespace tc
