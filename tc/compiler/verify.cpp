// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tc/lang/interpreter.h"
#include "tc/support/check.h"

namespace tc::compiler {

namespace {

double epsilon(DType type) {
  switch (type) {
  case DType::Float16: return 0x1p-10;
  case DType::BFloat16: return 0x1p-7;
  case DType::Float8E4M3FN: return 0x1p-3;
  case DType::Float8E5M2: return 0x1p-2;
  case DType::Float32: return 0x1p-23;
  case DType::Float64: return 0x1p-52;
  default: return 0;
  }
}

/// Smallest step between subnormal values: absolute error of the last rounding near zero.
double tiny(DType type) {
  switch (type) {
  case DType::Float16: return 0x1p-24;
  case DType::BFloat16: return 0x1p-133;
  case DType::Float8E4M3FN: return 0x1p-9;
  case DType::Float8E5M2: return 0x1p-16;
  case DType::Float32: return 0x1p-149;
  default: return 0;
  }
}

double max_finite(const lang::Value& value) {
  double result = 0;
  for (double x : value.real) {
    if (std::isfinite(x)) result = std::max(result, std::fabs(x));
  }
  return result;
}

std::int64_t longest_reduction(const lang::TypedDef& def) {
  std::int64_t longest = 1;
  for (const lang::StatementInContext& context : lang::statements(def)) {
    if (!context.statement->op) continue;
    double points = 1;
    for (const lang::Index& index : context.statement->indices) {
      if (index.on_left) continue;
      const auto lo = lang::evaluate(index.lo, {});
      const auto hi = lang::evaluate(index.hi, {});
      points *= lo && hi ? static_cast<double>(std::max<std::int64_t>(1, *hi - *lo)) : 64;
    }
    longest = std::max(longest, static_cast<std::int64_t>(std::min(points, 1e15)));
  }
  return longest;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string position_text(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> position(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    position[d] = flat % shape[d];
    flat /= shape[d];
  }
  return fmt::format("({})", fmt::join(position, ", "));
}

/// One output of a Reference.
struct ReferenceOutput {
  const lang::Value& precise;
  const lang::Value& language;
  std::vector<const lang::Value*> shifted;

  /// Whether `value` lies between the runs at element i, if there are shifted ones.
  bool surrounds(double value, std::size_t i, double bound) const {
    if (shifted.empty()) return false;
    const auto [least, greatest] = hull(&lang::Value::real, i);
    return value >= least - bound && value <= greatest + bound;
  }
  /// Narrow integers wrap, so that nothing lies between them: there, whether the runs differ.
  bool surrounds(std::int64_t value, std::size_t i) const {
    if (shifted.empty()) return false;
    const auto [least, greatest] = hull(&lang::Value::integer, i);
    return bits(language.type) < 32 ? least != greatest : value >= least && value <= greatest;
  }

private:
  template <class T>
  std::pair<T, T> hull(std::vector<T> lang::Value::* slots, std::size_t i) const {
    std::pair<T, T> result = std::minmax({(precise.*slots)[i], (language.*slots)[i]});
    for (const lang::Value* run : shifted) {
      result.first = std::min(result.first, (run->*slots)[i]);
      result.second = std::max(result.second, (run->*slots)[i]);
    }
    return result;
  }
};

/// Some value is computed in float32, by operations or by functions that are not exactly rounded:
/// its error reaches float64 outputs too.
bool computes_in_float32(const lang::TypedDef& def) {
  bool found = false;
  for (const lang::StatementInContext& context : lang::statements(def)) {
    lang::walk(context.statement->value, [&](const lang::Expr& expr) {
      found = found ||
              (expr.type == DType::Float32 && (std::holds_alternative<lang::Binary>(expr.node) ||
                                               std::holds_alternative<lang::Builtin>(expr.node)));
    });
    found = found || (context.statement->op && context.statement->accumulator == DType::Float32);
  }
  return found;
}

void compare_floats(const std::string& name, const lang::Value& result,
                    const ReferenceOutput& reference, const Tolerance& tolerance,
                    Comparison& comparison) {
  for (std::size_t i = 0; i < result.real.size(); ++i) {
    const double precise = reference.precise.real[i];
    const double bound = tolerance.of(precise);
    const double difference = std::fabs(result.real[i] - precise);
    if (std::isfinite(difference)) {
      comparison.max_abs = std::max(comparison.max_abs, difference);
      if (precise != 0)
        comparison.max_rel = std::max(comparison.max_rel, difference / std::fabs(precise));
    }
    comparison.bound = std::max(comparison.bound, bound);
    if (is_close(result.real[i], precise, bound) ||
        is_close(result.real[i], reference.language.real[i], bound) ||
        reference.surrounds(result.real[i], i, bound))
      continue;
    if (comparison.ok) {
      comparison.message =
          fmt::format("output '{}' at {} is {} where {} is expected (bound {:.3g})", name,
                      position_text(static_cast<std::int64_t>(i), result.shape), result.real[i],
                      precise, bound);
    }
    comparison.ok = false;
  }
}

void compare_exactly(const std::string& name, const lang::Value& result,
                     const ReferenceOutput& reference, Comparison& comparison) {
  const lang::Value &first = reference.language, &second = reference.precise;
  const bool real = is_float(result.type);
  const std::size_t count = real ? result.real.size() : result.integer.size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool equal =
        real ? same(result.real[i], first.real[i]) || same(result.real[i], second.real[i])
             : result.integer[i] == first.integer[i] || result.integer[i] == second.integer[i] ||
                   reference.surrounds(result.integer[i], i);
    if (equal) continue;
    if (comparison.ok) {
      comparison.message = fmt::format(
          "output '{}' at {} is {} where {} is expected exactly", name,
          position_text(static_cast<std::int64_t>(i), result.shape),
          real ? fmt::format("{}", result.real[i]) : fmt::format("{}", result.integer[i]),
          real ? fmt::format("{}", first.real[i]) : fmt::format("{}", first.integer[i]));
    }
    comparison.ok = false;
  }
}

std::vector<lang::Value> to_values(const std::vector<HostTensor>& inputs) {
  std::vector<lang::Value> result;
  for (const HostTensor& input : inputs)
    result.push_back(to_value(input));
  return result;
}

std::map<int, lang::Value> to_values(const std::map<int, HostTensor>& initial) {
  std::map<int, lang::Value> result;
  for (const auto& [position, tensor] : initial)
    result[position] = to_value(tensor);
  return result;
}

/// The largest error of a builtin, in units of the last place (docs/builtins_accuracy.md).
constexpr int kBuiltinUlps = 4;

}  // namespace

Reference interpret_reference(const lang::TypedDef& specialised,
                              const std::vector<HostTensor>& inputs,
                              const std::map<int, HostTensor>& initial) {
  Reference reference;
  const std::vector<lang::Value> values = to_values(inputs);
  for (const lang::Value& value : values)
    reference.scale = std::max(reference.scale, max_finite(value));
  const std::map<int, lang::Value> initial_values = to_values(initial);
  lang::InterpreterOptions options;
  options.precision = lang::Precision::Language;
  reference.language = lang::interpret(specialised, values, initial_values, options);
  options.precision = lang::Precision::Double;
  reference.precise = lang::interpret(specialised, values, initial_values, options);
  return reference;
}

std::vector<std::vector<lang::Value>> interpret_shifted(const lang::TypedDef& specialised,
                                                        const std::vector<HostTensor>& inputs,
                                                        const std::map<int, HostTensor>& initial) {
  std::vector<std::vector<lang::Value>> runs;
  const std::vector<lang::Value> values = to_values(inputs);
  const std::map<int, lang::Value> initial_values = to_values(initial);
  lang::InterpreterOptions options;
  for (const int ulps : {-kBuiltinUlps, kBuiltinUlps}) {
    options.shift_ulps = ulps;
    runs.push_back(lang::interpret(specialised, values, initial_values, options));
  }
  return runs;
}

double Tolerance::of(double precise) const {
  return common + (std::isfinite(precise) ? relative * std::fabs(precise) : 0);
}

Tolerance tolerance(const lang::TypedDef& specialised, const Reference& reference, std::size_t o) {
  const lang::Value &language = reference.language[o], &precise = reference.precise[o];
  const DType compute = language.type == DType::Float64 && !computes_in_float32(specialised)
                            ? DType::Float64
                            : DType::Float32;
  double own_error = 0;
  for (std::size_t i = 0; i < precise.real.size(); ++i) {
    const double difference = std::fabs(precise.real[i] - language.real[i]);
    if (std::isfinite(difference)) own_error = std::max(own_error, difference);
  }
  const auto reductions = static_cast<double>(longest_reduction(specialised));
  // What overflows in the language's precision says nothing about the size of rounding errors.
  const double magnitude = max_finite(language);
  return {16 * own_error +
              epsilon(compute) * (8 + 4 * std::sqrt(reductions)) *
                  std::max(reference.scale, magnitude) +
              tiny(language.type),
          epsilon(language.type)};
}

bool is_close(double a, double b, double bound) {
  if (same(a, b)) return true;
  return std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= bound;
}

Comparison compare(const lang::TypedDef& specialised, const Reference& reference,
                   const std::vector<HostTensor>& outputs, Exactness exactness) {
  const std::vector<lang::Value>& language = reference.language;
  const std::vector<lang::Value>& precise =
      exactness == Exactness::Exact ? language : reference.precise;
  check(language.size() == outputs.size(), "the interpreter gives as many outputs as the program");

  Comparison comparison;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const lang::Value result = to_value(outputs[o]);
    const std::string& name =
        specialised.tensors[static_cast<std::size_t>(specialised.outputs[o])].name;
    ReferenceOutput expected{precise[o], language[o], {}};
    if (exactness == Exactness::Rounded) {
      for (const std::vector<lang::Value>& run : reference.shifted)
        expected.shifted.push_back(&run[o]);
    }
    if (result.shape != language[o].shape || result.type != language[o].type) {
      comparison.ok = false;
      comparison.message =
          fmt::format("output '{}' has another shape or type than the reference", name);
    } else if (is_float(result.type) && exactness == Exactness::Rounded) {
      compare_floats(name, result, expected, tolerance(specialised, reference, o), comparison);
    } else {
      compare_exactly(name, result, expected, comparison);
    }
  }
  return comparison;
}

Comparison compare_with_interpreter(const lang::TypedDef& specialised,
                                    const std::vector<HostTensor>& inputs,
                                    const std::map<int, HostTensor>& initial,
                                    const std::vector<HostTensor>& outputs, Exactness exactness) {
  return compare(specialised, interpret_reference(specialised, inputs, initial), outputs,
                 exactness);
}

}  // namespace tc::compiler
