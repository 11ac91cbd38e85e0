// SPDX-License-Identifier: Apache-2.0
//
// A launch plan: what one call of a comprehension does, in order on the caller's stream.
//
//   Plan = (Argument* arguments, Kernel* kernels, Step* steps, scratch)
//   Step = Launch(kernel, argument positions, int values) | Loop(counter, lo, hi, Step*)
//
// A loop around launches passes its counter to the kernels as an integer parameter; bounds and
// values are integer expressions over the counters of enclosing loops, evaluated on the host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tc/kernel/ir.h"
#include "tc/kernel/passes.h"

namespace tc::kernel {

/// What a pointer argument of a kernel refers to.
struct Argument {
  enum class Kind { Input, Output, Scratch } kind = Kind::Input;
  std::string name;  ///< tensor name
  int position =
      0;  ///< Input: among the tensor parameters; Output: in the return list; Scratch: unused
  std::int64_t offset_bytes =
      0;  ///< Scratch: where it lies in the one scratch block (64-byte aligned)
  std::int64_t size_bytes = 0;  ///< Scratch: its size
};

struct Step;
struct Launch {
  int kernel = 0;
  std::vector<int> arguments;  ///< for each Kernel::buffers, a position in Plan::arguments
  std::vector<ExprPtr> ints;   ///< values of Kernel::int_params, over counters of enclosing Loops
};
struct Loop {
  Var counter;
  ExprPtr lo, hi;
  std::vector<Step> body;
};
struct Step {
  std::variant<Launch, Loop> node;
};

struct Plan {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::int64_t scratch_bytes = 0;
};

/// What a plan says before its kernels.
struct PlanHeader {
  std::string name;
  std::vector<Argument> arguments;
  std::int64_t scratch_bytes = 0;
};

/// Text of a whole plan (arguments, kernels in the text of passes.h, steps); parses back.
std::string print(const Plan& plan);
Result<Plan, ParseError> parse_plan(std::string_view text);
std::vector<std::string> verify(const Plan& plan);

/// Parts of that text by themselves, for whoever keeps a plan without its kernels.
std::string print(const PlanHeader& header);
std::string print(const std::vector<Step>& steps);
Result<PlanHeader, ParseError> parse_plan_header(std::string_view text);
Result<std::vector<Step>, ParseError> parse_steps(std::string_view text);

}  // namespace tc::kernel
