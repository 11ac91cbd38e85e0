// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/work.h"

#include <algorithm>
#include <limits>
#include <map>

#include "tc/kernel/mma.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::kernel {

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
/// Alternatives of nested minima that are tried for one bound.
constexpr int kAlternatives = 64;
/// Names are replaced by their values up to this many nodes.
constexpr int kSubstituted = 64;

int size_of(const ExprPtr& expr) {
  int nodes = 0;
  walk(expr, [&](const Expr&) { ++nodes; });
  return nodes;
}

class Estimate {
public:
  Estimate(const Kernel& kernel, const std::vector<Interval>& int_params) : kernel_(kernel) {
    check(int_params.size() == kernel.int_params.size(), "each parameter has an interval");
    for (std::size_t i = 0; i < int_params.size(); ++i)
      facts_.set_range(kernel.int_params[i], int_params[i]);
  }

  Work run() {
    std::int64_t copies = 1;
    for (const auto* dims : {&kernel_.grid, &kernel_.threads}) {
      for (const auto& dim : *dims) {
        copies = saturating_mul(copies, std::max<std::int64_t>(dim.extent, 0));
        facts_.set_range(dim.var, {0, std::max<std::int64_t>(dim.extent - 1, 0)});
      }
    }
    Work work;
    if (copies > 0) work.thread = count(kernel_.body);
    work.total = saturating_mul(work.thread, copies);
    return work;
  }

private:
  std::int64_t count(const StmtPtr& stmt) {
    if (!stmt) return 0;
    return std::visit(
        Overloaded{
            [&](const Block& n) {
              std::int64_t sum = 0;
              for (const auto& child : n.stmts)
                sum = saturating_add(sum, count(child));
              return sum;
            },
            [&](const For& n) { return loop(n); },
            [&](const If& n) { return std::max(count(n.then_body), count(n.else_body)); },
            [&](const Let& n) { return let(n); },
            [](const Declare& n) { return std::int64_t{n.init ? n.count : 0}; },
            [](const Assign& n) { return std::int64_t{n.value->type.lanes}; },
            [](const Store& n) { return std::int64_t{n.value->type.lanes}; },
            [](const Atomic& n) { return std::int64_t{n.value->type.lanes}; },
            [](const Mma& n) { return n.blocks * kMmaRows * n.width * n.depth / kMmaThreads; },
            [](const Copy& n) { return n.count; },
            [](const Alloc&) { return std::int64_t{0}; },
            [](const Comment&) { return std::int64_t{0}; },
            [](const auto&) { return std::int64_t{1}; },
        },
        stmt->node);
  }

  std::int64_t let(const Let& n) {
    if (n.value->type == Type{}) {
      const ExprPtr value = substitute(n.value, values_);
      facts_.set_range(n.var, facts_.range(n.value));
      if (size_of(value) <= kSubstituted) values_.emplace_back(n.var.id, value);
    }
    return n.value->type.lanes;
  }

  std::int64_t loop(const For& n) {
    const ExprPtr lo = substitute(n.lo, values_);
    const ExprPtr hi = substitute(n.hi, values_);
    std::int64_t most = kMost;
    if (lo->type == Type{} && hi->type == Type{}) {
      Affine extent = affine(hi);
      extent.add(affine(lo), -1);
      int alternatives = kAlternatives;
      most = upper(extent, alternatives);
    }
    const Interval from = facts_.range(lo);
    const Interval to = facts_.range(hi);
    std::int64_t plain = 0;
    if (from.lo == std::numeric_limits<std::int64_t>::min() || !checked_add(to.hi, -from.lo, plain))
      plain = kMost;
    most = std::min(most, plain);
    if (most <= 0) return 0;
    facts_.set_range(n.var, {from.lo, std::max(from.lo, to.hi - (to.hi > from.lo ? 1 : 0))});
    const std::int64_t rounds = (most - 1) / n.step + 1;
    return saturating_mul(rounds, count(n.body));
  }

  /// Largest value that a sum can have. A minimum is at most each of its operands, so the operands
  /// stand in for it, one after the other: terms that they share with the rest cancel.
  std::int64_t upper(const Affine& form, int& alternatives) const {
    for (std::size_t i = 0; i < form.terms.size() && alternatives > 0; ++i) {
      const auto& [atom, coefficient] = form.terms[i];
      const auto* node = std::get_if<Binary>(&atom->node);
      if (!node) continue;
      const BinaryOp helpful = coefficient > 0 ? BinaryOp::Min : BinaryOp::Max;
      Affine rest = form;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
      if (node->op == helpful) {
        --alternatives;
        Affine left = rest;
        left.add(affine(node->left), coefficient);
        Affine right = rest;
        right.add(affine(node->right), coefficient);
        const std::int64_t first = upper(left, alternatives);
        return std::min(first, upper(right, alternatives));
      }
      if (node->op == BinaryOp::FloorDiv && coefficient > 0) {
        const auto* divisor = std::get_if<IntImm>(&node->right->node);
        if (!divisor || divisor->value <= 0) continue;
        --alternatives;
        const std::int64_t quotient =
            floor_div(upper(affine(node->left), alternatives), divisor->value);
        const std::int64_t most = std::min(quotient, facts_.range(atom).hi);
        std::int64_t product = 0;
        std::int64_t constant = 0;
        if (!checked_mul(most, coefficient, product) ||
            !checked_add(rest.constant, product, constant))
          return kMost;
        rest.constant = constant;
        return upper(rest, alternatives);
      }
    }
    const auto range = facts_.exact_range(form);
    return range ? range->hi : kMost;
  }

  const Kernel& kernel_;
  Facts facts_;
  std::vector<std::pair<int, ExprPtr>> values_;  ///< of names that stand for integers
};

}  // namespace

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return checked_add(a, b, sum) ? sum : kMost;
}

std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return checked_mul(a, b, product) ? product : kMost;
}

Work estimate_work(const Kernel& kernel, const std::vector<Interval>& int_params) {
  return Estimate(kernel, int_params).run();
}

}  // namespace tc::kernel
