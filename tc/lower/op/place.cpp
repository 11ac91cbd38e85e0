// SPDX-License-Identifier: Apache-2.0
//
// Statements of the register tile: what each of its places does.
#include <algorithm>

#include "tc/lower/op/agreed.h"
#include "tc/lower/op/nest.h"
#include "tc/support/check.h"

namespace tc::lower {

using kernel::BinaryOp;
using kernel::ExprPtr;
using kernel::StmtPtr;

namespace {

void require(ExprPtr& all, const ExprPtr& condition) {
  all = all ? kernel::binary(BinaryOp::And, all, condition) : condition;
}

}  // namespace

/// Every combination of 0 .. counts[d]-1, last dim fastest.
std::vector<Nest::Place> Nest::all_places(const std::vector<int>& counts) const {
  std::vector<Place> places{Place(counts.size(), 0)};
  for (std::size_t d = 0; d < counts.size(); ++d) {
    std::vector<Place> longer;
    for (const auto& place : places) {
      for (int i = 0; i < counts[d]; ++i) {
        longer.push_back(place);
        longer.back()[d] = i;
      }
    }
    places = std::move(longer);
  }
  return places;
}

int Nest::slot(const State& state, const Place& place) const {
  int index = 0;
  for (std::size_t d = 0; d < place.size(); ++d)
    index = index * state.slots[d] + place[d];
  return index;
}

Partial Nest::accumulators(const State& state, const Place& place) const {
  Partial partial = identity_of(op_, lanes_);
  const ExprPtr index = kernel::int_imm(slot(state, place));
  for (std::size_t t = 0; t < partial.size(); ++t)
    partial[t] = kernel::reg_ref(state.registers[t], index, partial[t]->type);
  return partial;
}

/// Gives every value a name, so that later uses do not repeat the computation.
Partial Nest::named(const Partial& partial, std::vector<StmtPtr>& out) {
  Partial names;
  for (const auto& value : partial) {
    const kernel::Var var = names_.variable("r", value->type);
    out.push_back(kernel::make_stmt(kernel::Let{var, value}));
    names.push_back(kernel::var_ref(var));
  }
  return names;
}

Nest::Context Nest::context(const Vectoriser& at, const State& state, const Place& place,
                            Phase phase) const {
  Context result;
  const bool finishing = phase != Phase::Contribute;
  for (std::size_t d = 0; d < op_.dims.size(); ++d) {
    const Span& span = state.spans[d];
    if (!span.bound) continue;
    const int lanes = plan_.lanes_of(d);
    const ExprPtr base = kernel::add(span.base, kernel::int_imm(place[d] * plan_.pitch(d)));
    const ExprPtr value = lanes > 1 ? kernel::add(base, kernel::var_ref(lane_)) : base;
    result.point.emplace_back(op_.dims[d].var.id, value);
    if (span.tail && place[d] == span.count - 1) result.mask.tail = span.mask;
    if (phase != Phase::FinishRounded || !plan_.overrun[d]) continue;
    if (lanes > 1)
      require(result.mask.condition, lanes_below(base, span.limit, lanes, ranges_));
    else
      require(result.guard, kernel::binary(BinaryOp::Lt, base, span.limit));
  }
  for (const auto& guard : state.guards) {
    const bool kept_only = is_kept_only(guard);
    if (finishing ? !kept_only : plan_.registers && kept_only && plan_.values_in_box) continue;
    const ExprPtr condition = at(guard.condition, result.point, result.mask);
    if (condition->type.lanes > 1 && !std::holds_alternative<kernel::Broadcast>(condition->node))
      require(result.mask.condition, condition);
    else
      require(result.guard, kernel::lane(condition, 0));
  }
  if (!result.guard) return result;
  if (const auto value = constant_of(result.guard)) {
    result.never = *value == 0;
    result.guard = nullptr;
  }
  return result;
}

StmtPtr Nest::places(const State& state) {
  std::vector<int> counts;
  for (const auto& span : state.spans)
    counts.push_back(span.count);
  const std::vector<Place> all = all_places(counts);
  const Vectoriser at = vectoriser();
  Sharer sharer(names_);
  std::vector<StmtPtr> out;
  for (const auto& place : all) {
    const Context here = context(at, state, place, Phase::Contribute);
    if (here.never) continue;
    // A value named under a guard is not visible outside of it.
    Sharer* shared = all.size() > 1 && !here.guard ? &sharer : nullptr;
    std::vector<StmtPtr> stmts;
    if (plan_.registers)
      contribute(at, state, place, here, shared, stmts);
    else
      execute(at, here, shared, stmts);
    if (here.guard)
      out.push_back(
          kernel::make_stmt(kernel::If{here.guard, kernel::block(std::move(stmts)), nullptr}));
    else
      out.insert(out.end(), stmts.begin(), stmts.end());
  }
  return kernel::block(std::move(out));
}

void Nest::contribute(const Vectoriser& at, const State& state, const Place& place,
                      const Context& context, Sharer* sharer, std::vector<StmtPtr>& out) {
  Partial values;
  for (const auto& target : op_.targets) {
    ExprPtr value = at(target.value, context.point, context.mask);
    if (sharer) value = (*sharer)(value, out);
    values.push_back(kernel::broadcast(value, lanes_));
  }
  if (values.size() > 1) values = named(values, out);
  const Partial old = accumulators(state, place);
  // Lanes past the end of a kept dim may accumulate anything: they are not stored.
  const ExprPtr mask = plan_.vector_is_reduction() ? context.mask.both() : context.mask.condition;
  Partial next = combine_where(op_, mask, old, values);
  if (next.size() > 1) next = named(next, out);
  const ExprPtr index = kernel::int_imm(slot(state, place));
  for (std::size_t t = 0; t < next.size(); ++t)
    out.push_back(kernel::make_stmt(
        kernel::Assign{state.registers[t], index, kernel::broadcast(next[t], lanes_)}));
}

/// One place without accumulators: compute, combine with memory if asked, store.
void Nest::execute(const Vectoriser& at, const Context& context, Sharer* sharer,
                   std::vector<StmtPtr>& out) {
  Partial values;
  for (const auto& target : op_.targets) {
    ExprPtr value = at(target.value, context.point, context.mask);
    if (sharer) value = (*sharer)(value, out);
    values.push_back(value);
  }
  // A sum of one term is 0 + x, which is not x where that is -0.
  if (op_.combine == tile::Combine::Add && op_.from_identity && !plan_.onto_memory)
    values = combine(op_, identity_of(op_, lanes_), values);
  write(at, context, std::move(values), out);
}

void Nest::write(const Vectoriser& at, const Context& context, Partial values,
                 std::vector<StmtPtr>& out) {
  const int lanes = plan_.vector_is_reduction() ? 1 : lanes_;
  ExprPtr mask = context.mask.both();
  std::vector<std::vector<ExprPtr>> subscripts;
  for (const auto& target : op_.targets)
    subscripts.push_back(at(target.subscripts, context.point, context.mask));
  if (plan_.untouched && op_.targets[0].buffer->space != kernel::Space::Register) {
    // An element without a contribution may never have been written: nothing is combined with what
    // it holds.
    values = named(values, out);
    require(mask, differs_from_identity(op_, values, lanes));
  }
  if (op_.atomic) {
    out.push_back(kernel::make_stmt(kernel::Atomic{
        reduce_op(op_), op_.targets[0].buffer, subscripts[0], kernel::broadcast(values[0], lanes),
        mask ? kernel::broadcast(mask, lanes) : nullptr}));
    return;
  }
  if (plan_.onto_memory) {
    Partial old;
    for (std::size_t t = 0; t < values.size(); ++t)
      old.push_back(kernel::load(op_.targets[t].buffer, subscripts[t], mask));
    if (old.size() > 1) {
      old = named(old, out);
      values = named(values, out);
    }
    values = combine(op_, old, values);
    if (values.size() > 1) values = named(values, out);
  }
  for (std::size_t t = 0; t < values.size(); ++t)
    out.push_back(kernel::make_stmt(kernel::Store{
        op_.targets[t].buffer, subscripts[t], kernel::broadcast(values[t], lanes),
        mask ? kernel::broadcast(mask, lanes) : nullptr, is_agreed(op_, op_.targets[t])}));
}

/// The result of one element: accumulators that differ in reduction dims only, combined pairwise in
/// a fixed order.
Partial Nest::gather_partials(const State& state, const Place& kept, std::vector<StmtPtr>& out) {
  std::vector<int> counts;
  for (std::size_t d = 0; d < op_.dims.size(); ++d)
    counts.push_back(state.spans[d].bound ? 1 : state.slots[d]);
  std::vector<Partial> partials;
  for (Place place : all_places(counts)) {
    for (std::size_t d = 0; d < place.size(); ++d)
      place[d] += kept[d];
    partials.push_back(accumulators(state, place));
  }
  while (partials.size() > 1) {
    std::vector<Partial> halves;
    for (std::size_t i = 0; i < partials.size(); i += 2) {
      if (i + 1 == partials.size()) {
        halves.push_back(partials[i]);
        continue;
      }
      const Partial joined = combine(op_, partials[i], partials[i + 1]);
      halves.push_back(joined.size() > 1 ? named(joined, out) : joined);
    }
    partials = std::move(halves);
  }
  return partials.front();
}

Partial Nest::across_lanes(Partial partial, std::vector<StmtPtr>& out) {
  if (!is_arg_reduction(op_)) {
    for (auto& component : partial)
      component = kernel::reduce(reduce_op(op_), component);
    return partial;
  }
  partial = named(partial, out);
  Partial result{kernel::lane(partial[0], 0), kernel::lane(partial[1], 0)};
  for (int l = 1; l < lanes_; ++l)
    result = named(combine(op_, result, {kernel::lane(partial[0], l), kernel::lane(partial[1], l)}),
                   out);
  return result;
}

/// Every thread of the group gets the same result, since combine() is symmetric.
Partial Nest::across_threads(Partial partial, std::vector<StmtPtr>& out) {
  for (int distance = plan_.layout.group / 2; distance > 0; distance /= 2) {
    partial = named(partial, out);
    Partial other;
    for (const auto& value : partial)
      other.push_back(kernel::shuffle(value, distance, plan_.layout.group));
    other = named(other, out);
    partial = combine(op_, partial, other);
  }
  return partial;
}

StmtPtr Nest::by_first_of_group(std::vector<StmtPtr> stmts) const {
  StmtPtr body = kernel::block(std::move(stmts));
  ExprPtr first;
  for (const auto& digit : op_.digits)
    if (digit.stride < plan_.layout.group && digit.extent > 1)
      require(first, kernel::binary(BinaryOp::Eq, kernel::var_ref(digit.var), kernel::int_imm(0)));
  return first ? kernel::make_stmt(kernel::If{first, body, nullptr}) : body;
}

StmtPtr Nest::finish_places(const State& state, bool rounded) {
  std::vector<int> counts;
  for (const auto& span : state.spans)
    counts.push_back(span.bound ? span.count : 1);
  const Vectoriser at = vectoriser();
  std::vector<StmtPtr> out;
  for (const auto& place : all_places(counts)) {
    const Context here = context(at, state, place, rounded ? Phase::FinishRounded : Phase::Finish);
    if (here.never) continue;
    std::vector<StmtPtr> stmts;
    Partial result = gather_partials(state, place, stmts);
    if (plan_.vector_is_reduction()) result = across_lanes(std::move(result), stmts);
    result = across_threads(std::move(result), stmts);
    std::vector<StmtPtr> writes;
    write(at, here, std::move(result), writes);
    stmts.push_back(by_first_of_group(std::move(writes)));
    if (here.guard)
      out.push_back(
          kernel::make_stmt(kernel::If{here.guard, kernel::block(std::move(stmts)), nullptr}));
    else
      out.insert(out.end(), stmts.begin(), stmts.end());
  }
  return kernel::block(std::move(out));
}

StmtPtr Nest::finish(const State& state) {
  ExprPtr full;
  for (std::size_t d = 0; d < op_.dims.size(); ++d) {
    const Span& span = state.spans[d];
    if (!span.bound || !plan_.overrun[d]) continue;
    const ExprPtr left = ranges_.simplify(kernel::sub(span.limit, span.base));
    const std::int64_t whole = plan_.width(d) - plan_.pitch(d) + plan_.lanes_of(d);
    if (ranges_.of(left).lo >= whole) continue;
    require(full, kernel::binary(BinaryOp::Ge, left, kernel::int_imm(whole)));
  }
  if (!full) return finish_places(state, false);
  return kernel::make_stmt(
      kernel::If{full, finish_places(state, false), finish_places(state, true)});
}

}  // namespace tc::lower
