// SPDX-License-Identifier: Apache-2.0
//
// Text of a launch table: the header of the plan, "kernels N", a line "NAME TASKS" for each,
// "steps", and the steps in the text of plans.
#include <charconv>

#include <fmt/format.h>

#include "tc/runtime/cpu/module.h"

namespace tc::runtime::cpu {
namespace {

constexpr std::string_view kKernels = "kernels ";
constexpr std::string_view kSteps = "steps\n";

/// Takes the first line off `text`, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool parse_number(std::string_view text, std::int64_t& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

/// Positions that steps name exist; empty if they do.
std::string check_steps(const LaunchTable& table, const std::vector<kernel::Step>& steps) {
  for (const auto& step : steps) {
    if (const auto* loop = std::get_if<kernel::Loop>(&step.node)) {
      if (auto error = check_steps(table, loop->body); !error.empty()) return error;
      continue;
    }
    const auto& launch = std::get<kernel::Launch>(step.node);
    if (launch.kernel < 0 || launch.kernel >= static_cast<int>(table.kernels.size()))
      return fmt::format("launch of kernel {}, there are {}", launch.kernel, table.kernels.size());
    for (const int argument : launch.arguments)
      if (argument < 0 || argument >= static_cast<int>(table.arguments.size()))
        return fmt::format("launch with argument {}, there are {}", argument,
                           table.arguments.size());
  }
  return "";
}

}  // namespace

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
  std::string text = print(kernel::PlanHeader{"launch", table.arguments, table.scratch_bytes});
  text += fmt::format("{}{}\n", kKernels, table.kernels.size());
  for (const auto& kernel : table.kernels)
    text += fmt::format("{} {}\n", kernel.name, kernel.tasks);
  text += kSteps;
  return text + print(table.steps);
}

Result<LaunchTable, std::string> launch_table_from_text(std::string_view text) {
  const std::size_t kernels_at = text.find("\nkernels ");
  if (kernels_at == std::string_view::npos) return std::string("a launch table lists its kernels");
  auto header = kernel::parse_plan_header(text.substr(0, kernels_at + 1));
  if (!header) return header.error().message;
  std::string_view rest = text.substr(kernels_at + 1);
  std::int64_t count = 0;
  if (!parse_number(take_line(rest).substr(kKernels.size()), count) || count < 0)
    return std::string("a launch table counts its kernels");
  LaunchTable table;
  table.arguments = std::move(header->arguments);
  table.scratch_bytes = header->scratch_bytes;
  for (std::int64_t i = 0; i < count && !rest.empty(); ++i) {
    const std::string_view line = take_line(rest);
    const std::size_t space = line.find(' ');
    std::int64_t tasks = 0;
    if (space == std::string_view::npos || !parse_number(line.substr(space + 1), tasks) ||
        tasks < 0)
      return fmt::format("'{}' is no kernel of a launch table", line);
    table.kernels.push_back({std::string(line.substr(0, space)), tasks});
  }
  if (static_cast<std::int64_t>(table.kernels.size()) != count ||
      rest.substr(0, kSteps.size()) != kSteps)
    return std::string("a launch table ends with its steps");
  rest.remove_prefix(kSteps.size());
  auto steps = kernel::parse_steps(rest);
  if (!steps) return steps.error().message;
  table.steps = std::move(*steps);
  if (auto error = check_steps(table, table.steps); !error.empty()) return error;
  return table;
}

}  // namespace tc::runtime::cpu
