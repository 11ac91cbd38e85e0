// SPDX-License-Identifier: Apache-2.0
//
// Text of a launch table: what a runtime keeps of a plan, without the bodies of its kernels. Both
// runtimes write it; what a kernel's line says beside the name is theirs.
//
//   (header of the plan) kernels N (N lines "NAME ...") steps (steps of the plan)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tc/kernel/plan.h"

namespace tc::kernel {

struct LaunchText {
  std::vector<Argument> arguments;
  std::int64_t scratch_bytes = 0;
  std::vector<std::string> kernels;  ///< one line each, without its end; starts with the name
  std::vector<Step> steps;
};

std::string print(const LaunchText& text);
/// Errors: the reason, when the text is none or its steps name kernels or arguments that are not
/// there.
Result<LaunchText, std::string> parse_launch_text(std::string_view text);

/// Whole decimal number; false if `text` is anything else.
bool parse_integer(std::string_view text, std::int64_t& value);

}  // namespace tc::kernel
