// SPDX-License-Identifier: Apache-2.0
//
// Dependences seen pair by pair of statements, as the clustering asks about them. Two subscripts
// that are both one index plus or minus a constant settle most questions at once; isl decides the
// rest exactly.
#pragma once

#include <isl/cpp.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tc/poly/access.h"
#include "tc/poly/schedule.h"

namespace tc::poly {

class Conflicts {
public:
  Conflicts(const Scop& scop, const Dependences& dependences);

  /// Two accesses to one tensor, at least one of them a write; the first of statement `a`, the
  /// second of statement `b`.
  struct Pair {
    const Access* a;
    const Access* b;
  };
  std::vector<Pair> pairs(int a, int b) const;
  /// Two reads of one tensor.
  std::vector<Pair> shared_reads(int a, int b) const;

  /// Some dependence (reductions included) joins instances of the two statements, in either
  /// direction.
  bool connected(int a, int b) const;
  /// Some dependence leads from `a` to `b` within one iteration of the first `depth` loops.
  bool leads_to(int a, int b, std::size_t depth) const;
  /// Every dependence between the two statements, in either direction and within one iteration of
  /// the first `depth` loops, joins equal values of the member that the alignments describe.
  bool zero_distance(int a, const Alignment& x, int b, const Alignment& y, std::size_t depth) const;

private:
  using Key = std::pair<int, int>;
  std::optional<isl::map> dependence(int a, int b, std::size_t depth) const;
  bool aligned(const Pair& pair, const Alignment& x, const Alignment& y) const;
  bool exactly_zero(int a, const Alignment& x, int b, const Alignment& y, std::size_t depth) const;

  const Scop& scop_;
  std::vector<Access> accesses_;
  std::vector<std::pair<std::size_t, std::size_t>> of_statement_;  ///< [first, end) in accesses_
  std::map<Key, isl::map> dependences_;
  /// Those cut to equal loop values, by depth; null where empty.
  mutable std::map<std::pair<Key, std::size_t>, std::optional<isl::map>> restricted_;
};

}  // namespace tc::poly
