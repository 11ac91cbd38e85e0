// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/box_copy.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tc/lower/cuda/coalescing.h"
#include "tc/lower/cuda/guarded.h"
#include "tc/lower/op/access.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

constexpr int kWidest = 16;                 ///< elements of an access, at most
constexpr std::int64_t kInFlight = 32;      ///< elements of a thread
constexpr std::int64_t kMostInFlight = 16;  ///< cost of a thread
constexpr std::int64_t kWhole = 1 << 10;    ///< cost of an access
constexpr std::int64_t kMostGrowth = 8;     ///< a target may be longer by one part in so many
constexpr std::int64_t kNear = 8;           ///< threads along memory, if there are as many places

class CopySharing {
public:
  CopySharing(const tile::Op& copy, const Ranges& outer, std::int64_t threads,
              const MappingOptions& options)
      : copy_(copy), outer_(outer), info_(analyse(copy, outer)),
        accesses_(accesses_of(copy, info_)), threads_(threads) {
    choose_lanes(options);
    for (std::size_t d = 0; d < copy.dims.size(); ++d)
      places_.push_back(length(d) / lanes(d));
    find_order();
    share_.assign(places_.size(), 1);
    best_ = share_;
    search(0, 1, kWhole);
  }

  tile::Op run(std::int64_t spare, Names& names) const {
    tile::Op op = copy_;
    const auto longer = lengthened(spare);
    tile::Layout layout;
    layout.order.assign(order_.rbegin(), order_.rend());
    layout.unroll = unroll();
    layout.vector_dim = wide_;
    layout.lanes = lanes_;
    std::int64_t stride = 1;
    for (const int d : order_) {
      tile::Dim& dim = op.dims[d];
      const std::int64_t step = best_[d] * lanes(d);
      if (best_[d] > 1) {
        const kernel::Var digit = names.variable("t_" + dim.var.name);
        op.digits.push_back({digit, stride, best_[d]});
        dim.begin =
            kernel::add(dim.begin, kernel::mul(kernel::var_ref(digit), kernel::int_imm(lanes(d))));
        stride *= best_[d];
      }
      dim.step = step;
      // Every thread has all places, so that they are written out once.
      const std::int64_t unrolled = layout.unroll[d];
      dim.max_extent = reach(d, unrolled);
      const ExprPtr end = dim.end;
      dim.end = kernel::add(copy_.dims[d].begin, kernel::int_imm(dim.max_extent));
      if (outer_.of(kernel::sub(end, dim.end)).lo >= 0) continue;
      const ExprPtr exists = kernel::binary(BinaryOp::Lt, kernel::var_ref(dim.var), end);
      if (longer)
        op.targets[0].value = guarded(op.targets[0].value, exists);
      else
        op.conditions.push_back(exists);
    }
    if (longer) op.targets[0].buffer = longer;
    if (stride < threads_) {
      const kernel::Var rest = names.variable("idle");
      op.digits.push_back({rest, stride, ceil_div(threads_, stride)});
      op.conditions.insert(op.conditions.begin(),
                           kernel::binary(BinaryOp::Eq, kernel::var_ref(rest), kernel::int_imm(0)));
    }
    op.layout = std::move(layout);
    op.kind = tile::classify(op);
    return op;
  }

private:
  /// Elements along a dim with all places of all threads.
  std::int64_t reach(std::size_t d, std::int64_t unrolled) const {
    return ceil_div(ceil_div(places_[d], best_[d]), unrolled) * unrolled * best_[d] * lanes(d);
  }

  /// The target with all places of all threads; null: it has them, or that takes too much.
  kernel::BufferPtr lengthened(std::int64_t spare) const {
    const auto factors = unroll();
    auto longer = std::make_shared<kernel::Buffer>(*copy_.targets[0].buffer);
    const std::int64_t pitch =
        longer->extents.size() > 1 ? longer->strides[longer->extents.size() - 2] : 0;
    std::int64_t before = 1, after = 1;
    for (std::size_t d = 0; d < places_.size(); ++d) {
      before *= length(d);
      longer->extents[d] = std::max(length(d), reach(d, factors[d]));
      after *= longer->extents[d];
    }
    // Rows keep their distance, if they still fit in it.
    std::vector<std::int64_t> padded = longer->extents;
    padded.back() = std::max(padded.back(), pitch);
    longer->strides = kernel::contiguous_strides(padded);
    const auto bytes = [&](const kernel::Buffer& buffer) {
      return buffer.extents.front() * buffer.strides.front() * bits(buffer.type) / 8;
    };
    const std::int64_t more = bytes(*longer) - bytes(*copy_.targets[0].buffer);
    if (after == before || after * kMostGrowth > before * (kMostGrowth + 1) || more > spare)
      return nullptr;
    return longer;
  }

  std::int64_t length(std::size_t d) const {
    return std::max<std::int64_t>(copy_.dims[d].max_extent, 1);
  }
  int lanes(std::size_t d) const { return static_cast<int>(d) == wide_ ? lanes_ : 1; }

  /// Wide accesses along the dim in which the target is contiguous.
  void choose_lanes(const MappingOptions& options) {
    const Access& store = accesses_.back();
    int along = -1;
    for (std::size_t d = 0; d < copy_.dims.size(); ++d)
      if (!store.irregular[d] && store.stride[d] == 1 && length(d) > 1) along = static_cast<int>(d);
    if (along < 0 || options.vector_bits == 1) return;
    lanes_ = widest_access(copy_, info_, static_cast<std::size_t>(along), kWidest);
    while (lanes_ > 1 && length(along) % lanes_ != 0)
      lanes_ /= 2;
    if (lanes_ > 1) wide_ = along;
  }

  /// Dims by distance in memory of what is read, nearest first; those of the target where that is
  /// not known.
  void find_order() {
    order_.resize(places_.size());
    std::iota(order_.rbegin(), order_.rend(), 0);
    const Access& load = accesses_.front();
    if (load.is_store ||
        std::any_of(load.irregular.begin(), load.irregular.end(), [](bool b) { return b; }))
      return;
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
      return std::abs(load.stride[a]) < std::abs(load.stride[b]);
    });
  }

  /// Tries even shares of the dims from the position on; among equals those that lie near. Where a
  /// thread may lack its last access, all that hold it are guarded.
  void search(std::size_t at, std::int64_t used, std::int64_t cost) {
    if (least_ > 0 && cost >= least_) return;
    if (at == order_.size()) {
      least_ = cost;
      best_ = share_;
      return;
    }
    const auto d = static_cast<std::size_t>(order_[at]);
    const std::int64_t fit = std::min(places_[d], threads_ / used);
    const std::int64_t fewest = at == 0 ? std::min(fit, kNear) : 1;
    std::int64_t last = 0;
    for (std::int64_t turns = ceil_div(places_[d], fit); turns <= places_[d]; ++turns) {
      const std::int64_t share = ceil_div(places_[d], turns);
      if (share < fewest) break;
      if (share == last) continue;
      last = share;
      share_[d] = share;
      const std::int64_t most = std::int64_t{1} << 40;
      const std::int64_t taken = std::min(cost * ceil_div(places_[d], share), most);
      search(at + 1, used * share, places_[d] % share == 0 ? taken : taken / 4 * 5);
    }
    share_[d] = 1;
  }

  /// Accesses that are in flight at once, those near each other first.
  std::vector<int> unroll() const {
    std::vector<int> factors(places_.size(), 1);
    std::int64_t left = std::clamp<std::int64_t>(kInFlight / lanes_, 1, kMostInFlight);
    for (const int d : order_) {
      const std::int64_t turns = ceil_div(places_[d], best_[d]);
      std::int64_t factor = std::min(turns, left);
      while (turns % factor != 0 && factor * 2 > left)
        --factor;
      // Even parts: 11 places of which 8 may be in flight are two times 6.
      if (turns % factor != 0) factor = ceil_div(turns, ceil_div(turns, left));
      factors[d] = static_cast<int>(factor);
      left /= factor;
    }
    return factors;
  }

  const tile::Op& copy_;
  const Ranges& outer_;
  OpInfo info_;
  std::vector<Access> accesses_;
  std::int64_t threads_;
  int wide_ = -1, lanes_ = 1;
  std::vector<std::int64_t> places_;  ///< per dim: accesses along it
  std::vector<int> order_;
  std::vector<std::int64_t> share_, best_;  ///< per dim: threads
  std::int64_t least_ = 0;                  ///< cost of a thread
};

}  // namespace

tile::Op share_copy(const tile::Op& copy, const Ranges& outer, std::int64_t threads,
                    std::int64_t spare, const MappingOptions& options, Names& names) {
  return CopySharing(copy, outer, threads, options).run(spare, names);
}

tile::Op with_value(tile::Op op, const kernel::Var& var, const ExprPtr& value, Names& names) {
  std::vector<std::pair<int, ExprPtr>> here{{var.id, value}};
  for (auto& digit : op.digits) {
    const kernel::Var own = names.variable(digit.var.name);
    here.emplace_back(digit.var.id, kernel::var_ref(own));
    digit.var = own;
  }
  for (auto& dim : op.dims) {
    dim.begin = kernel::substitute(dim.begin, here);
    dim.end = kernel::substitute(dim.end, here);
  }
  for (auto& condition : op.conditions)
    condition = kernel::substitute(condition, here);
  for (auto& target : op.targets) {
    target.value = kernel::substitute(target.value, here);
    for (auto& subscript : target.subscripts)
      subscript = kernel::substitute(subscript, here);
  }
  return op;
}

}  // namespace tc::lower::cuda
