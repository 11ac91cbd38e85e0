// SPDX-License-Identifier: Apache-2.0
//
// Text of a launch table: that of kernel/launch_text.h with one line for each kernel:
//   NAME grid X Y Z block X Y Z cluster X Y Z shared BYTES buffers N ints N cooperative 0|1 work N
//   thread_work N
#include "tc/runtime/cuda/launch_table.h"

#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tc/kernel/launch_text.h"
#include "tc/support/check.h"

namespace tc::runtime::cuda {
namespace {

std::string line_of(const KernelLaunch& kernel) {
  return fmt::format(
      "{} grid {} block {} cluster {} shared {} buffers {} ints {} cooperative {} work {} "
      "thread_work {}",
      kernel.name, fmt::join(kernel.grid, " "), fmt::join(kernel.block, " "),
      fmt::join(kernel.cluster, " "), kernel.dynamic_shared_bytes, kernel.buffers, kernel.ints,
      kernel.cooperative ? 1 : 0, kernel.work, kernel.thread_work);
}

/// Reads "KEY N" with as many numbers as `values` has, none negative.
template <std::size_t Count>
bool read(std::istringstream& in, std::string_view key, std::array<std::int64_t, Count>& values) {
  std::string word;
  if (!(in >> word) || word != key) return false;
  for (std::int64_t& value : values)
    if (!(in >> word) || !kernel::parse_integer(word, value) || value < 0) return false;
  return true;
}

bool parse_line(const std::string& line, KernelLaunch& kernel) {
  std::istringstream in(line);
  std::array<std::int64_t, 1> shared{}, buffers{}, ints{}, cooperative{}, work{}, thread_work{};
  const bool whole = (in >> kernel.name) && read(in, "grid", kernel.grid) &&
                     read(in, "block", kernel.block) && read(in, "cluster", kernel.cluster) &&
                     read(in, "shared", shared) && read(in, "buffers", buffers) &&
                     read(in, "ints", ints) && read(in, "cooperative", cooperative) &&
                     read(in, "work", work) && read(in, "thread_work", thread_work);
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  std::string more;
  if (!whole || in >> more || buffers[0] > kMost || ints[0] > kMost || cooperative[0] > 1)
    return false;
  kernel.dynamic_shared_bytes = shared[0];
  kernel.buffers = static_cast<int>(buffers[0]);
  kernel.ints = static_cast<int>(ints[0]);
  kernel.cooperative = cooperative[0] != 0;
  kernel.work = work[0];
  kernel.thread_work = thread_work[0];
  return true;
}

}  // namespace

LaunchTable launch_table(const kernel::Plan& plan, std::vector<KernelLaunch> kernels) {
  check(kernels.size() == plan.kernels.size(), "each kernel of a plan has one launch");
  LaunchTable table;
  table.arguments = plan.arguments;
  table.steps = plan.steps;
  table.scratch_bytes = plan.scratch_bytes;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name.empty()) kernels[i].name = plan.kernels[i].name;
    kernels[i].buffers = static_cast<int>(plan.kernels[i].buffers.size());
    kernels[i].ints = static_cast<int>(plan.kernels[i].int_params.size());
  }
  table.kernels = std::move(kernels);
  return table;
}

std::string to_text(const LaunchTable& table) {
  kernel::LaunchText text{table.arguments, table.scratch_bytes, {}, table.steps};
  for (const auto& kernel : table.kernels)
    text.kernels.push_back(line_of(kernel));
  return print(text);
}

Result<LaunchTable, std::string> launch_table_from_text(std::string_view text) {
  auto parsed = kernel::parse_launch_text(text);
  if (!parsed) return parsed.error();
  LaunchTable table;
  for (const std::string& line : parsed->kernels) {
    KernelLaunch kernel;
    if (!parse_line(line, kernel)) return fmt::format("'{}' is no kernel of a launch table", line);
    table.kernels.push_back(std::move(kernel));
  }
  table.arguments = std::move(parsed->arguments);
  table.steps = std::move(parsed->steps);
  table.scratch_bytes = parsed->scratch_bytes;
  return table;
}

}  // namespace tc::runtime::cuda
