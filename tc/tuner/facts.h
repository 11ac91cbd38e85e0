// SPDX-License-Identifier: Apache-2.0
//
// What the search needs to know of one specialised program: the band that tiles run over, and what
// each statement touches.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tc/compiler/pipeline.h"
#include "tc/support/target.h"

namespace tc::tuner {

struct MemberFacts {
  std::string name;
  std::int64_t extent = 1;
  std::int64_t model_tile = 0;  ///< what the model chooses by default; 0: the whole extent
};

/// Extent of one dimension of an access within a tile: 1 + sum over terms of |coefficient| *
/// (extent of the index - 1), at most `whole`.
struct DimensionFacts {
  std::vector<std::pair<int, std::int64_t>> terms;  ///< (index of the statement, |coefficient|)
  bool is_affine = true;  ///< else any position of the dimension may be touched
  std::int64_t whole = 1;
};

struct AccessFacts {
  int tensor = 0;
  int element_bits = 32;
  bool is_write = false;
  bool is_private = false;                 ///< a temporary: it stays in a cache where it fits
  std::vector<DimensionFacts> dimensions;  ///< the last one is contiguous
};

struct StatementFacts {
  std::vector<std::int64_t> extents;  ///< by index
  std::vector<int> member;            ///< by index: the band member that it runs along; -1: none
  bool is_product = false;            ///< target += a * b
  std::vector<AccessFacts> accesses;
  double points() const;
};

struct Facts {
  std::vector<MemberFacts> band;           ///< of the group with the most work
  std::vector<StatementFacts> statements;  ///< of that group
  std::size_t all_statements = 0;
  bool has_reduction = false;
  bool has_product = false;
  bool has_temporary = false;
  std::int64_t longest_reduction = 1;  ///< points of one element
  int element_bits = 32;               ///< narrowest type that is computed in
  Target target;
};

/// Of the schedule that `base` asks for.
Result<Facts, Failure> gather_facts(const compiler::FrontEnd& front, const MappingOptions& base,
                                    const Target& target);

}  // namespace tc::tuner
