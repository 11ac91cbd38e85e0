// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/interpreter.h"

#include <algorithm>
#include <limits>

#include "tc/lang/interpreter_numeric.h"
#include "tc/lang/interpreter_statement.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"
#include "tc/support/tensor_meta.h"

namespace tc::lang {

namespace interp {
namespace {

std::int64_t constant_of(const ExprPtr& expr) {
  const auto value = evaluate(expr, IntEnv{});
  check(value.has_value(), "the interpreter runs specialised programs: sizes are numbers");
  return *value;
}

/// Number of slots that `for` variables take: one more than the largest id.
int for_slots(const std::vector<tc::lang::Node>& body) {
  int slots = 0;
  for (const auto& node : body) {
    if (const auto* loop = std::get_if<std::shared_ptr<const ForLoop>>(&node)) {
      slots = std::max({slots, (*loop)->var + 1, for_slots((*loop)->body)});
    }
  }
  return slots;
}

/// Values of a `for` variable; nullopt: nothing is known.
std::optional<Interval> for_range(const ForLoop& loop, const SlotRanges& ranges, int first_index) {
  const auto lo = interval_of(*loop.lo, ranges, first_index);
  const auto hi = interval_of(*loop.hi, ranges, first_index);
  if (!lo || !hi) return std::nullopt;
  return Interval{lo->min, hi->max - 1};
}

// ---- counting
// ---------------------------------------------------------------------------------------------------------

constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t out;
  return checked_add(a, b, out) ? out : kMany;
}
std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  std::int64_t out;
  return checked_mul(a, b, out) ? out : kMany;
}
std::int64_t length_of(const std::optional<Interval>& range) {
  if (!range) return kMany;
  return range->max < range->min ? 0 : saturating_add(range->max - range->min, 1);
}

std::int64_t count(const std::vector<tc::lang::Node>& body, SlotRanges ranges, int first_index) {
  std::int64_t total = 0;
  for (const auto& node : body) {
    if (const auto* statement = std::get_if<Statement>(&node)) {
      SlotRanges known = ranges;
      add_index_ranges(*statement, first_index, known);
      std::int64_t points = 1;
      for (std::size_t i = 0; i < statement->indices.size(); ++i) {
        points = saturating_multiply(points,
                                     length_of(known[static_cast<std::size_t>(first_index) + i]));
      }
      total = saturating_add(total, points);
      continue;
    }
    const ForLoop& loop = *std::get<std::shared_ptr<const ForLoop>>(node);
    SlotRanges inner = ranges;
    inner[static_cast<std::size_t>(loop.var)] = for_range(loop, ranges, first_index);
    const std::int64_t trips = length_of(inner[static_cast<std::size_t>(loop.var)]);
    total = saturating_add(total, saturating_multiply(trips, count(loop.body, inner, first_index)));
  }
  return total;
}

// ---- running
// ----------------------------------------------------------------------------------------------------------

/// The body with every statement compiled.
struct Step {
  std::unique_ptr<StatementRunner> statement;  ///< or a loop:
  int slot = 0;
  NodePtr<std::int64_t> lo;
  NodePtr<std::int64_t> hi;
  std::vector<Step> body;
};

std::vector<Step> compile(const std::vector<tc::lang::Node>& body, const Environment& environment,
                          const SlotRanges& ranges) {
  std::vector<Step> steps;
  for (const auto& node : body) {
    Step step;
    if (const auto* statement = std::get_if<Statement>(&node)) {
      step.statement = make_runner(environment, *statement, ranges);
    } else {
      const ForLoop& loop = *std::get<std::shared_ptr<const ForLoop>>(node);
      const ExprCompiler compiler(environment, ranges);
      step.slot = loop.var;
      step.lo = compiler.integer(*loop.lo, IntegerMode::Address);
      step.hi = compiler.integer(*loop.hi, IntegerMode::Address);
      SlotRanges inner = ranges;
      inner[static_cast<std::size_t>(loop.var)] = for_range(loop, ranges, environment.first_index);
      step.body = compile(loop.body, environment, inner);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

void execute(const std::vector<Step>& steps, std::int64_t* vars) {
  for (const Step& step : steps) {
    if (step.statement) {
      step.statement->run(vars);
      continue;
    }
    const std::int64_t hi = step.hi->eval(vars);
    for (std::int64_t t = step.lo->eval(vars); t < hi; ++t) {
      vars[step.slot] = t;
      execute(step.body, vars);
    }
  }
}

std::vector<std::int64_t> shape_of(const Tensor& tensor) {
  std::vector<std::int64_t> shape;
  for (const ExprPtr& extent : tensor.extent)
    shape.push_back(constant_of(extent));
  return shape;
}

/// Contents of memory that nothing has written: conspicuous, so that a wrong proof shows in the
/// results.
void poison(Value& value) {
  if (is_float(value.type)) {
    std::fill(value.real.begin(), value.real.end(), std::numeric_limits<double>::quiet_NaN());
    return;
  }
  std::fill(value.integer.begin(), value.integer.end(),
            integer_to_integer(value.type, 0x5a5a5a5a5a5a5a5a));
}

void check_value(const Value& value, const Tensor& tensor, const std::vector<std::int64_t>& shape) {
  check(value.type == tensor.type && value.shape == shape,
        "the value for '" + tensor.name + "' has the tensor's type and shape");
  const auto elements = static_cast<std::size_t>(value.elements());
  const auto& [real, integer] = std::tie(value.real, value.integer);
  check(is_float(tensor.type) ? real.size() == elements : integer.size() == elements,
        "the value for '" + tensor.name + "' has an element per slot");
}

std::vector<Value> make_values(const TypedDef& def, const std::vector<Value>& inputs,
                               const std::map<int, Value>& initial) {
  std::vector<Value> values;
  for (const Tensor& tensor : def.tensors) {
    const std::vector<std::int64_t> shape = shape_of(tensor);
    if (tensor.is_param) {
      check(static_cast<std::size_t>(tensor.param_position) < inputs.size(),
            "an input for every tensor parameter");
      values.push_back(inputs[static_cast<std::size_t>(tensor.param_position)]);
      check_value(values.back(), tensor, shape);
      continue;
    }
    const auto given = initial.find(tensor.is_output ? tensor.output_position : -1);
    if (given != initial.end()) {
      values.push_back(given->second);
      check_value(values.back(), tensor, shape);
      continue;
    }
    check(!tensor.needs_initial, "initial contents for the output '" + tensor.name + "'");
    values.push_back(Value::zeros(tensor.type, shape));
    poison(values.back());
  }
  return values;
}

}  // namespace
}  // namespace interp

Value Value::zeros(DType type, std::vector<std::int64_t> shape) {
  Value value;
  value.type = type;
  value.shape = std::move(shape);
  const auto elements = static_cast<std::size_t>(value.elements());
  if (is_float(type)) {
    value.real.assign(elements, 0.0);
  } else {
    value.integer.assign(elements, 0);
  }
  return value;
}

std::int64_t Value::elements() const {
  std::int64_t total = 1;
  for (const std::int64_t extent : shape)
    total *= extent;
  return total;
}

std::vector<Value> interpret(const TypedDef& def, const std::vector<Value>& inputs,
                             const std::map<int, Value>& initial,
                             const InterpreterOptions& options) {
  const std::int64_t points = count_points(def);
  if (points > options.max_points) {
    throw InterpreterLimit("the interpreter would execute " + std::to_string(points) +
                           " points of '" + def.name + "', more than the limit of " +
                           std::to_string(options.max_points));
  }

  std::vector<Value> values = interp::make_values(def, inputs, initial);
  interp::Environment environment;
  environment.precision = options.precision;
  environment.shift_ulps = options.shift_ulps;
  environment.first_index = interp::for_slots(def.body);
  for (std::size_t t = 0; t < def.tensors.size(); ++t) {
    const Tensor& tensor = def.tensors[t];
    interp::Placement placement;
    for (const ExprPtr& begin : tensor.begin) {
      placement.begin.push_back(interp::constant_of(begin));
    }
    placement.extent = values[t].shape;
    placement.stride = row_major_strides(placement.extent);
    environment.tensors.push_back({tensor.name, tensor.type, std::move(placement), &values[t]});
  }

  std::size_t most_indices = 0;
  for (const StatementInContext& context : statements(def)) {
    most_indices = std::max(most_indices, context.statement->indices.size());
  }
  const auto first_index = static_cast<std::size_t>(environment.first_index);
  const auto steps = interp::compile(def.body, environment, interp::SlotRanges(first_index));
  std::vector<std::int64_t> vars(first_index + most_indices, 0);
  interp::execute(steps, vars.data());

  std::vector<Value> results;
  for (const TensorId output : def.outputs) {
    results.push_back(values[static_cast<std::size_t>(output)]);
  }
  return results;
}

std::int64_t count_points(const TypedDef& def) {
  const int first_index = interp::for_slots(def.body);
  return interp::count(def.body, interp::SlotRanges(static_cast<std::size_t>(first_index)),
                       first_index);
}

BusiestStatement busiest_statement(const TypedDef& def) {
  BusiestStatement busiest;
  for (const StatementInContext& context : statements(def)) {
    // The statement alone in its loops.
    TypedDef alone = def;
    alone.body = {*context.statement};
    for (auto loop = context.loops.rbegin(); loop != context.loops.rend(); ++loop) {
      ForLoop copy = **loop;
      copy.body = std::move(alone.body);
      alone.body = {std::make_shared<const ForLoop>(std::move(copy))};
    }
    const std::int64_t points = count_points(alone);
    if (busiest.statement == nullptr || points > busiest.points)
      busiest = {context.statement, points};
  }
  return busiest;
}

}  // namespace tc::lang
