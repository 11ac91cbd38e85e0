// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/poly/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "tc/poly/bounds.h"
#include "tc/support/check.h"

namespace tc::poly::testing {
namespace {

using lang::BinaryOp;
using lang::ExprPtr;

double floor_mod(double a, double b) {
  return b == 0 ? 0 : a - std::floor(a / b) * b;
}

class Machine {
public:
  Machine(const Scop& scop, Memory memory, std::int64_t tile)
      : scop_(scop), memory_(std::move(memory)), tile_(tile), loop_hulls_(loop_ranges(scop.body)) {}

  void steps(const std::vector<Step>& list) {
    for (const Step& step : list) {
      if (const auto* group = std::get_if<Group>(&step)) {
        tiles(*group, 0, {});
        continue;
      }
      const LaunchLoop& loop = *std::get<std::shared_ptr<const LaunchLoop>>(step);
      repeat(loop.var, loop.lo, loop.hi, [&] { steps(loop.body); });
    }
  }

  Memory result() { return std::move(memory_); }

private:
  using Tile = std::vector<Interval>;

  template <class F>
  void repeat(int var, const ExprPtr& lo, const ExprPtr& hi, F&& body) {
    const auto last = static_cast<std::int64_t>(value(hi));
    for (auto t = static_cast<std::int64_t>(value(lo)); t < last; ++t) {
      loops_[var] = t;
      body();
    }
    loops_.erase(var);
  }

  void tiles(const Group& group, std::size_t member, const Tile& outer) {
    if (member == group.band.size()) return items(group, group.body, outer);
    const BandMember& band = group.band[member];
    for (std::int64_t start = band.lo + (band.hi - band.lo - 1) / tile_ * tile_; start >= band.lo;
         start -= tile_) {
      Tile inner = outer;
      inner.push_back({start, std::min(start + tile_, band.hi)});
      tiles(group, member + 1, inner);
    }
  }

  void items(const Group& group, const std::vector<Item>& list, const Tile& tile) {
    for (const Item& item : list) {
      if (const auto* ordered = std::get_if<std::shared_ptr<const Ordered>>(&item)) {
        repeat((*ordered)->var, (*ordered)->lo, (*ordered)->hi,
               [&] { items(group, (*ordered)->body, tile); });
        continue;
      }
      statement(group, std::get<int>(item), tile);
    }
  }

  void statement(const Group& group, int position, const Tile& tile) {
    const int s = group.statements[static_cast<std::size_t>(position)];
    const Statement& statement = scop_.statements[static_cast<std::size_t>(s)];
    hulls_ = index_ranges(statement.indices, loop_hulls_);
    indices_.assign(statement.indices.size(), 0);
    points(statement, 0, [&] {
      for (std::size_t m = 0; m < tile.size(); ++m) {
        const Alignment& own = group.band[m].alignment[static_cast<std::size_t>(position)];
        const std::int64_t at =
            own.sign * indices_[static_cast<std::size_t>(own.index)] + own.offset;
        if (at < tile[m].lo || at >= tile[m].hi) return;
      }
      execute(statement);
    });
  }

  /// All points of the hull, the last first; those outside the domain are skipped.
  template <class F>
  void points(const Statement& statement, std::size_t index, F&& body) {
    if (index < statement.indices.size()) {
      for (std::int64_t i = hulls_[index].hi - 1; i >= hulls_[index].lo; --i) {
        indices_[index] = i;
        points(statement, index + 1, body);
      }
      return;
    }
    for (std::size_t i = 0; i < statement.indices.size(); ++i) {
      const auto at = static_cast<double>(indices_[i]);
      if (at < value(statement.indices[i].lo) || at >= value(statement.indices[i].hi)) return;
    }
    for (const ExprPtr& condition : statement.conditions) {
      if (value(condition) == 0) return;
    }
    body();
  }

  std::optional<std::size_t> offset(int tensor, const std::vector<ExprPtr>& subscripts) {
    const Tensor& t = scop_.tensors[static_cast<std::size_t>(tensor)];
    std::int64_t at = 0;
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const auto p = static_cast<std::int64_t>(value(subscripts[d])) - t.begin[d];
      if (p < 0 || p >= t.extent[d]) return std::nullopt;
      at = at * t.extent[d] + p;
    }
    return static_cast<std::size_t>(at);
  }

  double identity(const Statement& statement, std::size_t target) const {
    const double infinity = std::numeric_limits<double>::infinity();
    switch (*statement.op) {
    case lang::ReduceOp::Add: return 0;
    case lang::ReduceOp::Mul: return 1;
    case lang::ReduceOp::Min: return infinity;
    case lang::ReduceOp::Max: return -infinity;
    case lang::ReduceOp::ArgMin: return target == 1 ? -1 : infinity;
    case lang::ReduceOp::ArgMax: return target == 1 ? -1 : -infinity;
    }
    unreachable("reduction operator");
  }

  static double combine(lang::ReduceOp op, double held, double added) {
    if (op == lang::ReduceOp::Add) return held + added;
    if (op == lang::ReduceOp::Mul) return held * added;
    if (std::isnan(held) || std::isnan(added)) return std::nan("");
    return op == lang::ReduceOp::Min ? std::min(held, added) : std::max(held, added);
  }

  void execute(const Statement& statement) {
    std::vector<double> values;
    std::vector<double*> places;
    for (std::size_t t = 0; t < statement.targets.size(); ++t) {
      const Target& target = statement.targets[t];
      const auto at = offset(target.tensor, target.subscripts);
      if (!at) return check(statement.scatter, "write outside a tensor");
      places.push_back(&memory_[static_cast<std::size_t>(target.tensor)][*at]);
      values.push_back(statement.kind == StatementKind::Init ? identity(statement, t)
                                                             : value(target.value));
    }
    if (statement.kind != StatementKind::Reduce) {
      for (std::size_t t = 0; t < places.size(); ++t)
        *places[t] = values[t];
      return;
    }
    if (places.size() == 1) {
      *places[0] = combine(*statement.op, *places[0], values[0]);
      return;
    }
    const double v = values[0], w = *places[0], p = values[1], q = *places[1];
    check(p >= 0, "contribution with a negative position");
    const bool better = statement.op == lang::ReduceOp::ArgMax ? v > w : v < w;
    const bool equal = v == w || (std::isnan(v) && std::isnan(w));
    if (q < 0 || (std::isnan(v) && !std::isnan(w)) || (better && !std::isnan(w)) ||
        (equal && p < q)) {
      *places[0] = v;
      *places[1] = p;
    }
  }

  double value(const ExprPtr& expr) {
    return std::visit(
        Overloaded{
            [](const lang::IntConst& c) { return static_cast<double>(c.value); },
            [](const lang::FloatConst& c) { return c.value; },
            [&](const lang::IndexRef& r) {
              return static_cast<double>(indices_.at(static_cast<std::size_t>(r.index)));
            },
            [&](const lang::ForRef& r) { return static_cast<double>(loops_.at(r.var)); },
            [&](const lang::Read& r) { return read(r); },
            [&](const lang::Unary& u) {
              const double x = value(u.operand);
              return u.op == lang::UnaryOp::Negate ? -x : static_cast<double>(x == 0);
            },
            [&](const lang::Binary& b) { return binary(b); },
            [&](const lang::Select& s) {
              return value(value(s.condition) != 0 ? s.if_true : s.if_false);
            },
            [&](const lang::Cast& c) {
              return is_integer(c.to) ? std::trunc(value(c.operand)) : value(c.operand);
            },
            [&](const lang::Builtin& b) { return builtin(b); },
            [](const auto&) -> double { unreachable("expression of a specialised def"); },
        },
        expr->node);
  }

  double read(const lang::Read& r) {
    const auto at = offset(r.tensor, r.subscripts);
    if (at) return memory_[static_cast<std::size_t>(r.tensor)][*at];
    return r.pad ? value(r.pad) : std::nan("");
  }

  double binary(const lang::Binary& b) {
    const double x = value(b.left);
    if (b.op == BinaryOp::And) return x != 0 && value(b.right) != 0;
    if (b.op == BinaryOp::Or) return x != 0 || value(b.right) != 0;
    const double y = value(b.right);
    const bool integral = !is_float(b.left->type);
    switch (b.op) {
    case BinaryOp::Add: return x + y;
    case BinaryOp::Sub: return x - y;
    case BinaryOp::Mul: return x * y;
    case BinaryOp::Div: return integral ? (y == 0 ? 0 : std::floor(x / y)) : x / y;
    case BinaryOp::Mod: return floor_mod(x, y);
    case BinaryOp::Min: return combine(lang::ReduceOp::Min, x, y);
    case BinaryOp::Max: return combine(lang::ReduceOp::Max, x, y);
    case BinaryOp::Lt: return x < y;
    case BinaryOp::Le: return x <= y;
    case BinaryOp::Gt: return x > y;
    case BinaryOp::Ge: return x >= y;
    case BinaryOp::Eq: return x == y;
    case BinaryOp::Ne: return x != y;
    case BinaryOp::And:
    case BinaryOp::Or: break;
    }
    unreachable("binary operator");
  }

  double builtin(const lang::Builtin& b) {
    const double x = value(b.args.at(0));
    if (b.name == "exp") return std::exp(x);
    if (b.name == "log") return std::log(x);
    if (b.name == "tanh") return std::tanh(x);
    if (b.name == "sqrt") return std::sqrt(x);
    if (b.name == "fmax") return std::fmax(x, value(b.args.at(1)));
    unreachable("builtin that the tests do not use");
  }

  const Scop& scop_;
  Memory memory_;
  std::int64_t tile_;
  LoopRanges loop_hulls_;
  std::map<int, std::int64_t> loops_;
  std::vector<Interval> hulls_;
  std::vector<std::int64_t> indices_;
};

}  // namespace

std::int64_t elements(const Tensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.extent)
    count *= extent;
  return count;
}

Memory run(const Scop& scop, const Schedule& schedule, Memory memory, std::int64_t tile) {
  Machine machine(scop, std::move(memory), tile);
  machine.steps(schedule.steps);
  return machine.result();
}

}  // namespace tc::poly::testing
