// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/op/nest.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lower {

using kernel::BinaryOp;
using kernel::ExprPtr;
using kernel::StmtPtr;

namespace {

ExprPtr constant(std::int64_t value) {
  return kernel::int_imm(value);
}

}  // namespace

ExprPtr lanes_below(const ExprPtr& base, const ExprPtr& limit, int lanes, const Ranges& ranges) {
  const ExprPtr left = ranges.simplify(kernel::sub(limit, base));
  // Distances inside a tile fit int32, whose comparison takes half the registers.
  const bool narrow = ranges.proves_within(left, min_value(DType::Int32), max_value(DType::Int32));
  const DType type = narrow ? DType::Int32 : DType::Int64;
  return kernel::binary(BinaryOp::Lt, kernel::ramp(kernel::int_imm(0, type), 1, lanes),
                        kernel::cast(type, left));
}

Nest::Nest(const NestPlan& plan, Names& names)
    : plan_(plan), op_(*plan.op), names_(names), ranges_(plan.info.ranges),
      lane_(names.variable("lane")), lanes_(plan.layout.vector_dim >= 0 ? plan.layout.lanes : 1) {}

StmtPtr Nest::run() {
  State state;
  state.spans.resize(op_.dims.size());
  for (const auto& condition : op_.conditions)
    state.guards.push_back({condition, dims_in(op_, condition)});
  return descend(0, std::move(state));
}

bool Nest::is_single(int dim, const State& state) const {
  return state.spans[dim].bound && state.spans[dim].count == 1 && plan_.lanes_of(dim) == 1;
}

bool Nest::is_exact(const ExprPtr& bound, const State& state) const {
  const std::vector<int> dims = dims_in(op_, bound);
  return std::all_of(dims.begin(), dims.end(), [&](int d) { return is_single(d, state); });
}

bool Nest::is_kept_only(const Guard& guard) const {
  return std::all_of(guard.dims.begin(), guard.dims.end(),
                     [&](int d) { return bool(plan_.info.kept[d]); });
}

/// Conjunction of the guards that are the same for the whole register tile by now; null if there is
/// none.
ExprPtr Nest::take_ready(State& state) {
  ExprPtr ready;
  std::vector<Guard> later;
  for (const auto& guard : state.guards) {
    const bool is_ready = std::all_of(guard.dims.begin(), guard.dims.end(),
                                      [&](int d) { return is_single(d, state); });
    if (!is_ready) {
      later.push_back(guard);
      continue;
    }
    Point point;
    for (const int d : guard.dims)
      point.emplace_back(op_.dims[d].var.id, state.spans[d].base);
    const ExprPtr condition = kernel::substitute(guard.condition, point);
    ready = ready ? kernel::binary(BinaryOp::And, ready, condition) : condition;
  }
  state.guards = std::move(later);
  return ready;
}

StmtPtr Nest::descend(std::size_t level, State state) {
  const ExprPtr ready = take_ready(state);
  StmtPtr body;
  if (plan_.registers && level == plan_.first_reduction && state.registers.empty())
    body = accumulate(level, std::move(state));
  else if (level == plan_.layout.order.size())
    body = places(state);
  else
    body = loop(level, std::move(state));
  if (!ready) return body;
  if (const auto value = constant_of(ready)) return *value != 0 ? body : kernel::block({});
  return kernel::make_stmt(kernel::If{ready, body, nullptr});
}

StmtPtr Nest::accumulate(std::size_t level, State state) {
  std::int64_t total = 1;
  for (std::size_t d = 0; d < op_.dims.size(); ++d) {
    state.slots.push_back(state.spans[d].bound ? state.spans[d].count : plan_.layout.unroll[d]);
    total *= state.slots.back();
  }
  const Partial initial = identity_of(op_, lanes_);
  std::vector<StmtPtr> out;
  for (std::size_t t = 0; t < op_.targets.size(); ++t) {
    state.registers.push_back(names_.reg());
    out.push_back(kernel::make_stmt(
        kernel::Declare{state.registers.back(), t > 0 && is_arg_reduction(op_) ? "position" : "acc",
                        initial[t]->type, static_cast<int>(total), initial[t]}));
  }
  out.push_back(descend(level, state));
  out.push_back(finish(state));
  return kernel::block(std::move(out));
}

/// Lowest or highest value of a bound over the register tile and over dims that have no loop yet.
/// plan_nest made sure that the bound is monotone in each of them.
ExprPtr Nest::extreme(const ExprPtr& bound, const State& state, bool highest) const {
  Point point;
  for (const int d : dims_in(op_, bound)) {
    const Span& span = state.spans[d];
    const auto& dim = op_.dims[d];
    if (is_single(d, state)) {
      point.emplace_back(dim.var.id, span.base);
      continue;
    }
    const auto way = direction(bound, dim.var.id);
    check(way.has_value(), "a bound over a register tile is monotone");
    const bool upper = highest == (*way > 0);
    ExprPtr value;
    if (!span.bound) {
      value = upper ? kernel::sub(extreme(dim.end, state, true), constant(1))
                    : extreme(dim.begin, state, false);
    } else if (upper) {
      const std::int64_t reach = (span.count - 1) * plan_.pitch(d) + plan_.lanes_of(d);
      ExprPtr past = kernel::add(span.base, constant(reach));
      if (span.tail) past = kernel::binary(BinaryOp::Min, past, span.limit);
      value = kernel::sub(past, constant(1));
    } else {
      value = span.base;
    }
    point.emplace_back(dim.var.id, value);
  }
  return ranges_.simplify(kernel::substitute(bound, point));
}

StmtPtr Nest::loop(std::size_t level, State state) {
  const int d = plan_.layout.order[level];
  const auto& dim = op_.dims[d];
  const ExprPtr begin = extreme(dim.begin, state, false);
  const ExprPtr end = extreme(dim.end, state, true);
  // Bounds that differ within the register tile: the loop runs over their hull, each place checks
  // its own.
  const ExprPtr self = kernel::var_ref(dim.var);
  const auto guard = [&](const ExprPtr& bound, ExprPtr condition) {
    if (is_exact(bound, state)) return;
    Guard added{std::move(condition), dims_in(op_, bound)};
    added.dims.push_back(d);
    state.guards.push_back(std::move(added));
  };
  guard(dim.begin, kernel::binary(BinaryOp::Le, dim.begin, self));
  guard(dim.end, kernel::binary(BinaryOp::Lt, self, dim.end));
  return spans(level, state, begin, end);
}

/// Gives a bound that is no constant or variable a name, and keeps what is known of it.
ExprPtr Nest::named_bound(const std::string& name, const ExprPtr& bound,
                          std::vector<StmtPtr>& out) {
  if (constant_of(bound) || std::holds_alternative<kernel::VarRef>(bound->node)) return bound;
  const kernel::Var var = names_.variable(name);
  out.push_back(kernel::make_stmt(kernel::Let{var, bound}));
  ranges_.set(var.id, ranges_.of(bound), bound, Interval::point(0));
  return kernel::var_ref(var);
}

StmtPtr Nest::enter(std::size_t level, State state, Span span) {
  const int d = plan_.layout.order[level];
  span.bound = true;
  std::vector<StmtPtr> out;
  if (span.tail) {
    const int lanes = plan_.lanes_of(d);
    const ExprPtr base = kernel::add(span.base, constant((span.count - 1) * plan_.pitch(d)));
    const ExprPtr below = lanes_below(base, span.limit, lanes, ranges_);
    const kernel::Var mask = names_.variable("in_" + op_.dims[d].var.name, below->type);
    out.push_back(kernel::make_stmt(kernel::Let{mask, below}));
    span.mask = kernel::var_ref(mask);
  }
  state.spans[d] = std::move(span);
  out.push_back(descend(level + 1, std::move(state)));
  return kernel::block(std::move(out));
}

/// `count` spans of `width` from `begin` on; `most`: an upper bound of count.
template <class Body>
StmtPtr Nest::counted(std::size_t dim, const ExprPtr& begin, const ExprPtr& count,
                      std::int64_t width, std::int64_t most, Body body) {
  if (constant_of(count) == 1) return body(begin);
  if (const auto value = constant_of(count); value && *value <= 0) return kernel::block({});
  const kernel::Var var = names_.variable(op_.dims[dim].var.name);
  ranges_.set(var.id, {0, std::max<std::int64_t>(most, 1) - 1});
  const ExprPtr offset = kernel::mul(kernel::var_ref(var), constant(width));
  return kernel::make_stmt(kernel::For{var, constant(0), count, 1, kernel::ForKind::Serial,
                                       body(ranges_.simplify(kernel::add(begin, offset)))});
}

template <class Body>
StmtPtr Nest::stepped(std::size_t dim, const ExprPtr& begin, const ExprPtr& end, std::int64_t step,
                      std::int64_t most, Body body) {
  const auto extent = constant_of(ranges_.simplify(kernel::sub(end, begin)));
  if (extent && *extent <= 0) return kernel::block({});
  if (extent && *extent <= step) return body(begin);
  const kernel::Var var = names_.variable(op_.dims[dim].var.name);
  ranges_.set(var.id, {ranges_.of(begin).lo, ranges_.of(end).hi - 1}, begin,
              {0, std::max<std::int64_t>(most, 1) - 1});
  return kernel::make_stmt(
      kernel::For{var, begin, end, step, kernel::ForKind::Serial, body(kernel::var_ref(var))});
}

StmtPtr Nest::spans(std::size_t level, const State& state, const ExprPtr& begin, ExprPtr end) {
  const int d = plan_.layout.order[level];
  const std::int64_t width = plan_.width(d);
  ExprPtr extent = ranges_.simplify(kernel::sub(end, begin));
  std::int64_t most = std::max<std::int64_t>(ranges_.of(extent).hi, 0);
  if (!plan_.hull[d]) most = std::min(most, std::max<std::int64_t>(op_.dims[d].max_extent, 0));
  const int unroll = plan_.layout.unroll[d];
  const int lanes = plan_.lanes_of(d);
  if (unroll == 1 && lanes == 1)
    return stepped(d, begin, end, width, most,
                   [&](ExprPtr base) { return enter(level, state, Span{base, 1, end}); });
  const auto full = [&](ExprPtr base) { return enter(level, state, Span{base, unroll, end}); };
  const auto known = constant_of(extent);
  if (plan_.overrun[d] && !(known && *known % width == 0)) {
    std::vector<StmtPtr> out;
    end = named_bound("end_" + op_.dims[d].var.name, end, out);
    const ExprPtr rounded = kernel::add(kernel::sub(end, begin), constant(width - 1));
    const ExprPtr count =
        ranges_.simplify(kernel::binary(BinaryOp::FloorDiv, rounded, constant(width)));
    out.push_back(counted(d, begin, count, width, ceil_div(most, width), full));
    return kernel::block(std::move(out));
  }
  std::vector<StmtPtr> out;
  // The last place of a span ends before the next one begins if runs are apart.
  const std::int64_t gap = plan_.pitch(d) - lanes;
  if (known) {
    if (*known <= 0) return kernel::block({});
    const std::int64_t count = (*known + gap) / width;
    out.push_back(counted(d, begin, constant(count), width, count, full));
    const ExprPtr from = ranges_.simplify(kernel::add(begin, constant(count * width)));
    if (*known > count * width) rest(level, state, from, end, out);
    return kernel::block(std::move(out));
  }
  const bool maybe_empty = ranges_.of(extent).lo < 0;
  end = named_bound("end_" + op_.dims[d].var.name, end, out);
  if (most + gap < width) {  // never a full span
    rest(level, state, begin, end, out);
    return kernel::block(std::move(out));
  }
  extent = ranges_.simplify(kernel::add(kernel::sub(end, begin), constant(gap)));
  if (maybe_empty) extent = kernel::binary(BinaryOp::Max, extent, constant(0));
  const auto finish = [&](const ExprPtr& count) {
    out.push_back(counted(d, begin, count, width, (most + gap) / width, full));
    const ExprPtr from = ranges_.simplify(kernel::add(begin, kernel::mul(count, constant(width))));
    if (ranges_.of(kernel::sub(end, from)).hi > 0) rest(level, state, from, end, out);
    return kernel::block(std::move(out));
  };
  // The same for all values of what the bounds depend on, such as the number of a thread.
  const Interval length = ranges_.of(extent);
  if (length.is_bounded() && floor_div(length.lo, width) == floor_div(length.hi, width))
    return finish(constant(std::max<std::int64_t>(floor_div(length.lo, width), 0)));
  const kernel::Var count = names_.variable("n" + op_.dims[d].var.name);
  out.push_back(kernel::make_stmt(kernel::Let{
      count, ranges_.simplify(kernel::binary(BinaryOp::FloorDiv, extent, constant(width)))}));
  ranges_.set(count.id, {0, (most + gap) / width});
  return finish(kernel::var_ref(count));
}

/// What is left after the full spans of a dim: fewer than one of them.
void Nest::rest(std::size_t level, const State& state, const ExprPtr& begin, const ExprPtr& end,
                std::vector<StmtPtr>& out) {
  const int d = plan_.layout.order[level];
  const int lanes = plan_.lanes_of(d);
  const std::int64_t pitch = plan_.pitch(d);
  const int unroll = plan_.layout.unroll[d];
  const auto extent = constant_of(ranges_.simplify(kernel::sub(end, begin)));
  if (extent) {  // one span that fits exactly
    const std::int64_t count = ceil_div(*extent, pitch);
    const bool tail = *extent - (count - 1) * pitch < lanes;
    if (count > 0)
      out.push_back(enter(level, state, Span{begin, static_cast<int>(count), end, tail}));
    return;
  }
  const auto one = [&](ExprPtr base) { return enter(level, state, Span{base, 1, end, lanes > 1}); };
  if (unroll == 1) {
    const ExprPtr any = kernel::binary(BinaryOp::Lt, begin, end);
    out.push_back(kernel::make_stmt(kernel::If{any, one(begin), nullptr}));
    return;
  }
  // Loops count from 0, so that the place within a span stays visible to divisions by the span.
  ExprPtr from = begin;
  const auto loop_over = [&](const ExprPtr& count, int places, std::int64_t most, auto body) {
    out.push_back(counted(d, from, count, places * pitch, most, body));
  };
  // Nothing is left, not less, where the dim ends before it begins.
  const auto left = [&](std::int64_t more) {
    const ExprPtr rest = ranges_.simplify(kernel::add(kernel::sub(end, from), constant(more)));
    return ranges_.of(rest).lo < 0 ? kernel::binary(BinaryOp::Max, rest, constant(0)) : rest;
  };
  constexpr int kShort = 4;  // rows of the span between a tall one and single rows
  if (lanes == 1 && unroll >= 2 * kShort) {
    const kernel::Var count = names_.variable("n" + op_.dims[d].var.name);
    out.push_back(kernel::make_stmt(kernel::Let{
        count, kernel::binary(BinaryOp::FloorDiv, left(pitch - 1), constant(kShort * pitch))}));
    ranges_.set(count.id, {0, unroll / kShort});
    loop_over(kernel::var_ref(count), kShort, unroll / kShort,
              [&](ExprPtr base) { return enter(level, state, Span{base, kShort, end}); });
    const ExprPtr done = kernel::mul(kernel::var_ref(count), constant(kShort * pitch));
    from = ranges_.simplify(kernel::add(from, done));
  }
  const ExprPtr up = left(pitch - 1);
  loop_over(ranges_.simplify(kernel::binary(BinaryOp::FloorDiv, up, constant(pitch))), 1, unroll,
            one);
}

}  // namespace tc::lower
