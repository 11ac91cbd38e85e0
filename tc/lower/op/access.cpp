// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/access.h"

#include <algorithm>

namespace tc::lower {

using kernel::ExprPtr;

namespace {

Access access_of(const tile::Op& op, const OpInfo& info, const kernel::BufferPtr& buffer,
                 const std::vector<ExprPtr>& subscripts, bool is_store) {
  Access access{buffer, is_store, {}, {}};
  for (const auto& dim : op.dims) {
    std::int64_t stride = 0;
    bool irregular = false;
    for (std::size_t s = 0; s < subscripts.size(); ++s) {
      if (!depends_on(subscripts[s], dim.var.id)) continue;
      const bool regular = subscripts[s]->type == kernel::Type{};
      const auto coefficient =
          regular ? info.ranges.affine(subscripts[s]).coefficient(dim.var.id) : std::nullopt;
      if (coefficient)
        stride += *coefficient * buffer->strides[s];
      else
        irregular = true;
    }
    access.stride.push_back(stride);
    access.irregular.push_back(irregular);
  }
  return access;
}

}  // namespace

std::vector<Access> accesses_of(const tile::Op& op, const OpInfo& info) {
  std::vector<Access> accesses;
  const auto take = [&](const kernel::BufferPtr& buffer, const std::vector<ExprPtr>& subscripts,
                        bool is_store) {
    accesses.push_back(access_of(op, info, buffer, subscripts, is_store));
  };
  for (const auto& target : op.targets) {
    for (const auto& load : loads_in(target.value)) {
      const auto& node = std::get<kernel::Load>(load->node);
      take(node.buffer, node.indices, false);
    }
    take(target.buffer, target.subscripts, true);
  }
  return accesses;
}

int compute_bits(const tile::Op& op) {
  int widest = 32;
  const auto count = [&](DType type) {
    if (type != DType::Bool) widest = std::max(widest, bits(compute_type(type)));
  };
  for (const auto& target : op.targets) {
    count(target.buffer->type);
    kernel::walk(target.value, [&](const kernel::Expr& e) {
      if (is_float(e.type.elem)) count(e.type.elem);
    });
  }
  return widest;
}

}  // namespace tc::lower
