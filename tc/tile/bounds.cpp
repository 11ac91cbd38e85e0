// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/bounds.h"

#include <algorithm>
#include <limits>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::tile {
namespace {

using kernel::BinaryOp;
using kernel::ExprPtr;

struct Term {
  std::int64_t coefficient;
  ExprPtr atom;  ///< a variable, or an expression that is not a sum
};
struct Sum {
  std::int64_t constant = 0;
  std::vector<Term> terms;
};

bool add_constant(Sum& sum, std::int64_t factor, std::int64_t value) {
  std::int64_t product = 0;
  return checked_mul(factor, value, product) && checked_add(sum.constant, product, sum.constant);
}

bool add_term(Sum& sum, std::int64_t factor, const ExprPtr& atom) {
  for (auto& term : sum.terms) {
    if (!kernel::equal(term.atom, atom)) continue;
    return checked_add(term.coefficient, factor, term.coefficient);
  }
  sum.terms.push_back({factor, atom});
  return true;
}

/// Adds factor * expr. Only int64 arithmetic is taken apart: it is index arithmetic, which never
/// wraps.
bool add_expr(Sum& sum, std::int64_t factor, const ExprPtr& expr) {
  if (expr->type.elem != DType::Int64) return add_term(sum, factor, expr);
  if (const auto* imm = std::get_if<kernel::IntImm>(&expr->node))
    return add_constant(sum, factor, imm->value);
  if (const auto* unary = std::get_if<kernel::Unary>(&expr->node))
    if (unary->op == kernel::UnaryOp::Negate) return add_expr(sum, -factor, unary->operand);
  if (const auto* binary = std::get_if<kernel::Binary>(&expr->node)) {
    if (binary->op == BinaryOp::Add)
      return add_expr(sum, factor, binary->left) && add_expr(sum, factor, binary->right);
    if (binary->op == BinaryOp::Sub)
      return add_expr(sum, factor, binary->left) && add_expr(sum, -factor, binary->right);
    if (binary->op == BinaryOp::Mul) {
      std::int64_t product = 0;
      if (const auto c = constant(binary->left))
        return checked_mul(factor, *c, product) && add_expr(sum, product, binary->right);
      if (const auto c = constant(binary->right))
        return checked_mul(factor, *c, product) && add_expr(sum, product, binary->left);
    }
  }
  return add_term(sum, factor, expr);
}

std::optional<Sum> sum_of(const ExprPtr& expr, std::int64_t factor) {
  Sum sum;
  if (!add_expr(sum, factor, expr)) return std::nullopt;
  std::erase_if(sum.terms, [](const Term& term) { return term.coefficient == 0; });
  return sum;
}

using Forms = std::vector<Affine>;

/// Either form is a bound: keeps the tightest for each set of terms.
void unite(Forms& forms, const Forms& others) {
  for (const auto& other : others) {
    const auto same = std::find_if(forms.begin(), forms.end(),
                                   [&](const Affine& f) { return f.terms == other.terms; });
    if (same == forms.end())
      forms.push_back(other);
    else
      same->constant = std::min(same->constant, other.constant);
  }
}

/// What bounds both alternatives.
Forms join(const Forms& a, const Forms& b) {
  Forms result;
  for (const auto& fa : a)
    for (const auto& fb : b)
      if (fa.terms == fb.terms) unite(result, {{std::max(fa.constant, fb.constant), fa.terms}});
  return result;
}

/// Upper bounds of sums by elimination, innermost variable first. `fuel` bounds the branching over
/// min and max.
class Bounder {
public:
  Bounder(const Scope& scope, std::size_t kept) : scope_(scope), kept_(kept) {}

  Forms upper(Sum sum) {
    if (--fuel_ < 0) return {};
    std::erase_if(sum.terms, [](const Term& term) { return term.coefficient == 0; });
    int innermost = -1;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < sum.terms.size(); ++i) {
      const auto* ref = std::get_if<kernel::VarRef>(&sum.terms[i].atom->node);
      if (!ref) return upper_of_atom(sum, i);
      const int position = scope_.find(ref->var.id);
      if (position < 0) return {};
      if (position <= innermost) continue;
      innermost = position;
      chosen = i;
    }
    if (innermost < static_cast<int>(kept_)) return {affine(sum)};
    const auto& entry = scope_.entries()[innermost];
    const Term term = take(sum, chosen);
    return replaced(sum, term.coefficient, term.coefficient > 0 ? entry.last : entry.begin);
  }

  static Affine affine(const Sum& sum) {
    Affine result{sum.constant, {}};
    for (const auto& term : sum.terms)
      result.terms.emplace_back(std::get<kernel::VarRef>(term.atom->node).var.id, term.coefficient);
    std::sort(result.terms.begin(), result.terms.end());
    return result;
  }

private:
  static Term take(Sum& sum, std::size_t position) {
    Term term = sum.terms[position];
    sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(position));
    return term;
  }

  /// Upper bounds of rest + factor * expr.
  Forms replaced(Sum rest, std::int64_t factor, const ExprPtr& expr) {
    if (!add_expr(rest, factor, expr)) return {};
    return upper(std::move(rest));
  }
  Forms shifted(Sum rest, std::int64_t factor, std::int64_t value) {
    if (!add_constant(rest, factor, value)) return {};
    return upper(std::move(rest));
  }

  struct Range {
    std::optional<std::int64_t> lo, hi;
  };
  Range range(const ExprPtr& expr) {
    Bounder inner(scope_, 0);
    inner.fuel_ = fuel_ / 2;
    const auto bound = [&](std::int64_t factor) -> std::optional<std::int64_t> {
      const auto sum = sum_of(expr, factor);
      if (!sum) return std::nullopt;
      const Forms forms = inner.upper(*sum);
      if (forms.empty()) return std::nullopt;
      return factor * forms.front().constant;
    };
    return {bound(-1), bound(1)};
  }

  Forms constant_range(const Sum& rest, std::int64_t factor, const Range& range) {
    const auto& end = factor > 0 ? range.hi : range.lo;
    return end ? shifted(rest, factor, *end) : Forms{};
  }

  Forms upper_of_atom(Sum sum, std::size_t position) {
    const Term term = take(sum, position);
    const auto& node = term.atom->node;
    if (const auto* binary = std::get_if<kernel::Binary>(&node))
      return upper_of_binary(sum, term.coefficient, *binary);
    if (const auto* select = std::get_if<kernel::Select>(&node))
      return join(replaced(sum, term.coefficient, select->if_true),
                  replaced(sum, term.coefficient, select->if_false));
    if (const auto* cast = std::get_if<kernel::Cast>(&node))
      if (cast->to == DType::Int64)
        return constant_range(sum, term.coefficient, stored_range(cast->operand));
    return constant_range(sum, term.coefficient, stored_range(term.atom));
  }

  /// What the element type of a load says about its value.
  static Range stored_range(const ExprPtr& expr) {
    const auto* load = std::get_if<kernel::Load>(&expr->node);
    if (!load || load->mask || !is_integer(load->buffer->type) || bits(load->buffer->type) > 32)
      return {};
    return {min_value(load->buffer->type),
            static_cast<std::int64_t>(max_value(load->buffer->type))};
  }

  Forms upper_of_binary(const Sum& rest, std::int64_t factor, const kernel::Binary& binary) {
    const auto divisor = constant(binary.right);
    switch (binary.op) {
    case BinaryOp::Min:
    case BinaryOp::Max: {
      Forms left = replaced(rest, factor, binary.left);
      const Forms right = replaced(rest, factor, binary.right);
      const bool either = (factor > 0) == (binary.op == BinaryOp::Min);
      if (!either) return join(left, right);
      unite(left, right);
      return left;
    }
    case BinaryOp::FloorDiv: {
      if (!divisor || *divisor <= 0) return {};
      const Range x = range(binary.left);
      Range quotient;
      if (x.lo) quotient.lo = floor_div(*x.lo, *divisor);
      if (x.hi) quotient.hi = floor_div(*x.hi, *divisor);
      Forms forms = constant_range(rest, factor, quotient);
      if (factor % *divisor == 0) {
        // k*(x/k) lies between x-k+1 and x.
        Sum sum = rest;
        const std::int64_t scale = factor / *divisor;
        if (scale > 0 || add_constant(sum, -scale, *divisor - 1))
          unite(forms, replaced(sum, scale, binary.left));
      }
      return forms;
    }
    case BinaryOp::FloorMod: {
      if (!divisor || *divisor <= 0) return {};
      const Range x = range(binary.left);
      if (x.lo && x.hi && *x.lo >= 0 && *x.hi < *divisor)
        return replaced(rest, factor, binary.left);
      return constant_range(rest, factor, {0, *divisor - 1});
    }
    case BinaryOp::Mul: {
      const Range a = range(binary.left);
      const Range b = range(binary.right);
      if (!a.lo || !a.hi || !b.lo || !b.hi) return {};
      Range product{std::numeric_limits<std::int64_t>::max(),
                    std::numeric_limits<std::int64_t>::min()};
      for (const auto x : {*a.lo, *a.hi}) {
        for (const auto y : {*b.lo, *b.hi}) {
          std::int64_t value = 0;
          if (!checked_mul(x, y, value)) return {};
          product.lo = std::min(*product.lo, value);
          product.hi = std::max(*product.hi, value);
        }
      }
      return constant_range(rest, factor, product);
    }
    default: return {};
    }
  }

  const Scope& scope_;
  std::size_t kept_;
  int fuel_ = 4000;
};

std::optional<std::int64_t> bound(const ExprPtr& expr, const Scope& scope, std::int64_t factor) {
  const auto sum = sum_of(expr, factor);
  if (!sum) return std::nullopt;
  const Forms forms = Bounder(scope, 0).upper(*sum);
  if (forms.empty()) return std::nullopt;
  return factor * forms.front().constant;
}

std::optional<std::int64_t> evaluate_binary(BinaryOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
  case BinaryOp::Add: return checked_add(a, b, result) ? std::optional(result) : std::nullopt;
  case BinaryOp::Sub:
    if (b == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    return checked_add(a, -b, result) ? std::optional(result) : std::nullopt;
  case BinaryOp::Mul: return checked_mul(a, b, result) ? std::optional(result) : std::nullopt;
  case BinaryOp::FloorDiv: return floor_div(a, b);
  case BinaryOp::FloorMod: return floor_mod(a, b);
  case BinaryOp::Min: return std::min(a, b);
  case BinaryOp::Max: return std::max(a, b);
  case BinaryOp::Lt: return a < b;
  case BinaryOp::Le: return a <= b;
  case BinaryOp::Gt: return a > b;
  case BinaryOp::Ge: return a >= b;
  case BinaryOp::Eq: return a == b;
  case BinaryOp::Ne: return a != b;
  case BinaryOp::And: return a != 0 && b != 0;
  case BinaryOp::Or: return a != 0 || b != 0;
  case BinaryOp::Div: return std::nullopt;
  }
  unreachable("binary operation");
}

}  // namespace

void Scope::push(const kernel::Var& var, const ExprPtr& begin, const ExprPtr& end) {
  entries_.push_back({var, begin, kernel::sub(end, kernel::int_imm(1))});
}

void Scope::push(const GridLoop& loop) {
  check(loop.step > 0, "a grid loop has a positive step");
  const std::int64_t count = std::max<std::int64_t>(ceil_div(loop.end - loop.begin, loop.step), 1);
  entries_.push_back({loop.var, kernel::int_imm(loop.begin),
                      kernel::int_imm(loop.begin + (count - 1) * loop.step)});
}

int Scope::find(int var_id) const {
  for (std::size_t i = entries_.size(); i-- > 0;)
    if (entries_[i].var.id == var_id) return static_cast<int>(i);
  return -1;
}

std::optional<std::int64_t> upper_bound(const ExprPtr& expr, const Scope& scope) {
  return bound(expr, scope, 1);
}

std::optional<std::int64_t> lower_bound(const ExprPtr& expr, const Scope& scope) {
  return bound(expr, scope, -1);
}

std::vector<Affine> affine_upper_bounds(const ExprPtr& expr, const Scope& scope, std::size_t kept) {
  const auto sum = sum_of(expr, 1);
  return sum ? Bounder(scope, kept).upper(*sum) : Forms{};
}

std::vector<Affine> affine_lower_bounds(const ExprPtr& expr, const Scope& scope, std::size_t kept) {
  const auto sum = sum_of(expr, -1);
  Forms forms = sum ? Bounder(scope, kept).upper(*sum) : Forms{};
  for (auto& form : forms) {
    form.constant = -form.constant;
    for (auto& term : form.terms)
      term.second = -term.second;
  }
  return forms;
}

std::optional<Affine> as_affine(const ExprPtr& expr) {
  const auto sum = sum_of(expr, 1);
  if (!sum) return std::nullopt;
  for (const auto& term : sum->terms)
    if (!std::holds_alternative<kernel::VarRef>(term.atom->node)) return std::nullopt;
  return Bounder::affine(*sum);
}

std::optional<std::int64_t> evaluate(const ExprPtr& expr,
                                     const std::vector<std::pair<int, std::int64_t>>& values) {
  if (expr->type.lanes != 1 || is_float(expr->type.elem) || expr->type.elem == DType::UInt64)
    return std::nullopt;
  const auto wrapped = [&](std::optional<std::int64_t> value) {
    if (value && is_integer(expr->type.elem)) value = wrap_to(expr->type.elem, *value);
    return value;
  };
  if (const auto value = constant(expr)) return value;
  if (const auto* ref = std::get_if<kernel::VarRef>(&expr->node)) {
    for (const auto& [id, value] : values)
      if (id == ref->var.id) return value;
    return std::nullopt;
  }
  if (const auto* unary = std::get_if<kernel::Unary>(&expr->node)) {
    const auto value = evaluate(unary->operand, values);
    if (!value) return std::nullopt;
    if (unary->op == kernel::UnaryOp::Not) return *value == 0;
    return wrapped(evaluate_binary(BinaryOp::Sub, 0, *value));
  }
  if (const auto* binary = std::get_if<kernel::Binary>(&expr->node)) {
    const auto left = evaluate(binary->left, values);
    const auto right = evaluate(binary->right, values);
    if (!left || !right) return std::nullopt;
    return wrapped(evaluate_binary(binary->op, *left, *right));
  }
  if (const auto* select = std::get_if<kernel::Select>(&expr->node)) {
    const auto condition = evaluate(select->condition, values);
    if (!condition) return std::nullopt;
    return evaluate(*condition != 0 ? select->if_true : select->if_false, values);
  }
  if (const auto* cast = std::get_if<kernel::Cast>(&expr->node)) {
    const auto value = evaluate(cast->operand, values);
    if (!value || is_float(cast->to)) return std::nullopt;
    return cast->to == DType::Bool ? *value != 0 : wrap_to(cast->to, *value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> constant(const ExprPtr& expr) {
  if (const auto* imm = std::get_if<kernel::IntImm>(&expr->node)) return imm->value;
  return std::nullopt;
}

}  // namespace tc::tile
