// SPDX-License-Identifier: Apache-2.0
//
// The steps of a launch table in the form in which a run follows them: one flat list, loop counters
// in numbered slots, integer values as sums of counters or, where they are more than that, as
// postfix code. Nothing here allocates or looks anything up.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tc/runtime/cuda/launch_table.h"
#include "tc/support/rejection.h"

namespace tc::runtime::cuda {

/// Deepest nest of loops around launches, and of parentheses in an integer value.
constexpr int kMaxCounters = 16;
constexpr int kMaxStack = 32;

/// A host integer: constant + sum of factors times counters, then `code`, if any, on a stack that
/// starts empty (the sum is not used then).
struct HostValue {
  std::int64_t constant = 0;
  std::uint32_t first_term = 0, terms = 0;
  std::uint32_t first_op = 0, ops = 0;
};

struct HostTerm {
  std::int64_t factor;
  int counter;
};

struct HostOp {
  enum class Kind { Push, Counter, Negate, Not, Select, Binary } kind = Kind::Push;
  kernel::BinaryOp binary = kernel::BinaryOp::Add;
  std::int64_t value = 0;  ///< Push: the number; Counter: the slot
};

struct HostStep {
  enum class Kind { Launch, LoopBegin, LoopEnd } kind = Kind::Launch;
  int index = 0;                ///< Launch: kernel; LoopBegin, LoopEnd: slot of the counter
  std::uint32_t first = 0;      ///< Launch: first of its arguments in HostProgram::arguments
  std::uint32_t count = 0;      ///< Launch: how many
  std::uint32_t first_int = 0;  ///< Launch: first of its values; LoopBegin: the value lo, then hi
  std::uint32_t ints = 0;       ///< Launch: how many
  std::uint32_t partner = 0;    ///< LoopBegin: position of its LoopEnd; LoopEnd: of its LoopBegin
};

struct HostProgram {
  std::vector<HostStep> steps;
  std::vector<int> arguments;
  std::vector<HostValue> values;
  std::vector<HostTerm> terms;
  std::vector<HostOp> ops;

  using Counters = std::array<std::int64_t, kMaxCounters>;
  std::int64_t evaluate(const HostValue& value, const Counters& counters) const {
    if (value.ops != 0) return evaluate_code(value, counters);
    auto sum = static_cast<std::uint64_t>(value.constant);
    for (std::uint32_t t = 0; t < value.terms; ++t) {
      const HostTerm& term = terms[value.first_term + t];
      sum += static_cast<std::uint64_t>(term.factor) *
             static_cast<std::uint64_t>(counters[static_cast<std::size_t>(term.counter)]);
    }
    return static_cast<std::int64_t>(sum);
  }

private:
  std::int64_t evaluate_code(const HostValue& value, const Counters& counters) const;
};

/// Errors: Rejection{Unsupported}: more nesting or parameters than a run has room for, a value that
/// is no integer expression of counters, or a launch whose parameters are not those of its kernel.
Result<HostProgram, Rejection> compile_steps(const LaunchTable& table);

/// Launches and rounds of loops of one run; counting ends at limit + 1. With `launches`, how often
/// each kernel was launched up to there.
std::int64_t count_steps(const HostProgram& program, std::int64_t limit,
                         std::vector<std::int64_t>* launches = nullptr);

struct EveryRound {
  constexpr bool operator()(const HostStep&, const HostProgram::Counters&) const { return true; }
};

/// Follows a program: `launch(const HostStep&, const Counters&)` for each launch, `round` likewise
/// after each round of a loop, until one returns false. False then.
template <class OnLaunch, class OnRound = EveryRound>
bool follow(const HostProgram& program, OnLaunch&& launch, OnRound&& round = {}) {
  HostProgram::Counters counters{};
  HostProgram::Counters ends{};
  for (std::uint32_t at = 0; at < program.steps.size(); ++at) {
    const HostStep& step = program.steps[at];
    const auto slot = static_cast<std::size_t>(step.index);
    switch (step.kind) {
    case HostStep::Kind::Launch:
      if (!launch(step, counters)) return false;
      break;
    case HostStep::Kind::LoopBegin:
      counters[slot] = program.evaluate(program.values[step.first_int], counters);
      ends[slot] = program.evaluate(program.values[step.first_int + 1], counters);
      if (counters[slot] >= ends[slot]) at = step.partner;
      break;
    case HostStep::Kind::LoopEnd:
      if (!round(step, counters)) return false;
      if (++counters[slot] < ends[slot]) at = step.partner;
      break;
    }
  }
  return true;
}

}  // namespace tc::runtime::cuda
