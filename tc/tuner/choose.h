// SPDX-License-Identifier: Apache-2.0
//
// From records to options: the best of the very sizes, else those of the nearest sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tc/tuner/record.h"

namespace tc::tuner {

/// A record that may serve a request, and what is known about how well.
struct Choice {
  Record record;
  double distance = 0;  ///< sum over sizes and consts of |log2(there / here)|; 0: the same sizes
  bool same_target = true;
  bool same_layout = true;
  bool same_version = true;
  /// Time with these options over the best time there is, minus 1: the median of what records of
  /// this program show about serving one size with the best options of another at such a distance.
  /// Absent: no two sizes show it.
  std::optional<double> expected_loss;
  /// The same of the default options: the median of how they did at the nearest sizes. Absent: no
  /// record tells.
  std::optional<double> default_loss;
  /// Time of the default options at the record's sizes. Absent: they were not measured there.
  std::optional<double> default_us;

  bool is_default_better() const {
    return expected_loss && default_loss && *default_loss <= *expected_loss;
  }
  bool is_exact() const { return is_same_call() && same_version; }
  bool differs_in_version_alone() const { return is_same_call() && !same_version; }

private:
  bool is_same_call() const { return distance == 0 && same_target && same_layout; }
};

/// The best usable record of each set of sizes and target, nearest first. `records` are those of
/// one program. Another target, layout or version counts as distance.
std::vector<Choice> rank(const std::vector<Record>& records, const Identity& wanted);

/// "record of M=128 N=64: 12.3 us there, ...", for people.
std::string describe(const Choice& choice);

}  // namespace tc::tuner
