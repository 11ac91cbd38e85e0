// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/fragment_cover.h"

#include <algorithm>

#include "tc/kernel/mma.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

constexpr std::int64_t kRows = kernel::kMmaRows;
constexpr std::int64_t kColumns = kernel::kMmaLine;
constexpr std::int64_t kMostAccumulators = 128;
constexpr int kPair = 2;  ///< columns of a thread side by side

ExprPtr number(std::int64_t value) {
  return kernel::int_imm(value);
}
ExprPtr times(const kernel::Var& var, std::int64_t factor) {
  return kernel::mul(kernel::var_ref(var), number(factor));
}

class Builder {
public:
  Builder(const FragmentCover& cover, Beyond beyond, const Ranges& outer, Names& names)
      : cover_(cover), beyond_(beyond), outer_(outer), names_(names) {}

  OnFragments run(const std::vector<tile::Dim>& rows, const std::vector<tile::Dim>& columns) {
    pair_ = digit("t_pair", 1, 4);
    line_ = digit("t_line", 4, 8);
    warp_ = digit("t_warp", 32, 4);
    if (cover_.groups > 1) group_ = digit("t_group", kernel::kMmaThreads, cover_.groups);
    for (std::size_t d = 0; d + 1 < rows.size(); ++d)
      outer_dim(rows[d], cover_.rows[d]);
    last_row(rows.back());
    for (std::size_t d = 0; d + 1 < columns.size(); ++d)
      outer_dim(columns[d], cover_.columns[d]);
    last_column(columns.back());
    result_.registers.push_back(kernel::var_ref(half_));
    result_.registers.push_back(lane_);
    result_.op.layout = std::move(layout_);
    return std::move(result_);
  }

private:
  kernel::Var digit(const char* name, std::int64_t stride, std::int64_t extent) {
    const kernel::Var var = names_.variable(name);
    result_.op.digits.push_back({var, stride, extent});
    return var;
  }

  void add(tile::Dim dim, std::int64_t unroll) {
    layout_.order.push_back(static_cast<int>(result_.op.dims.size()));
    layout_.unroll.push_back(static_cast<int>(unroll));
    result_.op.dims.push_back(std::move(dim));
  }

  /// The dim from its beginning on, shared by warp groups `unit` points each.
  tile::Dim shared(const tile::Dim& dim, const FragmentCover::Along& along, std::int64_t unit) {
    tile::Dim result = dim;
    result.reduction = false;
    result.end = kernel::add(dim.begin, number(along.reach));
    result.max_extent = along.reach;
    result.step = unit * along.groups;
    if (along.groups > 1) result.begin = kernel::add(dim.begin, times(group_, unit));
    const ExprPtr place = kernel::sub(kernel::var_ref(dim.var), dim.begin);
    result_.registers.push_back(
        kernel::binary(BinaryOp::FloorDiv, place, number(unit * along.groups)));
    return result;
  }

  void exclude(const tile::Dim& dim, const FragmentCover::Along& along, const ExprPtr& element) {
    if (beyond_ == Beyond::Included) return;
    if (outer_.of(kernel::sub(dim.end, dim.begin)).lo >= along.reach) return;
    result_.op.conditions.push_back(kernel::binary(BinaryOp::Lt, element, dim.end));
  }

  void outer_dim(const tile::Dim& dim, const FragmentCover::Along& along) {
    add(shared(dim, along, 1), along.places);
    exclude(dim, along, kernel::var_ref(dim.var));
  }

  void last_row(const tile::Dim& dim) {
    const FragmentCover::Along& along = cover_.rows.back();
    tile::Dim lines = shared(dim, along, kRows);
    lines.begin = kernel::add(kernel::add(lines.begin, times(warp_, 16)), kernel::var_ref(line_));
    // The upper half of the last place ends with the dim.
    lines.end = kernel::sub(lines.end, number(8));
    lines.max_extent -= 8;
    add(std::move(lines), along.places);
    half_ = names_.variable(dim.var.name + "_half");
    add({half_, number(0), number(2), 2, false, 1}, 2);
    const ExprPtr element = kernel::add(kernel::var_ref(dim.var), times(half_, 8));
    result_.elements.emplace_back(dim.var.id, element);
    exclude(dim, along, element);
  }

  void last_column(const tile::Dim& dim) {
    const FragmentCover::Along& along = cover_.columns.back();
    tile::Dim pairs = shared(dim, along, kColumns);
    pairs.begin = kernel::add(pairs.begin, times(pair_, kPair));
    layout_.vector_dim = static_cast<int>(result_.op.dims.size());
    layout_.lanes = kPair;
    add(std::move(pairs), along.places);
    lane_ = kernel::binary(BinaryOp::FloorMod, kernel::sub(kernel::var_ref(dim.var), dim.begin),
                           number(kPair));
    exclude(dim, along, kernel::var_ref(dim.var));
  }

  const FragmentCover& cover_;
  Beyond beyond_;
  const Ranges& outer_;
  Names& names_;
  kernel::Var pair_, line_, warp_, group_, half_;
  ExprPtr lane_;
  tile::Layout layout_;
  OnFragments result_;
};

/// Gives the warp groups to one dim: the one where they leave nothing idle, rows first.
void share(FragmentCover& cover) {
  if (cover.groups == 1) return;
  const auto give = [&](FragmentCover::Along& along) {
    if (along.places % cover.groups != 0) return false;
    along.groups = cover.groups;
    along.places /= cover.groups;
    return true;
  };
  for (auto along = cover.rows.rbegin(); along != cover.rows.rend(); ++along)
    if (give(*along)) return;
  if (give(cover.columns.back())) return;
  FragmentCover::Along& rows = cover.rows.back();
  rows.groups = cover.groups;
  rows.places = ceil_div(rows.places, cover.groups);
  rows.reach = rows.places * rows.groups * kRows;
}

}  // namespace

std::int64_t FragmentCover::accumulators() const {
  std::int64_t count = 4;
  for (const auto* side : {&rows, &columns})
    for (const auto& along : *side)
      count = std::min(count * along.places, std::int64_t{1} << 40);
  return count;
}

std::int64_t FragmentCover::width() const {
  std::int64_t count = kColumns;
  for (const auto& along : columns)
    count = std::min(count * along.places, std::int64_t{1} << 40);
  return count;
}

std::vector<std::int64_t> FragmentCover::register_extents() const {
  std::vector<std::int64_t> extents;
  for (const auto* side : {&rows, &columns})
    for (const auto& along : *side)
      extents.push_back(along.places);
  extents.push_back(2);
  extents.push_back(kPair);
  return extents;
}

std::optional<FragmentCover> cover_with_fragments(const std::vector<std::int64_t>& rows,
                                                  const std::vector<std::int64_t>& columns,
                                                  std::int64_t threads) {
  if (rows.empty() || columns.empty() || threads % kernel::kMmaThreads != 0) return std::nullopt;
  FragmentCover cover;
  cover.groups = threads / kernel::kMmaThreads;
  const auto places = [](const std::vector<std::int64_t>& extents, std::int64_t unit,
                         std::vector<FragmentCover::Along>& side) {
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const std::int64_t own = d + 1 == extents.size() ? unit : 1;
      const std::int64_t count = ceil_div(extents[d], own);
      side.push_back({count * own, 1, count});
    }
  };
  places(rows, kRows, cover.rows);
  places(columns, kColumns, cover.columns);
  share(cover);
  if (cover.accumulators() > kMostAccumulators || cover.width() > kernel::kMmaMostColumns)
    return std::nullopt;
  return cover;
}

OnFragments on_fragments(const FragmentCover& cover, const std::vector<tile::Dim>& rows,
                         const std::vector<tile::Dim>& columns, Beyond beyond, const Ranges& outer,
                         Names& names) {
  return Builder(cover, beyond, outer, names).run(rows, columns);
}

}  // namespace tc::lower::cuda
