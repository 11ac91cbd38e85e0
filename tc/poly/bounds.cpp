// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/bounds.h"

#include <algorithm>
#include <set>

#include "tc/support/check.h"

namespace tc::poly {
namespace {

using lang::BinaryOp;
using lang::ExprPtr;

// Closed intervals inside, wide enough that no product of two 64-bit ends overflows.
__extension__ typedef __int128 Wide;
struct Closed {
  Wide lo, hi;
};

Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

struct Evaluator {
  const std::vector<std::optional<Closed>>& indices;
  const LoopRanges& loops;

  std::optional<Closed> operator()(const ExprPtr& expr) const {
    return std::visit(
        Overloaded{
            [](const lang::IntConst& c) { return std::optional<Closed>{{c.value, c.value}}; },
            [&](const lang::IndexRef& r) { return indices.at(static_cast<std::size_t>(r.index)); },
            [&](const lang::ForRef& r) {
              const auto found = loops.find(r.var);
              check(found != loops.end(), "for variable without a loop");
              const Interval& range = found->second;
              return std::optional<Closed>{{range.lo, std::max(range.lo, range.hi - 1)}};
            },
            [&](const lang::Unary& u) { return unary(u); },
            [&](const lang::Binary& b) { return binary(b); },
            [&](const lang::Cast& c) {
              return is_integer(c.to) && bits(c.to) >= 32 ? (*this)(c.operand) : std::nullopt;
            },
            [&](const lang::Select& s) {
              const auto a = (*this)(s.if_true), b = (*this)(s.if_false);
              if (!a || !b) return std::optional<Closed>{};
              return std::optional<Closed>{{std::min(a->lo, b->lo), std::max(a->hi, b->hi)}};
            },
            [](const auto&) { return std::optional<Closed>{}; },
        },
        expr->node);
  }

  std::optional<Closed> unary(const lang::Unary& u) const {
    if (u.op != lang::UnaryOp::Negate) return std::nullopt;
    const auto a = (*this)(u.operand);
    if (!a) return std::nullopt;
    return Closed{-a->hi, -a->lo};
  }

  std::optional<Closed> binary(const lang::Binary& e) const {
    const auto a = (*this)(e.left), b = (*this)(e.right);
    if (!a || !b) return std::nullopt;
    switch (e.op) {
    case BinaryOp::Add: return Closed{a->lo + b->lo, a->hi + b->hi};
    case BinaryOp::Sub: return Closed{a->lo - b->hi, a->hi - b->lo};
    case BinaryOp::Mul: {
      const auto [lo, hi] =
          std::minmax({a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi});
      return Closed{lo, hi};
    }
    case BinaryOp::Div: {
      if (b->lo <= 0 && b->hi >= 0) return std::nullopt;
      const auto [lo, hi] = std::minmax({floor_div(a->lo, b->lo), floor_div(a->lo, b->hi),
                                         floor_div(a->hi, b->lo), floor_div(a->hi, b->hi)});
      return Closed{lo, hi};
    }
    case BinaryOp::Mod: {
      if (b->lo <= 0) return std::nullopt;
      if (b->lo == b->hi && floor_div(a->lo, b->lo) == floor_div(a->hi, b->lo)) {
        const Wide base = floor_div(a->lo, b->lo) * b->lo;
        return Closed{a->lo - base, a->hi - base};
      }
      return Closed{0, b->hi - 1};
    }
    case BinaryOp::Min: return Closed{std::min(a->lo, b->lo), std::min(a->hi, b->hi)};
    case BinaryOp::Max: return Closed{std::max(a->lo, b->lo), std::max(a->hi, b->hi)};
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::And:
    case BinaryOp::Or: return std::nullopt;
    }
    unreachable("binary operator");
  }
};

bool fits(const Closed& c) {
  return c.lo >= INT64_MIN && c.hi < INT64_MAX;
}

Interval half_open(const Closed& first, const Closed& end) {
  check(fits(first) && fits(end), "range beyond 64 bits");
  const auto lo = static_cast<std::int64_t>(first.lo);
  return {lo, std::max(lo, static_cast<std::int64_t>(end.hi))};
}

}  // namespace

std::vector<int> indices_in(const ExprPtr& expr) {
  std::set<int> found;
  if (expr) {
    lang::walk(expr, [&](const lang::Expr& e) {
      if (const auto* ref = std::get_if<lang::IndexRef>(&e.node)) found.insert(ref->index);
    });
  }
  return {found.begin(), found.end()};
}

bool mentions_loop(const ExprPtr& expr) {
  bool found = false;
  lang::walk(expr,
             [&](const lang::Expr& e) { found |= std::holds_alternative<lang::ForRef>(e.node); });
  return found;
}

std::vector<Interval> index_ranges(const std::vector<lang::Index>& indices,
                                   const LoopRanges& loops) {
  std::vector<std::optional<Closed>> known(indices.size());
  std::vector<std::optional<Interval>> ranges(indices.size());
  const Evaluator evaluate{known, loops};
  // Bounds form no cycle, so each round settles at least one index.
  for (std::size_t settled = 0; settled < indices.size();) {
    const std::size_t before = settled;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (ranges[i]) continue;
      const auto lo = evaluate(indices[i].lo), hi = evaluate(indices[i].hi);
      if (!lo || !hi) continue;
      ranges[i] = half_open(*lo, *hi);
      known[i] = Closed{ranges[i]->lo, std::max(ranges[i]->lo, ranges[i]->hi - 1)};
      ++settled;
    }
    check(settled > before, "index bounds that interval arithmetic cannot settle");
  }
  std::vector<Interval> result;
  for (const auto& range : ranges)
    result.push_back(*range);
  return result;
}

std::optional<Interval> value_range(const ExprPtr& expr, const std::vector<Interval>& indices,
                                    const LoopRanges& loops) {
  std::vector<std::optional<Closed>> known;
  for (const Interval& range : indices)
    known.push_back(Closed{range.lo, std::max(range.lo, range.hi - 1)});
  const auto value = Evaluator{known, loops}(expr);
  if (!value || !fits(*value)) return std::nullopt;
  return Interval{static_cast<std::int64_t>(value->lo), static_cast<std::int64_t>(value->hi) + 1};
}

namespace {

void collect_loops(const std::vector<Node>& body, LoopRanges& ranges) {
  for (const Node& node : body) {
    const auto* loop = std::get_if<std::shared_ptr<const For>>(&node);
    if (!loop) continue;
    const auto lo = value_range((*loop)->lo, {}, ranges), hi = value_range((*loop)->hi, {}, ranges);
    check(lo && hi, "bounds of a for that interval arithmetic cannot settle");
    // hi is half-open twice: the last value of the bound, then the last value below it.
    ranges[(*loop)->var] = Interval{lo->lo, std::max(lo->lo, hi->hi - 1)};
    collect_loops((*loop)->body, ranges);
  }
}

}  // namespace

LoopRanges loop_ranges(const std::vector<Node>& body) {
  LoopRanges ranges;
  collect_loops(body, ranges);
  return ranges;
}

}  // namespace tc::poly
