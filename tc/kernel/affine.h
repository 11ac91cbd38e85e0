// SPDX-License-Identifier: Apache-2.0
//
// Intervals and affine forms of integer expressions, for the simplifier. Internal to the room.
//
// Everything here is a proof: an interval holds for every execution, and an affine form is "exact"
// only if no step of its evaluation can wrap around, so that division, remainder and order may be
// decided on it as on whole numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tc/kernel/ir.h"

namespace tc::kernel {

/// All values between lo and hi, both included.
struct Interval {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  bool operator==(const Interval&) const = default;
};
/// Every value of the type; for uint64, whose values an Interval cannot hold, every bit pattern.
Interval full_interval(DType type);

/// sum of coefficient * atom, plus a constant, modulo 2^64. Atoms are pairwise different int64
/// scalars that are no sums.
struct Affine {
  std::vector<std::pair<ExprPtr, std::int64_t>> terms;
  std::int64_t constant = 0;

  void add_term(const ExprPtr& atom, std::int64_t coefficient);
  void add(const Affine& other, std::int64_t factor);
};
/// Requires an int64 scalar.
Affine affine(const ExprPtr& expr);
ExprPtr to_expr(const Affine& form);
/// A scalar or vector as base + step * lane, if it is a scalar, a Broadcast or a Ramp.
struct LaneAffine {
  Affine base;
  std::int64_t step = 0;
  int lanes = 1;
};
std::optional<LaneAffine> lane_affine(const ExprPtr& expr);

/// What is known at one place of a kernel: intervals and strides of variables, and affine forms
/// that are at most zero.
class Facts {
public:
  void set_range(const Var& var, Interval range) { ranges_[var.id] = range; }
  /// Every value of the variable is a multiple of `factor`.
  void set_multiple(const Var& var, std::int64_t factor) { multiples_[var.id] = factor; }
  /// Takes note of a condition that holds (or, with holds = false, does not).
  void assume(const ExprPtr& condition, bool holds);

  Interval range(const ExprPtr& expr) const;
  /// nullopt if some step of the evaluation may wrap.
  std::optional<Interval> exact_range(const Affine& form) const;
  std::optional<Interval> exact_range(const LaneAffine& form) const;
  /// Largest known factor of an atom.
  std::int64_t multiple(const ExprPtr& atom) const;
  /// Decides a <= b; nullopt if neither that nor a > b is sure for all lanes.
  std::optional<bool> at_most(const ExprPtr& a, const ExprPtr& b) const;

private:
  Interval binary_range(const Binary& node, DType type) const;
  void assume_not_positive(const Affine& form);
  bool known_not_positive(const Affine& form) const;

  std::map<int, Interval> ranges_;
  std::map<int, std::int64_t> multiples_;
  std::vector<Affine> not_positive_;  ///< exact forms
};

}  // namespace tc::kernel
