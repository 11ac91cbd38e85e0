// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/distribute.h"

#include <algorithm>

#include "tc/lower/cuda/share_plan.h"
#include "tc/lower/cuda/shared_bytes.h"
#include "tc/lower/cuda/updates.h"
#include "tc/lower/op/combine.h"
#include "tc/lower/op/nest.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

/// How partial results of several threads are combined.
struct Splitting {
  bool possible = false;
  bool may_be_empty = false;  ///< elements may have no contribution, and nobody wrote them before
};

/// Possible where every reduction dim leaves the element alone and partial results stay in
/// registers.
Splitting split_of_reductions(const tile::Op& op, const OpInfo& info, const Ranges& outer) {
  if (!op.combine) return {};
  for (std::size_t d = 0; d < op.dims.size(); ++d)
    if (op.dims[d].reduction && info.in_target[d]) return {};
  for (const auto& target : op.targets)
    if (std::any_of(target.subscripts.begin(), target.subscripts.end(), contains_load)) return {};
  tile::Op plain = op;
  plain.layout = plain_layout(op, info);
  const auto plan = plan_nest(plain, outer);
  if (!plan || !plan->registers || plan->partial_in_memory) return {};
  return {true, plan->untouched};
}

/// The order of plain_order(), with the vector dim as far in as its kind of dim goes.
std::vector<int> nest_order(const tile::Op& op, const OpInfo& info, int vector_dim) {
  std::vector<int> order = plain_order(op, info);
  if (vector_dim < 0) return order;
  const bool bounds_others = std::any_of(op.dims.begin(), op.dims.end(), [&](const auto& dim) {
    const int var = op.dims[vector_dim].var.id;
    return depends_on(dim.begin, var) || depends_on(dim.end, var);
  });
  if (bounds_others) return order;
  std::erase(order, vector_dim);
  auto at = order.end();
  if (!info.is_pure_reduction(vector_dim))
    while (at != order.begin() && info.is_pure_reduction(*(at - 1)))
      --at;
  order.insert(at, vector_dim);
  return order;
}

class Distribution {
public:
  Distribution(const tile::Op& op, const Ranges& outer, std::int64_t threads, std::int64_t room,
               const MappingOptions& options, Names& names)
      : op_(op), outer_(outer), info_(analyse(op, outer)), threads_(threads), room_(room),
        options_(options), names_(names) {}

  std::vector<tile::Node> run(SharingLimits limits) {
    splitting_ = split_of_reductions(op_, info_, outer_);
    limits.split_reductions = limits.split_reductions && splitting_.possible;
    limits.atomic = op_.atomic || may_update_atomically(op_, options_);
    plan_ = plan_sharing(op_, info_, threads_, options_, limits);
    if (plan_.parts > 1 && part_bytes() > room_) {
      limits.parts = false;
      plan_ = plan_sharing(op_, info_, threads_, options_, limits);
    }
    tile::Op shared = share();
    if (plan_.parts > 1) return in_parts(std::move(shared));
    finish(shared);
    // Steps and guards of several threads may leave no place for accumulators.
    if (plan_.group > 1 && !plan_nest(shared, outer_)) {
      limits.split_reductions = false;
      plan_ = plan_sharing(op_, info_, threads_, options_, limits);
      shared = share();
      finish(shared);
    }
    return {std::move(shared)};
  }

private:
  /// Digits and stepped dims.
  tile::Op share() {
    tile::Op shared = op_;
    for (const auto& digit : plan_.digits) {
      const kernel::Var var = names_.variable("t_" + op_.dims[digit.dim].var.name);
      shared.digits.push_back({var, digit.stride, digit.extent});
      auto& dim = shared.dims[digit.dim];
      const std::int64_t distance = digit.weight * lanes(digit.dim);
      dim.begin =
          kernel::add(dim.begin, kernel::mul(kernel::var_ref(var), kernel::int_imm(distance)));
    }
    for (std::size_t d = 0; d < shared.dims.size(); ++d) {
      shared.dims[d].step = plan_.threads[d] * lanes(d);
      if (plan_.threads[d] > 1 && meets_others(op_, d)) shared.atomic = true;
    }
    if (plan_.used < threads_) {
      const kernel::Var rest = names_.variable("idle");
      shared.digits.push_back({rest, plan_.used, ceil_div(threads_, plan_.used)});
      shared.conditions.insert(
          shared.conditions.begin(),
          kernel::binary(BinaryOp::Eq, kernel::var_ref(rest), kernel::int_imm(0)));
    }
    return shared;
  }

  std::int64_t lanes(std::size_t d) const {
    return plan_.vector_dim == static_cast<int>(d) ? plan_.lanes : 1;
  }

  void finish(tile::Op& shared) const {
    tile::Layout layout;
    layout.vector_dim = plan_.vector_dim;
    layout.lanes = plan_.lanes;
    layout.unroll = plan_.unroll;
    layout.group = plan_.group;
    layout.order = nest_order(shared, analyse(shared, outer_), plan_.vector_dim);
    shared.layout = std::move(layout);
    shared.kind = tile::classify(shared);
  }

  /// Positions of the kept dims within the tile, for the subscripts of partial results.
  std::vector<ExprPtr> kept_positions() const {
    std::vector<ExprPtr> positions;
    for (std::size_t d = 0; d < op_.dims.size(); ++d)
      if (!info_.is_pure_reduction(d))
        positions.push_back(kernel::sub(kernel::var_ref(op_.dims[d].var), op_.dims[d].begin));
    return positions;
  }

  std::vector<tile::Node> in_parts(tile::Op shared) {
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < op_.dims.size(); ++d)
      if (!info_.is_pure_reduction(d))
        extents.push_back(std::max<std::int64_t>(op_.dims[d].max_extent, 1));
    extents.push_back(plan_.parts);
    // The digits of the parts are the last ones, before the idle one.
    ExprPtr part = kernel::int_imm(0);
    for (std::size_t i = 0; i < plan_.digits.size(); ++i) {
      if (plan_.digits[i].stride * plan_.parts < plan_.used) continue;
      const std::int64_t distance = plan_.digits[i].stride * plan_.parts / plan_.used;
      part = kernel::add(
          part, kernel::mul(kernel::var_ref(shared.digits[i].var), kernel::int_imm(distance)));
    }
    std::vector<tile::Node> nodes;
    tile::Op join = joining();
    for (std::size_t t = 0; t < op_.targets.size(); ++t) {
      auto buffer = std::make_shared<kernel::Buffer>();
      buffer->id = names_.buffer();
      buffer->name = op_.targets[t].buffer->name + "_parts";
      buffer->type = compute_type(op_.targets[t].buffer->type);
      buffer->space = kernel::Space::Shared;
      buffer->extents = extents;
      buffer->strides = kernel::contiguous_strides(extents);
      buffer->alignment = 16;
      buffer->writable = true;
      nodes.emplace_back(tile::Local{buffer});
      std::vector<ExprPtr> subscripts = kept_positions();
      subscripts.push_back(part);
      shared.targets[t].buffer = buffer;
      shared.targets[t].subscripts = subscripts;
      subscripts.back() = kernel::var_ref(join.dims.back().var);
      join.targets[t].value = kernel::load(buffer, subscripts);
    }
    // Parts of an element without a contribution contribute nothing either.
    if (splitting_.may_be_empty) join.conditions.push_back(has_contribution(join));
    shared.from_identity = true;
    shared.atomic = false;
    finish(shared);
    nodes.emplace_back(std::move(shared));
    SharingLimits limits;
    limits.parts = false;
    const std::int64_t elements = join_elements();
    if (elements * plan_.parts <= threads_)
      limits.fastest_dim = static_cast<int>(join.dims.size()) - 1;
    for (auto& node : Distribution(join, outer_, threads_, 0, options_, names_).run(limits))
      nodes.push_back(std::move(node));
    return nodes;
  }

  std::int64_t part_bytes() const {
    std::int64_t total = 0;
    for (const auto& target : op_.targets) {
      const std::int64_t bytes =
          join_elements() * plan_.parts * bits(compute_type(target.buffer->type)) / 8;
      total += ceil_div(bytes, kSharedAlignment) * kSharedAlignment;
    }
    return total;
  }

  std::int64_t join_elements() const {
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < op_.dims.size(); ++d)
      if (!info_.is_pure_reduction(d))
        elements = std::min(elements * std::max<std::int64_t>(op_.dims[d].max_extent, 1),
                            std::int64_t{1} << 40);
    return elements;
  }

  static ExprPtr has_contribution(const tile::Op& join) {
    Partial parts;
    for (const auto& target : join.targets)
      parts.push_back(target.value);
    return differs_from_identity(join, parts, 1);
  }

  /// The combination of the parts, but for its values.
  tile::Op joining() {
    tile::Op join = op_;
    join.label += "_join";
    join.text.clear();
    join.dims.clear();
    join.conditions.clear();
    for (std::size_t d = 0; d < op_.dims.size(); ++d)
      if (!info_.is_pure_reduction(d)) join.dims.push_back(op_.dims[d]);
    for (const auto& condition : op_.conditions) {
      const auto dims = dims_in(op_, condition);
      if (std::none_of(dims.begin(), dims.end(), [&](int d) { return info_.is_pure_reduction(d); }))
        join.conditions.push_back(condition);
    }
    tile::Dim part;
    part.var = names_.variable("part");
    part.begin = kernel::int_imm(0);
    part.end = kernel::int_imm(plan_.parts);
    part.max_extent = plan_.parts;
    part.reduction = true;
    join.dims.push_back(std::move(part));
    return join;
  }

  const tile::Op& op_;
  const Ranges& outer_;
  OpInfo info_;
  std::int64_t threads_;
  std::int64_t room_;
  const MappingOptions& options_;
  Names& names_;
  Splitting splitting_;
  SharePlan plan_;
};

}  // namespace

std::vector<tile::Node> distribute(const tile::Op& op, const Ranges& outer, std::int64_t threads,
                                   std::int64_t room, const MappingOptions& options, Names& names) {
  return Distribution(op, outer, threads, room, options, names).run({});
}

}  // namespace tc::lower::cuda
