// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/share_plan.h"

#include <algorithm>
#include <utility>

#include "tc/lower/cuda/coalescing.h"
#include "tc/lower/cuda/updates.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

namespace {

constexpr int kWarp = 32;
constexpr int kWidestAccess = 16;
constexpr int kUnrolledPlaces = 16;
constexpr int kUnroll = 4;
constexpr int kReuse = 8;
constexpr std::int64_t kFewPlaces = 4;
/// Points a thread of a reduction that is worth sharing by all threads.
constexpr std::int64_t kLongReduction = 16;
/// A thread of its own pays for a part of a reduction from this many points on.
constexpr std::int64_t kPointsPerPart = 4;

std::int64_t power_below(std::int64_t n) {
  std::int64_t power = 1;
  while (power * 2 <= n)
    power *= 2;
  return power;
}

class Sharing {
public:
  Sharing(const tile::Op& op, const OpInfo& info, std::int64_t threads,
          const MappingOptions& options, const SharingLimits& limits)
      : op_(op), info_(info), options_(options), accesses_(accesses_of(op, info)),
        threads_(threads), limits_(limits) {
    const std::size_t n = op.dims.size();
    plan_.threads.assign(n, 1);
    plan_.unroll.assign(n, 1);
    for (std::size_t d = 0; d < n; ++d) {
      extent_.push_back(std::max<std::int64_t>(op.dims[d].max_extent, 1));
      kept_.push_back(shares_elements(d));
      (info.is_pure_reduction(d) ? reductions_ : kept_points_) *= 1;
    }
    for (std::size_t d = 0; d < n; ++d) {
      auto& product = info.is_pure_reduction(d) ? reductions_ : kept_points_;
      if (!kept_[d] && !info.is_pure_reduction(d)) continue;
      product = std::min(product * extent_[d], std::int64_t{1} << 40);
    }
  }

  SharePlan run() {
    const int fast = fastest();
    if (fast >= 0) choose_lanes(static_cast<std::size_t>(fast));
    if (fast >= 0 && info_.is_pure_reduction(fast))
      group(static_cast<std::size_t>(fast));
    else if (fast >= 0)
      give(static_cast<std::size_t>(fast), left());
    for (const std::size_t d : kept_innermost_first())
      if (plan_.threads[d] == 1 && !stays_in_registers(d)) give(d, left());
    split_reduction();
    choose_unroll();
    return std::move(plan_);
  }

private:
  std::int64_t left() const { return threads_ / plan_.used; }

  /// Whether values of the dim may belong to different threads, none of which waits for another.
  bool shares_elements(std::size_t d) const {
    if (splits_bytes(op_, d)) return false;
    const bool meets = meets_others(op_, d);
    return meets ? limits_.atomic : !op_.dims[d].reduction;
  }

  bool may_share(std::size_t d) const {
    if (extent_[d] < 2) return false;
    return kept_[d] || (limits_.split_reductions && info_.is_pure_reduction(d));
  }

  /// The dim for the fastest digit: where a warp's accesses cost least; among equals kept dims, the
  /// innermost of the target first.
  int fastest() const {
    if (limits_.fastest_dim >= 0 && may_share(static_cast<std::size_t>(limits_.fastest_dim)))
      return limits_.fastest_dim;
    std::vector<std::size_t> candidates = kept_innermost_first();
    for (std::size_t d = extent_.size(); d-- > 0;)
      if (may_share(d) && !kept_[d]) candidates.push_back(d);
    int best = -1;
    double least = 0;
    for (const std::size_t d : candidates) {
      double cost = warp_cost(accesses_, extent_, d);
      // Shuffles cost too, and pay only where elements are few.
      if (!kept_[d] && kept_points_ >= 4 * threads_) cost *= 2;
      if (best >= 0 && cost >= least) continue;
      best = static_cast<int>(d);
      least = cost;
    }
    return best;
  }

  /// Kept dims with several points, those with the smallest stride in the target first.
  std::vector<std::size_t> kept_innermost_first() const {
    std::vector<std::size_t> dims;
    for (std::size_t d = extent_.size(); d-- > 0;)
      if (kept_[d] && extent_[d] > 1) dims.push_back(d);
    const auto& store = accesses_.back();
    const auto stride = [&](std::size_t d) {
      const std::int64_t s = store.stride[d];
      return s == 0 || store.irregular[d] ? std::int64_t{1} << 60 : (s < 0 ? -s : s);
    };
    std::stable_sort(dims.begin(), dims.end(),
                     [&](std::size_t a, std::size_t b) { return stride(a) < stride(b); });
    return dims;
  }

  /// Threads that share long reductions keep a few elements each, which share what they read.
  bool stays_in_registers(std::size_t d) const {
    return extent_[d] <= kReuse && gives_reuse(d) && reductions_ >= kLongReduction * threads_ &&
           options_.register_rows != 1;
  }

  void choose_lanes(std::size_t d) {
    if (options_.vector_bits == 1 || bounds_others(d)) return;
    const bool may_vectorise = info_.is_pure_reduction(d) || info_.distinct[d] || !op_.combine;
    if (!may_vectorise || (!info_.is_pure_reduction(d) && !info_.in_target[d])) return;
    int limit = kWidestAccess;
    while (limit > 1 && (extent_[d] < limit || total_points() < threads_ * limit))
      limit /= 2;
    plan_.lanes = widest_access(op_, info_, d, limit);
    if (plan_.lanes > 1) plan_.vector_dim = static_cast<int>(d);
  }

  std::int64_t total_points() const {
    return std::min(kept_points_ * std::min<std::int64_t>(reductions_, 1 << 20),
                    std::int64_t{1} << 50);
  }

  std::int64_t places(std::size_t d) const {
    const int lanes = plan_.vector_dim == static_cast<int>(d) ? plan_.lanes : 1;
    return ceil_div(extent_[d], lanes);
  }

  void give(std::size_t d, std::int64_t most) { add_digit(d, std::min(places(d), most)); }

  void add_digit(std::size_t d, std::int64_t extent) {
    if (extent < 2) return;
    plan_.digits.push_back({d, plan_.used, extent, plan_.threads[d]});
    plan_.threads[d] *= extent;
    plan_.used *= extent;
  }

  void group(std::size_t d) {
    const std::int64_t most = std::min<std::int64_t>(kWarp, power_below(threads_));
    // Enough elements for all threads need no large groups.
    std::int64_t size = std::min(most, power_below(places(d)));
    while (size > 4 && kept_points_ * size > 8 * threads_ && places(d) < 4 * size)
      size /= 2;
    add_digit(d, size);
    plan_.group = static_cast<int>(size);
  }

  /// Threads that are left take parts of the reduction dims: first what is left of the dim that a
  /// group shares, then the longest.
  void split_reduction() {
    if (!limits_.split_reductions || !limits_.parts) return;
    std::vector<std::size_t> dims;
    for (std::size_t d = 0; d < extent_.size(); ++d)
      if (info_.is_pure_reduction(d)) dims.push_back(d);
    const auto points = [&](std::size_t d) { return ceil_div(places(d), plan_.threads[d]); };
    const auto rank = [&](std::size_t d) {
      const bool finishes_group = plan_.threads[d] > 1 && points(d) <= kFewPlaces;
      return std::pair(finishes_group ? 0 : 1, -points(d));
    };
    std::stable_sort(dims.begin(), dims.end(),
                     [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    std::int64_t all = 1;
    for (const std::size_t d : dims)
      all = std::min(all * points(d), std::int64_t{1} << 40);
    // Each part keeps some points, over all dims together.
    std::int64_t most = std::min<std::int64_t>({left(), kWarp, all / kPointsPerPart});
    for (const std::size_t d : dims) {
      const std::int64_t parts = std::min(points(d), most);
      if (parts < 2) continue;
      add_digit(d, parts);
      plan_.parts *= parts;
      most /= parts;
    }
  }

  /// Several places of a dim at once: for loads in flight, and where places share what they load.
  void choose_unroll() {
    if (options_.register_rows == 1) return;
    std::int64_t places_used = 1;
    const auto unroll = [&](std::size_t d, std::int64_t factor) {
      factor = std::min({factor, ceil_div(places(d), plan_.threads[d]),
                         std::int64_t{kUnrolledPlaces} / places_used});
      if (factor < 2 || bounds_others(d)) return;
      plan_.unroll[d] = static_cast<int>(factor);
      places_used *= factor;
    };
    for (const std::size_t d : kept_innermost_first())
      if (op_.combine && gives_reuse(d)) unroll(d, kReuse);
    if (op_.combine) {
      // Independent sums hide the latency of one another.
      if (places_used < 4)
        for (std::size_t d = extent_.size(); d-- > 0;)
          if (info_.is_pure_reduction(d)) unroll(d, places_used < 4 ? kUnroll : 1);
      return;
    }
    for (const std::size_t d : kept_innermost_first())
      if (places_used < kUnroll) unroll(d, kUnroll);
  }

  bool bounds_others(std::size_t d) const {
    return std::any_of(op_.dims.begin(), op_.dims.end(), [&](const tile::Dim& dim) {
      return depends_on(dim.begin, op_.dims[d].var.id) || depends_on(dim.end, op_.dims[d].var.id);
    });
  }

  bool gives_reuse(std::size_t d) const {
    return std::any_of(accesses_.begin(), accesses_.end(),
                       [&](const Access& a) { return !a.is_store && !a.depends(d); });
  }

  const tile::Op& op_;
  const OpInfo& info_;
  const MappingOptions& options_;
  std::vector<Access> accesses_;
  std::int64_t threads_;
  SharingLimits limits_;
  std::vector<std::int64_t> extent_;
  std::vector<bool> kept_;  ///< dims whose points write different elements
  std::int64_t kept_points_ = 1, reductions_ = 1;
  SharePlan plan_;
};

}  // namespace

SharePlan plan_sharing(const tile::Op& op, const OpInfo& info, std::int64_t threads,
                       const MappingOptions& options, const SharingLimits& limits) {
  return Sharing(op, info, threads, options, limits).run();
}

}  // namespace tc::lower::cuda
