// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/tile_measures.h"

#include <algorithm>

#include "tc/poly/product.h"
#include "tc/support/numeric.h"
#include "tc/tile/tile_sizes.h"

namespace tc::tile {
namespace {

std::int64_t points(const StatementFrame& frame) {
  if (frame.empty) return 0;
  std::int64_t count = 1;
  for (const auto& dim : frame.dims)
    if (!checked_mul(count, dim.max_extent, count)) return std::int64_t{1} << 60;
  return std::min(count, std::int64_t{1} << 60);
}

}  // namespace

std::vector<bool> indices_of(const poly::Statement& statement, const lang::ExprPtr& expr) {
  std::vector<bool> used(statement.indices.size(), false);
  lang::walk(expr, [&](const lang::Expr& e) {
    if (const auto* ref = std::get_if<lang::IndexRef>(&e.node))
      used[static_cast<std::size_t>(ref->index)] = true;
  });
  return used;
}

TileMeasures::TileMeasures(const poly::Scop& scop, const GroupContext& context,
                           const std::vector<int>& contiguous, const MappingOptions& options,
                           const tc::Target& target, const std::vector<int>& held)
    : scop_(scop), context_(context), group_(*context.group), contiguous_(contiguous),
      options_(options), target_(target) {
  for (const auto& member : group_.band)
    extent_.push_back(std::max<std::int64_t>(member.hi - member.lo, 1));
  fixed_.resize(extent_.size(), false);
  whole_ = make_frame(scop_, group_, context_.counters, extent_);
  for (const auto& frame : whole_.statements)
    points_.push_back(points(frame));
  for (const auto count : points_)
    total_ = saturating_add(total_, count);
  fix_packed_members();
  smallest_ = extent_;
  for (std::size_t m = 0; m < smallest_.size(); ++m)
    if (!fixed_[m]) smallest_[m] = 1;
  smallest_frame_ = make_frame(scop_, group_, context_.counters, smallest_);
  // Temporaries that do not fit even in the smallest tiles will not be local and do not count.
  std::vector<std::pair<std::int64_t, Growth>> temporaries;
  for (const int tensor : context_.private_tensors) {
    if (std::find(held.begin(), held.end(), tensor) != held.end()) continue;
    Growth growth = this->growth(tensor);
    const std::int64_t need = growth.bytes(smallest_);
    temporaries.emplace_back(need, std::move(growth));
  }
  bounded_ = within(std::move(temporaries), local_limit(options_, target_));
}

Sizes TileMeasures::given() const {
  Sizes sizes = extent_;
  for (std::size_t m = 0; m < sizes.size() && m < options_.tile.size(); ++m)
    if (options_.tile[m] > 0 && !fixed_[m] && !context_.single_task)
      sizes[m] = std::min(sizes[m], options_.tile[m]);
  return sizes;
}

std::int64_t TileMeasures::volume(const std::vector<std::size_t>& members, const Sizes& sizes,
                                  std::int64_t inner) {
  for (const auto m : members)
    inner = std::min(inner * sizes[m], kManyElements);
  return inner;
}

std::int64_t TileMeasures::saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return checked_add(a, b, sum) ? sum : std::int64_t{1} << 62;
}

const poly::Statement& TileMeasures::statement(std::size_t position) const {
  return scop_.statements[static_cast<std::size_t>(group_.statements[position])];
}

int TileMeasures::member_of(std::size_t position, int index) const {
  for (std::size_t m = 0; m < group_.band.size(); ++m)
    if (group_.band[m].alignment[position].index == index) return static_cast<int>(m);
  return -1;
}

std::vector<bool> TileMeasures::members_of(std::size_t position, const lang::ExprPtr& expr) const {
  std::vector<bool> members(extent_.size(), false);
  const auto used = indices_of(statement(position), expr);
  for (std::size_t i = 0; i < used.size(); ++i)
    if (const int m = member_of(position, static_cast<int>(i)); used[i] && m >= 0)
      members[static_cast<std::size_t>(m)] = true;
  return members;
}

std::int64_t TileMeasures::values_of(std::size_t position, std::size_t index) const {
  const auto& frame = whole_.statements[position];
  if (index >= frame.names.indices.size() || !frame.names.indices[index]) return 1;
  const int id = std::get<kernel::VarRef>(frame.names.indices[index]->node).var.id;
  for (const auto& dim : frame.dims)
    if (dim.var.id == id) return dim.max_extent;
  return 1;
}

void TileMeasures::fix_packed_members() {
  for (const auto& access : context_.accesses) {
    const auto& tensor = scop_.tensors[static_cast<std::size_t>(access.tensor)];
    if (!access.write || bits(tensor.type) != 4 || access.subscripts->empty()) continue;
    const auto members =
        members_of(static_cast<std::size_t>(access.position), access.subscripts->back());
    for (std::size_t m = 0; m < members.size(); ++m)
      fixed_[m] = fixed_[m] || members[m];
  }
}

Growth TileMeasures::growth(int tensor) const {
  const auto& shape = scop_.tensors[static_cast<std::size_t>(tensor)];
  Growth result{shape.type, {}};
  const auto box = footprint(scop_, smallest_frame_, context_.accesses, tensor);
  if (!box) {
    result.dimensions.push_back({0, 0, {}});
    return result;
  }
  for (std::size_t d = 0; d < box->extent.size(); ++d) {
    result.dimensions.push_back({box->extent[d], shape.extent[d], {}});
    for (const auto& [loop, coefficient] : box->moves[d])
      result.dimensions.back().members.emplace_back(smallest_frame_.grid_member[loop], coefficient);
  }
  return result;
}

std::vector<Growth> TileMeasures::within(std::vector<std::pair<std::int64_t, Growth>> needs,
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

std::int64_t TileMeasures::sum_bytes(const std::vector<Growth>& tensors, const Sizes& sizes) {
  std::int64_t total = 0;
  for (const auto& tensor : tensors)
    total = saturating_add(total, tensor.bytes(sizes));
  return total;
}

std::int64_t TileMeasures::element_bytes() const {
  std::int64_t bytes = 1;
  for (const auto& access : context_.accesses) {
    const DType type = scop_.tensors[static_cast<std::size_t>(access.tensor)].type;
    if (access.write) bytes = std::max<std::int64_t>(bytes, bits(type) / 8);
  }
  return bytes;
}

std::int64_t TileMeasures::tasks(const Sizes& sizes) const {
  std::int64_t count = 1;
  for (std::size_t m = 0; m < sizes.size(); ++m)
    count = std::min(count * ceil_div(extent_[m], sizes[m]), std::int64_t{1} << 40);
  return count;
}

std::optional<TileMeasures::Product> TileMeasures::find_product(bool chains) const {
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
  const auto beside_members = [&](int index) {
    return member_of(*heaviest, index) < 0 ? values_of(*heaviest, static_cast<std::size_t>(index))
                                           : 1;
  };
  const auto inner = [&](const std::vector<int>& indices) {
    std::int64_t count = 1;
    for (const int index : indices)
      count = std::min(count * beside_members(index), kManyElements);
    return count;
  };
  Product product{members(found->rows), members(found->columns), inner(found->rows),
                  inner(found->columns)};
  for (const auto& subscript : statement(*heaviest).targets.front().subscripts) {
    const auto used = indices_of(statement(*heaviest), subscript);
    for (const int index : found->rows)
      if (used[static_cast<std::size_t>(index)]) product.innermost_row = beside_members(index);
  }
  product.windows = find_windows(*heaviest, *found);
  return product;
}

TileMeasures::Windows TileMeasures::find_windows(std::size_t position,
                                                 const poly::Product& product) const {
  Windows windows;
  const auto& indices = statement(position).indices;
  std::vector<bool> counted(indices.size(), false);
  const auto varies = [&](int index) {
    return values_of(position, static_cast<std::size_t>(index)) > 1;
  };
  for (const auto& access : context_.accesses) {
    if (access.position != static_cast<int>(position) || access.write) continue;
    for (const auto& subscript : *access.subscripts) {
      const auto used = indices_of(statement(position), subscript);
      const auto meets = [&](const std::vector<int>& side) {
        return std::any_of(side.begin(), side.end(), [&](int index) {
          return used[static_cast<std::size_t>(index)] && varies(index);
        });
      };
      const bool rows = meets(product.rows), columns = meets(product.columns);
      for (std::size_t i = 0; i < used.size() && (rows || columns); ++i) {
        if (!used[i] || indices[i].on_left || !varies(static_cast<int>(i))) continue;
        windows.rows = windows.rows || rows;
        windows.columns = windows.columns || columns;
        if (!counted[i])
          windows.points = std::min(windows.points * values_of(position, i), kManyElements);
        counted[i] = true;
      }
    }
  }
  return windows;
}

bool TileMeasures::fits_locally(const Sizes& sizes) const {
  return sum_bytes(bounded_, sizes) <= local_limit(options_, target_);
}

}  // namespace tc::tile
