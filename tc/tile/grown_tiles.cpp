// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/support/numeric.h"
#include "tc/tile/accumulators.h"
#include "tc/tile/tile_measures.h"
#include "tc/tile/tile_sizes.h"

namespace tc::tile {
namespace {

constexpr std::int64_t kWarpRun = 32;
constexpr std::int64_t kBlockThreads = 256;
constexpr std::int64_t kBlockPoints = 2048;
constexpr std::int64_t kBlockReduced = 4096;  ///< where the heaviest statement is a reduction
constexpr std::int64_t kProductTile = 128 * 128;
constexpr std::int64_t kWindowTile = 8192;  ///< of a product with short sides over windows
constexpr std::int64_t kReuse = 8;
constexpr std::int64_t kBlocksPerCore = 2;

class GrownTiles : public TileMeasures {
public:
  GrownTiles(const poly::Scop& scop, const GroupContext& context,
             const std::vector<int>& contiguous, const MappingOptions& options,
             const tc::Target& target, FragmentProducts fragments)
      : TileMeasures(scop, context, contiguous, options, target, fragments.accumulators),
        fragments_(std::move(fragments)) {}

  Sizes run() const {
    Sizes sizes = extent_;
    if (context_.single_task) return sizes;
    for (std::size_t m = 0; m < sizes.size(); ++m)
      if (!fixed_[m]) sizes[m] = 1;
    const std::int64_t blocks =
        options_.tasks > 0 ? options_.tasks : kBlocksPerCore * std::max(target_.cores, 1);
    const auto product = find_product(true);
    // Runs of memory first: a warp that touches single elements wastes most of what it moves.
    for (const std::size_t m : run_members())
      grow_to(m, kWarpRun, 0, sizes);
    if (product) {
      // Squares share most; inner members make longer runs.
      const std::vector<std::size_t> row_members(product->rows.rbegin(), product->rows.rend());
      const std::vector<std::size_t> column_members(product->columns.rbegin(),
                                                    product->columns.rend());
      const std::int64_t most = most_sums(*product);
      const std::int64_t points = product->windows.points;
      const bool slides = points > 1 && fragments_.positions.empty();
      bool grew = true;
      while (grew) {
        const Sizes before = sizes;
        // A side without a window brings a point of its own for each point of the other's.
        const bool rows_first =
            rows(*product, sizes) * (slides && product->windows.columns ? points : 1) <
            columns(*product, sizes) * (slides && product->windows.rows ? points : 1);
        grew =
            grow_one(rows_first ? row_members : column_members, blocks / kBlocksPerCore, sizes) ||
            grow_one(rows_first ? column_members : row_members, blocks / kBlocksPerCore, sizes);
        if (sums(*product, sizes) > most) {
          sizes = before;
          break;
        }
      }
      // Even tiles: neither threads nor windows are to wait for a short last one.
      for (std::size_t m = 0; slides && m < sizes.size(); ++m)
        sizes[m] = ceil_div(extent_[m], ceil_div(extent_[m], sizes[m]));
      return sizes;
    }
    const std::int64_t most = options_.register_rows == 1 ? kBlockThreads
                              : is_reduction()            ? kBlockReduced
                                                          : kBlockPoints;
    std::vector<std::size_t> inner_first;
    for (std::size_t m = sizes.size(); m-- > 0;)
      inner_first.push_back(m);
    while (points_of_tile(sizes) * 2 <= most && grow_one(inner_first, blocks, sizes)) {
    }
    // Long reductions leave a block few elements; several of them share what they read.
    if (options_.register_rows == 1) return sizes;
    for (const std::size_t m : inner_first)
      if (reads_along(m))
        while (sizes[m] < kWarpRun && grow(m, blocks, sizes)) {
        }
    for (const std::size_t m : inner_first)
      if (shares_reads(m))
        while (sizes[m] < kReuse && grow(m, blocks / kBlocksPerCore, sizes)) {
        }
    return sizes;
  }

  /// Whether the products of a tile of these sizes go to tensor cores with all their sums in
  /// registers.
  bool on_tensor_cores(const Sizes& sizes) const {
    const auto product = fragments_.positions.empty() ? std::nullopt : find_product(true);
    if (!product) return false;
    const std::int64_t count = fragment_sums(*product, sizes);
    return count > 0 && count <= most_sums(*product);
  }
  const std::vector<int>& accumulators() const { return fragments_.accumulators; }

private:
  static std::int64_t rows(const Product& product, const Sizes& sizes) {
    return volume(product.rows, sizes, product.inner_rows);
  }
  static std::int64_t columns(const Product& product, const Sizes& sizes) {
    return volume(product.columns, sizes, product.inner_columns);
  }

  /// Sums of one product in a tile; on tensor cores with what fills up their instructions.
  std::int64_t sums(const Product& product, const Sizes& sizes) const {
    const std::int64_t plain = rows(product, sizes) * columns(product, sizes);
    return fragments_.positions.empty() ? plain : std::max(plain, fragment_sums(product, sizes));
  }
  static std::int64_t fragment_sums(const Product& product, const Sizes& sizes) {
    std::int64_t row = product.innermost_row;
    if (row == 1 && !product.rows.empty()) row = sizes[product.rows.back()];
    return tile::fragment_sums(rows(product, sizes) / row, row, columns(product, sizes));
  }
  std::int64_t most_sums(const Product& product) const {
    if (fragments_.positions.empty())
      return is_staged(product)           ? kProductTile
             : product.windows.points > 1 ? kWindowTile
                                          : kBlockPoints;
    return fragments_.most_sums / static_cast<std::int64_t>(fragments_.positions.size());
  }

  /// Whether a product has the rows and columns for panels.
  bool is_staged(const Product& product) const {
    const auto all = [&](const std::vector<std::size_t>& members, std::int64_t inner) {
      for (const auto m : members)
        inner = std::min(inner * extent_[m], kManyElements);
      return inner;
    };
    return all(product.rows, product.inner_rows) >= kFewestStaged &&
           all(product.columns, product.inner_columns) >= kFewestStaged;
  }

  /// Members along which some tensor that is as large as the work is contiguous, innermost first.
  std::vector<std::size_t> run_members() const {
    std::vector<std::size_t> members;
    for (const auto& access : context_.accesses) {
      const int dim = contiguous_[static_cast<std::size_t>(access.tensor)];
      if (dim < 0) continue;
      const auto along = members_of(static_cast<std::size_t>(access.position),
                                    (*access.subscripts)[static_cast<std::size_t>(dim)]);
      for (std::size_t m = along.size(); m-- > 0;)
        if (along[m] && std::find(members.begin(), members.end(), m) == members.end())
          members.push_back(m);
    }
    std::sort(members.rbegin(), members.rend());
    return members;
  }

  /// Doubles a member; false if it is whole, or fewer than `blocks` tasks or too much local memory
  /// would result.
  bool grow(std::size_t m, std::int64_t blocks, Sizes& sizes) const {
    if (fixed_[m] || sizes[m] >= extent_[m]) return false;
    Sizes larger = sizes;
    larger[m] = std::min(2 * sizes[m], extent_[m]);
    if (tasks(larger) < std::min(blocks, tasks(sizes)) || !fits_locally(larger)) return false;
    sizes = std::move(larger);
    return true;
  }
  void grow_to(std::size_t m, std::int64_t size, std::int64_t blocks, Sizes& sizes) const {
    while (sizes[m] < size && points_of_tile(sizes) < kBlockPoints && grow(m, blocks, sizes)) {
    }
  }
  /// Grows the last of these members that can.
  bool grow_one(const std::vector<std::size_t>& members, std::int64_t blocks, Sizes& sizes) const {
    return std::any_of(members.begin(), members.end(),
                       [&](std::size_t m) { return grow(m, blocks, sizes); });
  }

  /// Whether a read of the heaviest statement, if that is a reduction, does not depend on the
  /// member.
  bool shares_reads(std::size_t m) const {
    return any_read_of_reduction([&](std::size_t position, const Access& access) {
      // What a part of a split reduction reads follows from its range.
      const int part = statement(position).part_index;
      if (part >= 0 && member_of(position, part) == static_cast<int>(m)) return false;
      return std::none_of(access.subscripts->begin(), access.subscripts->end(),
                          [&](const lang::ExprPtr& subscript) -> bool {
                            return members_of(position, subscript)[m];
                          });
    });
  }

  /// The same for a read that is contiguous along the member.
  bool reads_along(std::size_t m) const {
    return any_read_of_reduction([&](std::size_t position, const Access& access) -> bool {
      const int dim = contiguous_[static_cast<std::size_t>(access.tensor)];
      if (dim < 0) return false;
      return members_of(position, (*access.subscripts)[static_cast<std::size_t>(dim)])[m];
    });
  }

  std::size_t heaviest() const {
    std::size_t best = 0;
    for (std::size_t p = 1; p < points_.size(); ++p)
      if (points_[p] > points_[best]) best = p;
    return best;
  }
  bool is_reduction() const {
    return !points_.empty() && statement(heaviest()).kind == poly::StatementKind::Reduce;
  }

  template <class F>
  bool any_read_of_reduction(F&& holds) const {
    if (!is_reduction()) return false;
    const std::size_t position = heaviest();
    return std::any_of(context_.accesses.begin(), context_.accesses.end(),
                       [&](const Access& access) {
                         return access.position == static_cast<int>(position) && !access.write &&
                                holds(position, access);
                       });
  }

  /// Points of the heaviest statement in one tile.
  std::int64_t points_of_tile(const Sizes& sizes) const {
    std::int64_t most = 1;
    for (std::size_t p = 0; p < group_.statements.size(); ++p) {
      std::int64_t count = points_[p];
      for (std::size_t m = 0; m < sizes.size(); ++m)
        if (group_.band[m].alignment[p].index >= 0)
          count = ceil_div(count, ceil_div(extent_[m], sizes[m]));
      most = std::max(most, count);
    }
    return most;
  }

  FragmentProducts fragments_;
};

}  // namespace

Sizes grown_tiles(const poly::Scop& scop, const GroupContext& context,
                  const std::vector<int>& contiguous, const MappingOptions& options,
                  const tc::Target& target) {
  FragmentProducts products = find_fragment_products(scop, context, options, target);
  if (!products.positions.empty()) {
    const GrownTiles on_cores(scop, context, contiguous, options, target, std::move(products));
    Sizes sizes = on_cores.run();
    if (on_cores.on_tensor_cores(sizes)) return sizes;
  }
  return GrownTiles(scop, context, contiguous, options, target, {}).run();
}

std::vector<int> find_register_temporaries(const poly::Scop& scop, const GroupContext& context,
                                           const std::vector<int>& contiguous,
                                           const std::vector<std::int64_t>& sizes,
                                           const MappingOptions& options,
                                           const tc::Target& target) {
  FragmentProducts products = find_fragment_products(scop, context, options, target);
  if (products.positions.empty()) return {};
  const GrownTiles tiles(scop, context, contiguous, options, target, std::move(products));
  return tiles.on_tensor_cores(sizes) ? tiles.accumulators() : std::vector<int>{};
}

}  // namespace tc::tile
