// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cpu/staging.h"

#include <algorithm>

#include "tc/lower/cpu/layout_model.h"
#include "tc/support/numeric.h"

namespace tc::lower::cpu {

using kernel::ExprPtr;
using tile::Dim;
using tile::Op;

namespace {

constexpr std::int64_t kBlock = 64;      // elements along each side of a staged block
constexpr std::int64_t kLeast = 16;      // shorter sides gain nothing
constexpr std::int64_t kFarBytes = 512;  // rows closer than this share what the hardware fetches

struct Transposed {
  ExprPtr load;
  int along_load = -1;  ///< dim along which the load is contiguous
};

ExprPtr replace(const ExprPtr& expr, const ExprPtr& from, const ExprPtr& to) {
  if (expr == from) return to;
  return kernel::map_children(expr, [&](const ExprPtr& child) { return replace(child, from, to); });
}

bool is_candidate(const Op& op) {
  if (op.combine || op.targets.size() != 1 || !op.conditions.empty()) return false;
  if (bits(op.targets[0].buffer->type) < 8) return false;
  return std::all_of(op.dims.begin(), op.dims.end(), [&](const Dim& dim) {
    return dims_in(op, dim.begin).empty() && dims_in(op, dim.end).empty();
  });
}

/// Loads that are contiguous along a dim other than `along_store` and far apart along that one.
std::vector<Transposed> transposed_loads(const Op& op, const OpInfo& info, int along_store) {
  std::vector<Transposed> found;
  const std::vector<Access> accesses = accesses_of(op, info);
  const std::vector<ExprPtr> loads = loads_in(op.targets[0].value);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const auto& node = std::get<kernel::Load>(loads[i]->node);
    const Access& access = accesses[i];
    if (node.mask || bits(node.buffer->type) < 8 || node.buffer->space == kernel::Space::Local)
      continue;
    if (access.irregular[along_store]) continue;
    if (std::abs(access.stride[along_store]) * bits(node.buffer->type) / 8 < kFarBytes) continue;
    for (int d = 0; d < static_cast<int>(op.dims.size()); ++d)
      if (d != along_store && !access.irregular[d] && access.stride[d] == 1 &&
          op.dims[d].max_extent >= kLeast &&
          std::none_of(node.indices.begin(), node.indices.end(),
                       [](const ExprPtr& index) { return contains_load(index); }))
        found.push_back({loads[i], d});
  }
  return found;
}

class Staging {
public:
  Staging(const Op& op, const OpInfo& info, int source, int target, Names& names)
      : op_(op), info_(info), source_(source), target_(target), names_(names), dims_(op.dims) {}

  std::vector<tile::Node> run(const std::vector<Transposed>& loads, int lanes) {
    std::vector<std::shared_ptr<tile::Loop>> loops;
    // Blocks of both sides; the other dims are loops around them.
    for (int d = 0; d < static_cast<int>(op_.dims.size()); ++d) {
      const Dim& dim = op_.dims[d];
      if (d != source_ && d != target_) {
        loops.push_back(
            std::make_shared<tile::Loop>(tile::Loop{dim.var, dim.begin, dim.end, 1, {}}));
        continue;
      }
      if (dim.max_extent <= kBlock + kBlock / 2) continue;
      const kernel::Var block = names_.variable(dim.var.name + "b");
      loops.push_back(
          std::make_shared<tile::Loop>(tile::Loop{block, dim.begin, dim.end, kBlock, {}}));
      Ranges ranges = info_.ranges;
      add_loop(ranges, *loops.back());
      const ExprPtr past = kernel::add(kernel::var_ref(block), kernel::int_imm(kBlock));
      dims_[d].begin = kernel::var_ref(block);
      dims_[d].end = ranges.simplify(kernel::binary(kernel::BinaryOp::Min, past, dim.end));
      dims_[d].max_extent = kBlock;
    }
    std::vector<tile::Node> body;
    Op last = op_;
    last.dims = {dims_[source_], dims_[target_]};
    for (const auto& transposed : loads)
      if (transposed.along_load == source_)
        last.targets[0].value =
            replace(last.targets[0].value, transposed.load, panel(transposed.load, body));
    last.layout = tile::Layout{{0, 1}, lanes > 1 ? 1 : -1, lanes, {1, 1}};
    last.kind = tile::classify(last);
    body.push_back(std::move(last));
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      (*loop)->body = std::move(body);
      body = {std::shared_ptr<const tile::Loop>(*loop)};
    }
    return body;
  }

private:
  ExprPtr offset(int d) const { return kernel::sub(kernel::var_ref(dims_[d].var), dims_[d].begin); }

  ExprPtr panel(const ExprPtr& load, std::vector<tile::Node>& body) {
    const auto& source = std::get<kernel::Load>(load->node).buffer;
    auto buffer = std::make_shared<kernel::Buffer>();
    buffer->id = names_.buffer();
    buffer->name = op_.label + "_t";
    buffer->type = source->type;
    buffer->space = kernel::Space::Local;
    const std::int64_t line = 64 * 8 / bits(source->type);
    const std::int64_t lines = ceil_div(dims_[source_].max_extent, line);
    buffer->extents = {dims_[target_].max_extent, (lines + (lines % 2 == 0 ? 1 : 0)) * line};
    buffer->strides = kernel::contiguous_strides(buffer->extents);
    buffer->alignment = 64;
    buffer->writable = true;
    body.push_back(tile::Local{buffer});
    Op copy;
    copy.label = buffer->name;
    copy.dims = {dims_[target_], dims_[source_]};
    copy.targets = {{buffer, {offset(target_), offset(source_)}, load}};
    copy.kind = tile::classify(copy);
    body.push_back(copy);
    return kernel::load(buffer, copy.targets[0].subscripts);
  }

  const Op& op_;
  const OpInfo& info_;
  int source_, target_;
  Names& names_;
  std::vector<Dim> dims_;  ///< cut down to blocks
};

}  // namespace

std::optional<std::vector<tile::Node>> stage_transposed(const Op& op, const Ranges& outer,
                                                        const MappingOptions& options,
                                                        const Target& target, Names& names) {
  if (!is_candidate(op)) return std::nullopt;
  const OpInfo info = analyse(op, outer);
  const Access store = accesses_of(op, info).back();
  int along_store = -1;
  for (int d = 0; d < static_cast<int>(op.dims.size()); ++d)
    if (!store.irregular[d] && store.stride[d] == 1 && op.dims[d].max_extent >= kLeast)
      along_store = d;
  if (along_store < 0) return std::nullopt;
  const auto loads = transposed_loads(op, info, along_store);
  if (loads.empty()) return std::nullopt;
  // Strided reads of half a wide register cost less than those of a whole one.
  constexpr int kGatherBits = 256;
  const int bits_available = std::min(vector_bits(options, target), kGatherBits);
  const int lanes = std::max(1, bits_available / compute_bits(op));
  return Staging(op, info, loads.front().along_load, along_store, names).run(loads, lanes);
}

}  // namespace tc::lower::cpu
