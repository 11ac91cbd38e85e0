// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"
#include "tc/support/target.h"

namespace tc::lower::cpu {

/// Element-wise operations that read a tensor across the direction in which they write, such as
/// transposes.
///
///   y(i, j) = f(x(j, i), ...)   becomes, per block of i and j,   Local p;  p[j][i] = x(j, i); y(i,
///   j) = f(p[j][i], ...)
///
/// Rows of x that are far apart then fill whole cache lines once, and the strided reads come from a
/// panel whose rows are an odd number of lines apart, so that they do not collide in L1. nullopt:
/// no such load, or nothing to gain.
std::optional<std::vector<tile::Node>> stage_transposed(const tile::Op& op, const Ranges& outer,
                                                        const MappingOptions& options,
                                                        const Target& target, Names& names);

}  // namespace tc::lower::cpu
