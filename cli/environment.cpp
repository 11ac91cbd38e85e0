// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include <cstdlib>

namespace tc::cli {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
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
  return environment;
}

CompileContext make_context(const Environment& environment) {
  CompileContext context;
  if (environment.cache_enabled) context.cache = open_cache(environment.cache_dir);
  context.dump_dir = environment.dump_dir;
  return context;
}

}  // namespace tc::cli
