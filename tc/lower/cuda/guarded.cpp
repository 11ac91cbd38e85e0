// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/guarded.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

ExprPtr loads_guarded(const ExprPtr& value, const ExprPtr& guard) {
  const ExprPtr mapped = kernel::map_children(
      value, [&](const ExprPtr& child) { return loads_guarded(child, guard); });
  const auto* load = std::get_if<kernel::Load>(&mapped->node);
  if (!load) return mapped;
  const ExprPtr mask = load->mask ? kernel::binary(BinaryOp::And, guard, load->mask) : guard;
  return kernel::load(load->buffer, load->indices, mask, load->otherwise);
}

}  // namespace

ExprPtr guarded(const ExprPtr& value, const ExprPtr& guard) {
  const ExprPtr inner = loads_guarded(value, guard);
  const DType type = value->type.elem;
  const ExprPtr zero = is_float(type) ? kernel::float_imm(0, type) : kernel::int_imm(0, type);
  // A plain load yields the zero itself.
  if (const auto* load = std::get_if<kernel::Load>(&inner->node); load && !load->otherwise)
    return inner;
  return kernel::select(guard, inner, zero);
}

}  // namespace tc::lower::cuda
