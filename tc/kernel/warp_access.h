// SPDX-License-Identifier: Apache-2.0
//
// What one access of a warp touches. Internal to the room.
#pragma once

#include "tc/kernel/lane_values.h"

namespace tc::kernel {

struct WarpAccess {
  double instructions = 0;  ///< of at most 16 bytes a thread
  double passes = 0;        ///< over the 32 banks of shared memory, 4 bytes wide
  double lines = 0;         ///< of 128 bytes
  double sector_bytes = 0;  ///< of sectors of 32 bytes
};

/// `lanes`: elements of each thread, along the vector subscripts; side by side where there is none.
/// Threads that are not active touch nothing.
WarpAccess warp_access(const Buffer& buffer, const std::vector<ExprPtr>& indices, int lanes,
                       const LaneEnvironment& environment, const std::array<bool, kWarp>& active);

}  // namespace tc::kernel
