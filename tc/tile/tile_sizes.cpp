// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/tile_sizes.h"

#include <algorithm>
#include <utility>

#include "tc/poly/product.h"
#include "tc/support/numeric.h"
#include "tc/tile/tile_measures.h"

namespace tc::tile {
namespace {

constexpr std::int64_t kSingleTaskPoints = 20000;
constexpr std::int64_t kMinTaskPoints = 5000;
constexpr std::int64_t kHeavyPoints = 1000;
constexpr std::int64_t kTransposeCap = 64;
constexpr std::int64_t kColumns = 256;
constexpr std::int64_t kRowTiles = 16;
constexpr std::int64_t kLineBytes = 64;

/// Tasks of a CPU: halved from the whole extents.
class HalvedTiles : public TileMeasures {
public:
  HalvedTiles(const poly::Scop& scop, const GroupContext& context,
              const std::vector<int>& contiguous, const MappingOptions& options,
              const tc::Target& target)
      : TileMeasures(scop, context, contiguous, options, target, {}) {
    minimum_.resize(extent_.size(), 1);
    measure_reused();
    keep_contiguous_runs();
  }

  Sizes run() {
    Sizes sizes = extent_;
    if (total_ < kSingleTaskPoints || options_.tasks == 1 || context_.single_task) return sizes;
    const auto product = find_product(false);
    if (product)
      cap_product(*product, sizes);
    else
      cap_transpositions(sizes);
    fit(sizes);
    std::int64_t wanted = options_.tasks > 0 ? options_.tasks : 4 * std::max(target_.cores, 1);
    if (options_.tasks == 0)
      wanted = std::min(wanted, std::max<std::int64_t>(total_ / kMinTaskPoints, 1));
    while (tasks(sizes) < wanted) {
      if (product && halve_largest(*product, sizes)) continue;
      if (!halve(sizes, minimum_)) break;
    }
    round(product, wanted, sizes);
    return sizes;
  }

private:
  /// The innermost member is split into runs of whole cache lines if a tensor that is as large as
  /// the work lies along it.
  void keep_contiguous_runs() {
    if (minimum_.empty()) return;
    const std::size_t last = minimum_.size() - 1;
    for (const auto& access : context_.accesses) {
      const int dim = contiguous_[static_cast<std::size_t>(access.tensor)];
      if (dim < 0 || access.gathered()) continue;
      const auto position = static_cast<std::size_t>(access.position);
      const auto& subscript = (*access.subscripts)[static_cast<std::size_t>(dim)];
      if (!members_of(position, subscript)[last]) continue;
      std::int64_t elements = 1;
      for (const auto& dims = whole_.statements[position].dims; const auto& d : dims)
        if (uses(access, d))
          elements =
              std::min(elements * std::max<std::int64_t>(d.max_extent, 1), std::int64_t{1} << 30);
      if (total_ / elements > kHeavyPoints) continue;
      const std::int64_t run = std::max<std::int64_t>(4 * kLineBytes / element_bytes(), 1);
      minimum_[last] = std::min(extent_[last], run);
    }
  }

  /// Whether a dim of the statement takes part in an access.
  bool uses(const Access& access, const Dim& dim) const {
    const auto position = static_cast<std::size_t>(access.position);
    const auto& indices = whole_.statements[position].names.indices;
    for (const auto& subscript : *access.subscripts) {
      const auto here = indices_of(statement(position), subscript);
      for (std::size_t i = 0; i < here.size(); ++i)
        if (here[i] && indices[i] &&
            std::get<kernel::VarRef>(indices[i]->node).var.id == dim.var.id)
          return true;
    }
    return false;
  }

  /// Footprints of what is used again. What does not stay in cache even in the smallest tiles
  /// streams through.
  void measure_reused() {
    std::vector<std::pair<std::int64_t, Growth>> reused;
    for (const int tensor : find_reused()) {
      Growth growth = this->growth(tensor);
      const std::int64_t need = growth.bytes(smallest_);
      reused.emplace_back(need, std::move(growth));
    }
    reused_ = within(std::move(reused), target_.l2_bytes / 2);
    smallest_reused_ = sum_bytes(reused_, smallest_);
  }

  /// Tensors that are worth keeping near between their uses in one tile. Operands of products are
  /// not: their reduction is blocked inside the tile.
  std::vector<int> find_reused() const {
    std::vector<int> result;
    for (std::size_t t = 0; t < scop_.tensors.size(); ++t) {
      const Access* first = nullptr;
      bool reuse = false;
      for (const auto& access : context_.accesses) {
        if (access.tensor != static_cast<int>(t) || access.gathered()) continue;
        if (!access.write &&
            poly::find_product(statement(static_cast<std::size_t>(access.position)), false))
          continue;
        reuse = reuse || has_reuse(access) || (first && !same_access(*first, access));
        if (!first) first = &access;
      }
      if (reuse) result.push_back(static_cast<int>(t));
    }
    return result;
  }

  static bool same_access(const Access& a, const Access& b) {
    return a.position == b.position &&
           std::equal(a.subscripts->begin(), a.subscripts->end(), b.subscripts->begin(),
                      b.subscripts->end(), lang::equal);
  }

  /// Several points of the statement touch one element: some index with several values takes no
  /// part, or two share a subscript.
  bool has_reuse(const Access& access) const {
    const auto position = static_cast<std::size_t>(access.position);
    std::vector<bool> varies(statement(position).indices.size(), false);
    for (std::size_t i = 0; i < varies.size(); ++i)
      varies[i] = values_of(position, i) > 1;
    std::vector<bool> used(varies.size(), false);
    for (const auto& subscript : *access.subscripts) {
      const auto here = indices_of(statement(position), subscript);
      int together = 0;
      for (std::size_t i = 0; i < used.size(); ++i) {
        used[i] = used[i] || here[i];
        together += here[i] && varies[i] ? 1 : 0;
      }
      if (together > 1) return true;
    }
    for (std::size_t i = 0; i < used.size(); ++i)
      if (varies[i] && !used[i]) return true;
    return false;
  }

  static std::int64_t half(std::int64_t size) { return (size + 1) / 2; }

  bool can_halve(const Sizes& sizes, std::size_t m, const Sizes& minimum) const {
    return !fixed_[m] && sizes[m] > 1 && half(sizes[m]) >= minimum[m];
  }

  /// Halves the outermost member that is not at its minimum; false if all are.
  bool halve(Sizes& sizes, const Sizes& minimum) const {
    for (std::size_t m = 0; m < sizes.size(); ++m) {
      if (!can_halve(sizes, m, minimum)) continue;
      sizes[m] = half(sizes[m]);
      return true;
    }
    return false;
  }

  bool halve_largest(const Product& product, Sizes& sizes) const {
    // Batches come first: they share no operand.
    for (std::size_t m = 0; m < sizes.size(); ++m) {
      const auto in = [&](const std::vector<std::size_t>& list) {
        return std::find(list.begin(), list.end(), m) != list.end();
      };
      if (in(product.rows) || in(product.columns) || !can_halve(sizes, m, minimum_)) continue;
      sizes[m] = half(sizes[m]);
      return true;
    }
    const bool columns_first = volume(product.columns, sizes) >= volume(product.rows, sizes);
    for (const auto* members : {columns_first ? &product.columns : &product.rows,
                                columns_first ? &product.rows : &product.columns}) {
      for (const auto m : *members) {
        if (!can_halve(sizes, m, minimum_)) continue;
        sizes[m] = half(sizes[m]);
        return true;
      }
    }
    return false;
  }

  /// Rows of one register tile, as many as accumulators of two vectors fit beside operands.
  std::int64_t register_rows() const { return target_.vector_registers >= 32 ? 14 : 6; }
  std::int64_t register_columns() const {
    return std::max<std::int64_t>(2 * target_.vector_bits / (8 * element_bytes()), 1);
  }

  void cap_product(const Product& product, Sizes& sizes) const {
    const auto cap = [&](const std::vector<std::size_t>& members, std::int64_t budget) {
      for (auto m = members.rbegin(); m != members.rend(); ++m) {
        if (!fixed_[*m]) sizes[*m] = std::min(sizes[*m], std::max<std::int64_t>(budget, 1));
        budget /= std::max<std::int64_t>(sizes[*m], 1);
      }
    };
    const std::int64_t most_rows = kRowTiles * register_rows();
    cap(product.rows, most_rows);
    std::int64_t rows = 1;
    for (const auto m : product.rows)
      rows *= sizes[m];
    // Few rows leave room for more columns.
    cap(product.columns, kColumns * std::max<std::int64_t>(most_rows / rows, 1));
  }

  int members_touched(const Access& access) const {
    std::vector<bool> touched(extent_.size(), false);
    for (const auto& subscript : *access.subscripts) {
      const auto members = members_of(static_cast<std::size_t>(access.position), subscript);
      for (std::size_t m = 0; m < touched.size(); ++m)
        touched[m] = touched[m] || members[m];
    }
    return static_cast<int>(std::count(touched.begin(), touched.end(), true));
  }

  void cap_transpositions(Sizes& sizes) const {
    for (std::size_t p = 0; p < group_.statements.size(); ++p) {
      std::vector<std::size_t> members;
      for (const auto& access : context_.accesses) {
        const int dim = contiguous_[static_cast<std::size_t>(access.tensor)];
        if (access.position != static_cast<int>(p) || dim < 0 || access.gathered()) continue;
        if (members_touched(access) < 2) continue;
        const auto along = members_of(p, (*access.subscripts)[static_cast<std::size_t>(dim)]);
        for (std::size_t m = 0; m < along.size(); ++m)
          if (along[m] && extent_[m] > 1 &&
              std::find(members.begin(), members.end(), m) == members.end())
            members.push_back(m);
      }
      if (members.size() < 2) continue;
      for (const auto m : members)
        if (!fixed_[m]) sizes[m] = std::min(sizes[m], kTransposeCap);
    }
  }

  bool fits(const Sizes& sizes) const {
    const std::int64_t near_limit =
        std::max(target_.l2_bytes / 2, 2 * std::min(smallest_reused_, std::int64_t{1} << 60));
    return fits_locally(sizes) && sum_bytes(reused_, sizes) <= near_limit;
  }
  /// Halves until everything fits, then lets the member halved last grow back as far as possible.
  void fit(Sizes& sizes) const {
    if (fits(sizes)) return;
    Sizes before = sizes;
    while (!fits(sizes)) {
      before = sizes;
      if (!halve(sizes, minimum_)) break;
    }
    // Temporaries may ask for runs shorter than the minimum.
    while (!fits_locally(sizes)) {
      before = sizes;
      if (!halve(sizes, Sizes(sizes.size(), 1))) break;
    }
    if (!fits(sizes)) return;
    for (std::size_t m = 0; m < sizes.size(); ++m) {
      std::int64_t too_large = before[m];
      while (too_large - sizes[m] > 1) {
        Sizes middle = sizes;
        middle[m] = sizes[m] + (too_large - sizes[m]) / 2;
        if (fits(middle))
          sizes = middle;
        else
          too_large = middle[m];
      }
    }
  }

  /// Up to whole units, unless that costs tasks that are wanted or does not fit; else down.
  void round(const std::optional<Product>& product, std::int64_t wanted, Sizes& sizes) const {
    for (std::size_t m = 0; m < sizes.size(); ++m) {
      if (sizes[m] >= extent_[m]) continue;
      // Even tiles first: 100 in tiles of 64 is two tiles of 50.
      sizes[m] = ceil_div(extent_[m], ceil_div(extent_[m], sizes[m]));
      std::int64_t unit = 1;
      if (m + 1 == sizes.size()) unit = kLineBytes / std::min(element_bytes(), kLineBytes);
      if (product && !product->columns.empty() && m == product->columns.back())
        unit = register_columns();
      if (product && !product->rows.empty() && m == product->rows.back()) unit = register_rows();
      if (sizes[m] <= unit) continue;
      Sizes up = sizes;
      up[m] = std::min(ceil_div(sizes[m], unit) * unit, extent_[m]);
      const bool enough = tasks(up) >= std::min(wanted, tasks(sizes));
      if (enough && (fits(up) || !fits(sizes)))
        sizes = up;
      else
        sizes[m] = sizes[m] / unit * unit;
    }
  }

  Sizes minimum_;
  std::vector<Growth> reused_;
  std::int64_t smallest_reused_ = 0;  ///< bytes of reused_ in the smallest tiles
};

}  // namespace

std::int64_t local_limit(const MappingOptions& options, const tc::Target& target) {
  if (options.local_bytes > 0) return options.local_bytes;
  return target.kind == TargetKind::Cuda ? target.shared_bytes / 2 : target.l2_bytes / 2;
}

std::vector<std::int64_t> choose_tile_sizes(const poly::Scop& scop, const GroupContext& context,
                                            const std::vector<int>& contiguous,
                                            const MappingOptions& options,
                                            const tc::Target& target) {
  if (!options.tile.empty())
    return TileMeasures(scop, context, contiguous, options, target, {}).given();
  if (target.kind == TargetKind::Cuda)
    return grown_tiles(scop, context, contiguous, options, target);
  return HalvedTiles(scop, context, contiguous, options, target).run();
}

}  // namespace tc::tile
