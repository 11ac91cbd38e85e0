// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"

namespace tc::lower::cuda {

/// Element-wise operations that read a tensor across the direction in which they write, such as
/// transposes:
///
///   y(i, j) = f(x(j, i), ...)   becomes   Shared p;  p[j][i] = x(j, i);  y(i, j) = f(p[j][i], ...)
///
/// so that both sides touch whole runs of memory; rows of p are an odd number of elements apart, so
/// that a column lies in different banks. The operations have no layout yet. nullopt: no such load,
/// or none whose tile fits in `room` bytes of shared memory.
std::optional<std::vector<tile::Node>> stage_transposed(const tile::Op& op, const Ranges& outer,
                                                        std::int64_t room, Names& names);

}  // namespace tc::lower::cuda
