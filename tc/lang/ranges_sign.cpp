// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/lang/ranges_form.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

using Kind = Atom::Kind;

bool is_extremum(Kind kind) {
  return kind == Kind::Min || kind == Kind::Max;
}

/// What is left of the case analysis: how deep, and how many steps in all.
struct Effort {
  int depth;
  int& steps;
  Effort less() const { return {depth - 1, steps}; }
};
constexpr int kProofDepth = 12;
constexpr int kProofSteps = 2000;

Form without(const Form& form, std::size_t term) {
  Form rest(form.constant());
  for (std::size_t k = 0; k < form.terms().size(); ++k) {
    if (k == term) continue;
    Form product = Form(form.terms()[k].coefficient);
    for (const AtomPtr& atom : form.terms()[k].atoms)
      product = product * Form::of(atom);
    rest = rest + product;
  }
  return rest;
}

bool never_negative(const Form& form, Effort effort);

bool is_nonnegative_atom(const Atom& atom, Effort effort) {
  switch (atom.kind) {
  case Kind::Size: return true;
  case Kind::Index:
  case Kind::For:
  case Kind::Const: return false;
  case Kind::Min:
  case Kind::Max: {
    auto holds = [&](const Form& arg) { return never_negative(arg, effort.less()); };
    return atom.kind == Kind::Min ? std::all_of(atom.args.begin(), atom.args.end(), holds)
                                  : std::any_of(atom.args.begin(), atom.args.end(), holds);
  }
  case Kind::Div:
    return never_negative(atom.args[0], effort.less()) &&
           never_negative(atom.args[1], effort.less());
  case Kind::Mod: return never_negative(atom.args[1], effort.less());
  }
  unreachable("an atom");
}

/// Replaces one extremum or quotient by what bounds it; nullopt if there is none.
std::optional<bool> decide_by_cases(const Form& form, Effort effort) {
  for (std::size_t k = 0; k < form.terms().size(); ++k) {
    const Form::Term& term = form.terms()[k];
    if (term.atoms.size() != 1) continue;
    const Atom& atom = *term.atoms[0];
    const bool positive = term.coefficient > 0;
    if (is_extremum(atom.kind)) {
      const Form rest = without(form, k);
      auto holds = [&](const Form& arg) {
        return never_negative(rest + Form(term.coefficient) * arg, effort.less());
      };
      return (atom.kind == Kind::Min) == positive
                 ? std::all_of(atom.args.begin(), atom.args.end(), holds)
                 : std::any_of(atom.args.begin(), atom.args.end(), holds);
    }
    const std::optional<std::int64_t> by =
        atom.kind == Kind::Div ? atom.args[1].as_constant() : std::nullopt;
    if (!by) continue;
    // (f - (c-1))/c <= floor(f/c) <= f/c, exact when the coefficient is 1 or -1 because the rest is
    // integral.
    const Form scaled = Form(*by) * without(form, k) + Form(term.coefficient) * atom.args[0];
    if (term.coefficient == 1) return never_negative(scaled, effort.less());
    if (term.coefficient == -1) return never_negative(scaled + Form(*by - 1), effort.less());
    return never_negative(positive ? scaled + Form(term.coefficient) * Form(1 - *by) : scaled,
                          effort.less());
  }
  return std::nullopt;
}

bool never_negative(const Form& form, Effort effort) {
  if (!form.valid() || effort.depth <= 0 || --effort.steps < 0) return false;
  if (const std::optional<bool> by_cases = decide_by_cases(form, effort)) {
    if (*by_cases) return true;
  }
  if (form.constant() < 0) return false;
  return std::all_of(form.terms().begin(), form.terms().end(), [&](const Form::Term& term) {
    return term.coefficient > 0 &&
           std::all_of(term.atoms.begin(), term.atoms.end(),
                       [&](const AtomPtr& atom) { return is_nonnegative_atom(*atom, effort); });
  });
}

}  // namespace

bool is_nonnegative(const Form& form) {
  int steps = kProofSteps;
  return never_negative(form, {kProofDepth, steps});
}

Sign sign(const Form& form, std::set<int>& assumed) {
  if (!form.valid()) return Sign::Unknown;
  if (const std::optional<std::int64_t> value = form.as_constant()) {
    return *value < 0 ? Sign::Negative : *value > 0 ? Sign::Positive : Sign::Zero;
  }
  const bool positive = form.terms()[0].coefficient > 0;
  std::set<int> used;
  int steps = kProofSteps;
  for (const Form::Term& term : form.terms()) {
    if ((term.coefficient > 0) != positive) return Sign::Unknown;
    for (const AtomPtr& atom : term.atoms) {
      if (atom->kind == Kind::Const) {
        used.insert(atom->id);
      } else if (!is_nonnegative_atom(*atom, {kProofDepth, steps})) {
        return Sign::Unknown;
      }
    }
  }
  if (positive ? form.constant() < 0 : form.constant() > 0) return Sign::Unknown;
  assumed.insert(used.begin(), used.end());
  return positive ? Sign::Positive : Sign::Negative;
}

}  // namespace tc::lang
