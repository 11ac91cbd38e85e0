// SPDX-License-Identifier: Apache-2.0
#include "exactness.h"

#include <cmath>
#include <set>
#include <string>

#include "tc/support/numeric.h"

namespace tc::cases {

namespace {

bool is_exact_value(const lang::ExprPtr& value) {
  static const std::set<std::string> kExact = {"abs",   "fabs",  "relu",    "floor", "ceil",
                                               "trunc", "rint",  "round",   "fmin",  "fmax",
                                               "isnan", "isinf", "copysign"};
  bool exact = true;
  lang::walk(value, [&](const lang::Expr& expr) {
    if (const auto* builtin = std::get_if<lang::Builtin>(&expr.node))
      exact = exact && kExact.count(builtin->name) != 0;
    if (const auto* binary = std::get_if<lang::Binary>(&expr.node))
      exact = exact && !(binary->op == lang::BinaryOp::Div && is_float(expr.type));
    if (const auto* constant = std::get_if<lang::FloatConst>(&expr.node))
      exact = exact && (!std::isfinite(constant->value) ||
                        (std::fabs(constant->value) <= 1024 &&
                         constant->value * 4 == std::floor(constant->value * 4)));
  });
  return exact;
}

}  // namespace

bool has_exact_operations(const lang::TypedDef& def) {
  for (const lang::StatementInContext& context : lang::statements(def)) {
    const lang::Statement& statement = *context.statement;
    if (!is_exact_value(statement.value)) return false;
    if (statement.op == lang::ReduceOp::Mul && is_float(statement.accumulator)) return false;
  }
  return true;
}

bool is_exact(const compiler::Reference& reference) {
  constexpr double kLargest = 1 << 18;
  for (std::size_t o = 0; o < reference.language.size(); ++o) {
    const lang::Value& language = reference.language[o];
    const lang::Value& precise = reference.precise[o];
    if (language.integer != precise.integer) return false;
    for (std::size_t i = 0; i < language.real.size(); ++i) {
      const double a = language.real[i];
      const double b = precise.real[i];
      if (std::isnan(a) != std::isnan(b)) return false;
      if (std::isfinite(b) && (std::fabs(b) > kLargest || round_to(language.type, b) != a))
        return false;
    }
  }
  return true;
}

}  // namespace tc::cases
