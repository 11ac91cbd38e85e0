// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/group.h"

#include <algorithm>
#include <set>

#include "tc/support/check.h"

namespace tc::poly {
namespace {

std::size_t leading_statement(const Group& group,
                              const std::vector<std::vector<Interval>>& ranges) {
  std::size_t lead = 0;
  double most = -1;
  for (std::size_t i = 0; i < group.statements.size(); ++i) {
    double instances = 1;
    for (const Interval& range : ranges[static_cast<std::size_t>(group.statements[i])])
      instances *= static_cast<double>(range.extent());
    if (instances < most) continue;
    most = instances;
    lead = i;
  }
  return lead;
}

/// Place of an index on the left side; behind it for an index that does not occur there.
std::size_t left_place(const Statement& statement, int index) {
  const std::vector<lang::ExprPtr>& subscripts = statement.targets.front().subscripts;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const std::vector<int> used = indices_in(subscripts[d]);
    if (std::find(used.begin(), used.end(), index) != used.end()) return d;
  }
  return subscripts.size();
}

void set_hull(const Group& group, BandMember& member,
              const std::vector<std::vector<Interval>>& ranges) {
  bool any = false;
  member.lo = member.hi = 0;
  for (std::size_t i = 0; i < group.statements.size(); ++i) {
    const Alignment& own = member.alignment[i];
    const Interval& range =
        ranges[static_cast<std::size_t>(group.statements[i])][static_cast<std::size_t>(own.index)];
    if (range.extent() == 0) continue;
    const std::int64_t first = own.sign * range.lo + own.offset,
                       last = own.sign * (range.hi - 1) + own.offset;
    const std::int64_t lo = std::min(first, last), hi = std::max(first, last) + 1;
    member.lo = any ? std::min(member.lo, lo) : lo;
    member.hi = any ? std::max(member.hi, hi) : hi;
    any = true;
  }
}

}  // namespace

std::vector<std::vector<Interval>> all_index_ranges(const Scop& scop) {
  const LoopRanges loops = loop_ranges(scop.body);
  std::vector<std::vector<Interval>> result;
  for (const Statement& statement : scop.statements)
    result.push_back(index_ranges(statement.indices, loops));
  return result;
}

Group normalised(const Scop& scop, Group group, const std::vector<std::vector<Interval>>& ranges,
                 MemberOrder order) {
  check(!group.statements.empty(), "group without statements");
  const std::size_t lead = leading_statement(group, ranges);
  const Statement& leader = scop.statements[static_cast<std::size_t>(group.statements[lead])];
  std::set<std::string> used;
  for (BandMember& member : group.band) {
    const Alignment base = member.alignment[lead];
    for (Alignment& own : member.alignment) {
      own.offset = base.sign * (own.offset - base.offset);
      own.sign *= base.sign;
    }
    const std::string& name = leader.indices[static_cast<std::size_t>(base.index)].name;
    member.name = name;
    for (int i = 2; !used.insert(member.name).second; ++i)
      member.name = name + "_" + std::to_string(i);
    set_hull(group, member, ranges);
  }
  if (order == MemberOrder::LeftSide) {
    std::stable_sort(group.band.begin(), group.band.end(),
                     [&](const BandMember& a, const BandMember& b) {
                       return left_place(leader, a.alignment[lead].index) <
                              left_place(leader, b.alignment[lead].index);
                     });
  }
  return group;
}

}  // namespace tc::poly
