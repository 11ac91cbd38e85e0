// SPDX-License-Identifier: Apache-2.0
//
// Structural rules are checked completely. Of accesses, extents and the like the verifier reports
// what is certainly wrong: it searches a concrete point (values of grid, parameter, loop and dim
// variables) at a corner of the box that the bounds analysis points to, and reports the violation
// with that point.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tc/kernel/mma.h"
#include "tc/kernel/text.h"
#include "tc/support/check.h"
#include "tc/tile/bounds.h"
#include "tc/tile/structure.h"
#include "tc/tile/text.h"

namespace tc::tile {
namespace {

using kernel::Expr;
using kernel::ExprPtr;
using Point = std::vector<std::pair<int, std::int64_t>>;

constexpr kernel::Type kIndex{DType::Int64, 1};

/// Range of an integer parameter over all launches.
struct ParamRange {
  std::int64_t lo = 0, hi = 0;
  bool known = false;
};

/// Verifies one kernel.
class KernelVerifier {
public:
  KernelVerifier(const Kernel& kernel, const std::vector<ParamRange>& params,
                 std::vector<std::string>& errors)
      : kernel_(kernel), params_(params), errors_(errors) {}

  void run() {
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i)
      argument(*kernel_.buffers[i], static_cast<int>(i));
    for (const auto& loop : kernel_.grid)
      grid(loop);
    for (std::size_t p = 0; p < kernel_.int_params.size(); ++p) {
      const auto& var = kernel_.int_params[p];
      const auto& range = params_[p];
      if (!range.known) unbounded_ = true;
      define(var, kernel::int_imm(range.lo), kernel::int_imm(range.hi + 1));
    }
    if (kernel_.thread) {
      if (kernel_.thread->extent < 1) error("a task has at least one thread");
      define(kernel_.thread->var, kernel::int_imm(0), kernel::int_imm(kernel_.thread->extent));
    }
    nodes(kernel_.body);
  }

private:
  void error(const std::string& message) {
    errors_.push_back(fmt::format("kernel '{}': {}{}", kernel_.name,
                                  where_.empty() ? "" : where_ + ": ", message));
  }

  void argument(const kernel::Buffer& buffer, int position) {
    if (buffer.space != kernel::Space::Global && buffer.space != kernel::Space::Scratch)
      error(fmt::format("argument '{}' is neither global nor scratch", buffer.name));
    if (buffer.argument != position)
      error(fmt::format("buffer '{}' is argument {}, listed at {}", buffer.name, buffer.argument,
                        position));
    this->buffer(buffer);
  }

  void buffer(const kernel::Buffer& buffer) {
    if (!buffers_.insert(buffer.id).second)
      error(fmt::format("buffer '{}' is declared twice", buffer.name));
    if (buffer.strides.size() != buffer.extents.size())
      error(fmt::format("buffer '{}' has {} extents and {} strides", buffer.name,
                        buffer.extents.size(), buffer.strides.size()));
    for (const auto extent : buffer.extents)
      if (extent < 0) error(fmt::format("buffer '{}' has a negative extent", buffer.name));
    const auto alignment = buffer.alignment;
    if (alignment < 1 || (alignment & (alignment - 1)) != 0)
      error(fmt::format("buffer '{}' is aligned to {}, no power of two", buffer.name, alignment));
    if (bits(buffer.type) == 4 && !buffer.strides.empty() && buffer.strides.back() != 1)
      error(fmt::format("buffer '{}' of 4-bit elements has an innermost stride", buffer.name));
  }

  void define(const kernel::Var& var, const ExprPtr& begin, const ExprPtr& end) {
    if (var.type != kIndex) error(fmt::format("variable '{}' is not int64", var.name));
    if (scope_.find(var.id) >= 0) error(fmt::format("variable '{}' is defined twice", var.name));
    scope_.push(var, begin, end);
  }

  void grid(const GridLoop& loop) {
    if (loop.step <= 0) {
      error(fmt::format("grid loop '{}' has step {}", loop.var.name, loop.step));
      return define(loop.var, kernel::int_imm(loop.begin), kernel::int_imm(loop.end));
    }
    if (loop.begin > loop.end)
      error(fmt::format("grid loop '{}' ends before it begins", loop.var.name));
    if (loop.var.type != kIndex) error(fmt::format("variable '{}' is not int64", loop.var.name));
    if (scope_.find(loop.var.id) >= 0)
      error(fmt::format("variable '{}' is defined twice", loop.var.name));
    scope_.push(loop);
  }

  void nodes(const std::vector<Node>& list) {
    const auto outer = buffers_;
    for (const auto& node : list)
      std::visit(Overloaded{
                     [&](const Op& op) { operation(op); },
                     [&](const std::shared_ptr<const Loop>& loop) { this->loop(*loop); },
                     [&](const Local& local) { this->local(*local.buffer); },
                     [&](const Barrier& barrier) {
                       if (barrier.scope.empty()) error("a barrier names no scope");
                     },
                     [&](const kernel::Mma& mma) { product(mma); },
                     [&](const kernel::Await& await) {
                       if (await.pending < 0)
                         error(fmt::format("an await that leaves {}", await.pending));
                     },
                 },
                 node);
    buffers_ = outer;
  }

  void local(const kernel::Buffer& buffer) {
    const bool of_threads =
        buffer.space == kernel::Space::Shared || buffer.space == kernel::Space::Register;
    if (buffer.space != kernel::Space::Local && !(kernel_.thread && of_threads))
      error(fmt::format("local '{}' is in another space", buffer.name));
    this->buffer(buffer);
  }

  /// One past the last value that the variable takes: with a step it can lie before the end.
  static ExprPtr past_last(const Loop& loop) {
    if (loop.step <= 1) return loop.end;
    const ExprPtr one = kernel::int_imm(1);
    const ExprPtr step = kernel::int_imm(loop.step);
    const ExprPtr span = kernel::sub(kernel::sub(loop.end, one), loop.begin);
    const ExprPtr steps = kernel::binary(kernel::BinaryOp::FloorDiv, span, step);
    return kernel::add(kernel::add(loop.begin, kernel::mul(steps, step)), one);
  }

  void loop(const Loop& loop) {
    index(loop.begin, "a loop bound");
    index(loop.end, "a loop bound");
    if (loop.step <= 0) error(fmt::format("loop '{}' has step {}", loop.var.name, loop.step));
    define(loop.var, loop.begin, past_last(loop));
    nodes(loop.body);
    scope_.pop();
  }

  void product(const kernel::Mma& mma) {
    where_ = "mma";
    const auto part = [&](const kernel::BufferPtr& buffer, const std::vector<ExprPtr>& corner) {
      use(*buffer);
      if (corner.size() != buffer->extents.size())
        error(fmt::format("'{}' has {} dimensions, not {}", buffer->name, buffer->extents.size(),
                          corner.size()));
      for (const auto& subscript : corner)
        index(subscript, "a corner in '" + buffer->name + "'");
    };
    part(mma.accumulator, mma.first);
    part(mma.rows.buffer, mma.rows.corner);
    part(mma.columns.buffer, mma.columns.corner);
    for (const auto& problem : kernel::mma_problems(mma))
      error(problem);
    if (!kernel_.thread || kernel_.thread->extent % kernel::kMmaThreads != 0)
      error("a product of warp groups in a kernel without whole ones");
    where_.clear();
  }

  void operation(const Op& op) {
    where_ = op.label;
    for (const auto& digit : op.digits) {
      if (!kernel_.thread) error("digits of a thread in a kernel without threads");
      if (digit.stride < 1 || digit.extent < 1)
        error(fmt::format("digit '{}' has stride {} and extent {}", digit.var.name, digit.stride,
                          digit.extent));
      define(digit.var, kernel::int_imm(0), kernel::int_imm(digit.extent));
    }
    for (const auto& dim : op.dims) {
      if (dim.step < 1) error(fmt::format("dim '{}' has step {}", dim.var.name, dim.step));
      index(dim.begin, "a bound of '" + dim.var.name + "'");
      index(dim.end, "a bound of '" + dim.var.name + "'");
      if (dim.max_extent < 0) error(fmt::format("dim '{}' has a negative extent", dim.var.name));
      define(dim.var, dim.begin, dim.end);
    }
    for (const auto& condition : op.conditions)
      expression(condition, {DType::Bool, 1}, "a condition");
    for (std::size_t d = 0; d < op.dims.size(); ++d)
      extent(op, d);
    targets(op);
    if (op.layout) layout(op, *op.layout);
    for (std::size_t d = 0; d < op.dims.size() + op.digits.size(); ++d)
      scope_.pop();
    where_.clear();
  }

  void targets(const Op& op) {
    if (!has_right_targets(op))
      return error(fmt::format("{} targets: it takes one, a reduction to a position two, another "
                               "reduction those of one compute type",
                               op.targets.size()));
    for (const auto& target : op.targets) {
      const auto& buffer = *target.buffer;
      use(buffer);
      if (!buffer.writable) error(fmt::format("writes '{}', which is not writable", buffer.name));
      if (target.subscripts.size() != buffer.extents.size()) {
        error(fmt::format("'{}' has {} dimensions, not {}", buffer.name, buffer.extents.size(),
                          target.subscripts.size()));
        continue;
      }
      bool gathered = false;
      for (std::size_t d = 0; d < target.subscripts.size(); ++d) {
        index(target.subscripts[d], "a subscript of '" + buffer.name + "'");
        gathered = gathered || contains_load(target.subscripts[d]);
      }
      if (!gathered) access(op, buffer, target.subscripts);
      expression(target.value, {compute_type(buffer.type), 1},
                 "the value for '" + buffer.name + "'");
      loads(op, target.value);
      for (const auto& subscript : target.subscripts)
        loads(op, subscript);
    }
    if (op.atomic && (!op.combine || op.targets.size() != 1 || op.from_identity))
      error("is atomic, but does not combine one value with what the target holds");
    if (op.from_identity && !can_start_from_identity(op))
      error("starts from the identity, but its target is not determined by its non-reduction dims "
            "alone");
    if (const OpKind kind = classify(op); kind != op.kind)
      error(fmt::format("is called {}, but its structure is that of {}", to_text(op.kind),
                        to_text(kind)));
  }

  void layout(const Op& op, const Layout& layout) {
    const auto dims = static_cast<int>(op.dims.size());
    std::vector<int> order = layout.order;
    std::sort(order.begin(), order.end());
    bool permutation = static_cast<int>(order.size()) == dims;
    for (int d = 0; permutation && d < dims; ++d)
      permutation = order[static_cast<std::size_t>(d)] == d;
    if (!permutation) error("the order of the layout is not one of its dims");
    if (layout.vector_dim < -1 || layout.vector_dim >= dims)
      error("the vector dim of the layout is none of its dims");
    if (layout.lanes < 1 || (layout.vector_dim < 0 && layout.lanes != 1))
      error(fmt::format("the layout has {} lanes", layout.lanes));
    if (static_cast<int>(layout.unroll.size()) != dims)
      error("the layout has not one unroll factor per dim");
    if (layout.group < 1 || layout.group > 32 || (layout.group & (layout.group - 1)) != 0)
      error(fmt::format("the layout combines {} threads", layout.group));
    for (const int factor : layout.unroll)
      if (factor < 1) error(fmt::format("the layout has unroll factor {}", factor));
    if (layout.async) async(op);
  }

  /// A copy as it stands from global to shared memory.
  void async(const Op& op) {
    const auto* load = std::get_if<kernel::Load>(&op.targets.front().value->node);
    const kernel::Buffer& to = *op.targets.front().buffer;
    const bool copies = load && !load->otherwise && !op.combine &&
                        to.space == kernel::Space::Shared && load->buffer->type == to.type &&
                        (load->buffer->space == kernel::Space::Global ||
                         load->buffer->space == kernel::Space::Scratch);
    if (!copies) error("is asynchronous, but no copy from global to shared memory");
  }

  // ---- expressions ----

  void use(const kernel::Buffer& buffer) {
    if (buffers_.count(buffer.id) == 0)
      error(fmt::format("'{}' is used, but not declared here", buffer.name));
  }

  void index(const ExprPtr& expr, const std::string& what) { expression(expr, kIndex, what); }

  void expression(const ExprPtr& expr, kernel::Type type, const std::string& what) {
    if (!expr) return error(what + " is missing");
    if (expr->type != type)
      error(fmt::format("{} is {}, not {}", what, kernel::to_text(expr->type),
                        kernel::to_text(type)));
    kernel::walk(expr, [&](const Expr& e) { node(e, what); });
  }

  void node(const Expr& e, const std::string& what) {
    if (e.type.lanes != 1) return error(what + " is a vector");
    if (std::holds_alternative<kernel::RegRef>(e.node)) return error(what + " uses a register");
    if (const auto* ref = std::get_if<kernel::VarRef>(&e.node))
      if (scope_.find(ref->var.id) < 0)
        error(fmt::format("{} uses '{}', which is not in scope", what, ref->var.name));
    if (const auto* load = std::get_if<kernel::Load>(&e.node)) {
      use(*load->buffer);
      if (load->indices.size() != load->buffer->extents.size())
        error(fmt::format("'{}' has {} dimensions, not {}", load->buffer->name,
                          load->buffer->extents.size(), load->indices.size()));
      for (const auto& subscript : load->indices)
        if (subscript->type != kIndex)
          error(fmt::format("a subscript of '{}' is not int64", load->buffer->name));
    }
  }

  /// Unmasked loads with affine subscripts are in bounds.
  void loads(const Op& op, const ExprPtr& expr) {
    kernel::walk(expr, [&](const Expr& e) {
      const auto* load = std::get_if<kernel::Load>(&e.node);
      if (!load || load->mask || load->indices.size() != load->buffer->extents.size()) return;
      if (std::none_of(load->indices.begin(), load->indices.end(), contains_load))
        access(op, *load->buffer, load->indices);
    });
  }

  // ---- definite violations ----

  void access(const Op& op, const kernel::Buffer& buffer, const std::vector<ExprPtr>& subscripts) {
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const ExprPtr& subscript = subscripts[d];
      const std::int64_t extent = buffer.extents[d];
      const auto hi = upper_bound(subscript, scope_);
      const auto lo = lower_bound(subscript, scope_);
      const bool inside = lo && hi && *lo >= 0 && *hi < extent;
      if (inside || unbounded_ || !scope_is_complete()) continue;
      for (const bool upper : {true, false}) {
        const auto point = corner(subscript, upper);
        if (!point || !admits(op, *point)) continue;
        const auto value = evaluate(subscript, *point);
        if (!value || (*value >= 0 && *value < extent)) continue;
        error(fmt::format("subscript {} of '{}' is {} of {} at {}", d, buffer.name, *value, extent,
                          text(*point)));
        break;
      }
    }
  }

  void extent(const Op& op, std::size_t d) {
    const auto& dim = op.dims[d];
    if (unbounded_ || !scope_is_complete()) return;
    const ExprPtr length = kernel::sub(dim.end, dim.begin);
    const auto known = upper_bound(length, scope_);
    if (known && *known <= dim.max_extent) return;
    const auto point = corner(length, true);
    if (!point) return;
    const auto value = evaluate(length, *point);
    if (value && *value > dim.max_extent && admits(op, *point))
      error(fmt::format("dim '{}' has {} points at {}, its extent says {}", dim.var.name, *value,
                        text(*point), dim.max_extent));
  }

  /// All bounds in scope are expressions of variables in scope (else an error has been reported
  /// already).
  bool scope_is_complete() const {
    for (const auto& entry : scope_.entries())
      if (!entry.begin || !entry.last || entry.begin->type != kIndex || entry.last->type != kIndex)
        return false;
    return true;
  }

  /// A point of the scope at which the expression is (nearly always) largest or smallest: each
  /// variable at the end of its range that the expression prefers, outermost first, judged by the
  /// effect on the bound of the expression. nullopt: some range is empty or unknown.
  std::optional<Point> corner(const ExprPtr& expr, bool upper) const {
    Point point;
    Scope fixed;
    std::vector<std::pair<int, ExprPtr>> known;
    const auto& entries = scope_.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto begin = evaluate(entries[i].begin, point);
      const auto last = evaluate(entries[i].last, point);
      if (!begin || !last || *begin > *last) return std::nullopt;
      const std::int64_t value =
          *begin == *last ? *begin : preferred(expr, upper, i, *begin, *last, known);
      point.emplace_back(entries[i].var.id, value);
      known.emplace_back(entries[i].var.id, kernel::int_imm(value));
    }
    return point;
  }

  /// Of the two ends of variable `i`, given the outer ones, the one with the better bound of the
  /// expression over the inner ones.
  std::int64_t preferred(const ExprPtr& expr, bool upper, std::size_t i, std::int64_t begin,
                         std::int64_t last, std::vector<std::pair<int, ExprPtr>> known) const {
    std::optional<std::int64_t> bounds[2];
    const std::int64_t ends[2] = {begin, last};
    for (int side = 0; side < 2; ++side) {
      auto values = known;
      values.emplace_back(scope_.entries()[i].var.id, kernel::int_imm(ends[side]));
      Scope inner;
      for (std::size_t j = i + 1; j < scope_.entries().size(); ++j) {
        const auto& entry = scope_.entries()[j];
        inner.push(entry.var, kernel::substitute(entry.begin, values),
                   kernel::add(kernel::substitute(entry.last, values), kernel::int_imm(1)));
      }
      const ExprPtr at = kernel::substitute(expr, values);
      bounds[side] = upper ? upper_bound(at, inner) : lower_bound(at, inner);
    }
    if (!bounds[0] || !bounds[1]) return begin;
    return (upper ? *bounds[1] > *bounds[0] : *bounds[1] < *bounds[0]) ? last : begin;
  }

  /// Every condition of the operation certainly holds at the point.
  static bool admits(const Op& op, const Point& point) {
    return std::all_of(op.conditions.begin(), op.conditions.end(), [&](const ExprPtr& condition) {
      const auto value = evaluate(condition, point);
      return value && *value != 0;
    });
  }

  std::string text(const Point& point) const {
    std::string result;
    for (const auto& [id, value] : point) {
      const auto& entry = scope_.entries()[static_cast<std::size_t>(scope_.find(id))];
      result += fmt::format("{}{}={}", result.empty() ? "" : ", ", entry.var.name, value);
    }
    return result;
  }

  const Kernel& kernel_;
  const std::vector<ParamRange>& params_;
  std::vector<std::string>& errors_;
  Scope scope_;
  std::set<int> buffers_;
  std::string where_;
  bool unbounded_ = false;  ///< a parameter has no known range
};

/// Verifies the arguments and steps, and finds the ranges of integer parameters.
class ProgramVerifier {
public:
  ProgramVerifier(const Program& program, std::vector<std::string>& errors)
      : program_(program), errors_(errors) {
    for (const auto& kernel : program.kernels)
      params_.emplace_back(kernel.int_params.size());
  }

  void run() {
    arguments();
    steps(program_.steps);
    std::set<std::string> names;
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      const auto& kernel = program_.kernels[k];
      if (!names.insert(kernel.name).second)
        errors_.push_back(fmt::format("two kernels are named '{}'", kernel.name));
      KernelVerifier(kernel, params_[k], errors_).run();
    }
  }

private:
  void error(std::string message) { errors_.push_back(std::move(message)); }

  void arguments() {
    for (const auto& argument : program_.arguments) {
      if (argument.kind != kernel::Argument::Kind::Scratch) continue;
      if (argument.offset_bytes % 64 != 0)
        error(fmt::format("scratch '{}' is not at a multiple of 64 bytes", argument.name));
      if (argument.offset_bytes < 0 || argument.size_bytes < 0 ||
          argument.offset_bytes + argument.size_bytes > program_.scratch_bytes)
        error(fmt::format("scratch '{}' ends behind the {} bytes of the program", argument.name,
                          program_.scratch_bytes));
    }
  }

  void steps(const std::vector<kernel::Step>& list) {
    for (const auto& step : list)
      std::visit(Overloaded{[&](const kernel::Launch& launch) { this->launch(launch); },
                            [&](const kernel::Loop& loop) { this->loop(loop); }},
                 step.node);
  }

  void loop(const kernel::Loop& loop) {
    host_value(loop.lo, "a bound of a launch loop");
    host_value(loop.hi, "a bound of a launch loop");
    if (scope_.find(loop.counter.id) >= 0)
      error(fmt::format("counter '{}' is defined twice", loop.counter.name));
    scope_.push(loop.counter, loop.lo, loop.hi);
    steps(loop.body);
    scope_.pop();
  }

  void host_value(const ExprPtr& value, const std::string& what) {
    if (value->type != kIndex) error(what + " is not an int64 scalar");
    kernel::walk(value, [&](const Expr& e) {
      const auto* ref = std::get_if<kernel::VarRef>(&e.node);
      if (ref && scope_.find(ref->var.id) < 0)
        error(fmt::format("{} uses '{}', which no enclosing loop counts", what, ref->var.name));
      if (std::holds_alternative<kernel::Load>(e.node)) error(what + " loads");
    });
  }

  void launch(const kernel::Launch& launch) {
    if (launch.kernel < 0 || launch.kernel >= static_cast<int>(program_.kernels.size()))
      return error(
          fmt::format("launch of kernel {}, there are {}", launch.kernel, program_.kernels.size()));
    const auto& kernel = program_.kernels[static_cast<std::size_t>(launch.kernel)];
    if (launch.arguments.size() != kernel.buffers.size())
      return error(fmt::format("launch of '{}' with {} buffers, it has {}", kernel.name,
                               launch.arguments.size(), kernel.buffers.size()));
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      argument(kernel, *kernel.buffers[i], launch.arguments[i]);
    if (launch.ints.size() != kernel.int_params.size())
      return error(fmt::format("launch of '{}' with {} integers, it has {}", kernel.name,
                               launch.ints.size(), kernel.int_params.size()));
    for (std::size_t i = 0; i < launch.ints.size(); ++i) {
      host_value(launch.ints[i], "an integer of a launch");
      auto& range = params_[static_cast<std::size_t>(launch.kernel)][i];
      const auto lo = lower_bound(launch.ints[i], scope_);
      const auto hi = upper_bound(launch.ints[i], scope_);
      if (!lo || !hi) continue;
      range.lo = range.known ? std::min(range.lo, *lo) : *lo;
      range.hi = range.known ? std::max(range.hi, *hi) : *hi;
      range.known = true;
    }
  }

  void argument(const Kernel& kernel, const kernel::Buffer& buffer, int position) {
    if (position < 0 || position >= static_cast<int>(program_.arguments.size()))
      return error(fmt::format("launch of '{}' with argument {}, there are {}", kernel.name,
                               position, program_.arguments.size()));
    const auto& argument = program_.arguments[static_cast<std::size_t>(position)];
    const bool scratch = argument.kind == kernel::Argument::Kind::Scratch;
    if (scratch != (buffer.space == kernel::Space::Scratch))
      error(fmt::format("'{}' of '{}' and its argument '{}' are in different spaces", buffer.name,
                        kernel.name, argument.name));
    if (buffer.writable && argument.kind == kernel::Argument::Kind::Input)
      error(fmt::format("'{}' writes input '{}'", kernel.name, argument.name));
  }

  const Program& program_;
  std::vector<std::string>& errors_;
  std::vector<std::vector<ParamRange>> params_;
  Scope scope_;
};

}  // namespace

std::vector<std::string> verify(const Program& program) {
  std::vector<std::string> errors;
  ProgramVerifier(program, errors).run();
  return errors;
}

}  // namespace tc::tile
