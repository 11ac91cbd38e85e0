// SPDX-License-Identifier: Apache-2.0
//
// Factors of a sum of products that are read through windows: a kept dim and a reduction share a
// subscript, as h and kh do in I(c, h + kh) * W(o, c, kh). Neighbouring elements of the target then
// read the same elements of the factor. Internal to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tc/lower/cuda/roles.h"

namespace tc::lower::cuda {

/// What a factor depends on, as one dim of a box: a kept dim, a reduction, or a window of both,
/// where the position is  kept_scale * kept + reduction_scale * reduction  from its smallest value
/// on.
struct BoxDim {
  int kept = -1, reduction = -1;  ///< positions in Op::dims; -1: none
  std::int64_t kept_scale = 1;    ///< above 0
  std::int64_t reduction_scale = 1;

  bool is_window() const { return kept >= 0 && reduction >= 0; }
  /// Positions that `values` neighbours along the kept dim read through a window of `points`.
  std::int64_t length(std::int64_t values, std::int64_t points) const;
};

/// Per factor: reductions first, then kept dims and windows, the innermost of the target last.
using Boxes = std::vector<std::vector<BoxDim>>;

/// nullopt: no factor is read through a window.
std::optional<Boxes> find_windows(const tile::Op& op, const OpInfo& info, const Roles& roles);

}  // namespace tc::lower::cuda
