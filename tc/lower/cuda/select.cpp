// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tc/kernel/mma.h"
#include "tc/lower/cuda/barriers.h"
#include "tc/lower/cuda/contract.h"
#include "tc/lower/cuda/distribute.h"
#include "tc/lower/cuda/epilogue.h"
#include "tc/lower/cuda/fragment_contract.h"
#include "tc/lower/cuda/lower.h"
#include "tc/lower/cuda/roles.h"
#include "tc/lower/cuda/shared_bytes.h"
#include "tc/lower/cuda/shared_places.h"
#include "tc/lower/cuda/spread.h"
#include "tc/lower/cuda/staging.h"
#include "tc/lower/cuda/window_contract.h"
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
constexpr std::int64_t kWindowThreads = 512;   ///< of a sum over windows, at most
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
/// accumulators each, which share what they read from shared memory; on tensor cores these are
/// whole warp groups.
std::int64_t block_size(const tile::Kernel& kernel, const MappingOptions& options,
                        const Target& target) {
  if (options.threads > 0) return options.threads;
  Heaviest heaviest;
  find_heaviest(kernel.body, grid_ranges(kernel), heaviest);
  const auto whole_warps = [](std::int64_t threads) { return ceil_div(threads, kWarp) * kWarp; };
  if (heaviest.op) {
    if (const auto product = fragment_elements(*heaviest.op, heaviest.ranges, options)) {
      if (product->has_windows) return kModelThreads;
      const std::int64_t groups = ceil_div(product->count, kAccumulators * kernel::kMmaThreads);
      return std::min(groups * kernel::kMmaThreads, kModelThreads);
    }
    const TileLimits limits{kWindowThreads, tasks_of(kernel), target.cores, false};
    if (const auto used = window_threads(*heaviest.op, heaviest.ranges, limits, options))
      return std::max(whole_warps(*used), kWarp);
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
              [&](const kernel::Mma& mma) { out.emplace_back(mma); },
              [&](const kernel::Await& await) { out.emplace_back(await); },
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

bool touches(const tile::Op& op, int buffer) {
  bool found = false;
  const auto look = [&](const ExprPtr& expr) {
    kernel::walk(expr, [&](const kernel::Expr& e) {
      const auto* load = std::get_if<kernel::Load>(&e.node);
      found = found || (load && load->buffer->id == buffer);
    });
  };
  for (const auto& condition : op.conditions)
    look(condition);
  for (const auto& target : op.targets) {
    found = found || target.buffer->id == buffer;
    look(target.value);
    for (const auto& subscript : target.subscripts)
      look(subscript);
  }
  return found;
}

/// Operations of the kernel that touch a buffer.
int touching(const std::vector<tile::Node>& nodes, int buffer) {
  int count = 0;
  for (const auto& node : nodes) {
    if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node))
      count += touching((*loop)->body, buffer);
    if (const auto* op = std::get_if<tile::Op>(&node); op && touches(*op, buffer)) ++count;
  }
  return count;
}

int contractions(const std::vector<tile::Node>& nodes) {
  int count = 0;
  for (const auto& node : nodes) {
    if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node))
      count += contractions((*loop)->body);
    const auto* op = std::get_if<tile::Op>(&node);
    if (op && op->kind == tile::OpKind::Contract && !op->layout) ++count;
  }
  return count;
}

/// Whether results of products stay in registers where they can.
enum class Holding { Yes, No };

class Selection {
public:
  Selection(const tile::Kernel& kernel, std::int64_t room, Holding holding,
            const MappingOptions& options, const Target& target, Names& names)
      : kernel_(kernel), options_(options), thread_(*kernel.thread), holding_(holding),
        names_(names), begins_products_(kernel::has_warp_groups(target)),
        limits_{thread_.extent, tasks_of(kernel), target.cores, true}, room_(room),
        contractions_left_(contractions(kernel.body)) {}

  std::vector<tile::Node> list(const std::vector<tile::Node>& nodes, const Ranges& ranges) {
    std::vector<tile::Node> out;
    if (holding_ == Holding::Yes) find_held(nodes, ranges);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto& node = nodes[i];
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
      if (on_fragments(nodes, i, ranges, out) || reads_held(*op, ranges, out)) continue;
      if (const auto finished = over_windows(nodes, i, ranges, out)) {
        i += *finished;
        continue;
      }
      auto staged = stage_contraction(*op, ranges, thread_.extent, room(), options_, names_);
      if (!staged && options_.stage) staged = stage_transposed(*op, ranges, room(), names_);
      if (staged) {
        room_ -= shared_bytes(*staged);
        for (auto& part : list(*staged, ranges))
          out.push_back(std::move(part));
        continue;
      }
      auto parts = distribute(*op, ranges, thread_.extent, room(), options_, names_);
      room_ -= shared_bytes(parts);
      out.insert(out.end(), std::make_move_iterator(parts.begin()),
                 std::make_move_iterator(parts.end()));
    }
    std::erase_if(out, [&](const tile::Node& node) {
      const auto* local = std::get_if<tile::Local>(&node);
      return local && held_.count(local->buffer->id) != 0;
    });
    return out;
  }

private:
  std::int64_t room() const { return std::max<std::int64_t>(room_, 0); }

  /// A contraction on tensor cores. Its result stays in registers if later operations of the list
  /// can read it there and nothing else touches it.
  bool on_fragments(const std::vector<tile::Node>& nodes, std::size_t at, const Ranges& ranges,
                    std::vector<tile::Node>& out) {
    const tile::Op& op = std::get<tile::Op>(nodes[at]);
    if (op.kind != tile::OpKind::Contract) return false;
    auto product = multiply(op, ranges, std::max(contractions_left_--, 1));
    if (!product) return false;
    room_ -= shared_bytes(product->nodes);
    out.insert(out.end(), product->nodes.begin(), product->nodes.end());
    const int target = op.targets[0].buffer->id;
    if (to_hold_.count(target) != 0)
      held_.emplace(target, std::move(*product));
    else if (!product->is_stored)
      out.emplace_back(product->store);
    return true;
  }

  /// A sum over windows, with what follows it in the list and works on its elements alone; how many
  /// operations that are.
  std::optional<std::size_t> over_windows(const std::vector<tile::Node>& nodes, std::size_t at,
                                          const Ranges& ranges, std::vector<tile::Node>& out) {
    std::vector<const tile::Op*> following;
    for (std::size_t i = at + 1; i < nodes.size(); ++i) {
      const auto* next = std::get_if<tile::Op>(&nodes[i]);
      if (!next || next->layout || !held_reads(*next, held_).empty()) break;
      following.push_back(next);
    }
    auto windows = stage_windows(std::get<tile::Op>(nodes[at]), following, ranges, limits_, room(),
                                 options_, names_);
    if (!windows) return std::nullopt;
    room_ -= shared_bytes(windows->nodes);
    out.insert(out.end(), windows->nodes.begin(), windows->nodes.end());
    return windows->finished;
  }

  std::optional<FragmentProduct> multiply(const tile::Op& op, const Ranges& ranges, int shares) {
    const FragmentResources resources{thread_, room() / shares, begins_products_};
    return multiply_on_fragments(op, ranges, resources, options_, names_);
  }

  /// Targets of contractions that need no place of their own leave it to the panels.
  void find_held(const std::vector<tile::Node>& nodes, const Ranges& ranges) {
    HeldProducts together;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto* op = std::get_if<tile::Op>(&nodes[i]);
      if (!op || op->kind != tile::OpKind::Contract || op->layout) continue;
      const FragmentResources ample{thread_, std::int64_t{1} << 40, begins_products_};
      auto product = multiply_on_fragments(*op, ranges, ample, options_, names_);
      if (!product || !can_be_held(nodes, i, *product, ranges, together)) continue;
      together.emplace(op->targets[0].buffer->id, std::move(*product));
      to_hold_.insert(op->targets[0].buffer->id);
      room_ += shared_bytes({tile::Local{op->targets[0].buffer}});
    }
  }

  /// Every operation that touches the target can read it where it is, together with what is held
  /// besides.
  bool can_be_held(const std::vector<tile::Node>& nodes, std::size_t at,
                   const FragmentProduct& product, const Ranges& ranges, HeldProducts together) {
    const tile::Op& op = std::get<tile::Op>(nodes[at]);
    const kernel::Buffer& target = *op.targets[0].buffer;
    if (product.is_stored || target.space != kernel::Space::Shared || !op.from_identity)
      return false;
    together.emplace(target.id, product);
    int readers = 0;
    for (std::size_t i = at + 1; i < nodes.size(); ++i) {
      const auto* reader = std::get_if<tile::Op>(&nodes[i]);
      if (reader && touches(*reader, target.id) &&
          read_accumulators(*reader, together, ranges, names_))
        ++readers;
    }
    return readers > 0 && touching(kernel_.body, target.id) == readers + 1;
  }

  /// An operation on accumulators that have not been stored; they are where it cannot read them.
  bool reads_held(const tile::Op& op, const Ranges& ranges, std::vector<tile::Node>& out) {
    const std::vector<int> reads = held_reads(op, held_);
    if (reads.empty()) return false;
    if (auto on_registers = read_accumulators(op, held_, ranges, names_)) {
      out.emplace_back(std::move(*on_registers));
      return true;
    }
    for (const int buffer : reads) {
      out.emplace_back(held_.at(buffer).store);
      held_.erase(buffer);
    }
    return false;
  }

  const tile::Kernel& kernel_;
  const MappingOptions& options_;
  const kernel::GridDim thread_;
  const Holding holding_;
  Names& names_;
  const bool begins_products_;
  const TileLimits limits_;
  /// Bytes of shared memory that nothing has been declared in; less than nothing until targets that
  /// are held have left their places.
  std::int64_t room_;
  int contractions_left_;
  std::set<int> to_hold_;  ///< ids of targets
  HeldProducts held_;
};

/// Shared memory for panels and partial results beside what the kernel declares, which may be more
/// than there is.
std::int64_t room_beside(const std::vector<tile::Node>& body, const MappingOptions& options,
                         const Target& target) {
  std::int64_t most = target.shared_bytes;
  if (options.local_bytes > 0) most = std::min(most, options.local_bytes);
  return most - shared_bytes(body);
}

std::vector<tile::Node> shared_by_threads(const tile::Kernel& kernel, const MappingOptions& options,
                                          const Target& target, Names& names) {
  const std::int64_t room = room_beside(kernel.body, options, target);
  const Ranges ranges = grid_ranges(kernel);
  auto body =
      Selection(kernel, room, Holding::Yes, options, target, names).list(kernel.body, ranges);
  // The place of a target that was to be held has gone to panels, and then they left too little for
  // its product.
  if (shared_bytes(body) > target.shared_bytes)
    body = Selection(kernel, room, Holding::No, options, target, names).list(kernel.body, ranges);
  return body;
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
    kernel.body = shared_by_threads(kernel, options, target, names);
    share_places(kernel, target);
    kernel.body = place_barriers(kernel.body);
  }
  return result;
}

bool fits(const tile::Program& program, const MappingOptions& options, const Target& target) {
  const auto selected = select(program, options, target);
  return !selected || std::all_of(selected->kernels.begin(), selected->kernels.end(),
                                  [&](const tile::Kernel& kernel) {
                                    return shared_bytes(kernel.body) <= target.shared_bytes;
                                  });
}

}  // namespace tc::lower::cuda
