// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/cluster.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tc/support/check.h"

namespace tc::poly {

int first_statement(const ClusterItem& item) {
  if (const auto* statement = std::get_if<int>(&item)) return *statement;
  return first_statement(std::get<std::shared_ptr<const OrderedItems>>(item)->body.front());
}

Cluster merged(const Cluster& a, const Cluster& b, const std::vector<Match>& matches) {
  Cluster result;
  std::vector<std::pair<int, std::pair<bool, std::size_t>>>
      order;  // statement, (in b, position there)
  for (std::size_t i = 0; i < a.statements.size(); ++i)
    order.push_back({a.statements[i], {false, i}});
  for (std::size_t i = 0; i < b.statements.size(); ++i)
    order.push_back({b.statements[i], {true, i}});
  std::sort(order.begin(), order.end());
  for (const auto& [statement, place] : order)
    result.statements.push_back(statement);
  for (const Match& match : matches) {
    Member member;
    for (const auto& [statement, place] : order) {
      if (!place.first) {
        member.alignment.push_back(a.members[match.a].alignment[place.second]);
        continue;
      }
      Alignment own = b.members[match.b].alignment[place.second];
      own.offset = match.sign * own.offset + match.offset;
      own.sign *= match.sign;
      member.alignment.push_back(own);
    }
    result.members.push_back(std::move(member));
  }
  result.items = a.items;
  result.items.insert(result.items.end(), b.items.begin(), b.items.end());
  std::sort(result.items.begin(), result.items.end(),
            [](const ClusterItem& x, const ClusterItem& y) {
              return first_statement(x) < first_statement(y);
            });
  return result;
}

Clustering::Clustering(const Scop& scop, const Conflicts& conflicts, const FusionModel& model,
                       Fusion strategy)
    : scop_(scop), conflicts_(conflicts), model_(model), strategy_(strategy) {
  for (std::size_t s = 0; s < scop.statements.size(); ++s) {
    std::vector<int> outer = own_members(static_cast<int>(s), scop.statements[s].loops.size());
    if (outer.size() > 3) outer.resize(3);
    outer_members_.push_back(std::move(outer));
  }
}

std::vector<int> Clustering::own_members(int statement, std::size_t depth) const {
  std::vector<int> result;
  for (const Target& target : scop_.statements[static_cast<std::size_t>(statement)].targets) {
    for (const lang::ExprPtr& subscript : target.subscripts) {
      for (const int index : indices_in(subscript)) {
        const Alignment itself{index, 1, 0};
        if (std::find(result.begin(), result.end(), index) == result.end() &&
            conflicts_.zero_distance(statement, itself, statement, itself, depth))
          result.push_back(index);
      }
    }
  }
  return result;
}

Cluster Clustering::single(int statement, std::size_t depth) const {
  Cluster cluster;
  cluster.statements = {statement};
  for (const int index : own_members(statement, depth))
    cluster.members.push_back({{Alignment{index, 1, 0}}});
  cluster.items = {statement};
  return cluster;
}

// ---- which members of two clusters are one ----

std::vector<Match> Clustering::matches(const Cluster& a, const Cluster& b, Reason reason,
                                       std::size_t depth) const {
  struct Candidate {
    Match match;
    int votes;
  };
  std::vector<Candidate> candidates;
  const auto propose = [&](const Match& match) {
    for (Candidate& known : candidates) {
      const Match& m = known.match;
      if (m.a == match.a && m.b == match.b && m.sign == match.sign && m.offset == match.offset) {
        ++known.votes;
        return;
      }
    }
    candidates.push_back({match, 1});
  };
  const auto propose_from = [&](std::size_t i, std::size_t j, const Conflicts::Pair& pair) {
    for (std::size_t d = 0; d < pair.a->bare.size(); ++d) {
      const auto &p = pair.a->bare[d], &q = pair.b->bare[d];
      if (!p || !q) continue;
      for (std::size_t m = 0; m < a.members.size(); ++m) {
        const Alignment& x = a.members[m].alignment[i];
        if (x.index != p->index) continue;
        for (std::size_t n = 0; n < b.members.size(); ++n) {
          const Alignment& y = b.members[n].alignment[j];
          if (y.index != q->index) continue;
          // Index of a = p.sign * (q.sign * index of b + q.offset - p.offset); index of b = y.sign
          // * (value_b - y.offset).
          const int sign = x.sign * p->sign * q->sign * y.sign;
          const std::int64_t offset = x.sign * p->sign * (q->offset - p->offset) + x.offset -
                                      static_cast<std::int64_t>(sign) * y.offset;
          propose({m, n, sign, offset});
        }
      }
    }
  };
  for (std::size_t i = 0; i < a.statements.size(); ++i) {
    for (std::size_t j = 0; j < b.statements.size(); ++j) {
      const auto pairs = reason == Reason::Reuse
                             ? conflicts_.shared_reads(a.statements[i], b.statements[j])
                             : conflicts_.pairs(a.statements[i], b.statements[j]);
      for (const Conflicts::Pair& pair : pairs)
        propose_from(i, j, pair);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& x, const Candidate& y) {
                     return std::tuple(-x.votes, x.match.a, x.match.b) <
                            std::tuple(-y.votes, y.match.a, y.match.b);
                   });

  const auto is_legal = [&](const Match& match) {
    for (std::size_t i = 0; i < a.statements.size(); ++i) {
      for (std::size_t j = 0; j < b.statements.size(); ++j) {
        Alignment y = b.members[match.b].alignment[j];
        y.offset = match.sign * y.offset + match.offset;
        y.sign *= match.sign;
        if (!conflicts_.zero_distance(a.statements[i], a.members[match.a].alignment[i],
                                      b.statements[j], y, depth))
          return false;
      }
    }
    return true;
  };
  std::vector<Match> result;
  std::set<std::size_t> used_a, used_b;
  for (const Candidate& candidate : candidates) {
    const Match& match = candidate.match;
    if (used_a.count(match.a) != 0 || used_b.count(match.b) != 0 || !is_legal(match)) continue;
    used_a.insert(match.a);
    used_b.insert(match.b);
    result.push_back(match);
  }
  std::sort(result.begin(), result.end(), [](const Match& x, const Match& y) { return x.a < y.a; });
  return result;
}

// ---- which merges are wanted ----

bool Clustering::is_family(const Cluster& a, const Cluster& b) const {
  const auto serves = [&](int reduce, int other) {
    const Statement& r = scop_.statements[static_cast<std::size_t>(reduce)];
    const Statement& s = scop_.statements[static_cast<std::size_t>(other)];
    if (r.kind != StatementKind::Reduce || r.scatter || s.kind == StatementKind::Reduce ||
        r.source != s.source)
      return false;
    const std::vector<Conflicts::Pair> pairs = conflicts_.pairs(reduce, other);
    return std::any_of(pairs.begin(), pairs.end(),
                       [](const Conflicts::Pair& pair) { return pair.a->is_write(); });
  };
  for (const int s : a.statements) {
    for (const int t : b.statements) {
      if (serves(s, t) || serves(t, s)) return true;
    }
  }
  return false;
}

namespace {

bool covers(const Cluster& cluster, std::size_t position, int index) {
  return std::any_of(cluster.members.begin(), cluster.members.end(), [&](const Member& member) {
    return member.alignment[position].index == index;
  });
}

std::size_t position_of(const Cluster& cluster, int statement) {
  const auto found = std::find(cluster.statements.begin(), cluster.statements.end(), statement);
  check(found != cluster.statements.end(), "statement outside its cluster");
  return static_cast<std::size_t>(found - cluster.statements.begin());
}

}  // namespace

/// No statement of `part` loses one of its three outermost coincident members that it still had
/// there.
bool Clustering::keeps_outer_members(const Cluster& part, const Cluster& whole) const {
  for (std::size_t i = 0; i < part.statements.size(); ++i) {
    const int statement = part.statements[i];
    const std::size_t position = position_of(whole, statement);
    for (const int index : outer_members_[static_cast<std::size_t>(statement)]) {
      if (covers(part, i, index) && !covers(whole, position, index)) return false;
    }
  }
  return true;
}

/// The parts of a split reduction were made to run in parallel.
bool Clustering::keeps_parts(const Cluster& cluster) const {
  for (std::size_t i = 0; i < cluster.statements.size(); ++i) {
    const int part = scop_.statements[static_cast<std::size_t>(cluster.statements[i])].part_index;
    if (part >= 0 && !covers(cluster, i, part)) return false;
  }
  return true;
}

bool Clustering::may_merge(const Cluster& a, const Cluster& b, const Cluster& both, Reason reason,
                           Members members, std::size_t depth) const {
  if (reason == Reason::Family) return true;
  if (!keeps_parts(both)) return false;
  const bool lossless =
      both.members.size() == a.members.size() && both.members.size() == b.members.size();
  if (members == Members::KeepAll && !lossless) return false;
  switch (strategy_) {
  case Fusion::Min: return false;
  case Fusion::Preserve3Coincident:
    return reason == Reason::Flow && keeps_outer_members(a, both) && keeps_outer_members(b, both);
  case Fusion::Max:
    if (reason == Reason::Reuse) return lossless && !both.members.empty();
    return lossless || model_.cost(both, depth) <= model_.cost(a, depth) + model_.cost(b, depth);
  }
  unreachable("fusion strategy");
}

// ---- merging ----

bool Clustering::leads_to(const Cluster& a, const Cluster& b, std::size_t depth) const {
  for (const int s : a.statements) {
    for (const int t : b.statements) {
      if (s < t && conflicts_.leads_to(s, t, depth)) return true;
    }
  }
  return false;
}

/// A path of dependences from one cluster to another through a third: merging the two would close a
/// cycle.
bool Clustering::leads_around(const std::vector<Cluster>& clusters, std::size_t from,
                              std::size_t to, std::size_t depth) const {
  std::vector<std::size_t> open;
  std::vector<bool> seen(clusters.size(), false);
  seen[from] = seen[to] = true;
  const auto visit = [&](std::size_t at) {
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      if (seen[c] || !leads_to(clusters[at], clusters[c], depth)) continue;
      seen[c] = true;
      open.push_back(c);
    }
  };
  visit(from);
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (leads_to(clusters[at], clusters[to], depth)) return true;
    visit(at);
  }
  return false;
}

bool Clustering::try_merge(std::vector<Cluster>& clusters, std::size_t a, std::size_t b,
                           Reason reason, Members members, std::size_t depth) const {
  const Cluster &x = clusters[a], &y = clusters[b];
  if (x.is_launch_loop() || y.is_launch_loop()) return false;
  const bool flows = leads_to(x, y, depth) || leads_to(y, x, depth);
  if (reason == Reason::Family ? !is_family(x, y) : flows != (reason == Reason::Flow)) return false;
  Cluster both = merged(x, y, matches(x, y, reason, depth));
  if (!may_merge(x, y, both, reason, members, depth)) return false;
  if (leads_around(clusters, a, b, depth) || leads_around(clusters, b, a, depth)) return false;
  clusters[a] = std::move(both);
  clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(b));
  return true;
}

/// Tries every pair, consumers in textual order and for each the nearest producer first, until
/// nothing merges any more.
bool Clustering::merge_all(std::vector<Cluster>& clusters, Reason reason, Members members,
                           std::size_t depth) const {
  bool any = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = 1; b < clusters.size(); ++b) {
      for (std::size_t a = b; a-- > 0;) {
        if (b >= clusters.size() || !try_merge(clusters, a, b, reason, members, depth)) continue;
        changed = any = true;
        b = a;  // the merged cluster stands here and may merge with what is before it
        if (b == 0) break;
        a = b;
      }
    }
  }
  return any;
}

std::vector<Cluster> Clustering::topological(std::vector<Cluster> clusters,
                                             std::size_t depth) const {
  std::vector<Cluster> result;
  while (!clusters.empty()) {
    std::size_t next = 0;
    const auto is_ready = [&](std::size_t c) {
      for (std::size_t other = 0; other < clusters.size(); ++other) {
        if (other != c && leads_to(clusters[other], clusters[c], depth)) return false;
      }
      return true;
    };
    while (next < clusters.size() && !is_ready(next))
      ++next;
    check(next < clusters.size(), "cyclic clusters");
    result.push_back(std::move(clusters[next]));
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return result;
}

std::vector<Cluster> Clustering::plan(const std::vector<Node>& body, std::size_t depth) const {
  std::vector<Cluster> clusters;
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<int>(&node)) {
      clusters.push_back(single(*statement, depth));
      continue;
    }
    for (Cluster& cluster : plan_for(*std::get<std::shared_ptr<const For>>(node), depth))
      clusters.push_back(std::move(cluster));
  }
  merge_all(clusters, Reason::Family, Members::MayDrop, depth);
  if (strategy_ != Fusion::Min) {
    // First the merges that cost nothing, so that none of them is spoilt by one that drops members.
    for (bool changed = true; changed;) {
      changed = merge_all(clusters, Reason::Flow, Members::KeepAll, depth);
      changed |= merge_all(clusters, Reason::Reuse, Members::KeepAll, depth);
      changed |= merge_all(clusters, Reason::Flow, Members::MayDrop, depth);
    }
  }
  return topological(std::move(clusters), depth);
}

}  // namespace tc::poly
