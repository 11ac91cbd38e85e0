// SPDX-License-Identifier: Apache-2.0
#include "exactness.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "tc/support/numeric.h"

namespace tc::cases {

namespace {

constexpr double kLargest = 1 << 18;  ///< results of float32 that count as far from rounding
constexpr int kPlaces = 6;            ///< 2^18 * 2^6 is what 24 bits hold
constexpr int kFloat64Bits = 53;
constexpr int kRounds = 8;  ///< of a `for` that are followed

/// The finite values among some numbers are multiples of 2^-places below 2^digits.
struct Form {
  int places = 0, digits = 0;
  bool operator==(const Form&) const = default;
};

Form either(const Form& a, const Form& b) {
  return {std::max(a.places, b.places), std::max(a.digits, b.digits)};
}

Form form_of(double value) {
  if (value == 0 || !std::isfinite(value)) return {};
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(value, &exponent), kFloat64Bits);
  const int trailing = __builtin_ctzll(static_cast<unsigned long long>(std::fabs(mantissa)));
  return {std::max(0, kFloat64Bits - trailing - exponent), std::max(0, exponent)};
}

Form form_of_type(DType type) {
  return {0, type == DType::Bool ? 1 : bits(type)};
}

Form form_of(const compiler::HostTensor& tensor) {
  if (!is_float(tensor.meta().type)) return form_of_type(tensor.meta().type);
  Form form;
  for (const double value : compiler::to_value(tensor).real)
    form = either(form, form_of(value));
  return form;
}

/// Follows the forms through the statements.
class Follower {
public:
  Follower(const lang::TypedDef& def, const std::vector<compiler::HostTensor>& inputs,
           const std::map<int, compiler::HostTensor>& initial)
      : def_(def), tensors_(def.tensors.size()) {
    for (std::size_t t = 0; t < def.tensors.size(); ++t) {
      const lang::Tensor& tensor = def.tensors[t];
      if (tensor.is_param)
        tensors_[t] = form_of(inputs[static_cast<std::size_t>(tensor.param_position)]);
    }
    for (const auto& [output, values] : initial)
      tensors_[static_cast<std::size_t>(def.outputs[static_cast<std::size_t>(output)])] =
          form_of(values);
    // A sum of n numbers has at most this many digits more than they.
    while ((std::int64_t{1} << sum_digits_) < lang::count_points(def))
      ++sum_digits_;
  }

  bool run() {
    follow(def_.body);
    return exact_;
  }

private:
  void follow(const std::vector<lang::Node>& body) {
    for (const lang::Node& node : body) {
      if (const auto* statement = std::get_if<lang::Statement>(&node))
        follow(*statement);
      else
        follow(*std::get<std::shared_ptr<const lang::ForLoop>>(node));
      if (!exact_) return;
    }
  }

  /// Each iteration until nothing changes, or all of them.
  void follow(const lang::ForLoop& loop) {
    const auto lo = lang::evaluate(loop.lo, {}), hi = lang::evaluate(loop.hi, {});
    for (int round = 0; round < kRounds; ++round) {
      if (lo && hi && *hi - *lo <= round) return;
      const std::vector<Form> before = tensors_;
      follow(loop.body);
      if (!exact_ || tensors_ == before) return;
    }
    exact_ = lo && hi && *hi - *lo <= kRounds;
  }

  void follow(const lang::Statement& statement) {
    const bool argument =
        statement.op == lang::ReduceOp::ArgMin || statement.op == lang::ReduceOp::ArgMax;
    Form form = form_of_value(statement.value);
    Form& target = tensors_[static_cast<std::size_t>(statement.tensor)];
    if (argument || !is_float(statement.accumulator)) {
      form = form_of_type(stored_type(statement));
    } else if (statement.op) {
      exact_ = exact_ && statement.op != lang::ReduceOp::Mul;
      form = either(form, target);
      if (statement.op == lang::ReduceOp::Add) form.digits += sum_digits_ + 1;
      require(statement.accumulator, form);
    }
    target = either(target, form);
  }

  DType stored_type(const lang::Statement& statement) const {
    return compute_type(def_.tensors[static_cast<std::size_t>(statement.tensor)].type);
  }

  void require(DType type, const Form& form) {
    if (type == DType::Float64)
      exact_ = exact_ && form.places + form.digits <= kFloat64Bits;
    else if (is_float(type))
      exact_ = exact_ && form.places <= kPlaces;
  }

  Form form_of_value(const lang::ExprPtr& expr) {
    const Form form = std::visit([&](const auto& node) { return of(node, *expr); }, expr->node);
    require(expr->type, form);
    return form;
  }

  Form of(const lang::FloatConst& node, const lang::Expr& /*expr*/) { return form_of(node.value); }
  Form of(const lang::Read& node, const lang::Expr& /*expr*/) {
    const Form read = tensors_[static_cast<std::size_t>(node.tensor)];
    return node.pad ? either(read, form_of_value(node.pad)) : read;
  }
  Form of(const lang::Unary& node, const lang::Expr& /*expr*/) {
    return form_of_value(node.operand);
  }
  Form of(const lang::Select& node, const lang::Expr& /*expr*/) {
    (void)form_of_value(node.condition);
    const Form if_true = form_of_value(node.if_true);
    return either(if_true, form_of_value(node.if_false));
  }
  Form of(const lang::Cast& node, const lang::Expr& /*expr*/) {
    const Form from = form_of_value(node.operand);
    // Rounding adds no places; what saturates has at most one digit more.
    if (is_float(node.to)) return {from.places, from.digits + 1};
    return form_of_type(node.to);
  }
  Form of(const lang::Binary& node, const lang::Expr& expr) {
    const Form a = form_of_value(node.left);
    const Form b = form_of_value(node.right);
    if (!is_float(expr.type)) return form_of_type(expr.type);
    switch (node.op) {
    case lang::BinaryOp::Add:
    case lang::BinaryOp::Sub: return {std::max(a.places, b.places), either(a, b).digits + 1};
    case lang::BinaryOp::Mul: return {a.places + b.places, a.digits + b.digits};
    case lang::BinaryOp::Min:
    case lang::BinaryOp::Max: return either(a, b);
    default: exact_ = false; return {};
    }
  }
  Form of(const lang::Builtin& node, const lang::Expr& expr) {
    static const std::set<std::string> kExact = {"abs",   "fabs",  "relu",    "floor", "ceil",
                                                 "trunc", "rint",  "round",   "fmin",  "fmax",
                                                 "isnan", "isinf", "copysign"};
    exact_ = exact_ && kExact.count(node.name) != 0;
    Form form;
    for (const lang::ExprPtr& argument : node.args)
      form = either(form, form_of_value(argument));
    if (!is_float(expr.type)) return form_of_type(expr.type);
    return {form.places, form.digits + 1};
  }
  /// Integers, names and constants of compiled-in values.
  Form of(const lang::IntConst& node, const lang::Expr& /*expr*/) {
    return form_of(static_cast<double>(node.value));
  }
  template <class Leaf>
  Form of(const Leaf& /*node*/, const lang::Expr& expr) {
    if (is_float(expr.type)) exact_ = false;
    return form_of_type(expr.type);
  }

  const lang::TypedDef& def_;
  std::vector<Form> tensors_;
  int sum_digits_ = 0;
  bool exact_ = true;
};

/// Whether the two precisions agree, on values of which sums do not round.
bool agree(const compiler::Reference& reference) {
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

}  // namespace

bool computes_exactly(const lang::TypedDef& specialised,
                      const std::vector<compiler::HostTensor>& inputs,
                      const std::map<int, compiler::HostTensor>& initial,
                      const compiler::Reference& reference) {
  return Follower(specialised, inputs, initial).run() && agree(reference);
}

}  // namespace tc::cases
