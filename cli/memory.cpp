// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "exit_status.h"
#include "tc/compiler/memory_demand.h"

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

/// What the limit on the address space of this process leaves.
double within_process() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const double pages = read_number("/proc/self/statm").value_or(0);
  return std::max(0.0, static_cast<double>(limit.rlim_cur) -
                           pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
}

double elements(const TensorMeta& meta) {
  return compiler::bytes_of(meta) * 8 / bits(meta.type);
}

/// Bytes that the run will take beside the tensors that were read from files.
double memory_needed(const Call& call, const compiler::FrontEnd& front, double scratch_bytes,
                     Checking checking) {
  constexpr double kWide = sizeof(double);  // an element while it is drawn or interpreted
  double total = scratch_bytes;
  double widest = 0;
  double all = 0;
  for (const lang::Tensor& tensor : front.specialised.tensors) {
    if (!tensor.is_param) continue;
    const TensorMeta& meta = front.inputs[static_cast<std::size_t>(tensor.param_position)];
    all += elements(meta);
    if (call.given.count(tensor.name) != 0) continue;
    total += compiler::bytes_of(meta);
    widest = std::max(widest, elements(meta));
  }
  for (const TensorMeta& meta : front.outputs) {
    total += 2 * compiler::bytes_of(meta);  // the result, and a copy for the repetitions
    all += 3 * elements(meta);
  }
  return total + kWide * (checking == Checking::ByInterpreter ? all : widest);
}

}  // namespace

double available_memory() {
  // In a container the group of the process is the root that it sees.
  const std::string version2 = "/sys/fs/cgroup/memory";
  const std::string version1 = "/sys/fs/cgroup/memory/memory";
  const std::optional<double> machine = read_number("/proc/meminfo", "MemAvailable:");
  return std::min({machine ? *machine * 1024 : kUnlimited, within_process(),
                   within_group(version2 + ".max", version2 + ".current", version2 + ".stat"),
                   within_group(version1 + ".limit_in_bytes", version1 + ".usage_in_bytes",
                                version1 + ".stat")});
}

void check_memory(const Call& call, const compiler::FrontEnd& front, std::int64_t scratch_bytes,
                  Checking checking) {
  const double needed = memory_needed(call, front, static_cast<double>(scratch_bytes), checking);
  const double available = available_memory();
  if (needed <= available) return;
  const std::string problem =
      fmt::format("this call needs {} of memory and {} are available; use smaller sizes{}",
                  compiler::memory_text(needed), compiler::memory_text(available),
                  checking == Checking::ByInterpreter ? " or leave out --verify" : "");
  const auto temporaries =
      scratch_bytes > 0 ? compiler::Temporaries::Counted : compiler::Temporaries::Ignored;
  throw CommandError(kUserError,
                     render(call.source, compiler::memory_diagnostic(front, problem, temporaries)));
}

void throw_out_of_memory(const Call& call, const compiler::FrontEnd& front) {
  throw CommandError(kUserError, render(call.source, compiler::memory_diagnostic(
                                                         front, "out of memory; use smaller sizes",
                                                         compiler::Temporaries::Counted)));
}

}  // namespace tc::cli
