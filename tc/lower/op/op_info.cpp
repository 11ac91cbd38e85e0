// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/op_info.h"

#include <algorithm>
#include <numeric>

#include "tc/support/numeric.h"

namespace tc::lower {

using kernel::ExprPtr;

Ranges grid_ranges(const tile::Kernel& kernel) {
  Ranges ranges;
  for (const auto& loop : kernel.grid) {
    const std::int64_t tasks =
        std::max<std::int64_t>(ceil_div(loop.end - loop.begin, loop.step), 1);
    ranges.set(loop.var.id, {loop.begin, loop.begin + (tasks - 1) * loop.step});
    ranges.set_multiple(loop.var.id, std::gcd(loop.begin, loop.step));
  }
  if (kernel.thread) ranges.set(kernel.thread->var.id, {0, kernel.thread->extent - 1});
  return ranges;
}

void add_loop(Ranges& ranges, const tile::Loop& loop) {
  Interval interval{ranges.of(loop.begin).lo, ranges.of(loop.end).hi - 1};
  // With constant ends the last value is known exactly, so that min(k + step, end) may fold.
  const auto begin = constant_of(loop.begin);
  const auto end = constant_of(loop.end);
  if (begin && end && *end > *begin)
    interval.hi = *begin + (*end - 1 - *begin) / loop.step * loop.step;
  ranges.set(loop.var.id, interval);
  if (begin) ranges.set_multiple(loop.var.id, std::gcd(*begin, loop.step));
}

int dim_of(const tile::Op& op, int var) {
  for (std::size_t d = 0; d < op.dims.size(); ++d)
    if (op.dims[d].var.id == var) return static_cast<int>(d);
  return -1;
}

std::vector<int> dims_in(const tile::Op& op, const ExprPtr& expr) {
  std::vector<int> dims;
  for (const int var : variables(expr))
    if (const int d = dim_of(op, var); d >= 0) dims.push_back(d);
  std::sort(dims.begin(), dims.end());
  return dims;
}

OpInfo analyse(const tile::Op& op, const Ranges& outer) {
  OpInfo info;
  info.op = &op;
  info.ranges = outer;
  for (const auto& digit : op.digits)
    info.ranges.set(digit.var.id, {0, digit.extent - 1});
  for (const auto& dim : op.dims) {
    const Interval interval{info.ranges.of(dim.begin).lo, info.ranges.of(dim.end).hi - 1};
    info.ranges.set(dim.var.id, interval, dim.begin,
                    {0, std::max<std::int64_t>(dim.max_extent, 1) - 1});
  }
  for (const auto& dim : op.dims) {
    bool in_target = false;
    bool distinct = true;
    for (const auto& target : op.targets) {
      bool moves = false;
      for (const auto& subscript : target.subscripts) {
        in_target = in_target || depends_on(subscript, dim.var.id);
        // Registers are numbered by divisions; every place of a thread has its own.
        if (target.buffer->space == kernel::Space::Register)
          moves = moves || depends_on(subscript, dim.var.id);
        if (subscript->type != kernel::Type{}) continue;
        const auto coefficient = info.ranges.affine(subscript).coefficient(dim.var.id);
        moves = moves || (coefficient && *coefficient != 0);
      }
      distinct = distinct && moves;
    }
    info.in_target.push_back(in_target);
    info.distinct.push_back(distinct);
    info.kept.push_back(!op.combine || !dim.reduction || in_target);
  }
  return info;
}

Ranges rounded_ranges(const OpInfo& info, const std::vector<std::int64_t>& round) {
  Ranges ranges = info.ranges;
  for (std::size_t d = 0; d < info.op->dims.size(); ++d) {
    const auto& dim = info.op->dims[d];
    if (round[d] <= 1) continue;
    const std::int64_t extent = std::max<std::int64_t>(dim.max_extent, 1);
    const std::int64_t rounded = ceil_div(extent, round[d]) * round[d];
    const Interval begin = ranges.of(dim.begin);
    const Interval offset{0, rounded - 1};
    ranges.set(dim.var.id, begin + offset, dim.begin, offset);
  }
  return ranges;
}

bool proves_in_bounds(const Ranges& ranges, const kernel::BufferPtr& buffer,
                      const std::vector<ExprPtr>& indices) {
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (!ranges.proves_within(indices[i], 0, buffer->extents[i] - 1)) return false;
  return true;
}

std::vector<ExprPtr> loads_in(const ExprPtr& expr) {
  std::vector<ExprPtr> loads;
  std::vector<ExprPtr> stack{expr};
  const std::function<ExprPtr(const ExprPtr&)> visit = [&](const ExprPtr& e) {
    if (std::holds_alternative<kernel::Load>(e->node) &&
        std::find(loads.begin(), loads.end(), e) == loads.end())
      loads.push_back(e);
    kernel::map_children(e, visit);
    return e;
  };
  if (expr) visit(expr);
  return loads;
}

std::vector<int> plain_order(const tile::Op& op, const OpInfo& info) {
  std::vector<int> kept, reductions, written;
  for (std::size_t d = 0; d < op.dims.size(); ++d) {
    (info.kept[d] ? kept : reductions).push_back(static_cast<int>(d));
    written.push_back(static_cast<int>(d));
  }
  for (const int d : kept) {
    for (const ExprPtr& bound : {op.dims[d].begin, op.dims[d].end})
      for (const int e : dims_in(op, bound))
        if (info.is_pure_reduction(e) && !rounds_partial_results(op)) return written;
  }
  kept.insert(kept.end(), reductions.begin(), reductions.end());
  return kept;
}

tile::Layout plain_layout(const tile::Op& op, const OpInfo& info) {
  tile::Layout layout;
  layout.order = plain_order(op, info);
  layout.unroll.assign(op.dims.size(), 1);
  return layout;
}

bool rounds_partial_results(const tile::Op& op) {
  if (!op.combine) return false;
  for (const auto& target : op.targets) {
    const DType type = target.buffer->type;
    if (compute_type(type) == type) continue;
    // Wrapping sums and products of integers are the same whenever they wrap.
    const bool modular = is_integer(type) &&
                         (*op.combine == tile::Combine::Add || *op.combine == tile::Combine::Mul);
    if (!modular) return true;
  }
  return false;
}

}  // namespace tc::lower
