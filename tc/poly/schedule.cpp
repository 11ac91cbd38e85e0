// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/schedule.h"

#include <algorithm>
#include <utility>

#include "tc/poly/cluster.h"
#include "tc/poly/group.h"
#include "tc/poly/instances.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

/// Parallel tasks that a merge must leave, where the options do not say: enough for the cores of a
/// common machine.
constexpr std::int64_t kDefaultTasks = 16;

class Converter {
public:
  explicit Converter(const Scop& scop) : scop_(scop), ranges_(all_index_ranges(scop)) {}

  std::vector<Step> steps(const std::vector<Cluster>& clusters) const {
    std::vector<Step> result;
    for (const Cluster& cluster : clusters) {
      if (!cluster.is_launch_loop()) {
        result.emplace_back(group(cluster));
        continue;
      }
      const For& loop = find_loop(scop_, cluster.launch_var);
      LaunchLoop step{loop.var, loop.name, loop.lo, loop.hi, steps(cluster.inner)};
      result.emplace_back(std::make_shared<const LaunchLoop>(std::move(step)));
    }
    return result;
  }

private:
  Group group(const Cluster& cluster) const {
    Group result;
    result.statements = cluster.statements;
    for (const Member& member : cluster.members)
      result.band.push_back({"", 0, 0, member.alignment});
    result.body = items(cluster.items, cluster.statements);
    return normalised(scop_, std::move(result), ranges_, MemberOrder::LeftSide);
  }

  std::vector<Item> items(const std::vector<ClusterItem>& list,
                          const std::vector<int>& statements) const {
    std::vector<Item> result;
    for (const ClusterItem& item : list) {
      if (const auto* statement = std::get_if<int>(&item)) {
        const auto found = std::lower_bound(statements.begin(), statements.end(), *statement);
        result.emplace_back(static_cast<int>(found - statements.begin()));
        continue;
      }
      const OrderedItems& ordered = *std::get<std::shared_ptr<const OrderedItems>>(item);
      const For& loop = find_loop(scop_, ordered.var);
      Ordered step{loop.var, loop.name, loop.lo, loop.hi, items(ordered.body, statements)};
      result.emplace_back(std::make_shared<const Ordered>(std::move(step)));
    }
    return result;
  }

  const Scop& scop_;
  std::vector<std::vector<Interval>> ranges_;
};

template <class Use>
auto with_clustering(const Scop& scop, const Dependences& dependences,
                     const MappingOptions& options, Use use)
    -> Result<decltype(use(std::declval<const Clustering&>())), Rejection> {
  try {
    const Conflicts conflicts(scop, dependences);
    const FusionModel model(scop, options.tasks > 0 ? options.tasks : kDefaultTasks);
    return use(Clustering(scop, conflicts, model, options.fusion));
  } catch (const isl::exception_quota&) {
    return Rejection{RejectionKind::SchedulerQuota,
                     "the schedule of '" + scop.name + "' needs more isl operations than allowed"};
  }
}

}  // namespace

Result<Schedule, Rejection> compute_schedule(const Scop& scop, const Dependences& dependences,
                                             const Relations&, const MappingOptions& options) {
  return with_clustering(scop, dependences, options, [&](const Clustering& clustering) {
    return Schedule{Converter(scop).steps(clustering.plan(scop.body, 0))};
  });
}

Result<std::vector<std::string>, Rejection>
explain_schedule(const Scop& scop, const Dependences& dependences, const MappingOptions& options) {
  return with_clustering(scop, dependences, options, [&](const Clustering& clustering) {
    return clustering.explain(clustering.plan(scop.body, 0), 0);
  });
}

}  // namespace tc::poly
