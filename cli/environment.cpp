// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "exit_status.h"

namespace tc::cli {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The value of a variable that takes certain words; empty if it is not set, or noted as a problem.
std::string word_of(const char* name, const std::vector<std::string>& words,
                    std::vector<std::string>& problems) {
  const std::string value = variable(name);
  if (value.empty() || std::find(words.begin(), words.end(), value) != words.end()) return value;
  problems.push_back(
      fmt::format("{}={}: unknown value; accepted are {}", name, value, fmt::join(words, ", ")));
  return {};
}

/// Folders of Python packages below the prefix of an environment. Where there is none the pattern
/// stays, for the list of places that were looked at.
void add_site_packages(const std::string& prefix, std::vector<std::string>& folders) {
  if (prefix.empty()) return;
  std::error_code missing;
  const std::size_t before = folders.size();
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(prefix) / "lib", missing)) {
    const std::filesystem::path folder = entry.path() / "site-packages";
    if (std::filesystem::is_directory(folder, missing)) folders.push_back(folder.string());
  }
  if (folders.size() == before) folders.push_back(prefix + "/lib/python*/site-packages");
}

/// Where a program in PREFIX/bin finds packages without an activated environment: in its own
/// prefix, which may be a virtual environment, and in one that lies beside it, as in a checkout
/// where `make` made both.
void add_packages_around_program(std::vector<std::string>& folders) {
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (unknown) return;
  const std::filesystem::path prefix = program.parent_path().parent_path();
  add_site_packages(prefix, folders);
  add_site_packages(prefix.parent_path() / ".venv", folders);
}

/// A folder that is made if it is missing; why files cannot be written there, or empty.
std::string folder_problem(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error && ::access(folder.c_str(), W_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  return error ? error.message() : std::string();
}

void warn_about_cache(CompileCache& cache, const Environment& environment) {
  spdlog::debug("compile cache: {}", environment.cache_dir.string());
  const std::string problem = cache_problem(cache);
  if (problem.empty()) return;
  spdlog::warn("the compile cache in '{}' cannot be written: {}; compiled code is not kept "
               "(TC_CACHE_DIR names another folder, TC_CACHE=off uses none)",
               environment.cache_dir.string(), problem);
}

}  // namespace

Environment read_environment() {
  Environment environment;
  std::vector<std::string>& problems = environment.problems;
  if (const std::string directory = variable("TC_CACHE_DIR"); !directory.empty()) {
    environment.cache_dir = directory;
  } else if (const std::string base = variable("XDG_CACHE_HOME"); !base.empty()) {
    environment.cache_dir = std::filesystem::path(base) / "tensor_comprehensions";
  } else if (const std::string home = variable("HOME"); !home.empty()) {
    environment.cache_dir = std::filesystem::path(home) / ".cache" / "tensor_comprehensions";
  }
  environment.cache_enabled = word_of("TC_CACHE", {"on", "off"}, problems) != "off";
  if (const std::string target = variable("TC_TARGET"); !target.empty()) {
    environment.target = target;
    environment.target_given = true;
  }
  const std::string level = word_of("TC_LOG", {"debug", "info", "warn", "error", "off"}, problems);
  if (!level.empty()) environment.log_level = level;
  environment.dump_dir = variable("TC_DUMP_DIR");
  environment.limit_runs = word_of("TC_CUDA_LIMITS", {"on", "off"}, problems) != "off";
  environment.cuda.path = variable("TC_CUDA_PATH");
  add_site_packages(variable("VIRTUAL_ENV"), environment.cuda.site_packages);
  add_site_packages(variable("CONDA_PREFIX"), environment.cuda.site_packages);
  add_packages_around_program(environment.cuda.site_packages);
  return environment;
}

CompileContext make_context(const Environment& environment, CacheUse cache) {
  CompileContext context;
  if (environment.cache_enabled && cache == CacheUse::AsConfigured) {
    context.cache = open_cache(environment.cache_dir);
    warn_about_cache(*context.cache, environment);
  }
  if (!environment.dump_dir.empty()) {
    const std::string problem = folder_problem(environment.dump_dir);
    if (!problem.empty()) {
      throw CommandError(
          kUsage, fmt::format("TC_DUMP_DIR={}: no files can be written there: {}; it takes a "
                              "folder, which is made if it is missing",
                              environment.dump_dir.string(), problem));
    }
  }
  context.dump_dir = environment.dump_dir;
  context.cuda = find_cuda(environment.cuda);
  if (!environment.limit_runs) context.limits = {.work = 0, .thread_work = 0, .steps = 0};
  return context;
}

}  // namespace tc::cli
