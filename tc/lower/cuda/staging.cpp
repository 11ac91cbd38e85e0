// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/staging.h"

#include <algorithm>

#include "tc/lower/cuda/shared_bytes.h"
#include "tc/lower/op/access.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::ExprPtr;

namespace {

constexpr std::int64_t kLeast = 16;             ///< elements; shorter sides gain nothing
constexpr std::int64_t kFarBytes = 64;          ///< closer neighbours share a sector of memory
constexpr std::int64_t kPanelBytes = 32 << 10;  ///< of one panel

bool is_candidate(const tile::Op& op) {
  if (op.combine || op.targets.size() != 1 || bits(op.targets[0].buffer->type) < 8) return false;
  return std::all_of(op.dims.begin(), op.dims.end(), [&](const tile::Dim& dim) {
    return dims_in(op, dim.begin).empty() && dims_in(op, dim.end).empty();
  });
}

ExprPtr replace(const ExprPtr& expr, const ExprPtr& from, const ExprPtr& to) {
  if (expr == from) return to;
  return kernel::map_children(expr, [&](const ExprPtr& child) { return replace(child, from, to); });
}

std::int64_t extent(const tile::Op& op, int d) {
  return std::max<std::int64_t>(op.dims[d].max_extent, 1);
}

/// The dim along which a load is contiguous while its neighbours along `across` are far apart; -1:
/// none.
int transposed_dim(const tile::Op& op, const kernel::Load& load, const Access& access, int across) {
  if (load.mask || bits(load.buffer->type) < 8) return -1;
  if (load.buffer->space != kernel::Space::Global && load.buffer->space != kernel::Space::Scratch)
    return -1;
  if (std::any_of(load.indices.begin(), load.indices.end(), contains_load)) return -1;
  if (access.irregular[across]) return -1;
  if (std::abs(access.stride[across]) * bits(load.buffer->type) / 8 < kFarBytes) return -1;
  for (int d = 0; d < static_cast<int>(op.dims.size()); ++d)
    if (d != across && !access.irregular[d] && access.stride[d] == 1 && extent(op, d) >= kLeast)
      return d;
  return -1;
}

/// All dims that the load names, also those along which it does not move (a stride of 0), the
/// contiguous one last and `across` before it.
std::vector<int> panel_dims(const tile::Op& op, const ExprPtr& load, int across, int along) {
  std::vector<int> dims;
  for (const int d : dims_in(op, load))
    if (d != across && d != along) dims.push_back(d);
  dims.push_back(across);
  dims.push_back(along);
  return dims;
}

}  // namespace

std::optional<std::vector<tile::Node>> stage_transposed(const tile::Op& op, const Ranges& outer,
                                                        std::int64_t room, Names& names) {
  if (!is_candidate(op)) return std::nullopt;
  const OpInfo info = analyse(op, outer);
  const std::vector<Access> accesses = accesses_of(op, info);
  const Access& store = accesses.back();
  int across = -1;
  for (int d = 0; d < static_cast<int>(op.dims.size()); ++d)
    if (!store.irregular[d] && store.stride[d] == 1 && extent(op, d) >= kLeast) across = d;
  if (across < 0) return std::nullopt;
  std::vector<tile::Node> nodes;
  tile::Op last = op;
  const std::vector<ExprPtr> loads = loads_in(op.targets[0].value);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto& load = std::get<kernel::Load>(loads[i]->node);
    const int along = transposed_dim(op, load, accesses[i], across);
    if (along < 0) continue;
    auto panel = std::make_shared<kernel::Buffer>();
    tile::Op copy;
    copy.label = op.label + "_panel";
    copy.conditions = op.conditions;
    std::vector<ExprPtr> subscripts;
    for (const int d : panel_dims(op, loads[i], across, along)) {
      copy.dims.push_back(op.dims[d]);
      copy.dims.back().reduction = false;
      panel->extents.push_back(extent(op, d));
      subscripts.push_back(kernel::sub(kernel::var_ref(op.dims[d].var), op.dims[d].begin));
    }
    // Conditions that name other dims hold for some points of the panel only.
    const bool conditional =
        std::any_of(op.conditions.begin(), op.conditions.end(),
                    [&](const ExprPtr& condition) { return !dims_in(op, condition).empty(); });
    std::vector<std::int64_t> padded = panel->extents;
    padded.back() |= 1;
    panel->strides = kernel::contiguous_strides(padded);
    const std::int64_t bytes =
        padded.front() * panel->strides.front() * bits(load.buffer->type) / 8;
    const std::int64_t taken = ceil_div(bytes, kSharedAlignment) * kSharedAlignment;
    if (conditional || taken > std::min(kPanelBytes, room)) continue;
    room -= taken;
    panel->id = names.buffer();
    panel->name = load.buffer->name + "_panel";
    panel->type = load.buffer->type;
    panel->space = kernel::Space::Shared;
    panel->alignment = 16;
    panel->writable = true;
    copy.targets = {{panel, subscripts, loads[i]}};
    copy.kind = tile::classify(copy);
    nodes.emplace_back(tile::Local{panel});
    nodes.emplace_back(std::move(copy));
    last.targets[0].value =
        replace(last.targets[0].value, loads[i], kernel::load(panel, std::move(subscripts)));
  }
  if (nodes.empty()) return std::nullopt;
  last.kind = tile::classify(last);
  nodes.emplace_back(std::move(last));
  return nodes;
}

}  // namespace tc::lower::cuda
