// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/left_side.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tc/lang/affine.h"
#include "tc/poly/access.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

using lang::ExprPtr;

lang::Index whole_range(const std::string& name, std::int64_t lo, std::int64_t hi) {
  lang::Index index;
  index.name = name;
  index.on_left = true;
  index.given = true;
  index.type = lo < INT32_MIN || hi > INT32_MAX ? DType::Int64 : DType::Int32;
  index.lo = lang::make_int(lo, index.type);
  index.hi = lang::make_int(hi, index.type);
  return index;
}

/// One fresh index per dimension, from `box`.
LeftSide box_side(const std::vector<Interval>& box) {
  LeftSide side;
  for (std::size_t d = 0; d < box.size(); ++d) {
    side.indices.push_back(whole_range("d" + std::to_string(d), box[d].lo, box[d].hi));
    side.subscripts.push_back(lang::make_index(static_cast<int>(d), side.indices.back().type));
  }
  return side;
}

bool is_subset(const std::vector<int>& some, const std::set<int>& all) {
  return std::all_of(some.begin(), some.end(), [&](int i) { return all.count(i) != 0; });
}

/// The box that `side` reaches if it is exactly a box; decided by isl, since a sum of two ranges is
/// one and twice a range is not.
std::optional<std::vector<Interval>> exact_box(const LeftSide& side, const LoopRanges& loops) {
  const auto ranges = index_ranges(side.indices, loops);
  std::string dims, constraints;
  std::vector<Interval> box;
  for (std::size_t d = 0; d < side.subscripts.size(); ++d) {
    const auto range = value_range(side.subscripts[d], ranges, loops);
    if (!range) return std::nullopt;
    box.push_back(*range);
    const std::string dim = "d" + std::to_string(d);
    dims += (d == 0 ? "" : ", ") + dim;
    constraints += (d == 0 ? "" : " and ") + std::to_string(range->lo) + " <= " + dim + " < " +
                   std::to_string(range->hi);
  }
  const sets::IslContext context;
  const lang::AffineScope scope(context, "S", {}, side.indices);
  const auto domain = scope.domain(side.conditions);
  const lang::AffineAccess access = scope.access("A", side.subscripts);
  if (!domain || !access.exact()) return std::nullopt;
  const isl::set whole(context.get(), "{ A[" + dims + "] : " + constraints + " }");
  return domain->apply(access.relation).is_equal(whole) ? std::optional(box) : std::nullopt;
}

/// The indices of the left side and those that bound them: a left-hand index that a reduction index
/// bounds takes every value that some reduction index gives it.
std::set<int> with_bounding_indices(const std::vector<ExprPtr>& subscripts,
                                    const std::vector<lang::Index>& indices) {
  std::set<int> kept;
  std::vector<int> open;
  const auto want = [&](const ExprPtr& expr) {
    for (const int index : indices_in(expr)) {
      if (kept.insert(index).second) open.push_back(index);
    }
  };
  for (const ExprPtr& subscript : subscripts)
    want(subscript);
  while (!open.empty()) {
    const lang::Index& index = indices.at(static_cast<std::size_t>(open.back()));
    open.pop_back();
    want(index.lo);
    want(index.hi);
  }
  return kept;
}

bool depends_on_loops(const LeftSide& side) {
  const auto any = [](const std::vector<ExprPtr>& list) {
    return std::any_of(list.begin(), list.end(), mentions_loop);
  };
  return any(side.conditions) || any(side.subscripts) ||
         std::any_of(side.indices.begin(), side.indices.end(), [](const lang::Index& i) {
           return mentions_loop(i.lo) || mentions_loop(i.hi);
         });
}

bool every_index_is_bare(const LeftSide& side) {
  std::set<int> bare;
  for (const ExprPtr& subscript : side.subscripts) {
    if (const auto found = bare_subscript(subscript)) bare.insert(found->index);
  }
  return bare.size() == side.indices.size();
}

}  // namespace

ExprPtr substitute_indices(const ExprPtr& expr, const std::vector<ExprPtr>& replacement) {
  if (!expr) return expr;
  return lang::rewrite(expr, [&](const ExprPtr& e) -> ExprPtr {
    const auto* ref = std::get_if<lang::IndexRef>(&e->node);
    if (!ref) return nullptr;
    const ExprPtr& by = replacement.at(static_cast<std::size_t>(ref->index));
    check(by != nullptr, "index without a replacement");
    return by;
  });
}

LeftSide left_side(const std::vector<lang::Index>& indices, const std::vector<ExprPtr>& conditions,
                   const std::vector<ExprPtr>& subscripts, const Tensor& tensor,
                   const LoopRanges& loops) {
  if (std::any_of(subscripts.begin(), subscripts.end(), lang::contains_read)) {
    std::vector<Interval> whole;
    for (std::size_t d = 0; d < tensor.begin.size(); ++d)
      whole.push_back({tensor.begin[d], tensor.begin[d] + tensor.extent[d]});
    return box_side(whole);
  }
  const std::set<int> kept = with_bounding_indices(subscripts, indices);
  std::vector<ExprPtr> renamed(indices.size());
  LeftSide side;
  for (const int index : kept) {
    const auto position = static_cast<std::size_t>(index);
    renamed[position] =
        lang::make_index(static_cast<int>(side.indices.size()), indices[position].type);
    side.indices.push_back(indices[position]);
  }
  for (lang::Index& index : side.indices) {
    index.lo = substitute_indices(index.lo, renamed);
    index.hi = substitute_indices(index.hi, renamed);
  }
  for (const ExprPtr& condition : conditions) {
    if (is_subset(indices_in(condition), kept))
      side.conditions.push_back(substitute_indices(condition, renamed));
  }
  for (const ExprPtr& subscript : subscripts)
    side.subscripts.push_back(substitute_indices(subscript, renamed));
  if (!every_index_is_bare(side) && !depends_on_loops(side)) {
    if (const auto box = exact_box(side, loops)) return box_side(*box);
  }
  return side;
}

}  // namespace tc::poly
