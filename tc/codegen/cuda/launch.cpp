// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/cuda/launch.h"

#include <algorithm>

#include <fmt/format.h>

#include "tc/support/cuda_limits.h"
#include "tc/support/numeric.h"

namespace tc::codegen::cuda {
namespace {

using cuda_limits::kGrid;

void collect(const std::vector<kernel::Step>& steps, int kernel, kernel::Facts facts,
             std::vector<kernel::Interval>& ranges, bool& first) {
  for (const auto& step : steps) {
    if (const auto* loop = std::get_if<kernel::Loop>(&step.node)) {
      const kernel::Interval lo = facts.range(loop->lo);
      const kernel::Interval hi = facts.range(loop->hi);
      kernel::Facts inside = facts;
      inside.set_range(loop->counter, {lo.lo, std::max(lo.lo, hi.hi - (hi.hi > lo.lo ? 1 : 0))});
      collect(loop->body, kernel, std::move(inside), ranges, first);
      continue;
    }
    const auto& launch = std::get<kernel::Launch>(step.node);
    if (launch.kernel != kernel) continue;
    for (std::size_t i = 0; i < launch.ints.size(); ++i) {
      const kernel::Interval range = facts.range(launch.ints[i]);
      ranges[i] = first ? range
                        : kernel::Interval{std::min(ranges[i].lo, range.lo),
                                           std::max(ranges[i].hi, range.hi)};
    }
    first = false;
  }
}

}  // namespace

Result<GridShape, Rejection> grid_shape(const kernel::Kernel& kernel) {
  GridShape shape;
  const auto& grid = kernel.grid;
  for (const auto& dim : grid) {
    if (dim.extent == 0) {
      shape.blocks = {0, 0, 0};
      shape.tasks = 0;
      return shape;
    }
  }
  bool direct = grid.size() <= 3;
  for (std::size_t d = 0; d < grid.size(); ++d) {
    if (!checked_mul(shape.tasks, grid[d].extent, shape.tasks))
      return Rejection{RejectionKind::TooManyThreads,
                       fmt::format("kernel '{}' has more than 2^63 tasks", kernel.name)};
    const std::size_t axis = grid.size() - 1 - d;
    if (direct) direct = grid[d].extent <= kGrid[axis];
  }
  if (direct) {
    for (std::size_t d = 0; d < grid.size(); ++d)
      shape.blocks[grid.size() - 1 - d] = grid[d].extent;
    return shape;
  }
  shape.is_linear = true;
  shape.blocks[0] = std::min(shape.tasks, kGrid[0]);
  shape.blocks[1] = ceil_div(shape.tasks, shape.blocks[0]);
  if (shape.blocks[1] > kGrid[1])
    return Rejection{RejectionKind::TooManyThreads,
                     fmt::format("kernel '{}' has {} tasks; a grid has at most {}", kernel.name,
                                 shape.tasks, kGrid[0] * kGrid[1]),
                     shape.tasks, kGrid[0] * kGrid[1]};
  return shape;
}

std::vector<kernel::Interval> parameter_ranges(const kernel::Plan& plan, std::size_t kernel) {
  std::vector<kernel::Interval> ranges(plan.kernels[kernel].int_params.size(),
                                       kernel::full_interval(DType::Int64));
  bool first = true;
  collect(plan.steps, static_cast<int>(kernel), {}, ranges, first);
  return ranges;
}

}  // namespace tc::codegen::cuda
