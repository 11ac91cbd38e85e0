// SPDX-License-Identifier: Apache-2.0
//
// Text and checks of launch plans:
//
//   plan NAME
//   scratch BYTES
//   argument input x 0 | argument output y 0 | argument scratch t offset 0 size 64
//   kernel ...
//   launch KERNEL(ARGUMENT, ...; INT, ...)
//   loop t in LO:HI { STEP ... }
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tc/kernel/parse.h"
#include "tc/kernel/plan.h"
#include "tc/support/check.h"

namespace tc::kernel {
namespace {

class StepPrinter {
public:
  explicit StepPrinter(Names& names) : names_(names) {}

  std::string text(const std::vector<Step>& steps, int depth) {
    std::string out;
    for (const auto& step : steps) {
      const std::string indent(2 * static_cast<std::size_t>(depth), ' ');
      std::visit(Overloaded{
                     [&](const Launch& launch) { out += indent + text(launch) + "\n"; },
                     [&](const Loop& loop) {
                       const std::string lo = print(loop.lo, names_);
                       const std::string hi = print(loop.hi, names_);
                       out += fmt::format("{}loop {} in {}:{} {{\n", indent,
                                          names_.var(loop.counter), lo, hi);
                       out += text(loop.body, depth + 1);
                       out += indent + "}\n";
                     },
                 },
                 step.node);
    }
    return out;
  }

private:
  std::string text(const Launch& launch) {
    std::string ints;
    for (const auto& value : launch.ints)
      ints += (ints.empty() ? "; " : ", ") + print(value, names_);
    return fmt::format("launch {}({}{})", launch.kernel, fmt::join(launch.arguments, ", "), ints);
  }

  Names& names_;
};

std::string text(const Argument& argument) {
  switch (argument.kind) {
  case Argument::Kind::Input:
    return fmt::format("argument input {} {}\n", argument.name, argument.position);
  case Argument::Kind::Output:
    return fmt::format("argument output {} {}\n", argument.name, argument.position);
  case Argument::Kind::Scratch:
    return fmt::format("argument scratch {} offset {} size {}\n", argument.name,
                       argument.offset_bytes, argument.size_bytes);
  }
  unreachable("argument kind");
}

Argument read_argument(TextReader& in) {
  Argument argument;
  const std::string kind = in.name();
  argument.name = in.name();
  if (kind == "input" || kind == "output") {
    argument.kind = kind == "input" ? Argument::Kind::Input : Argument::Kind::Output;
    argument.position = static_cast<int>(in.integer());
  } else if (kind == "scratch") {
    argument.kind = Argument::Kind::Scratch;
    in.expect("offset");
    argument.offset_bytes = in.integer();
    in.expect("size");
    argument.size_bytes = in.integer();
  } else {
    in.fail(fmt::format("'{}' is no kind of argument", kind));
  }
  return argument;
}

Launch read_launch(TextReader& in) {
  Launch launch;
  launch.kernel = static_cast<int>(in.integer());
  in.expect("(");
  while (!in.is(")") && !in.is(";")) {
    launch.arguments.push_back(static_cast<int>(in.integer()));
    if (!in.accept(",")) break;
  }
  if (in.accept(";")) {
    do
      launch.ints.push_back(in.expr());
    while (in.accept(","));
  }
  in.expect(")");
  return launch;
}

std::vector<Step> read_steps(TextReader& in) {
  std::vector<Step> steps;
  while (true) {
    if (in.accept("launch")) {
      steps.push_back({read_launch(in)});
    } else if (in.accept("loop")) {
      Loop loop;
      const std::string name = in.name();
      in.expect("in");
      loop.lo = in.expr();
      in.expect(":");
      loop.hi = in.expr();
      const std::size_t scope = in.mark();
      loop.counter = in.define_var(name, Type{});
      in.expect("{");
      loop.body = read_steps(in);
      in.expect("}");
      in.release(scope);
      steps.push_back({std::move(loop)});
    } else {
      return steps;
    }
  }
}

PlanHeader read_header(TextReader& in) {
  PlanHeader header;
  in.expect("plan");
  header.name = in.name();
  in.expect("scratch");
  header.scratch_bytes = in.integer();
  while (in.accept("argument"))
    header.arguments.push_back(read_argument(in));
  return header;
}

void expect_end(const TextReader& in) {
  if (!in.at_end()) in.fail(fmt::format("unexpected '{}'", in.peek().text));
}

/// Collects what is wrong with the steps of a plan.
class StepVerifier {
public:
  StepVerifier(const Plan& plan, std::vector<std::string>& errors) : plan_(plan), errors_(errors) {}

  void steps(const std::vector<Step>& list) {
    for (const auto& step : list)
      std::visit(Overloaded{[&](const Launch& launch) { check_launch(launch); },
                            [&](const Loop& loop) { check_loop(loop); }},
                 step.node);
  }

private:
  void error(std::string message) { errors_.push_back(std::move(message)); }

  void host_value(const ExprPtr& value, const std::string& where) {
    if (!value) return error(where + " is missing");
    if (value->type != Type{}) error(where + " is not an int64 scalar");
    walk(value, [&](const Expr& e) {
      if (const auto* ref = std::get_if<VarRef>(&e.node)) {
        if (counters_.count(ref->var.id) == 0)
          error(fmt::format("{} uses '{}', which no enclosing loop counts", where, ref->var.name));
      } else if (std::holds_alternative<Load>(e.node) || std::holds_alternative<RegRef>(e.node) ||
                 std::holds_alternative<Call>(e.node)) {
        error(where + " is not an integer expression of counters");
      }
    });
  }

  void check_loop(const Loop& loop) {
    host_value(loop.lo, "the lower bound of a loop");
    host_value(loop.hi, "the upper bound of a loop");
    if (!counters_.insert(loop.counter.id).second)
      error(fmt::format("counter '{}' is defined twice", loop.counter.name));
    steps(loop.body);
    counters_.erase(loop.counter.id);
  }

  void check_launch(const Launch& launch) {
    if (launch.kernel < 0 || launch.kernel >= static_cast<int>(plan_.kernels.size()))
      return error(
          fmt::format("launch of kernel {}, there are {}", launch.kernel, plan_.kernels.size()));
    const Kernel& kernel = plan_.kernels[static_cast<std::size_t>(launch.kernel)];
    if (launch.arguments.size() != kernel.buffers.size())
      return error(fmt::format("launch of '{}' with {} buffers, it has {}", kernel.name,
                               launch.arguments.size(), kernel.buffers.size()));
    if (launch.ints.size() != kernel.int_params.size())
      error(fmt::format("launch of '{}' with {} integers, it has {}", kernel.name,
                        launch.ints.size(), kernel.int_params.size()));
    for (const auto& value : launch.ints)
      host_value(value, "an integer of a launch");
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      check_argument(kernel, *kernel.buffers[i], launch.arguments[i]);
  }

  void check_argument(const Kernel& kernel, const Buffer& buffer, int position) {
    if (position < 0 || position >= static_cast<int>(plan_.arguments.size()))
      return error(fmt::format("launch of '{}' with argument {}, there are {}", kernel.name,
                               position, plan_.arguments.size()));
    const Argument& argument = plan_.arguments[static_cast<std::size_t>(position)];
    if (buffer.writable && argument.kind == Argument::Kind::Input)
      error(fmt::format("'{}' writes input '{}'", kernel.name, argument.name));
  }

  const Plan& plan_;
  std::vector<std::string>& errors_;
  std::set<int> counters_;
};

}  // namespace

std::string print(const PlanHeader& header) {
  std::string out = fmt::format("plan {}\nscratch {}\n", header.name, header.scratch_bytes);
  for (const auto& argument : header.arguments)
    out += text(argument);
  return out;
}

std::string print(const std::vector<Step>& steps) {
  Names names;
  return StepPrinter(names).text(steps, 0);
}

std::string print(const Plan& plan) {
  std::string out = print(PlanHeader{plan.name, plan.arguments, plan.scratch_bytes});
  for (const auto& kernel : plan.kernels)
    out += print(kernel);
  return out + print(plan.steps);
}

Result<Plan, ParseError> parse_plan(std::string_view text) {
  return read_text<Plan>(text, [](TextReader& in) {
    PlanHeader header = read_header(in);
    Plan plan{std::move(header.name), std::move(header.arguments), {}, {}, header.scratch_bytes};
    while (in.is("kernel"))
      plan.kernels.push_back(read_kernel(in));
    plan.steps = read_steps(in);
    expect_end(in);
    return plan;
  });
}

Result<std::vector<Step>, ParseError> parse_steps(std::string_view text) {
  return read_text<std::vector<Step>>(text, [](TextReader& in) {
    std::vector<Step> steps = read_steps(in);
    expect_end(in);
    return steps;
  });
}

Result<PlanHeader, ParseError> parse_plan_header(std::string_view text) {
  return read_text<PlanHeader>(text, [](TextReader& in) {
    PlanHeader header = read_header(in);
    expect_end(in);
    return header;
  });
}

std::vector<std::string> verify(const Plan& plan) {
  std::vector<std::string> errors;
  std::set<std::string> names;
  for (const auto& kernel : plan.kernels) {
    if (!names.insert(kernel.name).second)
      errors.push_back(fmt::format("two kernels are named '{}'", kernel.name));
    for (auto& error : verify(kernel))
      errors.push_back(fmt::format("kernel '{}': {}", kernel.name, error));
  }
  for (const auto& argument : plan.arguments) {
    if (argument.kind != Argument::Kind::Scratch) continue;
    if (argument.offset_bytes % 64 != 0)
      errors.push_back(fmt::format("scratch '{}' is not at a multiple of 64", argument.name));
    if (argument.offset_bytes < 0 || argument.size_bytes < 0 ||
        argument.offset_bytes + argument.size_bytes > plan.scratch_bytes)
      errors.push_back(fmt::format("scratch '{}' ends behind the {} bytes of the plan",
                                   argument.name, plan.scratch_bytes));
  }
  StepVerifier(plan, errors).steps(plan.steps);
  return errors;
}

}  // namespace tc::kernel
