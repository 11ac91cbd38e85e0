// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/launch_text.h"

#include <charconv>

#include <fmt/format.h>

namespace tc::kernel {
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

/// Positions that steps name exist; empty if they do.
std::string check_steps(const LaunchText& text, const std::vector<Step>& steps) {
  for (const auto& step : steps) {
    if (const auto* loop = std::get_if<Loop>(&step.node)) {
      if (auto error = check_steps(text, loop->body); !error.empty()) return error;
      continue;
    }
    const auto& launch = std::get<Launch>(step.node);
    if (launch.kernel < 0 || launch.kernel >= static_cast<int>(text.kernels.size()))
      return fmt::format("launch of kernel {}, there are {}", launch.kernel, text.kernels.size());
    for (const int argument : launch.arguments)
      if (argument < 0 || argument >= static_cast<int>(text.arguments.size()))
        return fmt::format("launch with argument {}, there are {}", argument,
                           text.arguments.size());
  }
  return "";
}

}  // namespace

bool parse_integer(std::string_view text, std::int64_t& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

std::string print(const LaunchText& text) {
  std::string out = print(PlanHeader{"launch", text.arguments, text.scratch_bytes});
  out += fmt::format("{}{}\n", kKernels, text.kernels.size());
  for (const auto& line : text.kernels)
    out += line + "\n";
  out += kSteps;
  return out + print(text.steps);
}

Result<LaunchText, std::string> parse_launch_text(std::string_view text) {
  const std::size_t kernels_at = text.find("\nkernels ");
  if (kernels_at == std::string_view::npos) return std::string("a launch table lists its kernels");
  auto header = parse_plan_header(text.substr(0, kernels_at + 1));
  if (!header) return header.error().message;
  std::string_view rest = text.substr(kernels_at + 1);
  std::int64_t count = 0;
  if (!parse_integer(take_line(rest).substr(kKernels.size()), count) || count < 0)
    return std::string("a launch table counts its kernels");
  LaunchText result;
  result.arguments = std::move(header->arguments);
  result.scratch_bytes = header->scratch_bytes;
  for (std::int64_t i = 0; i < count && !rest.empty(); ++i)
    result.kernels.emplace_back(take_line(rest));
  if (static_cast<std::int64_t>(result.kernels.size()) != count ||
      rest.substr(0, kSteps.size()) != kSteps)
    return std::string("a launch table ends with its steps");
  rest.remove_prefix(kSteps.size());
  auto steps = parse_steps(rest);
  if (!steps) return steps.error().message;
  result.steps = std::move(*steps);
  if (auto error = check_steps(result, result.steps); !error.empty()) return error;
  return result;
}

}  // namespace tc::kernel
