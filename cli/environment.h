// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tc/tc.h"

namespace tc::cli {

/// Environment variables (docs/environment.md), read once at start.
struct Environment {
  std::filesystem::path cache_dir;  ///< TC_CACHE_DIR, else $XDG_CACHE_HOME/tensor_comprehensions,
                                    ///< else ~/.cache/tensor_comprehensions
  bool cache_enabled = true;        ///< TC_CACHE=off
  std::string target = "cpu";       ///< TC_TARGET
  bool target_given = false;        ///< TC_TARGET is set
  std::string log_level = "warn";   ///< TC_LOG
  std::filesystem::path dump_dir;   ///< TC_DUMP_DIR
  CudaSearch cuda;                  ///< TC_CUDA_PATH; packages of VIRTUAL_ENV, CONDA_PREFIX and of
                                    ///< the folders around the program
  bool limit_runs = true;           ///< TC_CUDA_LIMITS=off

  std::vector<std::string> problems;  ///< values that are not accepted, each with what is
};

Environment read_environment();
enum class CacheUse { AsConfigured, None };
/// Warns once when the cache cannot be written. Throws CommandError for a folder of dumps that
/// cannot be.
CompileContext make_context(const Environment& environment,
                            CacheUse cache = CacheUse::AsConfigured);

}  // namespace tc::cli
