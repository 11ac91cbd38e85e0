// SPDX-License-Identifier: Apache-2.0
//
// Experiments run in processes of their own: a crash or a hang of the compiler or of the code that
// it made is then a result like any other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "generate.h"
#include "runner.h"

namespace tc::fuzz {

/// Result of one seed as it comes back from a worker.
struct Record {
  std::uint64_t seed = 0;
  int drafts = 0;
  int rejected = 0;
  bool empty = false;  ///< no draft was accepted: nothing was run
  std::string last_rejection;
  std::string experiment;  ///< text of the case, only when it failed
  Outcome outcome;
};

/// Runs the seeds [first, first + count) and calls `report` for each, in order, in this process.
/// Workers are replaced when they die or take longer than `seconds` over one seed; such a seed
/// fails with property "crash" or "hang". Stops early when `report` returns false.
void run_seeds(std::uint64_t first, std::uint64_t count, int jobs, int seconds,
               const std::function<bool(const Record&)>& report);

/// Runs one case in a worker.
Outcome run_isolated(const Case& experiment, int seconds);

}  // namespace tc::fuzz
