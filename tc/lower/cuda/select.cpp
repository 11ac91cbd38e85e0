// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "tc/lower/cuda/barriers.h"
#include "tc/lower/cuda/contract.h"
#include "tc/lower/cuda/distribute.h"
#include "tc/lower/cuda/lower.h"
#include "tc/lower/cuda/roles.h"
#include "tc/lower/cuda/shared_bytes.h"
#include "tc/lower/cuda/spread.h"
#include "tc/lower/cuda/staging.h"
#include "tc/lower/op/op_info.h"
#include "tc/lower/op/program_names.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

namespace {

using kernel::BufferPtr;
using kernel::ExprPtr;

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kModelThreads = 256;
/// The same of a block that has a core for itself: nothing else hides how long its reads take.
constexpr std::int64_t kLoneThreads = 512;
constexpr std::int64_t kProductThreads = 128;  ///< of a product, at least
/// Elements of a product without panels that a thread should have: neighbours share what they read.
constexpr std::int64_t kElementsPerThread = 16;
/// Such elements from which on a block has enough of them for a warp.
constexpr std::int64_t kManyElements = 512;
/// Points that a thread should have before there are more threads.
constexpr std::int64_t kPointsPerThread = 4;

/// The operation that gives the most points to all threads together, with what it lies in.
struct Heaviest {
  std::int64_t points = 1;
  const tile::Op* op = nullptr;
  Ranges ranges;
};

void find_heaviest(const std::vector<tile::Node>& nodes, const Ranges& ranges, Heaviest& found) {
  for (const auto& node : nodes) {
    if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node)) {
      Ranges inner = ranges;
      add_loop(inner, **loop);
      find_heaviest((*loop)->body, inner, found);
      continue;
    }
    const auto* op = std::get_if<tile::Op>(&node);
    if (!op) continue;
    std::int64_t points = 1;
    for (const auto& dim : op->dims)
      points = std::min(points * std::max<std::int64_t>(dim.max_extent, 1), std::int64_t{1} << 40);
    if (found.op && points <= found.points) continue;
    found = {std::max(points, found.points), op, ranges};
  }
}

/// Enough threads for the points of the heaviest operation. A product wants few threads with many
/// accumulators each, which share what they read from shared memory.
std::int64_t block_size(const tile::Kernel& kernel, const MappingOptions& options,
                        const Target& target) {
  if (options.threads > 0) return options.threads;
  Heaviest heaviest;
  find_heaviest(kernel.body, grid_ranges(kernel), heaviest);
  const auto whole_warps = [](std::int64_t threads) { return ceil_div(threads, kWarp) * kWarp; };
  if (heaviest.op) {
    if (const auto elements = staged_elements(*heaviest.op, heaviest.ranges, options))
      return std::clamp(whole_warps(ceil_div(*elements, kAccumulators)), kProductThreads,
                        kModelThreads);
    if (const auto elements = unstaged_elements(*heaviest.op, heaviest.ranges, options);
        elements && *elements >= kManyElements)
      return std::clamp(whole_warps(ceil_div(*elements, kElementsPerThread)), kWarp, kModelThreads);
  }
  const std::int64_t threads =
      std::clamp(whole_warps(ceil_div(heaviest.points, kPointsPerThread)), kWarp, kModelThreads);
  if (tasks_of(kernel) > target.cores) return threads;
  const std::int64_t lone = whole_warps(ceil_div(heaviest.points, 2 * kPointsPerThread));
  return std::clamp(lone, threads, std::min<std::int64_t>(kLoneThreads, target.max_threads));
}

/// Tile-local buffers become shared ones.
class SharedLocals {
public:
  std::vector<tile::Node> list(const std::vector<tile::Node>& nodes) {
    std::vector<tile::Node> out;
    for (const auto& node : nodes)
      std::visit(
          Overloaded{
              [&](const tile::Op& op) { out.emplace_back(operation(op)); },
              [&](const std::shared_ptr<const tile::Loop>& loop) {
                auto copy = std::make_shared<tile::Loop>(*loop);
                copy->body = list(loop->body);
                out.emplace_back(std::move(copy));
              },
              [&](const tile::Local& local) { out.emplace_back(tile::Local{moved(local.buffer)}); },
              [&](const tile::Barrier& barrier) { out.emplace_back(barrier); },
          },
          node);
    return out;
  }

private:
  BufferPtr moved(const BufferPtr& buffer) {
    if (buffer->space != kernel::Space::Local) return buffer;
    auto& shared = moved_[buffer->id];
    if (!shared) {
      auto copy = std::make_shared<kernel::Buffer>(*buffer);
      copy->space = kernel::Space::Shared;
      copy->alignment = std::max<std::int64_t>(copy->alignment, 16);
      shared = std::move(copy);
    }
    return shared;
  }

  ExprPtr expression(const ExprPtr& expr) {
    if (!expr) return expr;
    const ExprPtr mapped =
        kernel::map_children(expr, [&](const ExprPtr& child) { return expression(child); });
    const auto* load = std::get_if<kernel::Load>(&mapped->node);
    if (!load || load->buffer->space != kernel::Space::Local) return mapped;
    return kernel::load(moved(load->buffer), load->indices, load->mask, load->otherwise);
  }

  tile::Op operation(tile::Op op) {
    for (auto& target : op.targets) {
      target.buffer = moved(target.buffer);
      for (auto& subscript : target.subscripts)
        subscript = expression(subscript);
      target.value = expression(target.value);
    }
    for (auto& condition : op.conditions)
      condition = expression(condition);
    return op;
  }

  std::map<int, BufferPtr> moved_;  ///< by id
};

class Selection {
public:
  Selection(const MappingOptions& options, std::int64_t threads, std::int64_t room, Names& names)
      : options_(options), threads_(threads), room_(room), names_(names) {}

  std::vector<tile::Node> list(const std::vector<tile::Node>& nodes, const Ranges& ranges) {
    std::vector<tile::Node> out;
    for (const auto& node : nodes) {
      if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node)) {
        Ranges inner = ranges;
        add_loop(inner, **loop);
        auto copy = std::make_shared<tile::Loop>(**loop);
        copy->body = list(copy->body, inner);
        out.emplace_back(std::move(copy));
        continue;
      }
      const auto* op = std::get_if<tile::Op>(&node);
      if (!op || op->layout) {
        out.push_back(node);
        continue;
      }
      auto staged = stage_contraction(*op, ranges, threads_, room_, options_, names_);
      if (!staged && options_.stage) staged = stage_transposed(*op, ranges, room_, names_);
      if (staged) {
        room_ -= shared_bytes(*staged);
        for (auto& part : list(*staged, ranges))
          out.push_back(std::move(part));
        continue;
      }
      auto parts = distribute(*op, ranges, threads_, room_, options_, names_);
      room_ -= shared_bytes(parts);
      out.insert(out.end(), std::make_move_iterator(parts.begin()),
                 std::make_move_iterator(parts.end()));
    }
    return out;
  }

private:
  const MappingOptions& options_;
  std::int64_t threads_;
  std::int64_t room_;  ///< bytes of shared memory that nothing has been declared in
  Names& names_;
};

/// Shared memory for panels and partial results beside what the kernel declares.
std::int64_t room_beside(const std::vector<tile::Node>& body, const MappingOptions& options,
                         const Target& target) {
  std::int64_t most = target.shared_bytes;
  if (options.local_bytes > 0) most = std::min(most, options.local_bytes);
  return std::max<std::int64_t>(most - shared_bytes(body), 0);
}

}  // namespace

Result<tile::Program, Rejection> select(const tile::Program& program, const MappingOptions& options,
                                        const Target& target) {
  tile::Program result = spread_meeting_updates(program, options, target);
  for (auto& kernel : result.kernels) {
    if (kernel.thread) continue;
    Names names = names_after(kernel);
    const std::int64_t threads = block_size(kernel, options, target);
    if (threads > target.max_threads)
      return Rejection{RejectionKind::TooManyThreads,
                       fmt::format("a block of {} threads, {} allows {}", threads, target.arch,
                                   target.max_threads),
                       threads, target.max_threads};
    kernel.body = SharedLocals().list(kernel.body);
    kernel.thread = kernel::GridDim{names.variable("thread"), threads};
    const std::int64_t room = room_beside(kernel.body, options, target);
    kernel.body = Selection(options, threads, room, names).list(kernel.body, grid_ranges(kernel));
    kernel.body = place_barriers(kernel.body);
  }
  return result;
}

}  // namespace tc::lower::cuda
