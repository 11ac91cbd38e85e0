// SPDX-License-Identifier: Apache-2.0
//
// Clusters of statements while the schedule is being decided: the mutable form of schedule.h's
// steps.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tc/poly/bounds.h"
#include "tc/poly/conflicts.h"
#include "tc/poly/schedule.h"

namespace tc::poly {

/// How the values of one band member follow from an index of each statement of the cluster.
struct Member {
  std::vector<Alignment> alignment;  ///< for each statement, in the order of Cluster::statements
};

struct OrderedItems;
using ClusterItem =
    std::variant<int /*statement of the scop*/, std::shared_ptr<const OrderedItems>>;
struct OrderedItems {
  int var = 0;
  std::vector<ClusterItem> body;
};
/// The first statement of the scop in the item: items stand in textual order.
int first_statement(const ClusterItem& item);

/// One kernel; or a launch loop around clusters, which never merges.
struct Cluster {
  std::vector<int> statements;  ///< of the scop, ascending; of a launch loop all those inside
  std::vector<Member> members;
  std::vector<ClusterItem> items;
  int launch_var = -1;  ///< >= 0: a launch loop over `inner`
  std::vector<Cluster> inner;

  bool is_launch_loop() const { return launch_var >= 0; }
};

/// Member `a` of one cluster is member `b` of another: value_a = sign * value_b + offset.
struct Match {
  std::size_t a = 0, b = 0;
  int sign = 1;
  std::int64_t offset = 0;
};

/// The union with the matched members only.
Cluster merged(const Cluster& a, const Cluster& b, const std::vector<Match>& matches);

/// Sizes and the cost of a plan, in statement instances run by one core.
///
/// cost(kernel) = launch + sum over statements of instances / min(parallel tiles, tasks) * (1 +
/// re-reading)
///
/// A launch costs about as much as 2^15 instances (5 µs). A task that owns few values of the
/// members on which an operand does not depend reads that operand again for each of them; where it
/// does not fit in a core's cache, every such read costs about 3 instances, divided by the values
/// that share it, and nothing from 32 values on, when arithmetic hides it. So a chain of products
/// over a short batch stays apart, and over a long one is fused.
class FusionModel {
public:
  FusionModel(const Scop& scop, std::int64_t tasks);

  double cost(const Cluster& cluster, std::size_t depth) const;
  double cost(const std::vector<Cluster>& clusters, std::size_t depth) const;

  const Interval& range(int statement, int index) const;
  /// Instances of a statement in one iteration of its first `depth` loops.
  double instances(int statement, std::size_t depth) const;

private:
  double statement_cost(const Cluster& cluster, std::size_t position, std::size_t depth) const;

  const Scop& scop_;
  double tasks_;
  LoopRanges loops_;
  std::vector<std::vector<Interval>> ranges_;
  std::vector<std::vector<Access>> reads_;
};

/// Plans one list of nodes: see compute_schedule().
class Clustering {
public:
  Clustering(const Scop& scop, const Conflicts& conflicts, const FusionModel& model,
             Fusion strategy);

  /// Clusters of a body at `depth` launch loops, in the order in which they run.
  std::vector<Cluster> plan(const std::vector<Node>& body, std::size_t depth) const;

  /// For a person, one line each: the clusters of several statements, and why two that share data
  /// are apart.
  std::vector<std::string> explain(const std::vector<Cluster>& clusters, std::size_t depth) const;

private:
  /// Init, read and store with their reduction; producer with consumer; two readers of one tensor.
  enum class Reason { Family, Flow, Reuse };
  enum class Members { KeepAll, MayDrop };

  Cluster single(int statement, std::size_t depth) const;
  std::vector<Cluster> plan_for(const For& loop, std::size_t depth) const;
  std::optional<Cluster> ordered(const For& loop, const std::vector<Node>& body,
                                 std::size_t depth) const;
  Cluster sequenced(const For& loop, const std::vector<Node>& body, std::size_t depth) const;
  bool accepts_ordered(const Cluster& cluster, const Cluster& launched, std::size_t depth) const;

  bool merge_all(std::vector<Cluster>& clusters, Reason reason, Members members,
                 std::size_t depth) const;
  bool try_merge(std::vector<Cluster>& clusters, std::size_t a, std::size_t b, Reason reason,
                 Members members, std::size_t depth) const;
  bool may_merge(const Cluster& a, const Cluster& b, const Cluster& both, Reason reason,
                 Members members, std::size_t depth) const;
  bool keeps_outer_members(const Cluster& part, const Cluster& whole) const;
  bool keeps_parts(const Cluster& cluster) const;
  std::vector<Match> matches(const Cluster& a, const Cluster& b, Reason reason,
                             std::size_t depth) const;

  bool leads_to(const Cluster& a, const Cluster& b, std::size_t depth) const;
  bool leads_around(const std::vector<Cluster>& clusters, std::size_t from, std::size_t to,
                    std::size_t depth) const;
  std::vector<Cluster> topological(std::vector<Cluster> clusters, std::size_t depth) const;
  bool is_family(const Cluster& a, const Cluster& b) const;
  std::string together(const Cluster& cluster, std::size_t depth) const;
  std::string apart(const std::vector<Cluster>& clusters, std::size_t a, std::size_t b,
                    std::size_t depth) const;
  std::string names(const Cluster& cluster) const;
  std::string member_names(const Cluster& cluster) const;
  std::vector<int> own_members(int statement, std::size_t depth) const;

  const Scop& scop_;
  const Conflicts& conflicts_;
  const FusionModel& model_;
  Fusion strategy_;
  std::vector<std::vector<int>>
      outer_members_;  ///< per statement: its three outermost coincident indices
};

}  // namespace tc::poly
