// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "tc/poly/cluster.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

// Units: statement instances run by one core (about 0.15 ns each when vectorised).
constexpr double kLaunch = 1 << 15;
constexpr double kFarRead = 3;
/// Elements that stay in a core's cache between two uses: 256 KiB of float32.
constexpr double kCachedElements = 1 << 16;
/// Values that share one read of an operand from which on their arithmetic hides it.
constexpr double kHidden = 32;

}  // namespace

FusionModel::FusionModel(const Scop& scop, std::int64_t tasks)
    : scop_(scop), tasks_(static_cast<double>(std::max<std::int64_t>(1, tasks))),
      loops_(loop_ranges(scop.body)), reads_(scop.statements.size()) {
  for (const Statement& statement : scop.statements)
    ranges_.push_back(index_ranges(statement.indices, loops_));
  for (Access& access : accesses(scop)) {
    if (!access.is_write())
      reads_[static_cast<std::size_t>(access.statement)].push_back(std::move(access));
  }
}

const Interval& FusionModel::range(int statement, int index) const {
  return ranges_.at(static_cast<std::size_t>(statement)).at(static_cast<std::size_t>(index));
}

double FusionModel::instances(int statement, std::size_t depth) const {
  const Statement& s = scop_.statements[static_cast<std::size_t>(statement)];
  double count = 1;
  for (std::size_t l = depth; l < s.loops.size(); ++l)
    count *= static_cast<double>(loops_.at(s.loops[l]).extent());
  for (const Interval& range : ranges_[static_cast<std::size_t>(statement)])
    count *= static_cast<double>(range.extent());
  return count;
}

double FusionModel::statement_cost(const Cluster& cluster, std::size_t position,
                                   std::size_t depth) const {
  const int statement = cluster.statements[position];
  std::set<int> members;
  double tiles = 1;
  for (const Member& member : cluster.members) {
    const int index = member.alignment[position].index;
    members.insert(index);
    tiles *= static_cast<double>(range(statement, index).extent());
  }
  const double parallel = std::min(std::max(tiles, 1.0), tasks_);
  double rereading = 0;
  for (const Access& read : reads_[static_cast<std::size_t>(statement)]) {
    std::set<int> used;
    for (const lang::ExprPtr& subscript : read.subscripts) {
      for (const int index : indices_in(subscript))
        used.insert(index);
    }
    double sharing = 1, elements = 1;
    for (const int index : members) {
      if (used.count(index) == 0) sharing *= static_cast<double>(range(statement, index).extent());
    }
    for (const int index : used) {
      if (members.count(index) == 0)
        elements *= static_cast<double>(range(statement, index).extent());
    }
    const double together = std::min(sharing, tiles / tasks_);
    if (sharing > 1 && elements > kCachedElements && together < kHidden)
      rereading += kFarRead / std::max(1.0, together);
  }
  return instances(statement, depth) / parallel * (1 + rereading);
}

double FusionModel::cost(const Cluster& cluster, std::size_t depth) const {
  if (cluster.is_launch_loop())
    return static_cast<double>(loops_.at(cluster.launch_var).extent()) *
           cost(cluster.inner, depth + 1);
  double sum = kLaunch;
  for (std::size_t i = 0; i < cluster.statements.size(); ++i)
    sum += statement_cost(cluster, i, depth);
  return sum;
}

double FusionModel::cost(const std::vector<Cluster>& clusters, std::size_t depth) const {
  double sum = 0;
  for (const Cluster& cluster : clusters)
    sum += cost(cluster, depth);
  return sum;
}

}  // namespace tc::poly
