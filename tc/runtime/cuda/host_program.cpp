// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/host_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tc/kernel/host_arithmetic.h"
#include "tc/support/check.h"
#include "tc/support/cuda_limits.h"
#include "tc/support/numeric.h"

namespace tc::runtime::cuda {
namespace {

/// constant + sum of factors times counter slots, wrapping.
struct Affine {
  std::int64_t constant = 0;
  std::map<int, std::int64_t> factors;
};

Affine combine(kernel::BinaryOp op, Affine a, const Affine& b) {
  a.constant = kernel::wrapping(op, a.constant, b.constant);
  for (const auto& [slot, factor] : b.factors)
    a.factors[slot] = kernel::wrapping(op, a.factors[slot], factor);
  return a;
}

Affine scale(Affine a, std::int64_t by) {
  a.constant = kernel::wrapping(kernel::BinaryOp::Mul, a.constant, by);
  for (auto& [slot, factor] : a.factors)
    factor = kernel::wrapping(kernel::BinaryOp::Mul, factor, by);
  return a;
}

/// Why a table cannot be followed; thrown and caught in this file only, because the translation is
/// recursive.
struct Refused {
  Rejection rejection;
};

[[noreturn]] void refuse(std::string message, std::int64_t used = 0, std::int64_t limit = 0) {
  throw Refused{{RejectionKind::Unsupported, std::move(message), used, limit}};
}

class Compiler {
public:
  explicit Compiler(const LaunchTable& table) : table_(table) {}

  HostProgram compile() {
    steps(table_.steps);
    return std::move(program_);
  }

private:
  void steps(const std::vector<kernel::Step>& list) {
    for (const auto& step : list)
      std::visit(Overloaded{[&](const kernel::Launch& node) { launch(node); },
                            [&](const kernel::Loop& node) { loop(node); }},
                 step.node);
  }

  void loop(const kernel::Loop& loop) {
    const int slot = static_cast<int>(counters_.size());
    if (slot == kMaxCounters)
      refuse(fmt::format("more than {} loops around a launch", kMaxCounters), slot + 1,
             kMaxCounters);
    HostStep begin{.kind = HostStep::Kind::LoopBegin, .index = slot};
    const HostValue lo = value(loop.lo);
    const HostValue hi = value(loop.hi);
    begin.first_int = static_cast<std::uint32_t>(program_.values.size());
    program_.values.push_back(lo);
    program_.values.push_back(hi);
    const auto at = static_cast<std::uint32_t>(program_.steps.size());
    program_.steps.push_back(begin);
    counters_.push_back(loop.counter.id);
    steps(loop.body);
    counters_.pop_back();
    // A loop around nothing would only take time.
    if (program_.steps.size() == at + 1) return program_.steps.pop_back();
    program_.steps[at].partner = static_cast<std::uint32_t>(program_.steps.size());
    program_.steps.push_back({.kind = HostStep::Kind::LoopEnd, .index = slot, .partner = at});
  }

  void launch(const kernel::Launch& launch) {
    if (launch.kernel < 0 || launch.kernel >= static_cast<int>(table_.kernels.size()))
      refuse(
          fmt::format("launch of kernel {}, there are {}", launch.kernel, table_.kernels.size()));
    const KernelLaunch& kernel = table_.kernels[static_cast<std::size_t>(launch.kernel)];
    if (launch.arguments.size() != static_cast<std::size_t>(kernel.buffers) ||
        launch.ints.size() != static_cast<std::size_t>(kernel.ints))
      refuse(fmt::format("launch of '{}' with {} buffers and {} integers, it has {} and {}",
                         kernel.name, launch.arguments.size(), launch.ints.size(), kernel.buffers,
                         kernel.ints));
    const std::size_t parameters = launch.arguments.size() + launch.ints.size();
    if (parameters > cuda_limits::kParameters)
      refuse(cuda_limits::parameters(kernel.name, static_cast<std::int64_t>(parameters)).message,
             static_cast<std::int64_t>(parameters), cuda_limits::kParameters);
    HostStep step{.index = launch.kernel};
    step.first = static_cast<std::uint32_t>(program_.arguments.size());
    step.count = static_cast<std::uint32_t>(launch.arguments.size());
    for (const int argument : launch.arguments) {
      if (argument < 0 || argument >= static_cast<int>(table_.arguments.size()))
        refuse(fmt::format("launch of '{}' with argument {}, there are {}", kernel.name, argument,
                           table_.arguments.size()));
      program_.arguments.push_back(argument);
    }
    std::vector<HostValue> ints;
    for (const auto& expr : launch.ints)
      ints.push_back(value(expr));
    step.first_int = static_cast<std::uint32_t>(program_.values.size());
    step.ints = static_cast<std::uint32_t>(ints.size());
    program_.values.insert(program_.values.end(), ints.begin(), ints.end());
    program_.steps.push_back(step);
  }

  HostValue value(const kernel::ExprPtr& expr) {
    HostValue result;
    if (const auto sum = affine(expr)) {
      result.constant = sum->constant;
      result.first_term = static_cast<std::uint32_t>(program_.terms.size());
      for (const auto& [slot, factor] : sum->factors)
        if (factor != 0) program_.terms.push_back({factor, slot});
      result.terms = static_cast<std::uint32_t>(program_.terms.size()) - result.first_term;
      return result;
    }
    result.first_op = static_cast<std::uint32_t>(program_.ops.size());
    code(expr, 0);
    result.ops = static_cast<std::uint32_t>(program_.ops.size()) - result.first_op;
    return result;
  }

  int slot_of(const kernel::VarRef& ref) const {
    for (std::size_t i = counters_.size(); i-- > 0;)
      if (counters_[i] == ref.var.id) return static_cast<int>(i);
    refuse(fmt::format("a host value uses '{}', which no enclosing loop counts", ref.var.name));
  }

  std::optional<Affine> affine(const kernel::ExprPtr& expr) const {
    if (const auto* imm = std::get_if<kernel::IntImm>(&expr->node)) return Affine{imm->value, {}};
    if (const auto* ref = std::get_if<kernel::VarRef>(&expr->node))
      return Affine{0, {{slot_of(*ref), 1}}};
    if (const auto* unary = std::get_if<kernel::Unary>(&expr->node)) {
      const auto operand = affine(unary->operand);
      if (!operand || unary->op != kernel::UnaryOp::Negate) return std::nullopt;
      return scale(*operand, -1);
    }
    const auto* binary = std::get_if<kernel::Binary>(&expr->node);
    if (!binary) return std::nullopt;
    const auto left = affine(binary->left);
    const auto right = left ? affine(binary->right) : std::nullopt;
    if (!right) return std::nullopt;
    if (binary->op == kernel::BinaryOp::Add || binary->op == kernel::BinaryOp::Sub)
      return combine(binary->op, *left, *right);
    if (binary->op != kernel::BinaryOp::Mul) return std::nullopt;
    if (right->factors.empty()) return scale(*left, right->constant);
    if (left->factors.empty()) return scale(*right, left->constant);
    return std::nullopt;
  }

  void emit(HostOp op) { program_.ops.push_back(op); }

  /// Appends code that leaves the value of `expr` at stack position `depth`.
  void code(const kernel::ExprPtr& expr, int depth) {
    if (depth >= kMaxStack)
      refuse(fmt::format("an integer value of a launch nests deeper than {}", kMaxStack), depth + 1,
             kMaxStack);
    const bool is_host = expr->type.lanes == 1 &&
                         (expr->type.elem == DType::Int64 || expr->type.elem == DType::Bool);
    if (!is_host) refuse("a host value is not an int64 scalar");
    std::visit(
        Overloaded{
            [&](const kernel::IntImm& n) { emit({.value = n.value}); },
            [&](const kernel::VarRef& n) {
              emit({.kind = HostOp::Kind::Counter, .value = slot_of(n)});
            },
            [&](const kernel::Unary& n) {
              code(n.operand, depth);
              emit({.kind =
                        n.op == kernel::UnaryOp::Not ? HostOp::Kind::Not : HostOp::Kind::Negate});
            },
            [&](const kernel::Binary& n) {
              if (n.op == kernel::BinaryOp::Div) refuse("a host value divides floats");
              code(n.left, depth);
              code(n.right, depth + 1);
              emit({.kind = HostOp::Kind::Binary, .binary = n.op});
            },
            [&](const kernel::Select& n) {
              code(n.condition, depth);
              code(n.if_true, depth + 1);
              code(n.if_false, depth + 2);
              emit({.kind = HostOp::Kind::Select});
            },
            [&](const kernel::Cast& n) {
              if (n.to != DType::Int64) refuse("a host value casts to another type than int64");
              code(n.operand, depth);
            },
            [](const auto&) { refuse("a host value is not an integer expression of counters"); },
        },
        expr->node);
  }

  const LaunchTable& table_;
  HostProgram program_;
  std::vector<int> counters_;  // id of the counter in each slot
};

}  // namespace

std::int64_t HostProgram::evaluate_code(const HostValue& value, const Counters& counters) const {
  std::array<std::int64_t, kMaxStack> stack;
  std::size_t top = 0;  // number of values
  for (std::uint32_t i = 0; i < value.ops; ++i) {
    const HostOp& op = ops[value.first_op + i];
    switch (op.kind) {
    case HostOp::Kind::Push: stack[top++] = op.value; break;
    case HostOp::Kind::Counter: stack[top++] = counters[static_cast<std::size_t>(op.value)]; break;
    case HostOp::Kind::Negate:
      stack[top - 1] = kernel::wrapping(kernel::BinaryOp::Sub, 0, stack[top - 1]);
      break;
    case HostOp::Kind::Not: stack[top - 1] = stack[top - 1] == 0; break;
    case HostOp::Kind::Binary:
      --top;
      stack[top - 1] = kernel::evaluate(op.binary, stack[top - 1], stack[top]);
      break;
    case HostOp::Kind::Select:
      top -= 2;
      stack[top - 1] = stack[top - 1] != 0 ? stack[top] : stack[top + 1];
      break;
    }
  }
  return stack[0];
}

std::int64_t count_steps(const HostProgram& program, std::int64_t limit,
                         std::vector<std::int64_t>* launches) {
  std::int64_t count = 0;
  const auto launch = [&](const HostStep& step, const HostProgram::Counters&) {
    if (launches != nullptr) ++launches->at(static_cast<std::size_t>(step.index));
    return ++count <= limit;
  };
  const auto round = [&](const HostStep&, const HostProgram::Counters&) {
    return ++count <= limit;
  };
  follow(program, launch, round);
  return count;
}

Result<HostProgram, Rejection> compile_steps(const LaunchTable& table) {
  try {
    return Compiler(table).compile();
  } catch (const Refused& refused) {
    return refused.rejection;
  }
}

}  // namespace tc::runtime::cuda
