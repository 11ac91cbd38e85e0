// SPDX-License-Identifier: Apache-2.0
//
// Compile times of the suite: cold, from disk, in memory. Reads the JSON lines that `suite.py`
// prints:
//   .venv/bin/python bench/suite.py | build/bin/compile_times
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tc/tc.h"

namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class F>
double microseconds(F&& run) {
  const Clock::time_point start = Clock::now();
  run();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

tc::Metadata read_metadata(const nlohmann::json& json) {
  tc::Metadata metadata;
  for (const auto& tensor : json.at("tensors")) {
    tc::TensorMeta meta;
    meta.type = *tc::dtype_from_name(tensor.at("dtype").get<std::string>());
    meta.sizes = tensor.at("shape").get<std::vector<std::int64_t>>();
    metadata.inputs.push_back(std::move(meta));
  }
  return metadata;
}

struct Times {
  double cold_ms, disk_ms, memory_us;
};

Times measure(const std::string& text, const tc::Metadata& metadata,
              const std::filesystem::path& folder) {
  constexpr int kColdRuns = 3, kDiskRuns = 9, kMemoryRuns = 1001;
  auto compile = [&](const tc::CompileContext& context) {
    auto executor = tc::compile(text, "", metadata, {}, std::nullopt, context);
    if (!executor) throw std::runtime_error(executor.error().message);
  };
  Times times{};
  std::vector<double> runs;
  for (int i = 0; i < kColdRuns; ++i)
    runs.push_back(microseconds([&] { compile({}); }));
  times.cold_ms = median(runs) / 1000;
  std::filesystem::remove_all(folder);
  tc::CompileContext context;
  context.cache = tc::open_cache(folder);
  compile(context);
  runs.clear();
  for (int i = 0; i < kDiskRuns; ++i) {
    tc::CompileContext fresh;
    fresh.cache = tc::open_cache(folder);
    runs.push_back(microseconds([&] { compile(fresh); }));
  }
  times.disk_ms = median(runs) / 1000;
  runs.clear();
  for (int i = 0; i < kMemoryRuns; ++i)
    runs.push_back(microseconds([&] { compile(context); }));
  times.memory_us = median(runs);
  return times;
}

}  // namespace

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tc-compile-times";
  std::vector<double> cold, disk, memory;
  fmt::print("{}\n\n| case | cold ms | from disk ms | in memory us |\n|---|--:|--:|--:|\n",
             tc::version());
  for (std::string line; std::getline(std::cin, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    try {
      const Times times = measure(json.at("text").get<std::string>(), read_metadata(json), folder);
      fmt::print("| {} | {:.1f} | {:.2f} | {:.2f} |\n", json.at("name").get<std::string>(),
                 times.cold_ms, times.disk_ms, times.memory_us);
      cold.push_back(times.cold_ms);
      disk.push_back(times.disk_ms);
      memory.push_back(times.memory_us);
    } catch (const std::exception& error) {
      fmt::print("| {} | failed: {} | | |\n", json.at("name").get<std::string>(), error.what());
    }
    std::fflush(stdout);
  }
  if (!cold.empty())
    fmt::print("| **median** | {:.1f} | {:.2f} | {:.2f} |\n", median(cold), median(disk),
               median(memory));
  std::filesystem::remove_all(folder);
  return 0;
}
