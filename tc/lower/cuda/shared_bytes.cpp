// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/shared_bytes.h"

#include "tc/support/numeric.h"

namespace tc::lower::cuda {

std::int64_t shared_bytes(const std::vector<tile::Node>& nodes) {
  std::int64_t total = 0;
  for (const auto& node : nodes) {
    if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node))
      total += shared_bytes((*loop)->body);
    const auto* local = std::get_if<tile::Local>(&node);
    if (!local || local->buffer->space != kernel::Space::Shared) continue;
    total += ceil_div(kernel::span_bytes(*local->buffer), kSharedAlignment) * kSharedAlignment;
    // What may lie unused in front of it.
    if (local->buffer->swizzled) total += local->buffer->alignment;
  }
  return total;
}

}  // namespace tc::lower::cuda
