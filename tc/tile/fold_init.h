// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/tile/frame.h"

namespace tc::tile {

/// Whether the Init statement sets exactly the elements that the Reduce statement reduces into,
/// tile by tile, so that the reduction may start from the identity instead: same tensors and
/// subscripts, same ranges and conditions of the left-hand indices, the same alignment to the band,
/// and a reduction that runs. That no access lies between the two is the caller's business.
bool sets_accumulator_of(const StatementFrame& init, const StatementFrame& reduce);

/// For each statement position, the position of the Reduce that absorbs it (an Init), or -1. Looks
/// for pairs in one list of items without an access to the tensors in between.
std::vector<int> absorbed_inits(const GroupFrame& frame);

}  // namespace tc::tile
