// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"

namespace tc::lower::cuda {

/// A reduction onto a compound left index, read from the element's side:
///
///   y[i + j] += x[i] * w[j]   for all i, j      becomes
///   y[m] += x[m - j] * w[j]   for all m, j where 0 <= m - j < N
///
/// so that each element belongs to one thread, which adds in a fixed order. One subscript is
/// rewritten, of its dims the longest is replaced; a factor of it (y[2*i + j]) becomes a condition
/// on the remainder. nullopt: no subscript has this form, its dims have bounds that are no
/// constants, or the points would become several times as many.
std::optional<tile::Op> gather_form(const tile::Op& op, const Ranges& outer, Names& names);

}  // namespace tc::lower::cuda
