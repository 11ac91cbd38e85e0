// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tc/kernel/plan.h"
#include "tc/support/result.h"

namespace tc::runtime::cuda {

/// How one kernel is launched. Its parameters are its buffers in order, 8 bytes each, then its
/// integers as int64.
struct KernelLaunch {
  std::string name{};                            ///< of the function in the cubin
  std::array<std::int64_t, 3> grid{1, 1, 1};     ///< blocks in x, y, z; a 0 launches nothing
  std::array<std::int64_t, 3> block{1, 1, 1};    ///< threads
  std::array<std::int64_t, 3> cluster{1, 1, 1};  ///< blocks of one cluster; divides the grid
  std::int64_t dynamic_shared_bytes = 0;
  int buffers = 0;
  int ints = 0;
  bool cooperative = false;      ///< all blocks run at once, so that they may wait for one another
  std::int64_t work = 0;         ///< estimated executions of statements in one launch; 0: unknown
  std::int64_t thread_work = 0;  ///< those of one thread
};

/// What remains of a plan at run time: launches, argument positions and steps, without kernel
/// bodies. Serialisable for the cache.
struct LaunchTable {
  std::vector<kernel::Argument> arguments;
  std::vector<KernelLaunch> kernels;
  std::vector<kernel::Step> steps;
  std::int64_t scratch_bytes = 0;
};

/// The table of a plan whose kernels are launched as `kernels` says, one for each of plan.kernels
/// and in its order. Counts of parameters are taken from the plan, names where none is given.
LaunchTable launch_table(const kernel::Plan& plan, std::vector<KernelLaunch> kernels);

/// Text form for the compile cache, and back.
std::string to_text(const LaunchTable& table);
Result<LaunchTable, std::string> launch_table_from_text(std::string_view text);

}  // namespace tc::runtime::cuda
