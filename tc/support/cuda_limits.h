// SPDX-License-Identifier: Apache-2.0
//
// What a CUDA device of compute capability 8.0 and above launches at most (CUDA programming guide,
// table of technical specifications), whatever its model. What depends on the model is in Target.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tc/support/rejection.h"

namespace tc::cuda_limits {

inline constexpr std::array<std::int64_t, 3> kGrid{(std::int64_t{1} << 31) - 1, 65535, 65535};
inline constexpr std::array<std::int64_t, 3> kBlock{1024, 1024, 64};
inline constexpr int kThreads = 1024;  ///< of a block
/// Shared memory that a block has without asking at the launch, and the most that any model has.
inline constexpr std::int64_t kUnaskedShared = 48 << 10;
inline constexpr std::int64_t kMostShared = 227 << 10;
/// Parameters of 8 bytes: 4096 bytes together. From CUDA 12.1 on a kernel may have 32764 bytes, but
/// neither an older compiler nor an older driver takes it.
inline constexpr int kParameters = 4096 / 8;

/// A block of `kernel` needs more shared memory than `device` has.
Rejection shared_memory(std::string_view kernel, std::int64_t bytes, std::string_view device,
                        std::int64_t limit);
/// A kernel has more than kParameters.
Rejection parameters(std::string_view kernel, std::int64_t count);

}  // namespace tc::cuda_limits
