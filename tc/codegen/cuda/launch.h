// SPDX-License-Identifier: Apache-2.0
//
// How a kernel is launched: its grid within the limits of CUDA, and what is known of its integer
// parameters. Internal to the room.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tc/kernel/affine.h"
#include "tc/kernel/plan.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::codegen::cuda {

/// Where the dimensions of a grid lie. Either each has an axis of CUDA of its own, or all are
/// counted by one number, from which they follow by division.
struct GridShape {
  std::array<std::int64_t, 3> blocks = {1, 1, 1};
  bool is_linear = false;
  std::int64_t tasks = 1;  ///< all blocks that have work; linear: the rest of the last row idles
};
Result<GridShape, Rejection> grid_shape(const kernel::Kernel& kernel);

/// Interval of each integer parameter over all launches of the kernel.
std::vector<kernel::Interval> parameter_ranges(const kernel::Plan& plan, std::size_t kernel);

}  // namespace tc::codegen::cuda
