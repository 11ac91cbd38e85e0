// SPDX-License-Identifier: Apache-2.0
//
// Decisions before any code is made: whether a layout can be had, which loads need masks, where
// results are kept.
#include <algorithm>

#include <fmt/format.h>

#include "tc/lower/op/nest.h"
#include "tc/support/check.h"

namespace tc::lower {

using kernel::ExprPtr;

namespace {

constexpr int kMaxLanes = 64;
constexpr std::int64_t kMaxPlaces = 256;

Rejection unsupported(const tile::Op& op, const std::string& why) {
  return {RejectionKind::Unsupported, fmt::format("layout of operation '{}': {}", op.label, why)};
}

std::optional<Rejection> check_shape(const tile::Op& op, const tile::Layout& layout) {
  const std::size_t n = op.dims.size();
  std::vector<int> sorted = layout.order;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = sorted.size() == n;
  for (std::size_t d = 0; is_permutation && d < n; ++d)
    is_permutation = sorted[d] == static_cast<int>(d);
  if (!is_permutation) return unsupported(op, "the order does not name every dim once");
  if (layout.unroll.size() != n) return unsupported(op, "there is not one unroll factor per dim");
  if (layout.vector_dim < -1 || layout.vector_dim >= static_cast<int>(n))
    return unsupported(op, fmt::format("there is no dim {}", layout.vector_dim));
  if (layout.lanes < 1 || layout.lanes > kMaxLanes)
    return Rejection{
        RejectionKind::Unsupported,
        fmt::format("layout of operation '{}': lanes are 1 to {}", op.label, kMaxLanes),
        layout.lanes, kMaxLanes};
  if (layout.vector_dim < 0 && layout.lanes != 1)
    return unsupported(op, "several lanes need a vector dim");
  for (std::size_t d = 0; d < n; ++d) {
    const std::int64_t step = op.dims[d].step;
    const int lanes = layout.vector_dim == static_cast<int>(d) ? layout.lanes : 1;
    if (step > 1 && (step % lanes != 0 || step < lanes))
      return unsupported(op,
                         fmt::format("runs of {} lanes do not fit in steps of {}", lanes, step));
  }
  std::int64_t places = 1;
  for (const int factor : layout.unroll) {
    if (factor < 1) return unsupported(op, "an unroll factor is at least 1");
    places = std::min<std::int64_t>(places * factor, kMaxPlaces * kMaxPlaces);
  }
  if (places > kMaxPlaces)
    return Rejection{
        RejectionKind::RegisterOverflow,
        fmt::format("the register tile of operation '{}' has too many places", op.label), places,
        kMaxPlaces};
  return std::nullopt;
}

std::vector<int> positions(const tile::Layout& layout) {
  std::vector<int> at(layout.order.size());
  for (std::size_t i = 0; i < layout.order.size(); ++i)
    at[layout.order[i]] = static_cast<int>(i);
  return at;
}

std::optional<Rejection> check_vector(const NestPlan& plan) {
  const tile::Op& op = *plan.op;
  const int v = plan.layout.vector_dim;
  if (v < 0 || plan.layout.lanes == 1) return std::nullopt;
  const std::string& name = op.dims[v].var.name;
  for (const auto& target : op.targets)
    if (bits(target.buffer->type) < 8)
      return unsupported(op, fmt::format("elements of '{}' share bytes, lanes cannot store them",
                                         target.buffer->name));
  if (plan.info.is_pure_reduction(v)) {
    if (!plan.registers)
      return unsupported(op,
                         fmt::format("'{}' is spread over lanes, which needs accumulators", name));
    const auto at = positions(plan.layout);
    if (at[v] < static_cast<int>(plan.first_reduction))
      return unsupported(
          op, fmt::format("'{}' is spread over lanes but lies outside of a kept dim", name));
    return std::nullopt;
  }
  if (!plan.info.in_target[v])
    return unsupported(op, fmt::format("lanes along '{}' write one element", name));
  if (op.combine && !plan.info.distinct[v])
    return unsupported(op, fmt::format("lanes along '{}' may combine into one element", name));
  return std::nullopt;
}

/// Finds the dims whose loops run over a hull; their bounds must be monotone.
std::optional<Rejection> find_hulls(NestPlan& plan) {
  const tile::Op& op = *plan.op;
  const auto at = positions(plan.layout);
  plan.hull.assign(op.dims.size(), false);
  for (std::size_t d = 0; d < op.dims.size(); ++d) {
    for (const ExprPtr& bound : {op.dims[d].begin, op.dims[d].end}) {
      for (const int e : dims_in(op, bound)) {
        const bool later = at[e] > at[d];
        if (!later && plan.layout.unroll[e] * plan.lanes_of(e) == 1) continue;
        plan.hull[d] = true;
        // The steps of a hull start at its own begin.
        if (bound == op.dims[d].begin && op.dims[d].step > 1)
          return unsupported(op, fmt::format("threads share the range of '{}', which begins at "
                                             "different places for several '{}' at once",
                                             op.dims[d].var.name, op.dims[e].var.name));
        if (!direction(bound, op.dims[e].var.id))
          return unsupported(op, fmt::format("the range of '{}' is no monotone function of '{}'",
                                             op.dims[d].var.name, op.dims[e].var.name));
        if (op.from_identity && plan.info.kept[d] && !plan.info.kept[e])
          return unsupported(op, fmt::format("the range of '{}' depends on the reduction dim '{}'",
                                             op.dims[d].var.name, op.dims[e].var.name));
      }
    }
  }
  // A hull that other bounds build on is a hull for them, too: they see values outside of the box.
  for (std::size_t d = 0; d < op.dims.size(); ++d)
    for (const ExprPtr& bound : {op.dims[d].begin, op.dims[d].end})
      for (const int e : dims_in(op, bound))
        if (plan.hull[e]) plan.hull[d] = true;
  for (std::size_t d = 0; d < op.dims.size(); ++d) {
    if (!plan.hull[d]) continue;
    const Interval interval{plan.info.ranges.of(op.dims[d].begin).lo,
                            plan.info.ranges.of(op.dims[d].end).hi - 1};
    plan.info.ranges.set(op.dims[d].var.id, interval);
  }
  return std::nullopt;
}

/// True if there may be elements among those that are combined with memory to which no point
/// contributes.
bool may_leave_untouched(const NestPlan& plan) {
  const tile::Op& op = *plan.op;
  if (op.from_identity) return false;
  const auto mixes = [&](const std::vector<int>& dims) {
    return std::any_of(dims.begin(), dims.end(), [&](int d) { return !plan.info.kept[d]; });
  };
  bool conditional = std::any_of(op.conditions.begin(), op.conditions.end(),
                                 [&](const ExprPtr& c) { return mixes(dims_in(op, c)); });
  for (std::size_t d = 0; d < op.dims.size(); ++d)
    for (const ExprPtr& bound : {op.dims[d].begin, op.dims[d].end})
      conditional = conditional || !dims_in(op, bound).empty();
  return conditional;
}

/// True if accumulators could be written to elements outside of their buffer.
bool needs_guarded_writes(const NestPlan& plan) {
  const auto& targets = plan.op->targets;
  return plan.untouched && !std::all_of(targets.begin(), targets.end(), [&](const auto& target) {
           return proves_in_bounds(plan.info.ranges, target.buffer, target.subscripts);
         });
}

std::vector<ExprPtr> loads_of(const tile::Op& op, bool values_only) {
  std::vector<ExprPtr> loads;
  const auto take = [&](const ExprPtr& expr) {
    for (const auto& load : loads_in(expr))
      loads.push_back(load);
  };
  for (const auto& target : op.targets) {
    take(target.value);
    if (values_only) continue;
    for (const auto& subscript : target.subscripts)
      take(subscript);
  }
  if (!values_only)
    for (const auto& condition : op.conditions)
      take(condition);
  return loads;
}

bool all_in_bounds(const std::vector<ExprPtr>& loads, const Ranges& ranges) {
  return std::all_of(loads.begin(), loads.end(), [&](const ExprPtr& load) {
    const auto& node = std::get<kernel::Load>(load->node);
    return proves_in_bounds(ranges, node.buffer, node.indices);
  });
}

/// Whether elements may be read that the operation does not need, beyond its box or where its
/// conditions do not hold: those of shared memory hold no value before they are written, those of
/// what the program writes may be another block's, which writes them meanwhile. The panels of a
/// staged contraction, which accumulates in registers, are filled to their ends.
bool is_readable_everywhere(const tile::Op& op, const ExprPtr& load) {
  const auto& node = std::get<kernel::Load>(load->node);
  const bool staged =
      op.kind == tile::OpKind::Contract && op.targets[0].buffer->space == kernel::Space::Register;
  const bool shared_by_blocks =
      node.buffer->space == kernel::Space::Scratch ||
      (node.buffer->space == kernel::Space::Global && node.buffer->writable);
  return staged || (node.buffer->space != kernel::Space::Shared && !shared_by_blocks);
}

/// Chooses the dims that are rounded up to whole spans and records which loads need which masks.
void find_safety(NestPlan& plan) {
  const tile::Op& op = *plan.op;
  const std::size_t n = op.dims.size();
  plan.overrun.assign(n, false);
  std::vector<std::int64_t> round(n, 1);
  const std::vector<ExprPtr> values = loads_of(op, true);
  for (std::size_t d = 0; plan.registers && d < n; ++d) {
    if (plan.info.is_pure_reduction(d) || plan.layout.unroll[d] * plan.lanes_of(d) == 1) continue;
    const int var = op.dims[d].var.id;
    const bool bounds_others =
        std::any_of(op.dims.begin(), op.dims.end(), [&](const tile::Dim& dim) {
          return depends_on(dim.begin, var) || depends_on(dim.end, var);
        });
    if (bounds_others) continue;
    round[d] = plan.width(d);
    plan.overrun[d] = all_in_bounds(values, rounded_ranges(plan.info, round)) &&
                      std::all_of(values.begin(), values.end(), [&](const ExprPtr& load) {
                        return !depends_on(load, var) || is_readable_everywhere(op, load);
                      });
    if (!plan.overrun[d]) round[d] = 1;
  }
  const int v = plan.layout.vector_dim;
  if (v >= 0 && !plan.overrun[v]) round[v] = plan.layout.lanes;
  const Ranges rounded = rounded_ranges(plan.info, round);
  plan.values_in_box = all_in_bounds(values, plan.info.ranges) &&
                       std::all_of(values.begin(), values.end(), [&](const ExprPtr& load) {
                         return is_readable_everywhere(op, load);
                       });
  for (const auto& load : loads_of(op, false)) {
    const auto& node = std::get<kernel::Load>(load->node);
    Safety safety = Safety::Executed;
    if (is_readable_everywhere(op, load)) {
      if (proves_in_bounds(plan.info.ranges, node.buffer, node.indices)) safety = Safety::InBox;
      if (proves_in_bounds(rounded, node.buffer, node.indices)) safety = Safety::Always;
    }
    plan.safety[load.get()] = safety;
  }
}

}  // namespace

Result<NestPlan, Rejection> plan_nest(const tile::Op& op, const Ranges& outer) {
  check(tile::has_right_targets(op), "an operation has the targets that its combine takes");
  NestPlan plan;
  plan.op = &op;
  plan.info = analyse(op, outer);
  plan.layout = op.layout ? *op.layout : plain_layout(op, plan.info);
  if (auto bad = check_shape(op, plan.layout)) return *bad;
  if (plan.layout.lanes == 1) plan.layout.vector_dim = -1;
  const auto& order = plan.layout.order;
  plan.first_reduction = order.size();
  while (plan.first_reduction > 0 && plan.info.is_pure_reduction(order[plan.first_reduction - 1]))
    --plan.first_reduction;
  for (std::size_t i = 0; i < plan.first_reduction; ++i)
    plan.partial_in_memory = plan.partial_in_memory || plan.info.is_pure_reduction(order[i]);
  plan.registers = plan.first_reduction < order.size();
  if (auto bad = find_hulls(plan)) return *bad;
  plan.untouched = plan.registers && may_leave_untouched(plan);
  if (needs_guarded_writes(plan)) {
    plan.untouched = false;
    plan.registers = false;
    plan.partial_in_memory = true;
  }
  if (plan.partial_in_memory && rounds_partial_results(op))
    return unsupported(op, fmt::format("partial results would be rounded to {} between steps",
                                       name(op.targets[0].buffer->type)));
  if (plan.layout.group > 1 && !plan.registers)
    return unsupported(op, "threads combine partial results, which needs accumulators");
  plan.onto_memory = op.combine && (!op.from_identity || plan.partial_in_memory);
  if (auto bad = check_vector(plan)) return *bad;
  find_safety(plan);
  return plan;
}

namespace {

/// Stores the identity into every kept element: what precedes partial results in memory.
Result<kernel::StmtPtr, Rejection> lower_identity(const NestPlan& plan, const Ranges& outer,
                                                  Names& names) {
  const tile::Op& op = *plan.op;
  tile::Op init;
  init.kind = tile::OpKind::Map;
  init.label = op.label;
  init.digits = op.digits;
  tile::Layout layout;
  std::vector<int> renumbered(op.dims.size(), -1);
  for (std::size_t d = 0; d < op.dims.size(); ++d) {
    if (plan.info.is_pure_reduction(d)) continue;
    renumbered[d] = static_cast<int>(init.dims.size());
    init.dims.push_back(op.dims[d]);
    layout.unroll.push_back(plan.layout.unroll[d]);
  }
  for (const int d : plan.layout.order)
    if (renumbered[d] >= 0) layout.order.push_back(renumbered[d]);
  if (plan.layout.vector_dim >= 0 && renumbered[plan.layout.vector_dim] >= 0) {
    layout.vector_dim = renumbered[plan.layout.vector_dim];
    layout.lanes = plan.layout.lanes;
  }
  for (const auto& condition : op.conditions) {
    const auto dims = dims_in(op, condition);
    if (std::all_of(dims.begin(), dims.end(), [&](int d) { return renumbered[d] >= 0; }))
      init.conditions.push_back(condition);
  }
  init.layout = layout;
  const Partial identity = identity_of(op, 1);
  std::vector<kernel::StmtPtr> out;
  for (std::size_t t = 0; t < op.targets.size(); ++t) {
    init.targets = {op.targets[t]};
    init.targets[0].value = identity[t];
    auto stmt = lower_op(init, outer, names);
    if (!stmt) return stmt.error();
    out.push_back(*stmt);
  }
  return kernel::block(std::move(out));
}

}  // namespace

Result<kernel::StmtPtr, Rejection> lower_op(const tile::Op& op, const Ranges& outer, Names& names) {
  auto plan = plan_nest(op, outer);
  if (!plan) return plan.error();
  std::vector<kernel::StmtPtr> out;
  if (op.combine && op.from_identity && plan->partial_in_memory) {
    auto init = lower_identity(*plan, outer, names);
    if (!init) return init.error();
    out.push_back(*init);
  }
  out.push_back(Nest(*plan, names).run());
  return kernel::block(std::move(out));
}

}  // namespace tc::lower
