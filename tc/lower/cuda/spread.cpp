// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/spread.h"

#include <algorithm>

#include <fmt/format.h>

#include "tc/lower/cuda/gather_form.h"
#include "tc/lower/cuda/updates.h"
#include "tc/lower/op/access.h"
#include "tc/lower/op/program_names.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

namespace {

using kernel::BinaryOp;
using kernel::ExprPtr;

constexpr std::int64_t kBlocksPerCore = 8;
constexpr std::int64_t kMost = std::int64_t{1} << 50;

struct BlockSizes {
  std::int64_t points = 2048;  ///< of one block
  std::int64_t most_blocks = 1;
  /// Neighbouring elements that stay in one block: a warp of the widest accesses.
  std::int64_t run = 128;
};

/// As many blocks as the options ask for, however small, or as many as have work.
BlockSizes block_sizes(const MappingOptions& options, const Target& target) {
  BlockSizes sizes;
  if (options.tasks > 0) return {1, options.tasks, 1};
  sizes.most_blocks = kBlocksPerCore * std::max(target.cores, 1);
  return sizes;
}

std::int64_t points_of(const tile::Op& op) {
  std::int64_t points = 1;
  for (const auto& dim : op.dims)
    points = std::min(points * std::max<std::int64_t>(dim.max_extent, 1), kMost);
  return points;
}

bool has_meeting_dims(const tile::Op& op) {
  for (std::size_t d = 0; d < op.dims.size(); ++d)
    if (op.dims[d].max_extent > 1 && meets_others(op, d)) return true;
  return false;
}

/// Whether a tensor's elements are subscripts: of a target or of a load.
bool gathers(const std::vector<tile::Node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const tile::Node& node) {
    if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node))
      return gathers((*loop)->body);
    const auto* op = std::get_if<tile::Op>(&node);
    if (!op) return false;
    const auto by_load = [](const ExprPtr& expr) {
      const auto loads = loads_in(expr);
      return std::any_of(loads.begin(), loads.end(), [](const ExprPtr& load) {
        const auto& indices = std::get<kernel::Load>(load->node).indices;
        return std::any_of(indices.begin(), indices.end(), contains_load);
      });
    };
    return std::any_of(op->conditions.begin(), op->conditions.end(), by_load) ||
           std::any_of(op->targets.begin(), op->targets.end(), [&](const tile::Target& target) {
             return by_load(target.value) ||
                    std::any_of(target.subscripts.begin(), target.subscripts.end(), contains_load);
           });
  });
}

/// One operation in a kernel of its own.
class Spreading {
public:
  Spreading(const tile::Kernel& kernel, const tile::Op& op, const MappingOptions& options,
            const BlockSizes& sizes)
      : kernel_(kernel), op_(op), names_(names_after(kernel)), sizes_(sizes),
        atomic_(may_update_atomically(op, options)) {
    kernel_.body.clear();
  }

  tile::Kernel run() {
    take_back_grid();
    std::int64_t wanted =
        std::clamp(ceil_div(points_of(op_), sizes_.points), std::int64_t{1}, sizes_.most_blocks);
    wanted = ceil_div(wanted, std::max<std::int64_t>(tasks_of(kernel_), 1));
    for (const std::size_t d : far_apart_first())
      if (wanted > 1 && may_split(d)) wanted = ceil_div(wanted, split(d, wanted));
    kernel_.body.emplace_back(op_);
    return std::move(kernel_);
  }

private:
  /// Grid loops that do nothing but bound one dim: begin = var, end = var + step, or less.
  void take_back_grid() {
    auto& grid = kernel_.grid;
    for (std::size_t g = grid.size(); g-- > 0;) {
      const tile::GridLoop loop = grid[g];
      const auto owner = dim_of_loop(loop);
      if (!owner) continue;
      tile::Dim& dim = op_.dims[*owner];
      dim.begin = kernel::int_imm(loop.begin);
      dim.end = kernel::int_imm(loop.end);
      dim.max_extent = loop.end - loop.begin;
      grid.erase(grid.begin() + static_cast<std::ptrdiff_t>(g));
    }
  }

  std::optional<std::size_t> dim_of_loop(const tile::GridLoop& loop) const {
    const int var = loop.var.id;
    std::optional<std::size_t> owner;
    for (std::size_t d = 0; d < op_.dims.size(); ++d) {
      const tile::Dim& dim = op_.dims[d];
      if (!depends_on(dim.begin, var) && !depends_on(dim.end, var)) continue;
      if (owner || !is_tile_of(dim, loop)) return std::nullopt;
      owner = d;
    }
    const auto uses = [&](const ExprPtr& expr) { return depends_on(expr, var); };
    if (!owner || std::any_of(op_.conditions.begin(), op_.conditions.end(), uses))
      return std::nullopt;
    for (const auto& target : op_.targets)
      if (uses(target.value) ||
          std::any_of(target.subscripts.begin(), target.subscripts.end(), uses))
        return std::nullopt;
    return owner;
  }

  static bool is_tile_of(const tile::Dim& dim, const tile::GridLoop& loop) {
    const ExprPtr begin = kernel::var_ref(loop.var);
    if (!kernel::equal(dim.begin, begin)) return false;
    const ExprPtr whole = kernel::add(begin, kernel::int_imm(loop.step));
    if (kernel::equal(dim.end, whole)) return (loop.end - loop.begin) % loop.step == 0;
    const auto* less = std::get_if<kernel::Binary>(&dim.end->node);
    return less != nullptr && less->op == BinaryOp::Min && kernel::equal(less->left, whole) &&
           constant_of(less->right) == loop.end;
  }

  /// Dims along which the accesses are furthest apart come first.
  std::vector<std::size_t> far_apart_first() {
    const OpInfo info = analyse(op_, grid_ranges(kernel_));
    std::vector<std::int64_t> nearest(op_.dims.size(), kMost);
    for (const auto& access : accesses_of(op_, info))
      for (std::size_t d = 0; d < op_.dims.size(); ++d)
        if (const std::int64_t stride = std::abs(access.stride[d]); stride > 0)
          nearest[d] = std::min(nearest[d], stride);
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < op_.dims.size(); ++d) {
      order.push_back(d);
      run_.push_back(nearest[d] == 1 ? sizes_.run : 1);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return nearest[a] > nearest[b]; });
    return order;
  }

  /// Whether blocks may have different values of the dim: they write different elements, or their
  /// updates are atomic.
  bool may_split(std::size_t d) const {
    const tile::Dim& dim = op_.dims[d];
    if (!constant_of(dim.begin) || !constant_of(dim.end) || splits_bytes(op_, d)) return false;
    return atomic_ || (!dim.reduction && !meets_others(op_, d));
  }

  /// Splits the dim over about `wanted` blocks; how many they are.
  std::int64_t split(std::size_t d, std::int64_t wanted) {
    tile::Dim& dim = op_.dims[d];
    const std::int64_t begin = *constant_of(dim.begin);
    const std::int64_t end = *constant_of(dim.end);
    const std::int64_t chunk = ceil_div(ceil_div(end - begin, wanted), run_[d]) * run_[d];
    if (chunk >= end - begin) return 1;
    if (dim.reduction || meets_others(op_, d)) op_.atomic = true;
    const kernel::Var var = names_.variable(dim.var.name + "_block");
    kernel_.grid.push_back({var, begin, end, chunk});
    dim.begin = kernel::var_ref(var);
    dim.end = kernel::add(dim.begin, kernel::int_imm(chunk));
    if ((end - begin) % chunk != 0)
      dim.end = kernel::binary(BinaryOp::Min, dim.end, kernel::int_imm(end));
    dim.max_extent = chunk;
    return ceil_div(end - begin, chunk);
  }

  tile::Kernel kernel_;
  tile::Op op_;
  Names names_;
  BlockSizes sizes_;
  bool atomic_;
  std::vector<std::int64_t> run_;  ///< per dim: chunks are multiples of it
};

class Cutting {
public:
  Cutting(const tile::Program& source, const MappingOptions& options, const Target& target)
      : source_(source), options_(options), sizes_(block_sizes(options, target)) {}

  tile::Program run() {
    result_ = source_;
    result_.kernels.clear();
    for (const auto& kernel : source_.kernels)
      parts_.push_back(cut(kernel));
    result_.steps = steps(source_.steps);
    return std::move(result_);
  }

private:
  /// The kernels that take the place of one, by position in the result.
  std::vector<int> cut(const tile::Kernel& source) {
    std::vector<tile::Kernel> parts;
    bool is_open = false;  // the last part takes further operations
    // Checks of subscripts and what they guard stay in one task.
    const bool is_checked = options_.bounds == Bounds::Error && gathers(source.body);
    const tile::Kernel kernel = is_checked ? source : in_gather_form(source);
    const bool cuts =
        !is_checked && is_flat(kernel) &&
        std::any_of(kernel.body.begin(), kernel.body.end(), [&](const tile::Node& node) {
          return gains(kernel, std::get<tile::Op>(node));
        });
    for (const auto& node : kernel.body) {
      const auto* op = std::get_if<tile::Op>(&node);
      if (cuts && fills_blocks(kernel, *op)) {
        parts.push_back(Spreading(kernel, *op, options_, sizes_).run());
        is_open = false;
        continue;
      }
      if (!is_open) {
        parts.push_back(kernel);
        parts.back().body.clear();
        is_open = true;
      }
      parts.back().body.push_back(node);
    }
    if (parts.empty()) parts.push_back(kernel);
    std::vector<int> positions;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts.size() > 1) parts[i].name = fmt::format("{}_part{}", kernel.name, i);
      positions.push_back(static_cast<int>(result_.kernels.size()));
      result_.kernels.push_back(std::move(parts[i]));
    }
    return positions;
  }

  static bool is_flat(const tile::Kernel& kernel) {
    return !kernel.thread &&
           std::all_of(kernel.body.begin(), kernel.body.end(), [](const tile::Node& node) {
             return std::holds_alternative<tile::Op>(node);
           });
  }

  /// Whether the operation has points for several blocks.
  bool fills_blocks(const tile::Kernel& kernel, const tile::Op& op) const {
    const std::int64_t tasks = tasks_of(kernel);
    return !op.layout && tasks > 0 && tasks * points_of(op) >= 2 * sizes_.points;
  }

  /// Whether blocks of its own help the operation: the grid that it has is none for it.
  bool gains(const tile::Kernel& kernel, const tile::Op& op) const {
    if (!fills_blocks(kernel, op)) return false;
    if (is_rewritten(op)) return true;
    if (!has_meeting_dims(op)) return false;
    // Without atomic updates there is only the grid to be put right.
    return may_update_atomically(op, options_) || (kernel.body.size() == 1 && !kernel.grid.empty());
  }

  bool is_rewritten(const tile::Op& op) const {
    return std::any_of(rewritten_.begin(), rewritten_.end(), [&](int var) {
      return std::any_of(op.dims.begin(), op.dims.end(),
                         [&](const tile::Dim& dim) { return dim.var.id == var; });
    });
  }

  tile::Kernel in_gather_form(const tile::Kernel& kernel) {
    rewritten_.clear();
    Names names = names_after(kernel);
    tile::Kernel result = kernel;
    if (!kernel.thread) result.body = in_gather_form(kernel.body, grid_ranges(kernel), names);
    return result;
  }

  std::vector<tile::Node> in_gather_form(const std::vector<tile::Node>& nodes, const Ranges& ranges,
                                         Names& names) {
    std::vector<tile::Node> out;
    for (const auto& node : nodes) {
      if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node)) {
        Ranges inner = ranges;
        add_loop(inner, **loop);
        auto copy = std::make_shared<tile::Loop>(**loop);
        copy->body = in_gather_form(copy->body, inner, names);
        out.emplace_back(std::move(copy));
        continue;
      }
      const auto* op = std::get_if<tile::Op>(&node);
      // Subscript by subscript.
      std::optional<tile::Op> other;
      while (auto next = op ? gather_form(other ? *other : *op, ranges, names) : std::nullopt)
        other = std::move(next);
      if (!other) {
        out.push_back(node);
        continue;
      }
      for (std::size_t d = 0; d < op->dims.size(); ++d)
        if (other->dims[d].var.id != op->dims[d].var.id)
          rewritten_.push_back(other->dims[d].var.id);
      out.emplace_back(std::move(*other));
    }
    return out;
  }

  std::vector<kernel::Step> steps(const std::vector<kernel::Step>& list) const {
    std::vector<kernel::Step> result;
    for (const auto& step : list) {
      if (const auto* loop = std::get_if<kernel::Loop>(&step.node)) {
        kernel::Loop copy = *loop;
        copy.body = steps(loop->body);
        result.push_back({std::move(copy)});
        continue;
      }
      for (const int part :
           parts_[static_cast<std::size_t>(std::get<kernel::Launch>(step.node).kernel)]) {
        kernel::Launch launch = std::get<kernel::Launch>(step.node);
        launch.kernel = part;
        result.push_back({std::move(launch)});
      }
    }
    return result;
  }

  const tile::Program& source_;
  const MappingOptions& options_;
  BlockSizes sizes_;
  tile::Program result_;
  std::vector<std::vector<int>> parts_;  ///< of each kernel of the source
  std::vector<int> rewritten_;           ///< variables that gather forms brought
};

}  // namespace

std::int64_t tasks_of(const tile::Kernel& kernel) {
  std::int64_t tasks = 1;
  for (const auto& loop : kernel.grid)
    tasks = std::min(tasks * std::max<std::int64_t>(ceil_div(loop.end - loop.begin, loop.step), 0),
                     kMost);
  return tasks;
}

tile::Program spread_meeting_updates(const tile::Program& program, const MappingOptions& options,
                                     const Target& target) {
  if (options.tasks == 1) return program;
  return Cutting(program, options, target).run();
}

}  // namespace tc::lower::cuda
