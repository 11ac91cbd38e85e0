// SPDX-License-Identifier: Apache-2.0
//
// Splitting of reductions ("rfactor"). S: T op= f(i, r) becomes, with p over the parts of r's
// range,
//
//   S_part_init   T.part(p, ...) = identity
//   S_part        T.part(p, ...) op= f(i, r)      r in part p: [lo + p * c, min(lo + (p + 1) * c,
//   hi)) S             T(...) op= T.part(p, ...)       p is now a reduction index
//
// Parts are contiguous, none is empty, and they are combined in order, so integers come out exactly
// the same and floats the same in every run. A tuple reduction has one temporary per component.
#pragma once

#include <cstdint>

#include "tc/poly/scop.h"
#include "tc/support/options.h"

namespace tc::poly {

/// True if split_reduction() can split this statement: a Reduce with an affine left side and a
/// reduction index whose bounds are constants; for ArgMin and ArgMax without conditions and with
/// constant bounds throughout, since a part in which nothing contributes would hold no position.
bool can_split(const Scop& scop, int statement);

/// What a target can keep busy.
struct Parallelism {
  int tasks = 1;  ///< at once
  /// Elements side by side that one task takes where a reduction runs across rows; 0: all.
  std::int64_t columns = 0;
  /// Products: so many tasks at once, with at most so many rows and columns each. 0: a product is
  /// split like any other reduction.
  int product_tasks = 0;
  std::int64_t product_side = 0;
  /// Elements that are tasks enough, where each task has threads that share a reduction. 0: as many
  /// as `tasks`.
  int shared_rows = 0;
};

/// Splits every reduction that has too little outer parallelism for the target and enough work to
/// pay for a second pass: full reductions to scalars, a few long rows, sums over the long dimension
/// of a tall matrix with few columns, products with few tiles.
/// MappingOptions::split_reduction 1 forbids it, a larger number asks for that many parts of every
/// reduction that has fewer parallel elements than parts. Placement: before relations() and the
/// schedule.
Scop split_where_needed(const Scop& scop, const MappingOptions& options,
                        const Parallelism& parallelism);

}  // namespace tc::poly
