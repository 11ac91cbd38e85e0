// SPDX-License-Identifier: Apache-2.0
#include "run_program.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "evaluate.h"
#include "tc/support/check.h"
#include "tc/tile/structure.h"

namespace tc::tile::testing {
namespace {

using MemoryMap = std::map<int, Memory>;

/// One launch.
class Execution {
public:
  Execution(const Kernel& kernel, MemoryMap& memory, bool reverse)
      : kernel_(kernel), reverse_(reverse) {
    env_.memory = &memory;
  }
  void set(const kernel::Var& var, std::int64_t value) { env_.vars[var.id] = value; }

  void grid(std::size_t level) {
    if (level == kernel_.grid.size()) return list(kernel_.body);
    const auto& loop = kernel_.grid[level];
    std::vector<std::int64_t> values;
    for (std::int64_t v = loop.begin; v < loop.end; v += loop.step)
      values.push_back(v);
    if (reverse_) std::reverse(values.begin(), values.end());
    for (const auto v : values) {
      set(loop.var, v);
      grid(level + 1);
    }
  }

private:
  void list(const std::vector<Node>& nodes) {
    for (const auto& node : nodes) {
      if (const auto* op = std::get_if<Op>(&node)) operation(*op);
      if (const auto* local = std::get_if<Local>(&node))
        env_.memory->insert_or_assign(local->buffer->id, Memory(local->buffer));
      if (const auto* node_loop = std::get_if<std::shared_ptr<const Loop>>(&node)) {
        const auto& loop = **node_loop;
        const std::int64_t end = env_.integer(loop.end);
        for (std::int64_t v = env_.integer(loop.begin); v < end; v += loop.step) {
          set(loop.var, v);
          list(loop.body);
        }
      }
    }
  }

  /// Points of the box; with `outer_only` those of the non-reduction dims.
  void box(const Op& op, std::size_t d, bool outer_only, const std::function<void()>& f) {
    if (d == op.dims.size()) return f();
    const Dim& dim = op.dims[d];
    if (outer_only && dim.reduction) return box(op, d + 1, outer_only, f);
    const std::int64_t begin = env_.integer(dim.begin);
    const std::int64_t end = env_.integer(dim.end);
    check(end - begin <= dim.max_extent, "a dim has at most max_extent points");
    for (std::int64_t v = begin; v < end; ++v) {
      set(dim.var, v);
      box(op, d + 1, outer_only, f);
    }
  }

  bool holds(const Op& op, bool outer_only) const {
    return std::all_of(op.conditions.begin(), op.conditions.end(), [&](const kernel::ExprPtr& c) {
      const bool reduces = std::any_of(op.dims.begin(), op.dims.end(), [&](const Dim& dim) {
        return dim.reduction && mentions(c, dim.var.id);
      });
      return (outer_only && reduces) || env_.integer(c) != 0;
    });
  }

  Scalar value(const kernel::ExprPtr& expr) const { return env_.evaluate(expr); }

  Index index(const Target& target) const {
    Index result;
    for (const auto& subscript : target.subscripts)
      result.push_back(env_.integer(subscript));
    return result;
  }
  Memory& storage(const Target& target) { return env_.memory->at(target.buffer->id); }

  void operation(const Op& op) {
    if (op.from_identity)
      box(op, 0, true, [&] {
        if (holds(op, true)) start(op);
      });
    box(op, 0, false, [&] {
      if (!holds(op, false)) return;
      if (!op.combine)
        storage(op.targets[0]).write(index(op.targets[0]), value(op.targets[0].value));
      else if (finds_position(op))
        better(op);
      else
        combine(op);
    });
  }

  static bool finds_position(const Op& op) {
    return op.combine == Combine::ArgMin || op.combine == Combine::ArgMax;
  }

  void start(const Op& op) {
    const DType type = compute_type(op.targets[0].buffer->type);
    const double infinity = std::numeric_limits<double>::infinity();
    const auto whole = [&](std::int64_t i) { return Scalar{static_cast<double>(i), i}; };
    Scalar first;
    switch (*op.combine) {
    case Combine::Mul: first = whole(1); break;
    case Combine::Min:
      first = {infinity, is_float(type) ? 0 : static_cast<std::int64_t>(max_value(type))};
      break;
    case Combine::Max: first = {-infinity, is_float(type) ? 0 : min_value(type)}; break;
    default: break;
    }
    if (finds_position(op)) {
      storage(op.targets[0]).write(index(op.targets[0]), first);
      storage(op.targets[1]).write(index(op.targets[1]), whole(-1));
      return;
    }
    for (const auto& target : op.targets)
      storage(target).write(index(target), first);
  }

  void combine(const Op& op) {
    static constexpr kernel::BinaryOp kOps[] = {kernel::BinaryOp::Add, kernel::BinaryOp::Mul,
                                                kernel::BinaryOp::Min, kernel::BinaryOp::Max};
    for (const auto& target : op.targets) {
      const Index at = index(target);
      const DType type = compute_type(target.buffer->type);
      storage(target).write(at, apply(kOps[static_cast<int>(*op.combine)], type,
                                      storage(target).read(at), value(target.value)));
    }
  }

  void better(const Op& op) {
    const Index at = index(op.targets[0]);
    const Index position_at = index(op.targets[1]);
    const Scalar held = storage(op.targets[0]).read(at);
    const std::int64_t position = storage(op.targets[1]).read(position_at).i;
    const Scalar offered = value(op.targets[0].value);
    const std::int64_t offered_position = value(op.targets[1].value).i;
    const bool floats = is_float(op.targets[0].buffer->type);
    const double a = floats ? offered.f : static_cast<double>(offered.i);
    const double b = floats ? held.f : static_cast<double>(held.i);
    bool wins = position < 0;
    if (!wins && std::isnan(a) != std::isnan(b))
      wins = std::isnan(a);
    else if (!wins && (a == b || std::isnan(a)))
      wins = offered_position < position;
    else if (!wins)
      wins = *op.combine == Combine::ArgMax ? a > b : a < b;
    if (!wins) return;
    storage(op.targets[0]).write(at, offered);
    storage(op.targets[1]).write(position_at, {0, offered_position});
  }

  const Kernel& kernel_;
  bool reverse_;
  Environment env_;
};

class Call {
public:
  Call(const Program& program, bool reverse) : program_(program), reverse_(reverse) {
    memory_.resize(program.arguments.size());
  }

  std::vector<Memory> memory_;  ///< by argument; the buffer is that of the kernel launched first

  void prepare(const std::function<void(const kernel::Argument&, Memory&)>& initialise) {
    steps(program_.steps, [&](const kernel::Launch& launch) {
      const auto& kernel = program_.kernels[static_cast<std::size_t>(launch.kernel)];
      for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
        const auto a = static_cast<std::size_t>(launch.arguments[i]);
        if (memory_[a].buffer) continue;
        memory_[a] = Memory(kernel.buffers[i]);
        initialise(program_.arguments[a], memory_[a]);
      }
    });
  }

  void run() {
    steps(program_.steps, [&](const kernel::Launch& launch) { this->launch(launch); });
  }

private:
  void steps(const std::vector<kernel::Step>& list,
             const std::function<void(const kernel::Launch&)>& f) {
    for (const auto& step : list) {
      if (const auto* launch = std::get_if<kernel::Launch>(&step.node)) {
        f(*launch);
        continue;
      }
      const auto& loop = std::get<kernel::Loop>(step.node);
      const std::int64_t hi = host_.integer(loop.hi);
      for (std::int64_t v = host_.integer(loop.lo); v < hi; ++v) {
        host_.vars[loop.counter.id] = v;
        steps(loop.body, f);
      }
    }
  }

  void launch(const kernel::Launch& launch) {
    const auto& kernel = program_.kernels[static_cast<std::size_t>(launch.kernel)];
    MemoryMap memory;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      Memory storage = memory_[static_cast<std::size_t>(launch.arguments[i])];
      storage.buffer = kernel.buffers[i];
      memory.emplace(kernel.buffers[i]->id, std::move(storage));
    }
    Execution execution(kernel, memory, reverse_);
    for (std::size_t p = 0; p < launch.ints.size(); ++p)
      execution.set(kernel.int_params[p], host_.integer(launch.ints[p]));
    execution.grid(0);
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      memory_[static_cast<std::size_t>(launch.arguments[i])] = memory.at(kernel.buffers[i]->id);
  }

  const Program& program_;
  bool reverse_;
  Environment host_;
};

Call execute(const Program& program, const Built& built, const std::vector<lang::Value>& inputs,
             const std::map<int, lang::Value>& initial, bool reverse) {
  Call call(program, reverse);
  call.prepare([&](const kernel::Argument& argument, Memory& storage) {
    if (argument.kind == kernel::Argument::Kind::Input)
      storage.value = inputs.at(static_cast<std::size_t>(argument.position));
    if (argument.kind != kernel::Argument::Kind::Output) return;
    const auto given = initial.find(argument.position);
    if (given != initial.end()) storage.value = given->second;
    for (const auto& tensor : built.scop.tensors)
      if (tensor.is_output && tensor.is_param && tensor.output_position == argument.position)
        storage.value = inputs.at(static_cast<std::size_t>(tensor.param_position));
  });
  call.run();
  return call;
}

}  // namespace

std::vector<lang::Value> run(const Built& built, const std::vector<lang::Value>& inputs,
                             const std::map<int, lang::Value>& initial, const RunOptions& options) {
  Program program = built.program;
  if (options.through_text) {
    auto parsed = parse(print(program));
    if (!parsed) throw std::runtime_error(parsed.error().message + "\n" + print(program));
    program = std::move(*parsed);
  }
  const Call call = execute(program, built, inputs, initial, options.reverse_tasks);
  std::vector<lang::Value> outputs;
  for (const int id : built.def.outputs) {
    const auto& tensor = built.scop.tensors[static_cast<std::size_t>(id)];
    lang::Value value = lang::Value::zeros(tensor.type, tensor.extent);
    for (std::size_t a = 0; a < program.arguments.size(); ++a)
      if (program.arguments[a].kind == kernel::Argument::Kind::Output &&
          program.arguments[a].position == tensor.output_position && call.memory_[a].buffer)
        value = call.memory_[a].value;
    outputs.push_back(std::move(value));
  }
  return outputs;
}

std::vector<std::int64_t> status_after(const Built& built, const std::vector<lang::Value>& inputs) {
  const Call call = execute(built.program, built, inputs, {}, false);
  for (std::size_t a = 0; a < built.program.arguments.size(); ++a)
    if (built.program.arguments[a].name == "status" && call.memory_[a].buffer)
      return call.memory_[a].value.integer;
  return {};
}

}  // namespace tc::tile::testing
