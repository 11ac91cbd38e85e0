// SPDX-License-Identifier: Apache-2.0
//
// One tile operation as a loop nest. For the lowerings of all targets.
//
// Words: a *kept* dim moves the target element, a *pure reduction* dim does not. A *span* is what
// the nest knows of one dim at some depth: `count` places (rows, or vectors for the vector dim)
// from `base` on. The *register tile* is the product of all spans.
//
// Shape of the code, with the layout's order and all pure reduction dims innermost:
//
//   for kept dims: full spans, then shorter ones, the last partial vector under a mask
//     declare accumulators = identity                       one per place of the register tile
//     for reduction dims: for each place: accumulator = combine(accumulator, value)
//     combine accumulators that differ in reduction dims only, then lanes; combine with memory
//     unless from_identity; store once
//
// Reduction dims outside a kept dim combine in memory instead, after a nest that stores the
// identity (from_identity). Where every load stays in bounds when a kept dim is rounded up to whole
// spans, there are no shorter spans: the last one computes values that nobody stores.
#pragma once

#include <map>
#include <optional>

#include "tc/lower/op/combine.h"
#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"
#include "tc/lower/op/vectorise.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::lower {

/// How one operation with a layout is executed: decided before any code is made.
struct NestPlan {
  const tile::Op* op = nullptr;
  OpInfo info;
  tile::Layout layout;
  std::size_t first_reduction = 0;  ///< position in the order where only pure reduction dims follow
  bool registers = false;  ///< accumulators in registers over the loops from first_reduction on
  bool partial_in_memory = false;  ///< pure reduction dims also lie further out
  bool onto_memory = false;        ///< results combine with what the target holds
  bool untouched = false;  ///< there may be elements with an accumulator but without a contribution
  std::vector<bool> hull;  ///< per dim: its loop runs over the hull of bounds that differ within
                           ///< the register tile
  std::vector<bool> overrun;  ///< per dim: rounded up to whole spans
  bool values_in_box =
      false;  ///< values can be computed wherever the box reaches, whatever the conditions say
  std::map<const kernel::Expr*, Safety> safety;

  int lanes_of(std::size_t dim) const {
    return static_cast<int>(dim) == layout.vector_dim ? layout.lanes : 1;
  }
  /// Distance between neighbouring places of the register tile along a dim.
  std::int64_t pitch(std::size_t dim) const {
    return op->dims[dim].step > 1 ? op->dims[dim].step : lanes_of(dim);
  }
  std::int64_t width(std::size_t dim) const { return layout.unroll[dim] * pitch(dim); }
  bool vector_is_reduction() const {
    return layout.vector_dim >= 0 && !info.kept[layout.vector_dim];
  }
};

/// Errors: Rejection{Unsupported, RegisterOverflow} if the layout cannot be had for this operation.
Result<NestPlan, Rejection> plan_nest(const tile::Op& op, const Ranges& outer);

Result<kernel::StmtPtr, Rejection> lower_op(const tile::Op& op, const Ranges& outer, Names& names);

/// Vector of bool: lanes l with base + l < limit.
kernel::ExprPtr lanes_below(const kernel::ExprPtr& base, const kernel::ExprPtr& limit, int lanes,
                            const Ranges& ranges);

class Nest {
public:
  Nest(const NestPlan& plan, Names& names);
  kernel::StmtPtr run();

private:
  struct Span {
    kernel::ExprPtr base;
    int count = 1;
    kernel::ExprPtr limit;           ///< end of the dim
    bool tail = false;               ///< the last vector is partial
    bool bound = false;              ///< false: the nest has not reached the dim yet
    kernel::ExprPtr mask = nullptr;  ///< of the last vector of a tail
  };
  struct Guard {
    kernel::ExprPtr condition;
    std::vector<int> dims;
  };
  struct State {
    std::vector<Span> spans;
    std::vector<Guard> guards;   ///< not applied yet
    std::vector<int> registers;  ///< per target, once declared
    std::vector<int> slots;      ///< per dim: places that have an accumulator of their own
  };
  using Place = std::vector<int>;  ///< per dim: which row or vector of its span
  enum class Phase { Contribute, Finish, FinishRounded };
  struct Context {
    Point point;
    Mask mask;
    kernel::ExprPtr guard;  ///< scalar; null: always
    bool never = false;
  };

  // nest.cpp: loops
  kernel::StmtPtr descend(std::size_t level, State state);
  kernel::StmtPtr loop(std::size_t level, State state);
  kernel::StmtPtr spans(std::size_t level, const State& state, const kernel::ExprPtr& begin,
                        kernel::ExprPtr end);
  kernel::ExprPtr named_bound(const std::string& name, const kernel::ExprPtr& bound,
                              std::vector<kernel::StmtPtr>& out);
  void rest(std::size_t level, const State& state, const kernel::ExprPtr& begin,
            const kernel::ExprPtr& end, std::vector<kernel::StmtPtr>& out);
  kernel::StmtPtr enter(std::size_t level, State state, Span span);
  template <class Body>
  kernel::StmtPtr counted(std::size_t dim, const kernel::ExprPtr& begin,
                          const kernel::ExprPtr& count, std::int64_t width, std::int64_t most,
                          Body body);
  template <class Body>
  kernel::StmtPtr stepped(std::size_t dim, const kernel::ExprPtr& begin, const kernel::ExprPtr& end,
                          std::int64_t step, std::int64_t most, Body body);
  kernel::StmtPtr accumulate(std::size_t level, State state);
  kernel::ExprPtr extreme(const kernel::ExprPtr& bound, const State& state, bool highest) const;
  bool is_exact(const kernel::ExprPtr& bound, const State& state) const;
  bool is_single(int dim, const State& state) const;
  kernel::ExprPtr take_ready(State& state);
  bool is_kept_only(const Guard& guard) const;

  // place.cpp: statements of the register tile
  kernel::StmtPtr places(const State& state);
  kernel::StmtPtr finish(const State& state);
  kernel::StmtPtr finish_places(const State& state, bool rounded);
  Context context(const Vectoriser& at, const State& state, const Place& place, Phase phase) const;
  void contribute(const Vectoriser& at, const State& state, const Place& place,
                  const Context& context, Sharer* sharer, std::vector<kernel::StmtPtr>& out);
  void execute(const Vectoriser& at, const Context& context, Sharer* sharer,
               std::vector<kernel::StmtPtr>& out);
  Partial gather_partials(const State& state, const Place& kept, std::vector<kernel::StmtPtr>& out);
  Partial across_lanes(Partial partial, std::vector<kernel::StmtPtr>& out);
  Partial across_threads(Partial partial, std::vector<kernel::StmtPtr>& out);
  kernel::StmtPtr by_first_of_group(std::vector<kernel::StmtPtr> stmts) const;
  void write(const Vectoriser& at, const Context& context, Partial value,
             std::vector<kernel::StmtPtr>& out);
  Partial named(const Partial& partial, std::vector<kernel::StmtPtr>& out);
  Partial accumulators(const State& state, const Place& place) const;
  int slot(const State& state, const Place& place) const;
  std::vector<Place> all_places(const std::vector<int>& counts) const;
  Vectoriser vectoriser() const { return Vectoriser(ranges_, lane_, lanes_, plan_.safety); }

  const NestPlan& plan_;
  const tile::Op& op_;
  Names& names_;
  Ranges ranges_;
  kernel::Var lane_;
  int lanes_;
};

}  // namespace tc::lower
