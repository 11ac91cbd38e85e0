// SPDX-License-Identifier: Apache-2.0
//
// Text of a launch table: that of kernel/launch_text.h with a line "NAME TASKS" for each kernel.
#include <fmt/format.h>

#include "tc/kernel/launch_text.h"
#include "tc/runtime/cpu/module.h"

namespace tc::runtime::cpu {

LaunchTable launch_table(const kernel::Plan& plan) {
  LaunchTable table;
  table.arguments = plan.arguments;
  table.steps = plan.steps;
  table.scratch_bytes = plan.scratch_bytes;
  for (const auto& kernel : plan.kernels) {
    std::int64_t tasks = 1;
    for (const auto& dim : kernel.grid)
      tasks *= dim.extent;
    table.kernels.push_back({kernel.name, tasks});
  }
  return table;
}

std::string to_text(const LaunchTable& table) {
  kernel::LaunchText text{table.arguments, table.scratch_bytes, {}, table.steps};
  for (const auto& kernel : table.kernels)
    text.kernels.push_back(fmt::format("{} {}", kernel.name, kernel.tasks));
  return print(text);
}

Result<LaunchTable, std::string> launch_table_from_text(std::string_view text) {
  auto parsed = kernel::parse_launch_text(text);
  if (!parsed) return parsed.error();
  LaunchTable table;
  for (const std::string& line : parsed->kernels) {
    const std::size_t space = line.find(' ');
    std::int64_t tasks = 0;
    if (space == std::string::npos ||
        !kernel::parse_integer(std::string_view(line).substr(space + 1), tasks) || tasks < 0)
      return fmt::format("'{}' is no kernel of a launch table", line);
    table.kernels.push_back({line.substr(0, space), tasks});
  }
  table.arguments = std::move(parsed->arguments);
  table.steps = std::move(parsed->steps);
  table.scratch_bytes = parsed->scratch_bytes;
  return table;
}

}  // namespace tc::runtime::cpu
