// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tc/tile/ir.h"

namespace tc::lower::cuda {

inline constexpr std::int64_t kSharedAlignment = 16;

/// Bytes of the shared buffers declared below the nodes; each has a place of its own.
std::int64_t shared_bytes(const std::vector<tile::Node>& nodes);

}  // namespace tc::lower::cuda
