// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "exit_status.h"
#include "tc/compiler/store.h"
#include "tc/runtime/cpu/module.h"
#include "tc/support/options.h"

namespace tc::cli {

int info_command(const InfoFlags& flags, const Environment& environment) {
  if (flags.options) {
    fmt::print("{}", options_markdown());
    return kDone;
  }
  const Target host = runtime::cpu::host_target();
  std::unique_ptr<compiler::KernelStore> store =
      compiler::open_sqlite_store(environment.cache_dir, INT64_MAX);
  std::error_code missing;
  const auto size = std::filesystem::file_size(store->path(), missing);
  const std::uintmax_t bytes = missing ? 0 : size;
  if (flags.json) {
    nlohmann::ordered_json out;
    out["version"] = version();
    out["targets"] = {{{"name", "cpu"}, {"facts", host.to_string()}}};
    out["cache"] = {
        {"enabled", environment.cache_enabled}, {"path", store->path().string()}, {"bytes", bytes}};
    fmt::print("{}\n", out.dump());
    return kDone;
  }
  fmt::print("tensorc {}\n", version());
  fmt::print("target cpu: {}\n", host.to_string());
  fmt::print("target cuda: not built into this version\n");
  fmt::print("cache: {} ({} bytes{})\n", store->path().string(), bytes,
             environment.cache_enabled ? "" : ", switched off by TC_CACHE");
  return kDone;
}

}  // namespace tc::cli
