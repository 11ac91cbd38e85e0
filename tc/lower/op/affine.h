// SPDX-License-Identifier: Apache-2.0
//
// Integer index expressions as sums, with what is known of the variables. For the lowerings of all
// targets.
//
//   Affine = constant + sum of coefficient * atom      an atom is a variable or an opaque
//   expression
//
// Range of a variable: an interval, and optionally "begin + offset" with the interval of the
// offset; the second form lets `m - t` be small where m runs over the tile that begins at t. All
// arithmetic saturates: an infinite end means "not known".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tc/kernel/ir.h"

namespace tc::lower {

struct Interval {
  static constexpr std::int64_t kInfinity = std::int64_t{1} << 60;
  std::int64_t lo = -kInfinity,
               hi = kInfinity;  ///< both included; beyond +-kInfinity counts as infinite

  bool is_bounded() const { return lo > -kInfinity && hi < kInfinity; }
  bool is_within(std::int64_t low, std::int64_t high) const { return lo >= low && hi <= high; }
  static Interval point(std::int64_t value) { return {value, value}; }
};
Interval operator+(Interval a, Interval b);
Interval operator*(Interval a, std::int64_t factor);
Interval intersect(Interval a, Interval b);

struct Affine {
  struct Term {
    kernel::ExprPtr atom;
    std::int64_t coefficient;
  };
  std::vector<Term> terms;  ///< coefficients are not 0, atoms differ
  std::int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  /// Coefficient of a variable that occurs in no opaque atom; nullopt if it does.
  std::optional<std::int64_t> coefficient(int var) const;
  void add(const kernel::ExprPtr& atom, std::int64_t coefficient);
  Affine& operator+=(const Affine& other);
  Affine& operator*=(std::int64_t factor);
};

std::optional<std::int64_t> constant_of(const kernel::ExprPtr& expr);
bool depends_on(const kernel::ExprPtr& expr, int var);
/// Ids of the variables of an expression, ascending.
std::vector<int> variables(const kernel::ExprPtr& expr);
bool contains_load(const kernel::ExprPtr& expr);
bool equal(const Affine& a, const Affine& b);

/// Facts about variables. A value; scopes copy it.
class Ranges {
public:
  void set(int var, Interval interval);
  /// var = begin + offset, and in `interval` as well.
  void set(int var, Interval interval, kernel::ExprPtr begin, Interval offset);

  /// Every value of the variable is a multiple of `factor`.
  void set_multiple(int var, std::int64_t factor) { multiples_[var] = factor; }
  std::int64_t multiple(int var) const {
    const auto at = multiples_.find(var);
    return at == multiples_.end() ? 1 : at->second;
  }

  /// Where the value of an integer expression lies.
  Interval of(const kernel::ExprPtr& expr) const;
  Interval of(const Affine& sum) const;

  /// Sum form of an int64 expression; divisions and remainders by constants are split where the
  /// ranges allow, decided minima and maxima vanish.
  Affine affine(const kernel::ExprPtr& expr) const;
  /// The same as an expression again; expressions of other types come back unchanged.
  kernel::ExprPtr simplify(const kernel::ExprPtr& expr) const;
  /// True if lo <= expr <= hi for all values of the variables.
  bool proves_within(const kernel::ExprPtr& expr, std::int64_t lo, std::int64_t hi) const;

private:
  struct Fact {
    int var;
    Interval interval;
    kernel::ExprPtr begin;  ///< null: only the interval is known
    Interval offset;
  };
  const Fact* find(int var) const;
  Interval direct(const Affine& sum) const;
  Interval of_sum(const Affine& sum) const;
  Interval split(const Affine& sum, int depth) const;
  Interval of_atom(const kernel::ExprPtr& atom) const;
  Affine binary(const kernel::Binary& node, const kernel::ExprPtr& expr) const;
  Affine divide(const kernel::Binary& node, const kernel::ExprPtr& expr) const;

  std::map<int, std::int64_t> multiples_;  ///< by variable
  std::vector<Fact> facts_;                ///< outermost variable first, in the order of set()
};

kernel::ExprPtr to_expr(const Affine& sum);

/// +1, -1 or 0: the expression does not fall, does not rise, or does not depend on the variable;
/// nullopt: not known.
std::optional<int> direction(const kernel::ExprPtr& expr, int var);

}  // namespace tc::lower
