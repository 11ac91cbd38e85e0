// SPDX-License-Identifier: Apache-2.0
//
// What one block of threads asks of a multiprocessor, counted on a kernel before it is compiled:
// the numbers that a model of its run time needs.
#pragma once

#include <cstdint>
#include <vector>

#include "tc/kernel/ir.h"

namespace tc::kernel {

/// Of a multiprocessor, and of a thread at most (CUDA programming guide, compute capability 8 to
/// 10).
inline constexpr double kRegisters = 65536;
inline constexpr double kMostRegisters = 255;

/// Cycles until a value is there, as the counting below takes them.
struct Latencies {
  double global = 600;  ///< where it is touched first
  double cached = 40;   ///< in the L1 cache
  double shared = 30;
  double barrier = 30;
};

/// Of one block. Instructions are those of warps (32 threads).
struct BlockCounts {
  double blocks = 1;  ///< of the grid
  std::int64_t threads = 1;
  std::int64_t shared_bytes = 0;
  double register_words = 0;  ///< of 4 bytes that a thread keeps in named storage
  double instructions = 0;    ///< issued by all warps
  double shared_passes = 0;   ///< through the banks of shared memory, conflicts included
  double line_requests = 0;   ///< lines of 128 bytes that global accesses ask for
  double sector_bytes = 0;    ///< of the sectors of 32 bytes that they touch, each time anew
  double box_bytes = 0;       ///< of the boxes that they touch, once
  double atomics = 0;         ///< updates of global memory
  double tensor_cycles = 0;   ///< of the tensor cores
  double warp_cycles = 0;     ///< from the first to the last instruction of the slowest warp
                              ///< if it had the multiprocessor for itself
  double total_bytes = 0;     ///< global memory that the whole grid touches, once
};

/// Counts for the block in the middle of the grid, from a few of its warps; loops at their middle
/// iteration. `int_params`: values of the kernel's integer parameters. What is read at positions
/// that only data tell counts as far apart.
BlockCounts count_block(const Kernel& kernel, const std::vector<std::int64_t>& int_params,
                        const Latencies& latencies = {});

}  // namespace tc::kernel
