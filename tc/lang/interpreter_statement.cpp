// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/interpreter_statement.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "tc/lang/interpreter_numeric.h"
#include "tc/support/check.h"

namespace tc::lang::interp {

namespace {

std::set<int> indices_in(const ExprPtr& expr) {
  std::set<int> found;
  walk(expr, [&](const Expr& e) {
    if (const auto* index = std::get_if<IndexRef>(&e.node)) found.insert(index->index);
  });
  return found;
}

std::set<int> indices_in_bounds(const Index& index) {
  std::set<int> found = indices_in(index.lo);
  found.merge(indices_in(index.hi));
  return found;
}

/// A loop nest: loops outermost first, every condition at the first place where all its variables
/// are known.
struct Nest {
  struct Loop {
    int slot;
    NodePtr<std::int64_t> lo;
    NodePtr<std::int64_t> hi;
    std::vector<NodePtr<std::int64_t>> conditions;
  };
  std::vector<NodePtr<std::int64_t>> conditions;  ///< over `for` variables alone
  std::vector<Loop> loops;
};

bool hold(const std::vector<NodePtr<std::int64_t>>& conditions, Vars vars) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const auto& condition) { return condition->eval(vars) != 0; });
}

template <class Body>
void run_loops(const Nest& nest, std::size_t depth, std::int64_t* vars, Body&& body) {
  if (depth == nest.loops.size()) {
    body();
    return;
  }
  const Nest::Loop& loop = nest.loops[depth];
  const std::int64_t lo = loop.lo->eval(vars);
  const std::int64_t hi = loop.hi->eval(vars);
  const bool innermost = depth + 1 == nest.loops.size();
  for (std::int64_t i = lo; i < hi; ++i) {
    vars[loop.slot] = i;
    if (!loop.conditions.empty() && !hold(loop.conditions, vars)) continue;
    if (innermost) {
      body();
    } else {
      run_loops(nest, depth + 1, vars, body);
    }
  }
}

template <class Body>
void run_nest(const Nest& nest, std::int64_t* vars, Body&& body) {
  if (hold(nest.conditions, vars)) run_loops(nest, 0, vars, body);
}

/// The nest over `indices` (in loop order) with the conditions that refer to no other index.
Nest make_nest(const ExprCompiler& compiler, const Statement& statement, int first_index,
               const std::vector<int>& indices) {
  Nest nest;
  for (const int i : indices) {
    const Index& index = statement.indices[static_cast<std::size_t>(i)];
    nest.loops.push_back({first_index + i,
                          compiler.integer(*index.lo, IntegerMode::Address),
                          compiler.integer(*index.hi, IntegerMode::Address),
                          {}});
  }
  for (const ExprPtr& condition : statement.conditions) {
    const std::set<int> used = indices_in(condition);
    std::size_t depth = 0;  // loops that must be open
    bool inside = true;
    for (const int i : used) {
      const auto at = std::find(indices.begin(), indices.end(), i);
      inside = inside && at != indices.end();
      depth = std::max(depth, static_cast<std::size_t>(at - indices.begin()) + 1);
    }
    if (!inside) continue;
    auto compiled = compiler.integer(*condition, IntegerMode::Address);
    auto& place = depth == 0 ? nest.conditions : nest.loops[depth - 1].conditions;
    place.push_back(std::move(compiled));
  }
  return nest;
}

/// The left-hand indices, with what their bounds depend on, in loop order: over them `!` sets
/// elements.
std::vector<int> left_indices(const Statement& statement, const std::vector<int>& order) {
  std::set<int> wanted;
  const std::function<void(int)> want = [&](int i) {
    if (!wanted.insert(i).second) return;
    for (const int d : indices_in_bounds(statement.indices[static_cast<std::size_t>(i)]))
      want(d);
  };
  for (const ExprPtr& subscript : statement.subscripts) {
    for (const int i : indices_in(subscript))
      want(i);
  }
  std::vector<int> out;
  std::copy_if(order.begin(), order.end(), std::back_inserter(out),
               [&](int i) { return wanted.count(i) > 0; });
  return out;
}

// ---- what all kinds of statements share
// -------------------------------------------------------------------------------

/// Domain and written element. R is the representation of the written tensor.
struct Target {
  Target(const Environment& environment, const Statement& statement, const ExprCompiler& compiler)
      : tensor(environment.tensors[static_cast<std::size_t>(statement.tensor)]),
        access(compiler.access(statement.tensor, statement.subscripts)),
        scatter(
            std::any_of(statement.subscripts.begin(), statement.subscripts.end(), &contains_read)) {
    const std::vector<int> order = loop_order(statement);
    domain = make_nest(compiler, statement, environment.first_index, order);
    if (statement.init && !scatter) {
      reach =
          make_nest(compiler, statement, environment.first_index, left_indices(statement, order));
    }
  }

  /// Offset of the element that the current point writes; -1: a scatter out of range, which writes
  /// nothing.
  std::int64_t offset(Vars vars) const {
    const std::int64_t at = access.offset(vars);
    if (at < 0) check(scatter, "a proven write of '" + tensor.name + "' is outside the tensor");
    return at;
  }

  /// Calls f(offset) for every element that `!` sets.
  template <class F>
  void for_each_initialised(std::int64_t* vars, F&& f) const {
    if (scatter) {
      for (std::int64_t i = 0; i < tensor.value->elements(); ++i)
        f(i);
      return;
    }
    run_nest(reach, vars, [&] { f(offset(vars)); });
  }

  const BoundTensor& tensor;
  Access access;
  bool scatter;
  Nest domain;
  Nest reach;
};

template <class R>
struct Representation;
template <>
struct Representation<double> {
  static std::vector<double>& data(Value& value) { return value.real; }
  static NodePtr<double> converted(const ExprCompiler& compiler, const Expr& value, DType to) {
    return compiler.real_as(value, to);
  }
  static double store(DType to, double value, Precision precision) {
    return real_to_real(to, value, precision);
  }
  static auto combine(ReduceOp op, DType accumulator, Precision precision) {
    return real_combine(op, accumulator, precision);
  }
  static double identity(ReduceOp op, DType) { return real_identity(op); }
};
template <>
struct Representation<std::int64_t> {
  static std::vector<std::int64_t>& data(Value& value) { return value.integer; }
  static NodePtr<std::int64_t> converted(const ExprCompiler& compiler, const Expr& value,
                                         DType to) {
    return compiler.integer_as(value, to, IntegerMode::Value);
  }
  static std::int64_t store(DType to, std::int64_t value, Precision) {
    return integer_to_integer(to, value);
  }
  static auto combine(ReduceOp op, DType accumulator, Precision) {
    return integer_combine(op, accumulator);
  }
  static std::int64_t identity(ReduceOp op, DType accumulator) {
    return integer_identity(op, accumulator);
  }
};

// ---- `=`
// --------------------------------------------------------------------------------------------------------------

/// Every point reads, then writes: a statement may read the very element that it writes.
template <class R>
class Assignment final : public StatementRunner {
public:
  Assignment(const Environment& environment, const Statement& statement,
             const ExprCompiler& compiler)
      : target_(environment, statement, compiler),
        value_(Representation<R>::converted(compiler, *statement.value, target_.tensor.type)) {}

  void run(std::int64_t* vars) override {
    auto& data = Representation<R>::data(*target_.tensor.value);
    run_nest(target_.domain, vars, [&] {
      const R value = value_->eval(vars);
      const std::int64_t at = target_.offset(vars);
      if (at >= 0) data[static_cast<std::size_t>(at)] = value;
    });
  }

private:
  Target target_;
  NodePtr<R> value_;
};

// ---- reductions that combine values
// -----------------------------------------------------------------------------------

/// Accumulates in the tensor itself: its element type is the accumulator's, so there is nothing to
/// round at the end.
template <class R>
class ReductionInPlace final : public StatementRunner {
public:
  ReductionInPlace(const Environment& environment, const Statement& statement,
                   const ExprCompiler& compiler)
      : target_(environment, statement, compiler), init_(statement.init),
        identity_(Representation<R>::identity(*statement.op, statement.accumulator)),
        combine_(Representation<R>::combine(*statement.op, statement.accumulator,
                                            environment.precision)),
        value_(Representation<R>::converted(compiler, *statement.value, statement.accumulator)) {}

  void run(std::int64_t* vars) override {
    auto& data = Representation<R>::data(*target_.tensor.value);
    if (init_) {
      target_.for_each_initialised(
          vars, [&](std::int64_t at) { data[static_cast<std::size_t>(at)] = identity_; });
    }
    run_nest(target_.domain, vars, [&] {
      const R value = value_->eval(vars);
      const std::int64_t at = target_.offset(vars);
      if (at < 0) return;
      R& element = data[static_cast<std::size_t>(at)];
      element = combine_(element, value);
    });
  }

private:
  Target target_;
  bool init_;
  R identity_;
  R (*combine_)(R, R);
  NodePtr<R> value_;
};

/// Which elements of a side accumulator the current execution of a statement has touched.
class TouchedSet {
public:
  explicit TouchedSet(std::int64_t elements) : epoch_of_(static_cast<std::size_t>(elements), 0) {}
  void clear() {
    touched_.clear();
    ++epoch_;
  }
  /// True the first time after clear().
  bool insert(std::int64_t at) {
    std::uint64_t& epoch = epoch_of_[static_cast<std::size_t>(at)];
    if (epoch == epoch_) return false;
    epoch = epoch_;
    touched_.push_back(at);
    return true;
  }
  const std::vector<std::int64_t>& offsets() const { return touched_; }

private:
  std::vector<std::uint64_t> epoch_of_;
  std::uint64_t epoch_ = 0;
  std::vector<std::int64_t> touched_;
};

/// Accumulates beside the tensor in a wider type and converts every touched element once, at the
/// end of the statement.
template <class R>
class ReductionBeside final : public StatementRunner {
public:
  ReductionBeside(const Environment& environment, const Statement& statement,
                  const ExprCompiler& compiler)
      : target_(environment, statement, compiler), init_(statement.init),
        precision_(environment.precision),
        identity_(Representation<R>::identity(*statement.op, statement.accumulator)),
        combine_(Representation<R>::combine(*statement.op, statement.accumulator,
                                            environment.precision)),
        value_(Representation<R>::converted(compiler, *statement.value, statement.accumulator)),
        side_(static_cast<std::size_t>(target_.tensor.value->elements())),
        touched_(target_.tensor.value->elements()) {}

  void run(std::int64_t* vars) override {
    auto& data = Representation<R>::data(*target_.tensor.value);
    touched_.clear();
    if (init_) {
      target_.for_each_initialised(vars, [&](std::int64_t at) {
        touched_.insert(at);
        side_[static_cast<std::size_t>(at)] = identity_;
      });
    }
    run_nest(target_.domain, vars, [&] {
      const R value = value_->eval(vars);
      const std::int64_t at = target_.offset(vars);
      if (at < 0) return;
      const auto i = static_cast<std::size_t>(at);
      if (touched_.insert(at)) side_[i] = data[i];
      side_[i] = combine_(side_[i], value);
    });
    for (const std::int64_t at : touched_.offsets()) {
      const auto i = static_cast<std::size_t>(at);
      data[i] = Representation<R>::store(target_.tensor.type, side_[i], precision_);
    }
  }

private:
  Target target_;
  bool init_;
  Precision precision_;
  R identity_;
  R (*combine_)(R, R);
  NodePtr<R> value_;
  std::vector<R> side_;
  TouchedSet touched_;
};

// ---- argmin and argmax
// ------------------------------------------------------------------------------------------------

/// Whether value `a` beats value `b`; NaN beats every number. Neither beats the other: a tie.
template <class V>
bool beats(V a, V b, bool is_max, bool is_unsigned) {
  if constexpr (std::is_same_v<V, double>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  } else {
    if (is_unsigned) {
      const auto x = static_cast<std::uint64_t>(a);
      const auto y = static_cast<std::uint64_t>(b);
      return is_max ? x > y : x < y;
    }
  }
  return is_max ? a > b : a < b;
}

/// Keeps the best value and its position per element; V is the representation of the compared
/// values. An element that reduces nothing keeps position 0 (range inference has refused such a
/// program).
template <class V>
class ArgReduction final : public StatementRunner {
public:
  ArgReduction(const Environment& environment, const Statement& statement,
               const ExprCompiler& compiler)
      : target_(environment, statement, compiler), is_max_(*statement.op == ReduceOp::ArgMax),
        is_unsigned_(statement.accumulator == DType::UInt64),
        value_(Representation<V>::converted(compiler, *statement.value, statement.accumulator)),
        position_(compiler.integer(*statement.position, IntegerMode::Address)),
        best_(static_cast<std::size_t>(target_.tensor.value->elements())),
        seen_(target_.tensor.value->elements()) {
    check(statement.init, "argmin and argmax exist only with '!'");
    check(!is_float(target_.tensor.type), "argmin and argmax store an index");
  }

  void run(std::int64_t* vars) override {
    std::vector<std::int64_t>& data = target_.tensor.value->integer;
    seen_.clear();
    target_.for_each_initialised(vars,
                                 [&](std::int64_t at) { data[static_cast<std::size_t>(at)] = 0; });
    run_nest(target_.domain, vars, [&] {
      const V value = value_->eval(vars);
      const std::int64_t at = target_.offset(vars);
      if (at < 0) return;
      const auto i = static_cast<std::size_t>(at);
      const std::int64_t position = position_->eval(vars);
      const bool tie = !beats(best_[i], value, is_max_, is_unsigned_);
      if (seen_.insert(at) || beats(value, best_[i], is_max_, is_unsigned_) ||
          (tie && position < data[i])) {
        best_[i] = value;
        data[i] = position;
      }
    });
    for (const std::int64_t at : seen_.offsets()) {
      std::int64_t& element = data[static_cast<std::size_t>(at)];
      element = integer_to_integer(target_.tensor.type, element);
    }
  }

private:
  Target target_;
  bool is_max_;
  bool is_unsigned_;
  NodePtr<V> value_;
  NodePtr<std::int64_t> position_;
  std::vector<V> best_;
  TouchedSet seen_;
};

template <class R>
std::unique_ptr<StatementRunner> make_typed(const Environment& environment,
                                            const Statement& statement,
                                            const ExprCompiler& compiler, DType type) {
  if (!statement.op) return std::make_unique<Assignment<R>>(environment, statement, compiler);
  // A Double run stores what it accumulates, so it never needs the side accumulator for floats.
  const bool same = type == statement.accumulator ||
                    (is_float(type) && environment.precision == Precision::Double);
  if (same) return std::make_unique<ReductionInPlace<R>>(environment, statement, compiler);
  return std::make_unique<ReductionBeside<R>>(environment, statement, compiler);
}

}  // namespace

std::vector<int> loop_order(const Statement& statement) {
  const int n = static_cast<int>(statement.indices.size());
  std::vector<int> order;
  std::vector<bool> placed(statement.indices.size(), false);
  while (static_cast<int>(order.size()) < n) {
    int next = -1;
    for (int i = 0; i < n && next < 0; ++i) {
      if (placed[static_cast<std::size_t>(i)]) continue;
      const auto used = indices_in_bounds(statement.indices[static_cast<std::size_t>(i)]);
      const bool ready = std::all_of(used.begin(), used.end(),
                                     [&](int d) { return placed[static_cast<std::size_t>(d)]; });
      if (ready) next = i;
    }
    check(next >= 0, "ranges of indices depend on each other in a cycle");
    placed[static_cast<std::size_t>(next)] = true;
    order.push_back(next);
  }
  return order;
}

void add_index_ranges(const Statement& statement, int first_index, SlotRanges& ranges) {
  ranges.resize(static_cast<std::size_t>(first_index) + statement.indices.size());
  for (const int i : loop_order(statement)) {
    const Index& index = statement.indices[static_cast<std::size_t>(i)];
    const auto lo = interval_of(*index.lo, ranges, first_index);
    const auto hi = interval_of(*index.hi, ranges, first_index);
    auto& range = ranges[static_cast<std::size_t>(first_index + i)];
    range = lo && hi ? std::optional(Interval{lo->min, hi->max - 1}) : std::nullopt;
  }
}

std::unique_ptr<StatementRunner> make_runner(const Environment& environment,
                                             const Statement& statement, SlotRanges ranges) {
  add_index_ranges(statement, environment.first_index, ranges);
  const ExprCompiler compiler(environment, ranges);
  const DType type = environment.tensors[static_cast<std::size_t>(statement.tensor)].type;
  if (statement.op == ReduceOp::ArgMin || statement.op == ReduceOp::ArgMax) {
    if (is_float(statement.accumulator)) {
      return std::make_unique<ArgReduction<double>>(environment, statement, compiler);
    }
    return std::make_unique<ArgReduction<std::int64_t>>(environment, statement, compiler);
  }
  return is_float(type) ? make_typed<double>(environment, statement, compiler, type)
                        : make_typed<std::int64_t>(environment, statement, compiler, type);
}

}  // namespace tc::lang::interp
