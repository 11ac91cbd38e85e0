// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/kernel/plan.h"
#include "tc/support/options.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"
#include "tc/support/target.h"
#include "tc/tile/ir.h"

namespace tc::lower::cuda {

/// Decides how the threads of a block share the work of each task (distribute.h), where tile-local
/// buffers live, and where threads wait for each other (barriers.h). Operations that have a layout
/// already keep it. Kernels that have a thread already come back unchanged.
/// Errors: Rejection{TooManyThreads} for a block size beyond the target's.
Result<tile::Program, Rejection> select(const tile::Program& program, const MappingOptions& options,
                                        const Target& target);

/// Whether the selected kernels need no more shared memory than a block has.
bool fits(const tile::Program& program, const MappingOptions& options, const Target& target);

/// Tile program (after selection) to kernels: one block of threads per task, each operation a loop
/// nest of its threads. Errors: Rejection{LocalMemoryOverflow} when the shared buffers of a kernel
/// exceed what a block may have, and those of the nests.
Result<kernel::Plan, Rejection> lower(const tile::Program& program, const MappingOptions& options,
                                      const Target& target);

}  // namespace tc::lower::cuda
