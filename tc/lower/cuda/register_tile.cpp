// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/register_tile.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tc/lower/cuda/contract.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kLongestRun = 16;   ///< elements of a thread along one dim
constexpr std::int64_t kMostPlaces = 256;  ///< products of a thread that are written out
constexpr int kWidestLoad = 4;             ///< elements
constexpr double kLoad = 2;                ///< a load from shared memory as so many products
constexpr double kStep = 6;                ///< addresses and the loop of a step of the reduction
constexpr double kWarpsPerCore = 8;        ///< that hide what they wait for

class TileSearch {
public:
  TileSearch(const tile::Op& op, const Roles& roles, const Boxes& boxes, const TileLimits& limits,
             const MappingOptions& options)
      : op_(op), roles_(roles), boxes_(boxes), limits_(limits), options_(options) {
    // Digits from the fastest on.
    dims_.push_back(roles.columns.back());
    dims_.insert(dims_.end(), roles.rows.rbegin(), roles.rows.rend());
    dims_.insert(dims_.end(), roles.columns.rbegin() + 1, roles.columns.rend());
    tile_.covers.resize(op.dims.size());
    for (const auto& box : boxes)
      for (const auto& dim : box)
        if (dim.is_window()) windows_.push_back(dim);
    for (const int d : roles.reductions)
      if (is_tap(d)) taps_ = std::min(taps_ * extent(op, d), kMany);
  }

  std::optional<RegisterTile> run() {
    search(0, 1, 1);
    if (!best_) return std::nullopt;
    std::int64_t stride = 1;
    for (const int d : dims_) {
      best_->covers[d].stride = stride;
      stride *= best_->covers[d].threads;
    }
    best_->threads = stride;
    return std::move(best_);
  }

private:
  static constexpr std::int64_t kMany = std::int64_t{1} << 30;

  bool is_tap(int reduction) const {
    return std::any_of(windows_.begin(), windows_.end(),
                       [&](const BoxDim& window) { return window.reduction == reduction; });
  }

  /// Tries all even shares of the dims from the position on.
  void search(std::size_t at, std::int64_t accumulators, std::int64_t threads) {
    if (accumulators > kAccumulators || threads > limits_.threads) return;
    if (at == dims_.size()) {
      judge(accumulators, threads);
      return;
    }
    const int d = dims_[at];
    TileCover& cover = tile_.covers[d];
    std::int64_t last = 0;
    for (std::int64_t count = 1; count <= std::min(kLongestRun, extent(op_, d)); ++count) {
      cover.threads = ceil_div(extent(op_, d), count);
      cover.count = ceil_div(extent(op_, d), cover.threads);
      if (cover.count == last) continue;
      last = cover.count;
      // Whole warps along memory.
      if (at == 0 && count > 1 && cover.threads < kWarp) break;
      cover.neighbours = at > 0;
      search(at + 1, accumulators * cover.count, threads * cover.threads);
    }
    cover = {};
  }

  void judge(std::int64_t accumulators, std::int64_t threads) {
    if (options_.register_vectors > 0) {
      std::int64_t columns = 1;
      for (const int d : roles_.columns)
        columns *= tile_.covers[d].count;
      if (columns > options_.register_vectors * kWidestLoad) return;
    }
    unroll(accumulators);
    const double cost = cost_of(accumulators, threads);
    if (best_ && cost >= least_) return;
    least_ = cost;
    best_ = tile_;
  }

  /// Points of windows along which a thread has several elements.
  void unroll(std::int64_t accumulators) {
    tile_.unrolled.clear();
    std::int64_t places = accumulators;
    for (const auto& window : windows_) {
      const TileCover& cover = tile_.covers[window.kept];
      const std::int64_t points = extent(op_, window.reduction);
      if (cover.count == 1 || !cover.neighbours || places * points > kMostPlaces) continue;
      if (is_unrolled(window.reduction)) continue;
      places *= points;
      tile_.unrolled.push_back(window.reduction);
    }
  }

  bool is_unrolled(int reduction) const {
    return std::find(tile_.unrolled.begin(), tile_.unrolled.end(), reduction) !=
           tile_.unrolled.end();
  }

  double cost_of(std::int64_t accumulators, std::int64_t threads) const {
    const double products = static_cast<double>(accumulators * taps_);
    double loads = 0;
    for (const auto& box : boxes_)
      loads += loads_of(box);
    double steps = 1;
    for (const int d : roles_.reductions)
      if (is_tap(d) && !is_unrolled(d)) steps *= static_cast<double>(extent(op_, d));
    const double warps =
        static_cast<double>(ceil_div(limits_.are_given ? limits_.threads : threads, kWarp));
    double elements = 1;
    for (const int d : dims_)
      elements *= static_cast<double>(extent(op_, d));
    const double lanes = warps * kWarp * static_cast<double>(accumulators);
    double cost = (products + kLoad * loads + kStep * steps) / products * lanes / elements;
    const double resident =
        warps * static_cast<double>(limits_.tasks) / static_cast<double>(limits_.cores);
    if (resident < kWarpsPerCore) cost *= std::sqrt(kWarpsPerCore / resident);
    return cost;
  }

  /// Loads of a factor for all points of the windows.
  double loads_of(const std::vector<BoxDim>& box) const {
    double loads = 1;
    std::set<int> counted;
    for (const auto& dim : box) {
      const std::int64_t count = dim.kept >= 0 ? tile_.covers[dim.kept].count : 1;
      const std::int64_t points = dim.reduction >= 0 && is_tap(dim.reduction)
                                      ? extent(op_, dim.reduction)
                                      : std::int64_t{1};
      if (dim.reduction >= 0) counted.insert(dim.reduction);
      std::int64_t here = count * points;
      if (dim.is_window() && is_unrolled(dim.reduction))
        here = std::min(here, dim.length(count, points));
      loads *= static_cast<double>(here);
    }
    // Points along which the factor does not move are read once if they are written out.
    for (const int d : roles_.reductions)
      if (is_tap(d) && counted.count(d) == 0 && !is_unrolled(d))
        loads *= static_cast<double>(extent(op_, d));
    const BoxDim& inner = box.back();
    if (inner.reduction < 0 && inner.kept >= 0 && options_.vector_bits != 1) {
      const TileCover& cover = tile_.covers[inner.kept];
      std::int64_t wide = kWidestLoad;
      while (wide > 1 && (!cover.neighbours || cover.count % wide != 0))
        wide /= 2;
      loads /= static_cast<double>(wide);
    }
    return loads;
  }

  const tile::Op& op_;
  const Roles& roles_;
  const Boxes& boxes_;
  const TileLimits& limits_;
  const MappingOptions& options_;
  std::vector<int> dims_;
  std::vector<BoxDim> windows_;
  std::int64_t taps_ = 1;  ///< points of all windows together
  RegisterTile tile_;
  std::optional<RegisterTile> best_;
  double least_ = 0;
};

}  // namespace

std::optional<RegisterTile> choose_register_tile(const tile::Op& op, const Roles& roles,
                                                 const Boxes& boxes, const TileLimits& limits,
                                                 const MappingOptions& options) {
  return TileSearch(op, roles, boxes, limits, options).run();
}

}  // namespace tc::lower::cuda
