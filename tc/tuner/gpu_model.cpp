// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/gpu_model.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tc/kernel/block_counts.h"

namespace tc::tuner {

namespace {

// A multiprocessor of current GPUs (compute capability 8 to 10; figures of an H200).
constexpr double kCyclesPerUs = 1750;
constexpr double kIssued = 4;           ///< warp instructions a cycle
constexpr double kCacheBytes = 46;      ///< a cycle from the L2 cache
constexpr double kMemoryBytes = 2400;   ///< a cycle from memory, all multiprocessors
constexpr double kL1Bytes = 256 << 10;  ///< with shared memory
constexpr double kLeastL1Bytes = 8 << 10;
constexpr double kWarpThreads = 32;
constexpr double kThreads = 2048;
constexpr double kBlocks = 32;
constexpr double kRegisters = 65536;
constexpr double kMostRegisters = 255;
constexpr double kOwnRegisters = 30;      ///< of a thread, beside named storage
constexpr double kReservedShared = 1024;  ///< bytes of a block
constexpr double kDispatch = 2.2;         ///< cycles between two blocks of the whole machine
constexpr double kAtomics = 2000;         ///< updates a microsecond and multiprocessor
constexpr double kLaunchUs = 1.0;
constexpr double kExposed = 0.25;  ///< share of the shorter parts that nothing hides
constexpr double kSpillCost = 3;   ///< more time where all registers are in memory

/// Parts of the time of launches, in cycles unless said otherwise, and what they come from.
struct Parts {
  double us = 0;
  double busy = 0, waiting = 0, memory = 0;
  double blocks = 0, threads = 0, resident = 0, spilled = 0, launches = 0;
  double instructions = 0, passes = 0, lines = 0, fetched = 0, tensor = 0;

  void add(const Parts& other, double times) {
    us += times * other.us;
    busy += times * other.busy;
    waiting += times * other.waiting;
    memory += times * other.memory;
    blocks += times * other.blocks;
    threads = std::max(threads, other.threads);
    resident = std::max(resident, other.resident);
    spilled = std::max(spilled, other.spilled);
    launches += times * other.launches;
    instructions += times * other.instructions;
    passes += times * other.passes;
    lines += times * other.lines;
    fetched += times * other.fetched;
    tensor += times * other.tensor;
  }

  std::vector<double> features() const {
    std::vector<double> row;
    for (const double value : {us, busy, waiting, memory, blocks, threads, resident, 100 * spilled,
                               launches, instructions, passes, lines, fetched, tensor})
      row.push_back(logarithm(value));
    return row;
  }
};

/// Blocks that a multiprocessor runs at once.
double resident_blocks(const kernel::BlockCounts& counts, double threads, double registers,
                       const Target& target) {
  const double shared = static_cast<double>(counts.shared_bytes) + kReservedShared;
  const double most = static_cast<double>(target.shared_bytes) + kReservedShared;
  return std::max(1.0, std::floor(std::min({kBlocks, kThreads / threads, most / shared,
                                            kRegisters / (registers * threads)})));
}

Parts parts_of(const kernel::BlockCounts& counts, const Target& target) {
  Parts parts;
  const double cores = std::max(1, target.cores);
  const double on_one = std::ceil(counts.blocks / cores);
  parts.launches = 1;
  parts.blocks = counts.blocks;
  parts.threads = std::ceil(static_cast<double>(counts.threads) / kWarpThreads) * kWarpThreads;
  const double registers = kOwnRegisters + counts.register_words;
  const double available = std::min(kMostRegisters, kRegisters / parts.threads);
  parts.spilled = std::max(0.0, registers - available) / registers;
  parts.resident = std::min(
      on_one, resident_blocks(counts, parts.threads, std::min(registers, available), target));
  const double slowed = 1 + kSpillCost * parts.spilled;
  // What the blocks of a multiprocessor touch may be more than L1 keeps beside their shared memory.
  const double shared = static_cast<double>(counts.shared_bytes) + kReservedShared;
  const double room = std::max(kL1Bytes - parts.resident * shared, kLeastL1Bytes);
  const double held = parts.resident * counts.box_bytes;
  const double missed = held <= room ? 0 : 1 - room / held;
  const double again = std::max(0.0, counts.sector_bytes - counts.box_bytes);
  parts.instructions = on_one * counts.instructions * slowed;
  parts.passes = on_one * counts.shared_passes;
  parts.lines = on_one * counts.line_requests;
  parts.fetched = on_one * (counts.box_bytes + missed * again);
  parts.tensor = on_one * counts.tensor_cycles;
  parts.busy = std::max({parts.tensor, parts.instructions / kIssued, parts.passes, parts.lines,
                         parts.fetched / kCacheBytes});
  parts.waiting = std::ceil(on_one / parts.resident) * counts.warp_cycles * slowed;
  parts.memory = std::max(counts.total_bytes / kMemoryBytes, counts.blocks * kDispatch);
  const double longest = std::max({parts.busy, parts.waiting, parts.memory});
  const double rest = parts.busy + parts.waiting + parts.memory - longest;
  parts.us = (longest + kExposed * rest) / kCyclesPerUs + kLaunchUs +
             counts.blocks * counts.atomics / (kAtomics * cores);
  return parts;
}

class PlanModel {
public:
  PlanModel(const kernel::Plan& plan, const Target& target) : plan_(plan), target_(target) {}

  Parts parts(const std::vector<kernel::Step>& steps) {
    Parts sum;
    for (const kernel::Step& step : steps) {
      if (const auto* launch = std::get_if<kernel::Launch>(&step.node))
        sum.add(parts(*launch), 1);
      else
        add_loop(std::get<kernel::Loop>(step.node), sum);
    }
    return sum;
  }

private:
  std::int64_t value(const kernel::ExprPtr& expr) const {
    const kernel::ExprPtr number = kernel::substitute(expr, counters_);
    const auto* imm = std::get_if<kernel::IntImm>(&number->node);
    return imm ? imm->value : 0;
  }

  /// All iterations as the middle one.
  void add_loop(const kernel::Loop& loop, Parts& sum) {
    const std::int64_t lo = value(loop.lo);
    const std::int64_t rounds = std::max<std::int64_t>(value(loop.hi) - lo, 0);
    counters_.emplace_back(loop.counter.id, kernel::int_imm(lo + rounds / 2));
    const Parts one = parts(loop.body);
    counters_.pop_back();
    sum.add(one, static_cast<double>(rounds));
  }

  Parts parts(const kernel::Launch& launch) const {
    std::vector<std::int64_t> ints;
    for (const kernel::ExprPtr& expr : launch.ints)
      ints.push_back(value(expr));
    return parts_of(
        kernel::count_block(plan_.kernels[static_cast<std::size_t>(launch.kernel)], ints), target_);
  }

  const kernel::Plan& plan_;
  const Target& target_;
  std::vector<std::pair<int, kernel::ExprPtr>> counters_;
};

/// Never 0.
std::uint64_t hash_of(const std::string& text) {
  return std::max<std::uint64_t>(XXH3_64bits(text.data(), text.size()), 1);
}

}  // namespace

Appraisal appraise(const kernel::Plan& plan, const Target& target) {
  const Parts parts = PlanModel(plan, target).parts(plan.steps);
  return {parts.us, hash_of(kernel::print(plan)), parts.features()};
}

Appraisal appraise_on_gpu(const compiler::FrontEnd& front, const MappingOptions& options,
                          const Target& target) {
  const compiler::StageObserver nobody = [](compiler::Stage, const auto&) {};
  const Result<tile::Program, Failure> program =
      compiler::make_tile_program(front, options, target, nobody);
  if (!program) return {};
  const Result<kernel::Plan, Failure> plan = compiler::make_plan(*program, options, target, nobody);
  return plan ? appraise(*plan, target) : Appraisal{};
}

}  // namespace tc::tuner
