// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <omp.h>

#include "tc/runtime/cpu/module.h"

namespace tc::runtime::cpu {
namespace {

/// First line of a file, empty if there is none.
std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "32K", "1M" in bytes; 0 if it is no such text.
std::int64_t parse_size(const std::string& text) {
  std::size_t used = 0;
  std::int64_t value = 0;
  while (used < text.size() && text[used] >= '0' && text[used] <= '9')
    value = value * 10 + (text[used++] - '0');
  if (used < text.size() && text[used] == 'K') return value << 10;
  if (used < text.size() && text[used] == 'M') return value << 20;
  return value;
}

/// Sizes that the kernel of the system reports; what it does not report stays as it is.
void read_caches(Target& target) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string level = read_line(folder + "level");
    const std::int64_t size = parse_size(read_line(folder + "size"));
    if (level.empty() || size == 0 || read_line(folder + "type") == "Instruction") continue;
    if (level == "1") target.l1_bytes = size;
    if (level == "2") target.l2_bytes = size;
    if (level == "3") target.l3_bytes = size;
  }
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, std::min(allowed, omp_get_max_threads()));
}

}  // namespace

Target host_target() {
  Target target;
  target.kind = TargetKind::Cpu;
  target.arch = llvm::sys::getHostCPUName().str();
  const auto features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> names;
  // Both signs: a virtual machine may hide what the CPU of that name has.
  for (const auto& feature : features)
    names.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return a.substr(1) < b.substr(1); });
  for (const auto& name : names)
    target.features += (target.features.empty() ? "" : ",") + name;
  const auto has = [&](const char* feature) {
    const auto found = features.find(feature);
    return found != features.end() && found->getValue();
  };
#if defined(__x86_64__)
  const bool avx512 = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  target.vector_bits = avx512 ? 512 : has("avx2") ? 256 : 128;
  target.vector_registers = avx512 ? 32 : 16;
#else
  target.vector_bits = 128;
  target.vector_registers = has("neon") ? 32 : 16;
#endif
  target.cores = usable_cores();
  read_caches(target);
  return target;
}

}  // namespace tc::runtime::cpu
