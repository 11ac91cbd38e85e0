// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/finish.h"

#include <algorithm>

namespace tc::lower::cuda {

using kernel::ExprPtr;

namespace {

bool same(const ExprPtr& a, const ExprPtr& b, const Ranges& ranges) {
  const Affine difference = ranges.affine(kernel::sub(a, b));
  return difference.is_constant() && difference.constant == 0;
}

/// The one dim of the operation that a subscript consists of; -1: it is something else.
int plain_dim(const tile::Op& op, const ExprPtr& subscript, const Ranges& ranges) {
  const Affine sum = ranges.affine(subscript);
  const auto dims = dims_in(op, subscript);
  if (dims.size() != 1 || sum.coefficient(op.dims[dims[0]].var.id) != 1) return -1;
  return dims[0];
}

}  // namespace

std::optional<tile::Op> as_finish(const tile::Op& op, const tile::Op& next, const Ranges& outer) {
  if (!op.from_identity || op.targets.size() != 1 || next.targets.size() != 1) return std::nullopt;
  if (next.combine || next.layout || next.atomic || !next.conditions.empty() ||
      !op.conditions.empty())
    return std::nullopt;
  const tile::Target& written = op.targets[0];
  tile::Target target = next.targets[0];
  if (target.buffer->id != written.buffer->id) return std::nullopt;
  if (compute_type(written.buffer->type) != written.buffer->type) return std::nullopt;
  // Each dim of `next` is one of `op`, up to a constant, and has the same values.
  std::vector<std::pair<int, ExprPtr>> renamed;
  std::vector<bool> taken(op.dims.size(), false);
  for (std::size_t i = 0; i < target.subscripts.size(); ++i) {
    const ExprPtr& from = target.subscripts[i];
    if (dims_in(next, from).empty()) continue;
    const int d = plain_dim(op, written.subscripts[i], outer);
    const int e = plain_dim(next, from, outer);
    if (d < 0 || e < 0 || taken[d]) return std::nullopt;
    taken[d] = true;
    const ExprPtr distance =
        kernel::sub(kernel::sub(written.subscripts[i], kernel::var_ref(op.dims[d].var)),
                    kernel::sub(from, kernel::var_ref(next.dims[e].var)));
    const ExprPtr value = outer.simplify(kernel::add(kernel::var_ref(op.dims[d].var), distance));
    const ExprPtr shift = kernel::sub(value, kernel::var_ref(op.dims[d].var));
    if (!same(next.dims[e].begin, kernel::add(op.dims[d].begin, shift), outer) ||
        !same(next.dims[e].end, kernel::add(op.dims[d].end, shift), outer))
      return std::nullopt;
    renamed.emplace_back(next.dims[e].var.id, value);
  }
  if (renamed.size() != next.dims.size()) return std::nullopt;
  for (std::size_t d = 0; d < op.dims.size(); ++d)
    if (!taken[d] && !op.dims[d].reduction) return std::nullopt;
  const auto is_element = [&](const std::vector<ExprPtr>& subscripts) {
    for (std::size_t i = 0; i < subscripts.size(); ++i)
      if (contains_load(subscripts[i]) || !same(subscripts[i], written.subscripts[i], outer))
        return false;
    return true;
  };
  target.value = kernel::substitute(target.value, renamed);
  for (auto& subscript : target.subscripts)
    subscript = kernel::substitute(subscript, renamed);
  if (!is_element(target.subscripts)) return std::nullopt;
  for (const auto& expr : loads_in(target.value)) {
    const auto& load = std::get<kernel::Load>(expr->node);
    if (load.buffer->id == written.buffer->id && (load.mask || !is_element(load.indices)))
      return std::nullopt;
  }
  tile::Op result = op;
  result.label = next.label;
  result.text = next.text;
  result.combine.reset();
  result.from_identity = false;
  std::erase_if(result.dims, [](const tile::Dim& dim) { return dim.reduction; });
  result.targets = {target};
  return result;
}

}  // namespace tc::lower::cuda
