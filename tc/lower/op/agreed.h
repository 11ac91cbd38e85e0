// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/tile/ir.h"

namespace tc::lower {

/// Whether several points of an operation without combine may write one element of the target, all
/// of them the same value: dims meet in a subscript, as in y(i+j), and the value depends on them
/// only by way of the element. So are the fill of what a reduction onto y(i+j) starts from, and its
/// copies to and from an accumulator of a wider type.
bool is_agreed(const tile::Op& op, const tile::Target& target);

}  // namespace tc::lower
