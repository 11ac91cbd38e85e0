// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/support/options.h"
#include "tc/support/target.h"
#include "tc/tile/ir.h"

namespace tc::lower::cuda {

/// Gives operations that the schedule left to few blocks a grid of their own, before there are
/// threads: scatters whose updates may be atomic, and reductions onto compound left indices, which
/// first take their gather form (gather_form.h). A kernel that is a plain list of operations is cut
/// before and behind such an operation; the end of a launch orders what a block ordered. Of a grid
/// that the kernel has, what only bounds one dim of the operation is taken back, so that the dims
/// along memory stay within a block.
tile::Program spread_meeting_updates(const tile::Program& program, const MappingOptions& options,
                                     const Target& target);

/// Blocks that run the kernel.
std::int64_t tasks_of(const tile::Kernel& kernel);

}  // namespace tc::lower::cuda
