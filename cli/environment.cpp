// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include <cstdlib>

namespace tc::cli {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Folders of Python packages below the prefix of an environment.
void add_site_packages(const std::string& prefix, std::vector<std::string>& folders) {
  if (prefix.empty()) return;
  std::error_code missing;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(prefix) / "lib", missing)) {
    const std::filesystem::path folder = entry.path() / "site-packages";
    if (std::filesystem::is_directory(folder, missing)) folders.push_back(folder.string());
  }
}

}  // namespace

Environment read_environment() {
  Environment environment;
  if (const std::string directory = variable("TC_CACHE_DIR"); !directory.empty()) {
    environment.cache_dir = directory;
  } else if (const std::string base = variable("XDG_CACHE_HOME"); !base.empty()) {
    environment.cache_dir = std::filesystem::path(base) / "tensor_comprehensions";
  } else if (const std::string home = variable("HOME"); !home.empty()) {
    environment.cache_dir = std::filesystem::path(home) / ".cache" / "tensor_comprehensions";
  }
  environment.cache_enabled = variable("TC_CACHE") != "off";
  if (const std::string target = variable("TC_TARGET"); !target.empty())
    environment.target = target;
  if (const std::string level = variable("TC_LOG"); !level.empty()) environment.log_level = level;
  environment.dump_dir = variable("TC_DUMP_DIR");
  environment.limit_runs = variable("TC_CUDA_LIMITS") != "off";
  environment.cuda.path = variable("TC_CUDA_PATH");
  environment.lightgbm = variable("TC_LIGHTGBM");
  add_site_packages(variable("VIRTUAL_ENV"), environment.cuda.site_packages);
  add_site_packages(variable("CONDA_PREFIX"), environment.cuda.site_packages);
  return environment;
}

CompileContext make_context(const Environment& environment, CacheUse cache) {
  CompileContext context;
  if (environment.cache_enabled && cache == CacheUse::AsConfigured)
    context.cache = open_cache(environment.cache_dir);
  context.dump_dir = environment.dump_dir;
  context.cuda = find_cuda(environment.cuda);
  if (!environment.limit_runs) context.limits = {.work = 0, .thread_work = 0, .steps = 0};
  return context;
}

}  // namespace tc::cli
