// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/specialise_boxes.h"

#include <algorithm>

#include "tc/lang/affine.h"
#include "tc/lang/ranges_solve.h"
#include "tc/sets/queries.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// isl operations for one question about one statement's domain; see ProofModel::kQuota.
constexpr std::uint64_t kQuota = 100'000;

std::vector<AffineLoop> affine_loops(const std::vector<const ForLoop*>& loops) {
  std::vector<AffineLoop> out;
  for (const ForLoop* loop : loops)
    out.push_back({loop->var, loop->lo, loop->hi});
  return out;
}

std::optional<std::int64_t> constant(const ExprPtr& expr) {
  return Form::of(expr).as_constant();
}

VariableRanges ranges_of(const Statement& statement, const std::vector<const ForLoop*>& loops) {
  VariableRanges ranges;
  for (const ForLoop* loop : loops)
    ranges.set({true, loop->var}, {Form::of(loop->lo), Form::of(loop->hi)});
  for (std::size_t k = 0; k < statement.indices.size(); ++k) {
    const Index& index = statement.indices[k];
    ranges.set({false, static_cast<int>(k)}, {Form::of(index.lo), Form::of(index.hi)});
  }
  return ranges;
}

void mark(const Statement& statement, int index, std::vector<bool>& marked) {
  if (marked[static_cast<std::size_t>(index)]) return;
  marked[static_cast<std::size_t>(index)] = true;
  const Index& variable = statement.indices[static_cast<std::size_t>(index)];
  for (const ExprPtr& end : {variable.lo, variable.hi}) {
    walk(end, [&](const Expr& node) {
      if (const auto* ref = std::get_if<IndexRef>(&node.node)) mark(statement, ref->index, marked);
    });
  }
}

/// Ranges of the loops and of some indices.
isl::set domain_of(const AffineScope& scope, const std::vector<int>& indices) {
  std::optional<isl::set> domain = scope.loop_domain();
  check(domain.has_value(), "a loop that is not affine");
  for (const int k : indices) {
    const std::optional<isl::set> range = scope.index_range(k);
    check(range.has_value(), "a range that is not affine");
    domain = domain->intersect(*range);
  }
  return *domain;
}

bool is_linear(const Form& form) {
  return form.valid() &&
         std::all_of(form.terms().begin(), form.terms().end(), [](const Form::Term& term) {
           return term.atoms.size() == 1 && term.atoms[0]->args.empty();
         });
}

}  // namespace

std::vector<bool> left_indices(const Statement& statement) {
  std::vector<bool> marked(statement.indices.size(), false);
  for (const ExprPtr& subscript : statement.subscripts) {
    walk(subscript, [&](const Expr& node) {
      if (const auto* ref = std::get_if<IndexRef>(&node.node)) mark(statement, ref->index, marked);
    });
  }
  return marked;
}

std::vector<ExprPtr> left_conditions(const Statement& statement) {
  std::vector<ExprPtr> out;
  for (const ExprPtr& condition : statement.conditions) {
    bool left = true;
    walk(condition, [&](const Expr& node) {
      const auto* ref = std::get_if<IndexRef>(&node.node);
      if (ref) left = left && statement.indices[static_cast<std::size_t>(ref->index)].on_left;
    });
    if (left) out.push_back(condition);
  }
  return out;
}

bool is_scatter(const Statement& statement) {
  return std::any_of(statement.subscripts.begin(), statement.subscripts.end(), contains_read);
}

Extents::Extents(const Statement& statement, const std::vector<const ForLoop*>& loops)
    : statement_(statement), loops_(loops) {}

Form Extents::width(int index) const {
  const Index& variable = statement_.indices[static_cast<std::size_t>(index)];
  return Form::of(variable.hi) - Form::of(variable.lo);
}

/// Constant ends: the range does not depend on anything.
bool Extents::is_plain(int index) const {
  const Index& variable = statement_.indices[static_cast<std::size_t>(index)];
  return constant(variable.lo) && constant(variable.hi);
}

bool Extents::loops_surely_run() const {
  return std::all_of(loops_.begin(), loops_.end(), [](const ForLoop* loop) {
    const auto lo = constant(loop->lo);
    const auto hi = constant(loop->hi);
    return lo && hi && *lo < *hi;
  });
}

bool Extents::depends_on(int index, int on) const {
  std::vector<bool> marked(statement_.indices.size(), false);
  mark(statement_, index, marked);
  return marked[static_cast<std::size_t>(on)];
}

/// Whether anything is left to run when the range of `index`, what depends on it, and other
/// negative ranges are ignored.
bool Extents::is_nonempty_without(int index) const {
  std::vector<int> others;
  bool plain = loops_surely_run();
  for (int k = 0; k < static_cast<int>(statement_.indices.size()); ++k) {
    if (depends_on(k, index)) continue;
    if (is_plain(k) && *width(k).as_constant() < 0) continue;
    if (is_plain(k) && *width(k).as_constant() == 0) return false;
    plain = plain && is_plain(k);
    others.push_back(k);
  }
  if (plain) return true;
  const sets::IslContext context(kQuota);
  return sets::within_quota(context, [&] {
    const AffineScope scope(context, "S", affine_loops(loops_), statement_.indices);
    return !domain_of(scope, others).is_empty();
  });
}

bool Extents::is_negative_everywhere(int index) const {
  const Form form = width(index);
  if (const auto plain = form.as_constant()) return *plain < 0;
  std::set<int> assumed;
  const VariableRanges ranges = ranges_of(statement_, loops_);
  if (is_nonnegative(extreme(form, End::Smallest, ranges, std::nullopt, assumed))) return false;
  std::vector<int> outer;
  for (int k = 0; k < static_cast<int>(statement_.indices.size()); ++k) {
    if (k != index && depends_on(index, k)) outer.push_back(k);
  }
  const sets::IslContext context(kQuota);
  return sets::within_quota(context, [&] {
    const AffineScope scope(context, "S", affine_loops(loops_), statement_.indices);
    const Index& variable = statement_.indices[static_cast<std::size_t>(index)];
    const isl::set points = domain_of(scope, outer);
    const auto proper =
        scope.where(make_expr(DType::Bool, {}, Binary{BinaryOp::Ge, variable.hi, variable.lo}));
    check(proper.has_value(), "a range that is not affine");
    return !points.is_empty() && points.intersect(*proper).is_empty();
  });
}

std::optional<int> Extents::negative_range() const {
  for (int k = 0; k < static_cast<int>(statement_.indices.size()); ++k) {
    if (is_negative_everywhere(k) && is_nonempty_without(k)) return k;
  }
  return std::nullopt;
}

std::optional<std::vector<Interval>> Extents::written() const {
  const std::vector<bool> left = left_indices(statement_);
  const std::vector<ExprPtr> conditions = left_conditions(statement_);
  bool plain = conditions.empty() && loops_surely_run();
  for (int k = 0; k < static_cast<int>(left.size()); ++k) {
    if (!left[static_cast<std::size_t>(k)]) continue;
    if (is_plain(k) && *width(k).as_constant() <= 0) return std::nullopt;
    plain = plain && is_plain(k);
  }
  std::vector<Interval> box;
  if (plain) {
    const VariableRanges ranges = ranges_of(statement_, loops_);
    std::set<int> assumed;
    for (const ExprPtr& subscript : statement_.subscripts) {
      const Form form = Form::of(subscript);
      const auto lo = extreme(form, End::Smallest, ranges, std::nullopt, assumed).as_constant();
      const auto hi = extreme(form, End::Largest, ranges, std::nullopt, assumed).as_constant();
      if (!is_linear(form) || !lo || !hi) break;
      box.push_back({*lo, *hi});
    }
    if (box.size() == statement_.subscripts.size()) return box;
    box.clear();
  }
  std::vector<int> chosen;
  for (int k = 0; k < static_cast<int>(left.size()); ++k) {
    if (left[static_cast<std::size_t>(k)]) chosen.push_back(k);
  }
  const sets::IslContext context(kQuota);
  return sets::within_quota(context, [&]() -> std::optional<std::vector<Interval>> {
    const AffineScope scope(context, "S", affine_loops(loops_), statement_.indices);
    isl::set domain = domain_of(scope, chosen);
    for (const ExprPtr& condition : conditions) {
      const std::optional<isl::set> cut = scope.where(condition);
      check(cut.has_value(), "a condition that is not affine");
      domain = domain.intersect(*cut);
    }
    if (domain.is_empty()) return std::nullopt;
    const AffineAccess access = scope.access("A", statement_.subscripts);
    check(access.exact(), "a left side that is not affine");
    const isl::set elements = access.relation.intersect_domain(domain).range();
    for (int d = 0; d < static_cast<int>(statement_.subscripts.size()); ++d) {
      box.push_back(
          {sets::clamped(elements.dim_min_val(d)), sets::clamped(elements.dim_max_val(d))});
    }
    return box;
  });
}

}  // namespace tc::lang
