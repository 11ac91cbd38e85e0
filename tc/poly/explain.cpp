// SPDX-License-Identifier: Apache-2.0
//
// Why statements share a kernel or do not, in words.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tc/poly/cluster.h"

namespace tc::poly {

std::string Clustering::names(const Cluster& cluster) const {
  std::vector<std::string> list;
  for (const int statement : cluster.statements)
    list.push_back(scop_.statements[static_cast<std::size_t>(statement)].name);
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string Clustering::member_names(const Cluster& cluster) const {
  if (cluster.members.empty()) return "nothing in parallel";
  const auto& first = scop_.statements[static_cast<std::size_t>(cluster.statements.front())];
  std::vector<std::string> list;
  for (const Member& member : cluster.members)
    list.push_back(first.indices[static_cast<std::size_t>(member.alignment.front().index)].name);
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string Clustering::together(const Cluster& cluster, std::size_t depth) const {
  double alone = 0;
  for (const int statement : cluster.statements)
    alone += model_.cost(single(statement, depth), depth);
  return fmt::format("{}: one kernel over {}; cost {:.3g}, statement by statement {:.3g}",
                     names(cluster), member_names(cluster), model_.cost(cluster, depth), alone);
}

std::string Clustering::apart(const std::vector<Cluster>& clusters, std::size_t a, std::size_t b,
                              std::size_t depth) const {
  const Cluster &x = clusters[a], &y = clusters[b];
  const auto shares_reads = [&] {
    return std::any_of(x.statements.begin(), x.statements.end(), [&](int s) {
      return std::any_of(y.statements.begin(), y.statements.end(),
                         [&](int t) { return !conflicts_.shared_reads(s, t).empty(); });
    });
  };
  const bool flows = leads_to(x, y, depth) || leads_to(y, x, depth);
  if (!flows && !shares_reads()) return {};
  const std::string who = fmt::format("{} | {}: apart", names(x), names(y));
  if (x.is_launch_loop() || y.is_launch_loop())
    return who + ", a loop around launches is never fused with what is beside it";
  if (strategy_ == Fusion::Min) return who + ", as fusion 'min' asks";
  const Reason reason = flows ? Reason::Flow : Reason::Reuse;
  const Cluster both = merged(x, y, matches(x, y, reason, depth));
  if (leads_around(clusters, a, b, depth) || leads_around(clusters, b, a, depth))
    return who + ", a kernel between them needs the first and is needed by the second";
  if (!keeps_parts(both))
    return who + ", the parts of a split reduction would no longer run in parallel";
  if (strategy_ == Fusion::Preserve3Coincident)
    return flows ? who + ", fusion 'preserve3' keeps the three outermost parallel indices of each"
                 : who + ", fusion 'preserve3' does not fuse what only reads the same";
  if (!flows)
    return who + fmt::format(", they read the same but share only {}", member_names(both));
  return who + fmt::format(", one kernel would run over {} and cost {:.3g}; apart they run over {} "
                           "and {} and cost {:.3g}",
                           member_names(both), model_.cost(both, depth), member_names(x),
                           member_names(y), model_.cost(x, depth) + model_.cost(y, depth));
}

std::vector<std::string> Clustering::explain(const std::vector<Cluster>& clusters,
                                             std::size_t depth) const {
  std::vector<std::string> notes;
  for (std::size_t b = 0; b < clusters.size(); ++b) {
    const Cluster& cluster = clusters[b];
    if (cluster.is_launch_loop()) {
      notes.push_back(fmt::format("{}: a loop around launches", names(cluster)));
      for (std::string& note : explain(cluster.inner, depth + 1))
        notes.push_back("  " + std::move(note));
    } else if (cluster.statements.size() > 1) {
      notes.push_back(together(cluster, depth));
    } else {
      notes.push_back(
          fmt::format("{}: a kernel of its own over {}", names(cluster), member_names(cluster)));
    }
    for (std::size_t a = 0; a < b; ++a)
      if (std::string note = apart(clusters, a, b, depth); !note.empty())
        notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace tc::poly
