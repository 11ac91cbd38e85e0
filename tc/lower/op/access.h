// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/lower/op/op_info.h"

namespace tc::lower {

/// One load or store as a function of the dims.
struct Access {
  kernel::BufferPtr buffer;
  bool is_store = false;
  std::vector<std::int64_t> stride;  ///< per dim, in elements
  std::vector<bool> irregular;       ///< per dim: no constant stride

  bool depends(std::size_t dim) const { return stride[dim] != 0 || irregular[dim]; }
};
std::vector<Access> accesses_of(const tile::Op& op, const OpInfo& info);

/// Bits of the widest element type that the values of an operation are computed in.
int compute_bits(const tile::Op& op);
}  // namespace tc::lower
