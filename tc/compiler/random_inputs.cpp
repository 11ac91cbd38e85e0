// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/random_inputs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::compiler {

namespace {

struct Interval {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

std::int64_t extent_of(const lang::Tensor& tensor, std::size_t dim) {
  return lang::evaluate(tensor.extent[dim], {}).value_or(0);
}

/// Range of an integer expression when every read in it is 0; wide where it is not a simple sum.
Interval interval(const lang::Statement& statement, const lang::ExprPtr& expr) {
  if (const auto* index = std::get_if<lang::IndexRef>(&expr->node)) {
    const lang::Index& range = statement.indices[static_cast<std::size_t>(index->index)];
    return {lang::evaluate(range.lo, {}).value_or(0), lang::evaluate(range.hi, {}).value_or(1) - 1};
  }
  if (const auto* binary = std::get_if<lang::Binary>(&expr->node)) {
    const Interval left = interval(statement, binary->left);
    const Interval right = interval(statement, binary->right);
    if (binary->op == lang::BinaryOp::Add) return {left.lo + right.lo, left.hi + right.hi};
    if (binary->op == lang::BinaryOp::Sub) return {left.lo - right.hi, left.hi - right.lo};
    return {0, 0};
  }
  if (const auto* cast = std::get_if<lang::Cast>(&expr->node))
    return interval(statement, cast->operand);
  const std::int64_t value = lang::evaluate(expr, {}).value_or(0);
  return {value, value};
}

/// Values that keep every subscript that uses `tensor` within its axis; nullopt if it is no
/// subscript tensor.
std::optional<Interval> subscript_range(const lang::TypedDef& def, lang::TensorId tensor) {
  std::optional<Interval> found;
  auto use = [&](const lang::Statement& statement, const lang::ExprPtr& subscript,
                 std::int64_t begin, std::int64_t extent) {
    bool used = false;
    lang::walk(subscript, [&](const lang::Expr& node) {
      const auto* read = std::get_if<lang::Read>(&node.node);
      used = used || (read != nullptr && read->tensor == tensor);
    });
    if (!used) return;
    const Interval rest = interval(statement, subscript);
    Interval range{begin - rest.lo, begin + extent - 1 - rest.hi};
    if (range.lo > range.hi) range = {begin, begin + extent - 1};
    found = found ? Interval{std::max(found->lo, range.lo), std::min(found->hi, range.hi)} : range;
  };
  auto use_all = [&](const lang::Statement& statement, lang::TensorId target,
                     const std::vector<lang::ExprPtr>& subscripts) {
    const lang::Tensor& read = def.tensors[static_cast<std::size_t>(target)];
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      use(statement, subscripts[d], lang::evaluate(read.begin[d], {}).value_or(0),
          extent_of(read, d));
    }
  };
  for (const lang::StatementInContext& context : lang::statements(def)) {
    const lang::Statement& statement = *context.statement;
    use_all(statement, statement.tensor, statement.subscripts);
    std::vector<lang::ExprPtr> roots = {statement.value};
    roots.insert(roots.end(), statement.subscripts.begin(), statement.subscripts.end());
    for (const lang::ExprPtr& root : roots) {
      lang::walk(root, [&](const lang::Expr& node) {
        if (const auto* read = std::get_if<lang::Read>(&node.node))
          use_all(statement, read->tensor, read->subscripts);
      });
    }
  }
  return found;
}

/// Uniform in [0, 1) from the engine's bits; the standard distributions differ between libraries.
double uniform(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}

double normal(std::mt19937_64& engine) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(engine)));
  return radius * std::cos(2 * 3.14159265358979323846 * uniform(engine));
}

std::int64_t uniform_integer(std::mt19937_64& engine, std::int64_t lo, std::int64_t hi) {
  const auto width = static_cast<std::uint64_t>(hi - lo) + 1;
  return lo + static_cast<std::int64_t>(engine() % width);
}

void draw_floats(std::mt19937_64& engine, InputKind kind, lang::Value& value) {
  for (double& slot : value.real) {
    slot = kind == InputKind::Normal
               ? round_to(value.type, normal(engine))
               : static_cast<double>(uniform_integer(engine, -kSmallInteger, kSmallInteger));
  }
}

HostTensor draw(const lang::TypedDef& def, lang::TensorId id, std::uint64_t seed, InputKind kind) {
  const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(id)];
  std::vector<std::int64_t> sizes;
  for (std::size_t d = 0; d < tensor.extent.size(); ++d)
    sizes.push_back(extent_of(tensor, d));
  std::mt19937_64 engine(seed * 0x9E3779B97F4A7C15ULL +
                         static_cast<std::uint64_t>(tensor.param_position) + 1);
  lang::Value value = lang::Value::zeros(tensor.type, sizes);
  if (is_float(tensor.type)) {
    draw_floats(engine, kind, value);
    return from_value(value);
  }
  Interval range{is_unsigned_integer(tensor.type) || tensor.type == DType::Bool ? 0
                                                                                : -kSmallInteger,
                 tensor.type == DType::Bool ? 1 : kSmallInteger};
  if (const std::optional<Interval> subscript = subscript_range(def, id);
      subscript && subscript->lo <= subscript->hi) {
    range = *subscript;
    if (tensor.type != DType::Bool) {
      range.lo = std::max(range.lo, min_value(tensor.type));
      range.hi = std::min<std::int64_t>(range.hi, static_cast<std::int64_t>(std::min<std::uint64_t>(
                                                      max_value(tensor.type), INT64_MAX)));
      range.hi = std::max(range.lo, range.hi);
    }
  }
  for (std::int64_t& slot : value.integer)
    slot = uniform_integer(engine, range.lo, range.hi);
  return from_value(value);
}

}  // namespace

HostTensor random_input(const lang::TypedDef& specialised, int param_position, std::uint64_t seed,
                        InputKind kind) {
  for (std::size_t i = 0; i < specialised.tensors.size(); ++i) {
    const lang::Tensor& tensor = specialised.tensors[i];
    if (tensor.is_param && tensor.param_position == param_position)
      return draw(specialised, static_cast<int>(i), seed, kind);
  }
  unreachable("no parameter at that position");
}

HostTensor random_floats(DType type, std::int64_t count, std::uint64_t seed, InputKind kind) {
  std::mt19937_64 engine(seed);
  lang::Value value = lang::Value::zeros(type, {count});
  draw_floats(engine, kind, value);
  return from_value(value);
}

std::vector<HostTensor> random_inputs(const lang::TypedDef& specialised, std::uint64_t seed,
                                      InputKind kind) {
  std::vector<HostTensor> result;
  for (std::size_t i = 0; i < specialised.tensors.size(); ++i) {
    if (specialised.tensors[i].is_param)
      result.push_back(draw(specialised, static_cast<int>(i), seed, kind));
  }
  return result;
}

}  // namespace tc::compiler
