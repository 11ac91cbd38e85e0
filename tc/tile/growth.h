// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tc/tile/footprint.h"

namespace tc::tile {

/// How the footprint of a tensor grows from the smallest tiles: by |coefficient| for each further
/// value of a band member, up to the whole dimension.
struct Growth {
  struct Dimension {
    std::int64_t smallest, whole;
    std::vector<std::pair<std::size_t, std::int64_t>> members;
  };
  DType type;
  std::vector<Dimension> dimensions;

  std::int64_t bytes(const std::vector<std::int64_t>& sizes) const {
    std::vector<std::int64_t> box;
    for (const auto& d : dimensions) {
      std::int64_t extent = d.smallest;
      for (const auto& [m, coefficient] : d.members)
        extent += std::abs(coefficient) * (sizes[m] - 1);
      box.push_back(std::min(extent, d.whole));
    }
    return box_bytes(type, box);
  }
};

}  // namespace tc::tile
