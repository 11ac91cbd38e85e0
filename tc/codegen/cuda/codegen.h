// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ text of a launch plan. The text names what it needs of the device headers
// (device/*.cuh); for the host, with their second implementation, the same text compiles as plain
// C++ for the emulator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tc/kernel/plan.h"
#include "tc/kernel/work.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"
#include "tc/support/target.h"

namespace tc::codegen::cuda {

struct Request {
  bool fast_math = false;
};

/// How one kernel of the text is launched: pointers to its buffers in the order of
/// Kernel::buffers, then its integer parameters as int64.
struct KernelInfo {
  std::string name;
  /// Blocks along x, y, z. All zero for an empty grid: nothing is to be launched.
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  /// Threads along x, y, z; all of them lie in x.
  std::array<int, 3> block = {1, 1, 1};
  std::int64_t static_shared_bytes = 0;
  std::int64_t dynamic_shared_bytes = 0;
  int buffers = 0;
  int int_params = 0;
  kernel::Work work{};  ///< of one launch

  bool is_empty() const { return grid[0] == 0; }
};

struct Source {
  std::string text;
  std::vector<KernelInfo> kernels;  ///< as in Plan::kernels
  bool fast_math = false;           ///< how the text is to be compiled
};

/// Every kernel of the plan becomes one function. Deterministic: the same plan, target and request
/// give the same bytes. Errors: Rejection{TooManyThreads} for a block or a grid beyond the limits
/// of CUDA, Rejection{LocalMemoryOverflow} for more shared memory than a block can have,
/// Rejection{Unsupported} for an unknown builtin.
Result<Source, Rejection> emit(const kernel::Plan& plan, const Target& target,
                               const Request& request);

/// A file that kernel texts and other device headers include by `name`.
struct DeviceHeader {
  std::string_view name;
  std::string_view text;
};
const std::vector<DeviceHeader>& device_headers();

/// Version of texts and headers, part of the cache key.
std::string version();

}  // namespace tc::codegen::cuda
