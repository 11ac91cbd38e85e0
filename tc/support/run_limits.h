// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tc {

/// What one run may ask of a GPU, by the compiler's estimate: a run cannot be stopped once it was
/// enqueued, and holds its device until it ends. 0 is no limit. The defaults are minutes on any
/// device; they stop mistakes, not large work.
struct RunLimits {
  /// Executions of statements by all threads together. An H200 at its peak does 3e13 a second.
  std::int64_t work = 2'000'000'000'000'000;
  /// Executions of statements by one thread, one launch after the other. No thread does more than
  /// about 1e9 a second.
  std::int64_t thread_work = 200'000'000'000;
  /// Launches and rounds of loops around launches.
  std::int64_t steps = 10'000'000;
  bool operator==(const RunLimits&) const = default;
};

}  // namespace tc
