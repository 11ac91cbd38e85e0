// SPDX-License-Identifier: Apache-2.0
//
// How the threads of a block share one operation. Internal to the room.
//
//   thread = mixed-radix number of digits, fastest first. A digit belongs to one dim; together the
//   digits of a dim give its place:  value = begin + (place + threads * k) * lanes + lane
//
//   kept dims        their digits pick elements that this thread alone writes
//   reduction dims   digits below `group` combine by shuffles; those above it ("parts") leave one
//                    partial result each, which a second operation combines
//
// Dims whose points may meet in one element (a scatter, y(i+j)) are left to one thread each, unless
// updates are atomic.
#pragma once

#include <vector>

#include "tc/lower/op/access.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"

namespace tc::lower::cuda {

struct ThreadDigit {
  std::size_t dim = 0;
  std::int64_t stride = 1, extent = 1;
  std::int64_t weight = 1;  ///< what one step of the digit adds to the place along the dim
};

struct SharePlan {
  std::vector<ThreadDigit> digits;    ///< fastest first; extents above 1 only
  std::vector<std::int64_t> threads;  ///< per dim: product of its digits
  int vector_dim = -1;
  int lanes = 1;
  std::vector<int> unroll;  ///< per dim
  int group = 1;
  std::int64_t parts = 1;  ///< partial results of one element beyond the group: the last digits
  std::int64_t used = 1;   ///< threads with work: product of all digits
};

/// What a plan may do.
struct SharingLimits {
  bool split_reductions = true;  ///< threads may share the reduction of an element
  bool parts = true;             ///< ... beyond one group
  bool atomic = false;           ///< points that meet in one element may have several threads
  int fastest_dim = -1;          ///< dim of the fastest digit; -1: the plan decides
};

/// Decides for a block of `threads`. The fastest digits go to the dim along which most memory is
/// contiguous, the next ones to kept dims from the innermost out, what is left to parts of the
/// reduction. Wide accesses are used while every thread keeps at least one.
SharePlan plan_sharing(const tile::Op& op, const OpInfo& info, std::int64_t threads,
                       const MappingOptions& options, const SharingLimits& limits);

}  // namespace tc::lower::cuda
