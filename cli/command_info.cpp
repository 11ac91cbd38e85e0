// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "exit_status.h"
#include "tc/compiler/cuda_platform.h"
#include "tc/compiler/store.h"
#include "tc/runtime/cpu/module.h"
#include "tc/support/options.h"

namespace tc::cli {

namespace {

using Json = nlohmann::ordered_json;

/// "13.0" of 13000.
std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Json cuda_json(const CudaPlatform& platform) {
  Json out = {{"name", "cuda"}};
  const auto& driver = platform.driver();
  const auto& nvrtc = platform.nvrtc();
  out["available"] = driver && nvrtc;
  if (driver) {
    out["driver"] = {{"path", (*driver)->path()}, {"cuda", cuda_version((*driver)->version())}};
    out["devices"] = Json::array();
    for (const runtime::cuda::Device& device : (*driver)->devices()) {
      out["devices"].push_back({{"ordinal", device.ordinal},
                                {"name", device.name},
                                {"memory_bytes", device.memory_bytes},
                                {"facts", compiler::device_target(device).to_string()}});
    }
  } else {
    out["driver"] = {{"missing", driver.error().message}};
  }
  if (nvrtc) {
    out["nvrtc"] = {{"path", (*nvrtc)->path()},
                    {"version", fmt::format("{}.{}", (*nvrtc)->major(), (*nvrtc)->minor())},
                    {"archs", (*nvrtc)->archs()}};
  } else {
    out["nvrtc"] = {{"missing", nvrtc.error().message}};
  }
  return out;
}

void print_cuda(const CudaPlatform& platform) {
  const auto& driver = platform.driver();
  if (driver) {
    for (const runtime::cuda::Device& device : (*driver)->devices()) {
      fmt::print("target cuda:{}: {}, {} MiB, {}\n", device.ordinal, device.name,
                 device.memory_bytes >> 20, compiler::device_target(device).to_string());
    }
    fmt::print("CUDA driver: {} (CUDA {})\n", (*driver)->path(),
               cuda_version((*driver)->version()));
  } else {
    fmt::print("CUDA driver: {}\n", driver.error().message);
  }
  const auto& nvrtc = platform.nvrtc();
  if (nvrtc) {
    fmt::print("NVRTC: {} ({}.{}, compiles for sm_{} to sm_{})\n", (*nvrtc)->path(),
               (*nvrtc)->major(), (*nvrtc)->minor(), (*nvrtc)->archs().front(),
               (*nvrtc)->highest_arch());
  } else {
    fmt::print("NVRTC: {}\n", nvrtc.error().message);
  }
}

}  // namespace

int info_command(const InfoFlags& flags, const Environment& environment) {
  if (flags.options) {
    fmt::print("{}", options_markdown());
    return kDone;
  }
  const auto platform = compiler::cuda_platform(make_context(environment, CacheUse::None));
  const Target host = runtime::cpu::host_target();
  std::unique_ptr<compiler::KernelStore> store =
      compiler::open_sqlite_store(environment.cache_dir, INT64_MAX);
  std::error_code missing;
  const auto size = std::filesystem::file_size(store->path(), missing);
  const std::uintmax_t bytes = missing ? 0 : size;
  if (flags.json) {
    nlohmann::ordered_json out;
    out["version"] = version();
    out["build"] = build_identity();
    out["targets"] = {{{"name", "cpu"}, {"facts", host.to_string()}}, cuda_json(*platform)};
    out["cache"] = {
        {"enabled", environment.cache_enabled}, {"path", store->path().string()}, {"bytes", bytes}};
    fmt::print("{}\n", out.dump());
    return kDone;
  }
  fmt::print("tensorc {}, build {}\n", version(), build_identity());
  fmt::print("target cpu: {}\n", host.to_string());
  print_cuda(*platform);
  const std::string problem = store->problem();
  fmt::print("cache: {} ({} bytes{}{})\n", store->path().string(), bytes,
             environment.cache_enabled ? "" : ", switched off by TC_CACHE",
             problem.empty() ? "" : ", cannot be written: " + problem);
  return kDone;
}

}  // namespace tc::cli
