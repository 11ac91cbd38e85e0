// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/lang/prove_model.h"
#include "tc/lang/ranges_interval.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

bool is_read(const Access& access) {
  return access.kind == Access::Kind::Read;
}

/// The caller's contents show through: an output onto which a scatter accumulates.
bool keeps_initial(const ProofModel& model, TensorId id) {
  if (!model.tensor(id).needs_initial) return false;
  return std::any_of(model.items().begin(), model.items().end(), [&](const ProofItem& item) {
    return item.statement->tensor == id && item.scatter;
  });
}

/// Intervals of a specialised statement's variables; empty where a range does not have constant
/// ends.
Intervals intervals_of(const ProofItem& item) {
  Intervals out;
  std::set<int> assumed;
  for (const auto& [variable, range] : item.ranges.all()) {
    const auto lo =
        extreme(range.lo, End::Smallest, item.ranges, std::nullopt, assumed).as_constant();
    const auto hi =
        extreme(range.hi, End::Largest, item.ranges, std::nullopt, assumed).as_constant();
    if (lo && hi) out[variable] = {*lo, *hi - 1};
  }
  return out;
}

/// A subscript that is not affine, such as i*j, may still be inside by plain interval arithmetic.
bool inside_by_intervals(const ProofModel& model, int s, const Access& access, std::size_t dim) {
  const Tensor& tensor = model.tensor(access.tensor);
  const auto begin = evaluate(tensor.begin[dim], IntEnv{});
  const auto extent = evaluate(tensor.extent[dim], IntEnv{});
  const auto values = interval(model.def(), access.subscripts[dim], intervals_of(model.item(s)));
  return begin && extent && values && values->lo >= *begin && values->hi < *begin + *extent;
}

void prove_dimension(ProofModel& model, int s, int a, std::size_t dim, Findings& findings) {
  const Access& access = model.item(s).accesses.list[static_cast<std::size_t>(a)];
  if (model.surely_inside(s, access, dim)) return;
  const FindingKind kind = is_read(access) ? FindingKind::ReadOutside : FindingKind::WriteOutside;
  const Finding finding{kind, s, a, static_cast<int>(dim), access.tensor};
  const AffineScope& scope = model.scope(s);
  const Tensor& tensor = model.tensor(access.tensor);
  const std::optional<isl::pw_aff> position = scope.value(access.subscripts[dim]);
  if (!position) {
    if (inside_by_intervals(model, s, access, dim)) return;
    return findings.undecided({FindingKind::NotAffine, s, a, static_cast<int>(dim), access.tensor});
  }
  const std::optional<isl::pw_aff> begin = scope.value(tensor.begin[dim]);
  const std::optional<isl::pw_aff> extent = scope.value(tensor.extent[dim]);
  const std::optional<isl::set> points =
      begin && extent ? model.instances(s, access) : std::nullopt;
  if (!points) return findings.undecided(finding);
  const isl::set outside = position->lt_set(*begin).unite(position->ge_set(begin->add(*extent)));
  findings.violations(finding, points->intersect(outside));
}

}  // namespace

void prove_inside(ProofModel& model, int s, Findings& findings) {
  const ProofItem& item = model.item(s);
  for (std::size_t a = 0; a < item.accesses.list.size(); ++a) {
    const Access& access = item.accesses.list[a];
    if (access.kind == Access::Kind::Exists || access.padded) continue;
    // The box of a tensor that is not a parameter is the hull of what is written, but scatters do
    // not count.
    if (!is_read(access) && !model.tensor(access.tensor).is_param && !item.scatter) continue;
    if (is_read(access) && item.never_runs) continue;
    for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
      if (!contains_read(access.subscripts[d]))
        prove_dimension(model, s, static_cast<int>(a), d, findings);
    }
  }
}

void prove_reads_written(ProofModel& model, int s, Findings& findings) {
  const ProofItem& item = model.item(s);
  if (item.never_runs) return;
  for (std::size_t a = 0; a < item.accesses.list.size(); ++a) {
    const Access& access = item.accesses.list[a];
    if (!is_read(access) || model.tensor(access.tensor).is_param ||
        keeps_initial(model, access.tensor))
      continue;
    if (model.surely_written(s, access)) continue;
    const Finding finding{FindingKind::ReadUnwritten, s, static_cast<int>(a), -1, access.tensor};
    const std::optional<isl::map> touched = model.elements(s, access);
    const std::optional<isl::map> before =
        touched ? model.written_before(s, access.tensor) : std::nullopt;
    if (!before) {
      findings.undecided(finding);
      continue;
    }
    const isl::map covered = sets::extend_domain(
        *before, static_cast<unsigned>(item.statement->indices.size()), model.statement_tuple(s));
    findings.violations(finding, touched->subtract(covered));
  }
}

namespace {

bool has_index(const Form& form) {
  const std::set<Variable> mentioned = variables(form);
  return std::any_of(mentioned.begin(), mentioned.end(), [](Variable v) { return !v.is_for; });
}

/// The two subscripts never meet in one iteration of the loops.
bool never_meet(const ProofItem& item, const ExprPtr& read, const ExprPtr& write) {
  const Form r = Form::of(read);
  const Form w = Form::of(write);
  if (!r.valid() || !w.valid()) return false;
  std::set<int> assumed;
  auto apart = [&](const Form& low_gap, const Form& high_gap) {
    return is_nonnegative(low_gap - Form(1)) || is_nonnegative(high_gap - Form(1));
  };
  if (!has_index(r) && !has_index(w)) {
    // The same for all points: only the loops and sizes matter.
    return apart(extreme(r - w, End::Smallest, item.ranges, std::nullopt, assumed),
                 extreme(w - r, End::Smallest, item.ranges, std::nullopt, assumed)) &&
           assumed.empty();
  }
  auto end = [&](const Form& form, End which) {
    return extreme(form, which, item.ranges, std::nullopt, assumed);
  };
  return apart(end(r, End::Smallest) - end(w, End::Largest),
               end(w, End::Smallest) - end(r, End::Largest)) &&
         assumed.empty();
}

bool same_element(const Access& read, const Access& write) {
  for (std::size_t d = 0; d < read.subscripts.size(); ++d) {
    const Form r = Form::of(read.subscripts[d]);
    if (!r.valid() || !(r == Form::of(write.subscripts[d]))) return false;
  }
  return true;
}

void prove_self_read(ProofModel& model, int s, int a, Findings& findings) {
  const ProofItem& item = model.item(s);
  const Access& read = item.accesses.list[static_cast<std::size_t>(a)];
  const Access& write = item.accesses.list.front();
  const bool reduces = item.statement->op.has_value();
  if (!reduces && same_element(read, write)) return;
  for (std::size_t d = 0; d < read.subscripts.size(); ++d) {
    if (never_meet(item, read.subscripts[d], write.subscripts[d])) return;
  }
  const Finding finding{reduces ? FindingKind::ReadsReduced : FindingKind::ReadsOtherPoint, s, a,
                        -1, read.tensor};
  const std::optional<isl::map> touched = model.elements(s, read);
  if (!touched) return findings.undecided(finding);
  if (reduces) {
    const std::optional<isl::map> written = model.written(s);
    if (!written) return findings.undecided(finding);
    return findings.violations(finding,
                               touched->intersect(sets::extend_domain(
                                   *written, static_cast<unsigned>(item.statement->indices.size()),
                                   model.statement_tuple(s))));
  }
  const std::optional<isl::map> writes = model.elements(s, write);
  if (!writes) return findings.undecided(finding);
  const isl::space space = model.scope(s).space();
  const auto dims = static_cast<unsigned>(model.scope(s).dims());
  const isl::map earlier = sets::lexicographic_order(space, space, dims, /*or_equal=*/false);
  const isl::map other =
      earlier.unite(earlier.reverse())
          .intersect(sets::equal_prefix(space, space, static_cast<unsigned>(item.loops.size())));
  // The very element that a point writes is fine.
  const isl::map foreign = touched->subtract(*writes);
  findings.violations(finding, foreign.apply_range(writes->reverse()).intersect(other));
}

}  // namespace

void prove_self_reads(ProofModel& model, int s, Findings& findings) {
  const ProofItem& item = model.item(s);
  if (item.never_runs) return;
  for (std::size_t a = 0; a < item.accesses.list.size(); ++a) {
    const Access& access = item.accesses.list[a];
    if (!is_read(access) || access.tensor != item.statement->tensor) continue;
    // resolve() has rejected a scatter into a tensor that the statement reads.
    check(!item.scatter, "a scatter that reads its target");
    prove_self_read(model, s, static_cast<int>(a), findings);
  }
}

}  // namespace tc::lang
