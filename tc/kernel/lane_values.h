// SPDX-License-Identifier: Apache-2.0
//
// Integer values that the 32 threads of one warp have. Internal to the room.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "tc/kernel/ir.h"

namespace tc::kernel {

constexpr std::size_t kWarp = 32;
using LaneValues = std::array<std::int64_t, kWarp>;

LaneValues all_lanes(std::int64_t value);

/// Values of the variables that are integers.
class LaneEnvironment {
public:
  void set(const Var& var, const LaneValues& values) { values_[var.id] = values; }
  /// Of an integer or bool expression; of a vector its first lane. Floats are 0; what is loaded is
  /// a scattered number, another one for each thread.
  LaneValues evaluate(const ExprPtr& expr) const;

private:
  std::map<int, LaneValues> values_;
};

}  // namespace tc::kernel
