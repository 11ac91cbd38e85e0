// SPDX-License-Identifier: Apache-2.0
//
// How much a kernel does at most, for whoever must refuse a launch that would not end in time.
#pragma once

#include <cstdint>
#include <vector>

#include "tc/kernel/affine.h"
#include "tc/kernel/ir.h"

namespace tc::kernel {

/// Executions of statements, a statement over several lanes once for each. Sums and products that
/// do not fit stay at the largest integer.
struct Work {
  std::int64_t total = 0;   ///< all threads of all tasks
  std::int64_t thread = 0;  ///< one thread
  bool operator==(const Work&) const = default;
};

/// An upper estimate from the bounds of the loops alone: each loop runs as often as the ranges of
/// its bounds allow, of an If the longer side, and every thread does as much as any other may.
/// `int_params` holds the interval of each integer parameter.
Work estimate_work(const Kernel& kernel, const std::vector<Interval>& int_params);

/// a + b and a * b of numbers that are not negative; the largest integer where they do not fit.
std::int64_t saturating_add(std::int64_t a, std::int64_t b);
std::int64_t saturating_mul(std::int64_t a, std::int64_t b);

}  // namespace tc::kernel
