// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

namespace tc::cli {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// The number that is a whole file, or that follows `key` in one; nullopt also for "max".
std::optional<double> read_number(const std::string& path, const std::string& key = {}) {
  std::ifstream file(path);
  std::string word;
  double number = 0;
  if (key.empty()) return file >> number ? std::optional(number) : std::nullopt;
  while (file >> word) {
    if (word == key) return file >> number ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

/// What a control group leaves; its page cache can be reclaimed.
double within_group(const std::string& limit_file, const std::string& usage_file,
                    const std::string& statistics_file) {
  const std::optional<double> limit = read_number(limit_file);
  const std::optional<double> usage = read_number(usage_file);
  if (!limit || !usage) return kUnlimited;
  const double cache = read_number(statistics_file, "inactive_file").value_or(0);
  return std::max(0.0, *limit - *usage + cache);
}

}  // namespace

double available_memory() {
  // In a container the group of the process is the root that it sees.
  const std::string version2 = "/sys/fs/cgroup/memory";
  const std::string version1 = "/sys/fs/cgroup/memory/memory";
  const std::optional<double> machine = read_number("/proc/meminfo", "MemAvailable:");
  return std::min({machine ? *machine * 1024 : kUnlimited,
                   within_group(version2 + ".max", version2 + ".current", version2 + ".stat"),
                   within_group(version1 + ".limit_in_bytes", version1 + ".usage_in_bytes",
                                version1 + ".stat")});
}

std::string memory_text(double bytes) {
  constexpr double kGibi = 1024.0 * 1024 * 1024;
  return fmt::format("{:.1f} GiB", bytes / kGibi);
}

}  // namespace tc::cli
