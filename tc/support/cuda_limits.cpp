// SPDX-License-Identifier: Apache-2.0
#include "tc/support/cuda_limits.h"

#include <fmt/format.h>

namespace tc::cuda_limits {

Rejection shared_memory(std::string_view kernel, std::int64_t bytes, std::string_view device,
                        std::int64_t limit) {
  return {RejectionKind::LocalMemoryOverflow,
          fmt::format("kernel '{}' needs {} bytes of shared memory, a block of {} has {}", kernel,
                      bytes, device, limit),
          bytes, limit};
}

Rejection parameters(std::string_view kernel, std::int64_t count) {
  return {RejectionKind::Unsupported,
          fmt::format("kernel '{}' has {} parameters, at most {} can be passed", kernel, count,
                      kParameters),
          count, kParameters};
}

}  // namespace tc::cuda_limits
