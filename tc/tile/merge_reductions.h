// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/tile/ir.h"

namespace tc::tile {

/// Reductions of one kind over one box that read the same become one operation with several
/// targets, so that what they read comes from memory once: mean and mean of squares. The later one
/// moves up to the earlier, past operations that neither give it anything nor take anything from
/// it. Products stay alone, as they are staged; reductions to positions are tuples already.
std::vector<Node> merge_reductions(std::vector<Node> nodes);

}  // namespace tc::tile
