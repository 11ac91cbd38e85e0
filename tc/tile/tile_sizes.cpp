// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/tile_sizes.h"

#include <algorithm>
#include <cstdlib>

#include "tc/poly/product.h"
#include "tc/support/numeric.h"
#include "tc/tile/growth.h"

namespace tc::tile {
namespace {

constexpr std::int64_t kSingleTaskPoints = 20000;
constexpr std::int64_t kMinTaskPoints = 5000;
constexpr std::int64_t kHeavyPoints = 1000;
constexpr std::int64_t kTransposeCap = 64;
constexpr std::int64_t kColumns = 256;
constexpr std::int64_t kRowTiles = 16;
constexpr std::int64_t kLineBytes = 64;
// Tasks of a GPU.
constexpr std::int64_t kWarpRun = 32;
constexpr std::int64_t kBlockThreads = 256;
constexpr std::int64_t kBlockPoints = 2048;
constexpr std::int64_t kBlockReduced = 4096;  ///< where the heaviest statement is a reduction
constexpr std::int64_t kProductTile = 128 * 128;
constexpr std::int64_t kReuse = 8;
constexpr std::int64_t kManyElements = 1 << 30;  ///< more than a tile has; two may be multiplied
constexpr std::int64_t kBlocksPerCore = 2;

using Sizes = std::vector<std::int64_t>;

/// Indices of the statement that an expression mentions, one flag each.
std::vector<bool> indices_of(const poly::Statement& statement, const lang::ExprPtr& expr) {
  std::vector<bool> used(statement.indices.size(), false);
  lang::walk(expr, [&](const lang::Expr& e) {
    if (const auto* ref = std::get_if<lang::IndexRef>(&e.node))
      used[static_cast<std::size_t>(ref->index)] = true;
  });
  return used;
}

struct Product {
  std::vector<std::size_t> rows, columns;  ///< band members, outermost first
  /// Rows and columns that every tile has: along indices that are no members.
  std::int64_t inner_rows = 1, inner_columns = 1;
};

class Model {
public:
  Model(const poly::Scop& scop, const GroupContext& context, const std::vector<int>& contiguous,
        const MappingOptions& options, const tc::Target& target)
      : scop_(scop), context_(context), group_(*context.group), contiguous_(contiguous),
        options_(options), target_(target) {
    for (const auto& member : group_.band)
      extent_.push_back(std::max<std::int64_t>(member.hi - member.lo, 1));
    fixed_.resize(extent_.size(), false);
    minimum_.resize(extent_.size(), 1);
    whole_ = make_frame(scop_, group_, context_.counters, extent_);
    for (const auto& frame : whole_.statements)
      points_.push_back(points(frame));
    for (const auto count : points_)
      total_ = saturating_add(total_, count);
    fix_packed_members();
    measure_smallest();
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

  /// Sizes of the tasks of a GPU: grown from single elements.
  Sizes grown() const {
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
      const auto volume = [&](const std::vector<std::size_t>& members, std::int64_t inner) {
        std::int64_t count = inner;
        for (const auto m : members)
          count = std::min(count * sizes[m], kManyElements);
        return count;
      };
      const auto rows = [&] { return volume(product->rows, product->inner_rows); };
      const auto columns = [&] { return volume(product->columns, product->inner_columns); };
      // Squares share most; inner members make longer runs.
      const std::vector<std::size_t> row_members(product->rows.rbegin(), product->rows.rend());
      const std::vector<std::size_t> column_members(product->columns.rbegin(),
                                                    product->columns.rend());
      const std::int64_t most = is_staged(*product) ? kProductTile : kBlockPoints;
      bool grew = true;
      while (grew) {
        const Sizes before = sizes;
        const bool rows_first = rows() < columns();
        grew =
            grow_one(rows_first ? row_members : column_members, blocks / kBlocksPerCore, sizes) ||
            grow_one(rows_first ? column_members : row_members, blocks / kBlocksPerCore, sizes);
        if (rows() * columns() > most) {
          sizes = before;
          break;
        }
      }
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

  /// Sizes given by the options.
  Sizes given() const {
    Sizes sizes = extent_;
    for (std::size_t m = 0; m < sizes.size() && m < options_.tile.size(); ++m)
      if (options_.tile[m] > 0 && !fixed_[m] && !context_.single_task)
        sizes[m] = std::min(sizes[m], options_.tile[m]);
    return sizes;
  }

private:
  static std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return checked_add(a, b, sum) ? sum : std::int64_t{1} << 62;
  }

  static std::int64_t points(const StatementFrame& frame) {
    if (frame.empty) return 0;
    std::int64_t count = 1;
    for (const auto& dim : frame.dims)
      if (!checked_mul(count, dim.max_extent, count)) return std::int64_t{1} << 60;
    return std::min(count, std::int64_t{1} << 60);
  }

  const poly::Statement& statement(std::size_t position) const {
    return scop_.statements[static_cast<std::size_t>(group_.statements[position])];
  }

  /// The band member that an index of a statement runs along, -1 if none.
  int member_of(std::size_t position, int index) const {
    for (std::size_t m = 0; m < group_.band.size(); ++m)
      if (group_.band[m].alignment[position].index == index) return static_cast<int>(m);
    return -1;
  }

  std::vector<bool> members_of(std::size_t position, const lang::ExprPtr& expr) const {
    std::vector<bool> members(extent_.size(), false);
    const auto used = indices_of(statement(position), expr);
    for (std::size_t i = 0; i < used.size(); ++i)
      if (const int m = member_of(position, static_cast<int>(i)); used[i] && m >= 0)
        members[static_cast<std::size_t>(m)] = true;
    return members;
  }

  void fix_packed_members() {
    for (const auto& access : context_.accesses) {
      const auto& tensor = scop_.tensors[static_cast<std::size_t>(access.tensor)];
      if (!access.write || bits(tensor.type) != 4 || access.subscripts->empty()) continue;
      const auto members =
          members_of(static_cast<std::size_t>(access.position), access.subscripts->back());
      for (std::size_t m = 0; m < members.size(); ++m)
        fixed_[m] = fixed_[m] || members[m];
    }
  }

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

  /// Footprints in the smallest tiles. Temporaries that do not fit even there will not be local and
  /// do not count.
  void measure_smallest() {
    Sizes smallest = extent_;
    for (std::size_t m = 0; m < smallest.size(); ++m)
      if (!fixed_[m]) smallest[m] = 1;
    const GroupFrame frame = make_frame(scop_, group_, context_.counters, smallest);
    std::vector<std::pair<std::int64_t, Growth>> temporaries;
    for (const int tensor : context_.private_tensors) {
      Growth growth = this->growth(frame, tensor);
      const std::int64_t need = growth.bytes(smallest);
      temporaries.emplace_back(need, std::move(growth));
    }
    bounded_ = within(std::move(temporaries), local_limit(options_, target_));
    // What does not stay in cache even there streams through.
    std::vector<std::pair<std::int64_t, Growth>> reused;
    for (const int tensor : find_reused()) {
      Growth growth = this->growth(frame, tensor);
      const std::int64_t need = growth.bytes(smallest);
      reused.emplace_back(need, std::move(growth));
    }
    reused_ = within(std::move(reused), target_.l2_bytes / 2);
    smallest_reused_ = sum_bytes(reused_, smallest);
  }

  Growth growth(const GroupFrame& smallest, int tensor) const {
    const auto& shape = scop_.tensors[static_cast<std::size_t>(tensor)];
    Growth result{shape.type, {}};
    const auto box = footprint(scop_, smallest, context_.accesses, tensor);
    if (!box) {
      result.dimensions.push_back({0, 0, {}});
      return result;
    }
    for (std::size_t d = 0; d < box->extent.size(); ++d) {
      result.dimensions.push_back({box->extent[d], shape.extent[d], {}});
      for (const auto& [loop, coefficient] : box->moves[d])
        result.dimensions.back().members.emplace_back(smallest.grid_member[loop], coefficient);
    }
    return result;
  }

  /// The smallest ones, as many as fit together.
  static std::vector<Growth> within(std::vector<std::pair<std::int64_t, Growth>> needs,
                                    std::int64_t limit) {
    std::stable_sort(needs.begin(), needs.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Growth> result;
    std::int64_t total = 0;
    for (auto& [need, growth] : needs) {
      total = saturating_add(total, need);
      if (total > limit) break;
      result.push_back(std::move(growth));
    }
    return result;
  }

  static std::int64_t sum_bytes(const std::vector<Growth>& tensors, const Sizes& sizes) {
    std::int64_t total = 0;
    for (const auto& tensor : tensors)
      total = saturating_add(total, tensor.bytes(sizes));
    return total;
  }

  std::int64_t element_bytes() const {
    std::int64_t bytes = 1;
    for (const auto& access : context_.accesses) {
      const DType type = scop_.tensors[static_cast<std::size_t>(access.tensor)].type;
      if (access.write) bytes = std::max<std::int64_t>(bytes, bits(type) / 8);
    }
    return bytes;
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

  /// Values of an index in the whole group.
  std::int64_t values_of(std::size_t position, std::size_t index) const {
    const auto& frame = whole_.statements[position];
    if (index >= frame.names.indices.size() || !frame.names.indices[index]) return 1;
    const int id = std::get<kernel::VarRef>(frame.names.indices[index]->node).var.id;
    for (const auto& dim : frame.dims)
      if (dim.var.id == id) return dim.max_extent;
    return 1;
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

  // ---- tasks of a GPU ----

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

  std::int64_t tasks(const Sizes& sizes) const {
    std::int64_t count = 1;
    for (std::size_t m = 0; m < sizes.size(); ++m)
      count = std::min(count * ceil_div(extent_[m], sizes[m]), std::int64_t{1} << 40);
    return count;
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
    const auto volume = [&](const std::vector<std::size_t>& members) {
      std::int64_t count = 1;
      for (const auto m : members)
        count *= sizes[m];
      return count;
    };
    const bool columns_first = volume(product.columns) >= volume(product.rows);
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

  /// Rows and columns of the heaviest product reduction as band members, if such reductions make up
  /// half of the points.
  std::optional<Product> find_product(bool chains) const {
    std::optional<std::size_t> heaviest;
    std::int64_t products = 0;
    for (std::size_t p = 0; p < group_.statements.size(); ++p) {
      if (!poly::find_product(statement(p), chains)) continue;
      products = saturating_add(products, points_[p]);
      if (!heaviest || points_[p] > points_[*heaviest]) heaviest = p;
    }
    if (!heaviest || products < total_ / 2) return std::nullopt;
    const auto found = poly::find_product(statement(*heaviest), chains);
    const auto members = [&](const std::vector<int>& indices) {
      std::vector<std::size_t> result;
      for (const int index : indices)
        if (const int m = member_of(*heaviest, index); m >= 0)
          result.push_back(static_cast<std::size_t>(m));
      std::sort(result.begin(), result.end());
      return result;
    };
    const auto inner = [&](const std::vector<int>& indices) {
      std::int64_t count = 1;
      for (const int index : indices)
        if (member_of(*heaviest, index) < 0)
          count = std::min(count * values_of(*heaviest, static_cast<std::size_t>(index)),
                           kManyElements);
      return count;
    };
    return Product{members(found->rows), members(found->columns), inner(found->rows),
                   inner(found->columns)};
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
  bool fits_locally(const Sizes& sizes) const {
    return sum_bytes(bounded_, sizes) <= local_limit(options_, target_);
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

  const poly::Scop& scop_;
  const GroupContext& context_;
  const poly::Group& group_;
  const std::vector<int>& contiguous_;
  const MappingOptions& options_;
  const tc::Target& target_;
  Sizes extent_, minimum_;
  std::vector<bool> fixed_;
  std::int64_t total_ = 0;            ///< points of all statements
  std::vector<std::int64_t> points_;  ///< by position in Group::statements
  std::vector<Growth> bounded_;       ///< private tensors that count against the limit
  std::vector<Growth> reused_;
  std::int64_t smallest_reused_ = 0;  ///< bytes of reused_ in the smallest tiles
  GroupFrame whole_;
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
  Model model(scop, context, contiguous, options, target);
  if (!options.tile.empty()) return model.given();
  return target.kind == TargetKind::Cuda ? model.grown() : model.run();
}

}  // namespace tc::tile
