// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/kernel/text.h"
#include "tc/support/check.h"
#include "tc/tile/text.h"

namespace tc::tile {
namespace {

using kernel::Names;

/// Prints nodes. Names of an operation's dims are its own, so that `m` may name a dim of several
/// operations.
class Printer {
public:
  std::string take() { return std::move(out_); }

  void kernel(const Kernel& kernel) {
    Names names;
    line(fmt::format("kernel {} {{", kernel.name));
    ++depth_;
    for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
      std::string text = "buffer " + print_buffer(*kernel.buffers[i], kernel::Space::Global, names);
      if (kernel.buffers[i]->argument != static_cast<int>(i))
        text += fmt::format(" argument {}", kernel.buffers[i]->argument);
      line(text);
    }
    for (const auto& param : kernel.int_params)
      line("int " + names.var(param));
    for (const auto& loop : kernel.grid)
      line(fmt::format("grid {} in {}:{} step {}", names.var(loop.var), loop.begin, loop.end,
                       loop.step));
    if (kernel.thread)
      line(fmt::format("thread {} {}", names.var(kernel.thread->var), kernel.thread->extent));
    nodes(kernel.body, names);
    --depth_;
    line("}");
  }

private:
  void line(const std::string& text) { out_ += std::string(2 * depth_, ' ') + text + "\n"; }

  /// A copy of the names: what the nodes define ends with them.
  void nodes(const std::vector<Node>& list, Names names) {
    for (const auto& node : list)
      std::visit(Overloaded{
                     [&](const Op& op) { operation(op, names); },
                     [&](const std::shared_ptr<const Loop>& loop) { this->loop(*loop, names); },
                     [&](const Local& local) {
                       line("alloc " + print_buffer(*local.buffer, kernel::Space::Local, names));
                     },
                     [&](const Barrier& barrier) { line("barrier " + barrier.scope); },
                     [&](const kernel::Mma& mma) { line(print(mma, names)); },
                     [&](const kernel::Await& await) { line(print(await)); },
                 },
                 node);
  }

  void loop(const Loop& loop, Names names) {
    const std::string begin = print(loop.begin, names);
    const std::string end = print(loop.end, names);
    const std::string step = loop.step == 1 ? "" : fmt::format(" step {}", loop.step);
    line(fmt::format("loop {} in {}:{}{} {{", names.var(loop.var), begin, end, step));
    ++depth_;
    nodes(loop.body, names);
    --depth_;
    line("}");
  }

  void operation(const Op& op, Names names) {
    line(fmt::format("{} {} {{", to_text(op.kind), op.label));
    ++depth_;
    if (!op.text.empty()) line("# " + op.text);
    for (const auto& digit : op.digits)
      line(fmt::format("digit {} stride {} extent {}", names.var(digit.var), digit.stride,
                       digit.extent));
    for (const auto& dim : op.dims) {
      const std::string begin = print(dim.begin, names);
      const std::string end = print(dim.end, names);
      const std::string step = dim.step == 1 ? "" : fmt::format(" step {}", dim.step);
      line(fmt::format("{} in {}:{}{} extent {}{}", names.var(dim.var), begin, end, step,
                       dim.max_extent, dim.reduction ? " reduction" : ""));
    }
    // Before a tuple, the last name of a bare condition would read as a function.
    const bool tuple = op.targets.size() != 1;
    for (const auto& condition : op.conditions)
      line("where " + (tuple ? "(" + print(condition, names) + ")" : print(condition, names)));
    targets(op, names);
    if (op.layout) layout(*op.layout);
    --depth_;
    line("}");
  }

  void targets(const Op& op, Names& names) {
    std::string places, values;
    for (const auto& target : op.targets) {
      const std::string comma = places.empty() ? "" : ", ";
      places += comma + print_access(*target.buffer, target.subscripts, names);
      values += comma + print(target.value, names);
    }
    const bool tuple = op.targets.size() != 1;
    if (tuple) places = "(" + places + ")";
    // After a combine, a leading `!` would read as "from the identity".
    if (tuple || (op.combine && values[0] == '!')) values = "(" + values + ")";
    const std::string combine = op.combine ? to_text(*op.combine) : "";
    line(fmt::format("{}{} {}={} {}", op.atomic ? "atomic " : "", places, combine,
                     op.from_identity ? "!" : "", values));
  }

  void layout(const Layout& layout) {
    line(fmt::format("layout order [{}] vector {} lanes {} unroll [{}]{}{}",
                     fmt::join(layout.order, ", "), layout.vector_dim, layout.lanes,
                     fmt::join(layout.unroll, ", "),
                     layout.group == 1 ? "" : fmt::format(" group {}", layout.group),
                     layout.async ? " async" : ""));
  }

  std::string out_;
  std::size_t depth_ = 0;
};

std::string text(const kernel::Argument& argument) {
  switch (argument.kind) {
  case kernel::Argument::Kind::Input:
    return fmt::format("argument input {} {}\n", argument.name, argument.position);
  case kernel::Argument::Kind::Output:
    return fmt::format("argument output {} {}\n", argument.name, argument.position);
  case kernel::Argument::Kind::Scratch:
    return fmt::format("argument scratch {} offset {} size {}\n", argument.name,
                       argument.offset_bytes, argument.size_bytes);
  }
  unreachable("argument kind");
}

}  // namespace

const char* to_text(OpKind kind) {
  switch (kind) {
  case OpKind::Load: return "load";
  case OpKind::Store: return "store";
  case OpKind::Convert: return "convert";
  case OpKind::Map: return "map";
  case OpKind::Gather: return "gather";
  case OpKind::Scatter: return "scatter";
  case OpKind::Reduce: return "reduce";
  case OpKind::Contract: return "contract";
  }
  unreachable("operation kind");
}

const char* to_text(Combine combine) {
  switch (combine) {
  case Combine::Add: return "+";
  case Combine::Mul: return "*";
  case Combine::Min: return "min";
  case Combine::Max: return "max";
  case Combine::ArgMin: return "argmin";
  case Combine::ArgMax: return "argmax";
  }
  unreachable("combine");
}

std::string print(const Program& program) {
  std::string out = fmt::format("tile {}\nscratch {}\n", program.name, program.scratch_bytes);
  for (const auto& argument : program.arguments)
    out += text(argument);
  Printer printer;
  for (const auto& kernel : program.kernels)
    printer.kernel(kernel);
  return out + printer.take() + kernel::print(program.steps);
}

}  // namespace tc::tile
