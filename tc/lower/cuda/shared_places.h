// SPDX-License-Identifier: Apache-2.0
//
// Shared memory that several buffers use one after the other. Internal to the room.
#pragma once

#include "tc/support/target.h"
#include "tc/tile/ir.h"

namespace tc::lower::cuda {

/// Gives shared buffers of the outermost list that are never needed at the same time one place in
/// memory, where a core then holds more blocks of so many threads. Such buffers become one, with a
/// single dimension; barriers are placed afterwards and keep apart who uses it in turn.
void share_places(tile::Kernel& kernel, const Target& target);

}  // namespace tc::lower::cuda
