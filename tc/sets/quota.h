// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace tc::sets {

/// A question to isl took more than its quota of operations. Whoever asked says what is given up.
struct QuotaExceeded : std::runtime_error {
  QuotaExceeded() : std::runtime_error("isl ran out of its operation quota") {}
};

}  // namespace tc::sets
