// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/ranges_solve.h"

#include <algorithm>

#include "tc/support/check.h"

namespace tc::lang {

namespace {

using Kind = Atom::Kind;

Form product_of(const Form::Term& term, std::int64_t coefficient) {
  Form product(coefficient);
  for (const AtomPtr& atom : term.atoms)
    product = product * Form::of(atom);
  return product;
}

Form without(const Form& form, std::size_t term) {
  Form rest(form.constant());
  for (std::size_t k = 0; k < form.terms().size(); ++k) {
    if (k != term) rest = rest + product_of(form.terms()[k], form.terms()[k].coefficient);
  }
  return rest;
}

std::set<Variable> variables_of(const Form::Term& term) {
  return variables(product_of(term, 1));
}

bool is_extremum(Kind kind) {
  return kind == Kind::Min || kind == Kind::Max;
}

/// Position of a term that is a multiple of one atom of a kind for which `wanted` holds and that
/// mentions a variable in `of`.
template <class F>
std::optional<std::size_t> find_compound(const Form& form, const std::set<Variable>& of,
                                         F&& wanted) {
  for (std::size_t k = 0; k < form.terms().size(); ++k) {
    const Form::Term& term = form.terms()[k];
    if (term.atoms.size() != 1 || !wanted(term.atoms[0]->kind)) continue;
    const std::set<Variable> mentioned = variables_of(term);
    if (std::any_of(mentioned.begin(), mentioned.end(),
                    [&](Variable v) { return of.count(v) > 0; }))
      return k;
  }
  return std::nullopt;
}

bool is_variable(const Atom& atom, Variable variable) {
  return atom.kind == (variable.is_for ? Kind::For : Kind::Index) && atom.id == variable.id;
}

Form form_of(Variable variable) {
  const Kind kind = variable.is_for ? Kind::For : Kind::Index;
  return Form::of(std::make_shared<const Atom>(Atom{kind, DType::Int32, variable.id, {}}));
}

/// The coefficient of `variable`, free of variables; nullopt if the form is not linear in it.
std::optional<Form> coefficient_of(const Form& form, Variable variable) {
  Form coefficient;
  for (const Form::Term& term : form.terms()) {
    if (variables_of(term).count(variable) == 0) continue;
    Form rest(term.coefficient);
    bool found = false;
    for (const AtomPtr& atom : term.atoms) {
      if (!found && is_variable(*atom, variable)) {
        found = true;
      } else {
        rest = rest * Form::of(atom);
      }
    }
    if (!found || has_variables(rest)) return std::nullopt;
    coefficient = coefficient + rest;
  }
  return coefficient;
}

class Extremes {
public:
  Extremes(const VariableRanges& ranges, std::optional<Variable> keep, std::set<int>& assumed)
      : ranges_(ranges), keep_(keep), assumed_(assumed) {}

  Form of(const Form& form, End end) {
    // Nested minima and maxima multiply; beyond this the answer is not worth it.
    if (!form.valid() || --steps_ < 0) return Form::invalid();
    std::set<Variable> open = variables(form);
    if (keep_) open.erase(*keep_);
    if (open.empty()) return form;
    if (const auto at = find_compound(form, open, is_extremum)) return of_extremum(form, *at, end);
    if (const auto at = find_compound(form, open, [](Kind kind) { return kind == Kind::Div; })) {
      return of_quotient(form, *at, end);
    }
    if (const auto at = find_compound(form, open, [](Kind kind) { return kind == Kind::Mod; })) {
      return of_remainder(form, *at, end);
    }
    return of_linear(form, open, end);
  }

private:
  static End other(End end) { return end == End::Smallest ? End::Largest : End::Smallest; }

  Form of_extremum(const Form& form, std::size_t at, End end) {
    const Form::Term& term = form.terms()[at];
    const Form rest = without(form, at);
    const bool is_min = (term.atoms[0]->kind == Kind::Min) == (term.coefficient > 0);
    std::optional<Form> result;
    for (const Form& arg : term.atoms[0]->args) {
      const Form branch = of(rest + Form(term.coefficient) * arg, end);
      result = !result ? branch : is_min ? min(*result, branch) : max(*result, branch);
    }
    return *result;
  }

  Form of_quotient(const Form& form, std::size_t at, End end) {
    const Form::Term& term = form.terms()[at];
    const Form& numerator = term.atoms[0]->args[0];
    const Form& divisor = term.atoms[0]->args[1];
    if (has_variables(divisor) || sign(divisor, assumed_) != Sign::Positive) return Form::invalid();
    const Form rest = without(form, at);
    // rest + floor(f/c) = floor((c*rest + f)/c) and rest - floor(f/c) = floor((c*rest - f +
    // c-1)/c), both growing with their numerator.
    if (term.coefficient == 1) return quotient(of(divisor * rest + numerator, end), divisor);
    if (term.coefficient == -1) {
      return quotient(of(divisor * rest - numerator + divisor - Form(1), end), divisor);
    }
    const std::set<Variable> inside = variables(numerator);
    const std::set<Variable> outside = variables(rest);
    const bool apart = std::none_of(inside.begin(), inside.end(),
                                    [&](Variable v) { return outside.count(v) > 0; });
    if (!apart) return Form::invalid();
    const End inner = term.coefficient > 0 ? end : other(end);
    return of(rest + Form(term.coefficient) * quotient(of(numerator, inner), divisor), end);
  }

  Form of_remainder(const Form& form, std::size_t at, End end) {
    const Form::Term& term = form.terms()[at];
    const Form& divisor = term.atoms[0]->args[1];
    if (keep_ && mentions(term.atoms[0]->args[0], *keep_)) return Form::invalid();
    if (has_variables(divisor) || sign(divisor, assumed_) != Sign::Positive) return Form::invalid();
    const bool take_zero = (end == End::Smallest) == (term.coefficient > 0);
    const Form value = take_zero ? Form(0) : divisor - Form(1);
    return of(without(form, at) + Form(term.coefficient) * value, end);
  }

  Form of_linear(const Form& form, const std::set<Variable>& open, End end) {
    const Variable variable =
        *std::max_element(open.begin(), open.end(), [&](Variable a, Variable b) {
          return ranges_.rank(a) < ranges_.rank(b);
        });
    if (!ranges_.has(variable)) return Form::invalid();
    const std::optional<Form> coefficient = coefficient_of(form, variable);
    if (!coefficient) return Form::invalid();
    const Sign direction = sign(*coefficient, assumed_);
    if (direction != Sign::Positive && direction != Sign::Negative) return Form::invalid();
    const VariableRange& range = ranges_.at(variable);
    const bool take_low = (direction == Sign::Positive) == (end == End::Smallest);
    const Form value = take_low ? range.lo : range.hi - Form(1);
    return of(form - *coefficient * form_of(variable) + *coefficient * value, end);
  }

  const VariableRanges& ranges_;
  std::optional<Variable> keep_;
  std::set<int>& assumed_;
  int steps_ = 2000;
};

const Solution kNothing{false, false, std::nullopt, std::nullopt};
const Solution kNever{true, true, std::nullopt, std::nullopt};

Solution at_least(Form lo) {
  return {true, false, std::move(lo), std::nullopt};
}
Solution below(Form hi) {
  return {true, false, std::nullopt, std::move(hi)};
}

/// Either of two solutions; an interval only if both are bounded on the same single side.
Solution unite(const Solution& a, const Solution& b) {
  if (!a.solvable || !b.solvable) return kNothing;
  if (a.never) return b;
  if (b.never) return a;
  const bool a_free = !a.lo && !a.hi;
  const bool b_free = !b.lo && !b.hi;
  if (a_free || b_free) return Solution{};
  if (a.lo && b.lo && !a.hi && !b.hi) return at_least(min(*a.lo, *b.lo));
  if (a.hi && b.hi && !a.lo && !b.lo) return below(max(*a.hi, *b.hi));
  return kNothing;
}

/// The values of `variable` with form >= 0, where `variable` is the only variable.
Solution solve_nonnegative(const Form& form, Variable variable, std::set<int>& assumed) {
  if (!form.valid()) return kNothing;
  if (!mentions(form, variable))
    return is_nonnegative(negate(form) - Form(1)) ? kNever : Solution{};
  const std::set<Variable> just{variable};
  if (const auto at = find_compound(form, just, is_extremum)) {
    const Form::Term& term = form.terms()[*at];
    const Form rest = without(form, *at);
    const bool all = (term.atoms[0]->kind == Kind::Min) == (term.coefficient > 0);
    std::optional<Solution> result;
    for (const Form& arg : term.atoms[0]->args) {
      const Solution branch =
          solve_nonnegative(rest + Form(term.coefficient) * arg, variable, assumed);
      result = !result ? branch : all ? intersect(*result, branch) : unite(*result, branch);
    }
    return *result;
  }
  if (const auto at = find_compound(form, just, [](Kind kind) { return kind == Kind::Div; })) {
    const Form::Term& term = form.terms()[*at];
    const Form& divisor = term.atoms[0]->args[1];
    if (has_variables(divisor) || sign(divisor, assumed) != Sign::Positive) return kNothing;
    const Form scaled =
        divisor * without(form, *at) + Form(term.coefficient) * term.atoms[0]->args[0];
    if (term.coefficient == 1) return solve_nonnegative(scaled, variable, assumed);
    if (term.coefficient == -1)
      return solve_nonnegative(scaled + divisor - Form(1), variable, assumed);
    return kNothing;
  }
  const std::optional<Form> coefficient = coefficient_of(form, variable);
  if (!coefficient) return kNothing;
  const Form rest = form - *coefficient * form_of(variable);
  switch (sign(*coefficient, assumed)) {
  case Sign::Positive: return at_least(negate(quotient(rest, *coefficient)));
  case Sign::Negative: return below(quotient(rest, negate(*coefficient)) + Form(1));
  case Sign::Zero: return Solution{};
  case Sign::Unknown: return kNothing;
  }
  unreachable("a sign");
}

bool is_affine(const Form& form) {
  for (const Variable variable : variables(form)) {
    if (!coefficient_of(form, variable)) return false;
  }
  return form.valid();
}

}  // namespace

void VariableRanges::set(Variable variable, VariableRange range) {
  ranges_[variable] = std::move(range);
}

int VariableRanges::rank(Variable variable) const {
  const auto at = ranges_.find(variable);
  if (at == ranges_.end()) return 0;
  int rank = 0;
  for (const Form* end : {&at->second.lo, &at->second.hi}) {
    for (const Variable inner : variables(*end)) {
      if (inner != variable) rank = std::max(rank, 1 + this->rank(inner));
    }
  }
  return rank;
}

Form extreme(const Form& form, End end, const VariableRanges& ranges, std::optional<Variable> keep,
             std::set<int>& assumed) {
  return Extremes(ranges, keep, assumed).of(form, end);
}

Solution intersect(const Solution& a, const Solution& b) {
  if (!a.solvable || !b.solvable) return kNothing;
  if (a.never || b.never) return kNever;
  Solution both = a;
  if (b.lo) both.lo = both.lo ? max(*both.lo, *b.lo) : *b.lo;
  if (b.hi) both.hi = both.hi ? min(*both.hi, *b.hi) : *b.hi;
  return both;
}

std::optional<AffineQuotient> affine_quotient(const ExprPtr& subscript, std::set<int>& assumed) {
  if (const auto* cast = std::get_if<Cast>(&subscript->node)) {
    // Form::of() looks through the conversions that keep the value; a quotient below one must be
    // seen as one.
    if (!Form::of(subscript).valid()) return std::nullopt;
    return affine_quotient(cast->operand, assumed);
  }
  if (const auto* node = std::get_if<Binary>(&subscript->node); node && node->op == BinaryOp::Div) {
    AffineQuotient result{Form::of(node->left), Form::of(node->right)};
    const bool good = is_affine(result.numerator) && result.divisor.valid() &&
                      !has_variables(result.divisor) &&
                      sign(result.divisor, assumed) == Sign::Positive;
    if (!good) return std::nullopt;
    return result;
  }
  const Form form = Form::of(subscript);
  if (!is_affine(form)) return std::nullopt;
  return AffineQuotient{form, Form(1)};
}

Solution solve(const AffineQuotient& subscript, const Form& begin, const Form& end,
               Variable variable, const VariableRanges& ranges, std::set<int>& assumed) {
  // floor(e/c) >= begin is e >= c*begin; floor(e/c) < end is e < c*end.
  const Form above = subscript.numerator - subscript.divisor * begin;
  const Form below = subscript.divisor * end - Form(1) - subscript.numerator;
  Solution result;
  for (const Form& form : {above, below}) {
    const Form worst = extreme(form, End::Smallest, ranges, variable, assumed);
    const Solution side = solve_nonnegative(worst, variable, assumed);
    // Out of bounds whatever `variable` is: not for it to settle; the proofs show where.
    if (!side.never) result = intersect(result, side);
  }
  if ((result.lo && !result.lo->valid()) || (result.hi && !result.hi->valid())) return kNothing;
  return result;
}

}  // namespace tc::lang
