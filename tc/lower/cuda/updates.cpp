// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/updates.h"

#include <algorithm>

#include "tc/lower/op/combine.h"
#include "tc/tile/structure.h"

namespace tc::lower::cuda {

using kernel::ExprPtr;

namespace {

bool reads(const tile::Op& op, int buffer) {
  const auto loads_it = [&](const ExprPtr& expr) {
    const auto loads = loads_in(expr);
    return std::any_of(loads.begin(), loads.end(), [&](const ExprPtr& load) {
      return std::get<kernel::Load>(load->node).buffer->id == buffer;
    });
  };
  if (std::any_of(op.conditions.begin(), op.conditions.end(), loads_it)) return true;
  return std::any_of(op.targets.begin(), op.targets.end(), [&](const tile::Target& target) {
    return loads_it(target.value) ||
           std::any_of(target.subscripts.begin(), target.subscripts.end(), loads_it);
  });
}

}  // namespace

bool splits_bytes(const tile::Op& op, std::size_t dim) {
  return std::any_of(op.targets.begin(), op.targets.end(), [&](const tile::Target& target) {
    return bits(target.buffer->type) < 8 && !target.subscripts.empty() &&
           depends_on(target.subscripts.back(), op.dims[dim].var.id);
  });
}

bool meets_others(const tile::Op& op, std::size_t dim) {
  const auto meets = [&](const tile::Target& target) {
    bool reduces = false;
    std::vector<tile::Dim> dims = op.dims;
    for (const auto& subscript : target.subscripts) {
      const auto used = dims_in(op, subscript);
      const bool uses_dim =
          std::find(used.begin(), used.end(), static_cast<int>(dim)) != used.end();
      if (uses_dim && contains_load(subscript)) return true;
      for (const int d : used) {
        reduces = reduces || op.dims[d].reduction;
        dims[d].reduction = false;
      }
    }
    // What the element does not determine, another dim makes up for, perhaps by way of a third:
    // in y(i+k, j+k) also i and j.
    if (!reduces) return false;
    const auto open = tile::undetermined_dims(dims, target.subscripts);
    return std::find(open.begin(), open.end(), static_cast<int>(dim)) != open.end();
  };
  return std::any_of(op.targets.begin(), op.targets.end(), meets);
}

bool may_update_atomically(const tile::Op& op, const MappingOptions& options) {
  if (!op.combine || op.from_identity || op.targets.size() != 1) return false;
  const kernel::Buffer& buffer = *op.targets[0].buffer;
  if (bits(buffer.type) < 8 || buffer.space == kernel::Space::Register) return false;
  if (rounds_partial_results(op) || reads(op, buffer.id)) return false;
  if (!is_float(buffer.type)) return true;
  const bool is_extreme = *op.combine == tile::Combine::Min || *op.combine == tile::Combine::Max;
  return is_extreme || !options.deterministic;
}

}  // namespace tc::lower::cuda
