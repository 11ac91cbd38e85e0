// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/tile/ir.h"

namespace tc::lower::cuda {

/// Inserts a barrier of the block before each operation that accesses, with at least one write
/// among the two, what another thread accessed since the last barrier; loops count as following
/// themselves. Accesses of two operations belong to one thread if their subscripts are the same
/// functions of dims that the threads share in the same way, and every digit of both operations
/// takes part. Barriers stand beside operations, below loops whose bounds are the same for all
/// threads, so all threads reach them.
std::vector<tile::Node> place_barriers(const std::vector<tile::Node>& nodes);

}  // namespace tc::lower::cuda
