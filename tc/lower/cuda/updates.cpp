// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/updates.h"

#include <algorithm>

#include "tc/lower/op/combine.h"

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
  const auto meets = [&](const ExprPtr& subscript) {
    if (!depends_on(subscript, op.dims[dim].var.id)) return false;
    if (contains_load(subscript)) return true;
    const auto dims = dims_in(op, subscript);
    return std::any_of(dims.begin(), dims.end(), [&](int e) { return op.dims[e].reduction; });
  };
  return std::any_of(op.targets.begin(), op.targets.end(), [&](const tile::Target& target) {
    return std::any_of(target.subscripts.begin(), target.subscripts.end(), meets);
  });
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
