// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tc/lang/ranges_interval.h"
#include "tc/lang/typed.h"

namespace tc::lang {

/// Indices over whose ranges a statement writes: those of the left side, and those that their
/// ranges mention. By position in Statement::indices.
std::vector<bool> left_indices(const Statement& statement);
/// Conditions on left-hand indices (and for variables) alone: they cut what is written and what `!`
/// sets.
std::vector<ExprPtr> left_conditions(const Statement& statement);
bool is_scatter(const Statement& statement);

/// Facts about the ranges of one statement of a specialised def, decided with intervals where they
/// settle it and with isl otherwise. Throws sets::QuotaExceeded.
class Extents {
public:
  Extents(const Statement& statement, const std::vector<const ForLoop*>& loops);

  /// The first index whose range ends before it begins, everywhere in a domain that is not empty
  /// otherwise. Exact.
  std::optional<int> negative_range() const;
  /// Smallest and largest element that is written, per dimension; nullopt if nothing is. Exact. Not
  /// for a scatter.
  std::optional<std::vector<Interval>> written() const;

private:
  Form width(int index) const;
  bool loops_surely_run() const;
  bool is_plain(int index) const;
  bool is_nonempty_without(int index) const;
  bool is_negative_everywhere(int index) const;
  bool depends_on(int index, int on) const;

  const Statement& statement_;
  const std::vector<const ForLoop*>& loops_;
};

}  // namespace tc::lang
