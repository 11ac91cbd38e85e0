// SPDX-License-Identifier: Apache-2.0
//
// Symbolic integers in normal form. Equal values that differ only in spelling get one form, so
// forms can be compared and print nicely.
//
//   Form = constant + sum of coefficient * product of atoms        terms sorted, no zero
//   coefficient Atom = index | for variable | size | const | min(Form...) | max(Form...) | Form /
//   Form | Form % Form
//
//  * a sum with one kind of extremum is pushed inside it: min(H, W - 2) + 1 is min(H + 1, W - 1);
//  * arguments of min and max that another argument always dominates are dropped (sizes are never
//  negative);
//  * multiples of a constant divisor leave the quotient: (I - 1)/2 + 1 is (I + 1)/2.
// Arithmetic beyond int64, and expressions of any other kind, give an invalid form; every operation
// on one is invalid.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tc/lang/typed.h"

namespace tc::lang {

struct Atom;
using AtomPtr = std::shared_ptr<const Atom>;

class Form {
public:
  struct Term {
    std::vector<AtomPtr> atoms;  ///< sorted; never empty
    std::int64_t coefficient;
  };

  Form() = default;  ///< zero
  explicit Form(std::int64_t constant) : constant_(constant) {}
  static Form invalid();
  static Form of(AtomPtr atom);
  /// +, -, *, /, %, min, max over indices, sizes, consts and for variables; anything else is
  /// invalid.
  static Form of(const ExprPtr& expr);

  bool valid() const { return valid_; }
  const std::vector<Term>& terms() const { return terms_; }
  std::int64_t constant() const { return constant_; }
  std::optional<std::int64_t> as_constant() const;
  /// The one atom that this form consists of, or null.
  const Atom* as_atom() const;

  /// Structural order; invalid forms first.
  static int compare(const Form& a, const Form& b);
  bool operator==(const Form& other) const { return compare(*this, other) == 0; }

  ExprPtr to_expr() const;  ///< int32 unless a constant needs more

private:
  friend Form operator+(const Form& a, const Form& b);
  friend Form operator*(const Form& a, const Form& b);
  void add_term(std::vector<AtomPtr> atoms, std::int64_t coefficient);
  Form settled() const;  ///< pushes the rest of a sum into its extrema

  std::vector<Term> terms_;
  std::int64_t constant_ = 0;
  bool valid_ = true;
};

struct Atom {
  enum class Kind { Index, For, Size, Const, Min, Max, Div, Mod };
  Kind kind;
  DType type =
      DType::Int32;        ///< of the references that to_expr() makes; takes no part in comparisons
  int id = 0;              ///< Index, For, Size, Const
  std::vector<Form> args;  ///< Min, Max: at least two; Div, Mod: two
};
int compare(const Atom& a, const Atom& b);

Form operator+(const Form& a, const Form& b);
Form operator-(const Form& a, const Form& b);
Form operator*(const Form& a, const Form& b);
Form negate(const Form& a);
Form quotient(const Form& a, const Form& b);
Form remainder(const Form& a, const Form& b);
Form min(const Form& a, const Form& b);
Form max(const Form& a, const Form& b);

/// Provably >= 0 whatever the sizes are (each at least 0), with consts, indices and for variables
/// unknown. May say no where the answer is yes.
bool is_nonnegative(const Form& form);

/// Sign for all sizes; a size counts as positive. Consts are taken to be positive and are added to
/// `assumed` when that mattered.
enum class Sign { Negative, Zero, Positive, Unknown };
Sign sign(const Form& form, std::set<int>& assumed);

/// A variable of a statement: one of its indices or an enclosing `for`.
struct Variable {
  bool is_for = false;
  int id = 0;
  auto operator<=>(const Variable&) const = default;
};
/// All variables that occur in a form, at any depth.
std::set<Variable> variables(const Form& form);
bool mentions(const Form& form, Variable variable);
bool has_variables(const Form& form);
/// No product of variables and no division by one, at any depth: affine once sizes and consts have
/// values.
bool is_quasi_affine(const Form& form);

}  // namespace tc::lang
