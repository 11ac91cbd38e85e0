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
constexpr double kOwnRegisters = 30;      ///< of a thread, beside named storage
constexpr double kReservedShared = 1024;  ///< bytes of a block
constexpr double kDispatch = 2.2;         ///< cycles between two blocks of the whole machine
constexpr double kAtomics = 2000;         ///< updates a microsecond and multiprocessor
constexpr double kLaunchUs = 1.0;
constexpr double kExposed = 0.25;  ///< share of the shorter parts that nothing hides
constexpr double kSpillCost = 3;   ///< more time where all registers are in memory

/// Blocks that a multiprocessor runs at once.
double resident_blocks(const kernel::BlockCounts& counts, double threads, double registers,
                       const Target& target) {
  const double shared = static_cast<double>(counts.shared_bytes) + kReservedShared;
  const double most = static_cast<double>(target.shared_bytes) + kReservedShared;
  return std::max(1.0, std::floor(std::min({kBlocks, kThreads / threads, most / shared,
                                            kernel::kRegisters / (registers * threads)})));
}

/// Of one launch.
double microseconds(const kernel::BlockCounts& counts, const Target& target) {
  const double cores = std::max(1, target.cores);
  const double on_one = std::ceil(counts.blocks / cores);
  const double threads =
      std::ceil(static_cast<double>(counts.threads) / kWarpThreads) * kWarpThreads;
  const double registers = kOwnRegisters + counts.register_words;
  const double available = std::min(kernel::kMostRegisters, kernel::kRegisters / threads);
  const double spilled = std::max(0.0, registers - available) / registers;
  const double resident =
      std::min(on_one, resident_blocks(counts, threads, std::min(registers, available), target));
  const double slowed = 1 + kSpillCost * spilled;
  // What the blocks of a multiprocessor touch may be more than L1 keeps beside their shared memory.
  const double shared = static_cast<double>(counts.shared_bytes) + kReservedShared;
  const double room = std::max(kL1Bytes - resident * shared, kLeastL1Bytes);
  const double held = resident * counts.box_bytes;
  const double missed = held <= room ? 0 : 1 - room / held;
  const double again = std::max(0.0, counts.sector_bytes - counts.box_bytes);
  const double fetched = counts.box_bytes + missed * again;
  const double busy =
      on_one * std::max({counts.instructions * slowed / kIssued, counts.tensor_cycles,
                         counts.shared_passes, counts.line_requests, fetched / kCacheBytes});
  const double waiting = std::ceil(on_one / std::max(resident, 1.0)) * counts.warp_cycles * slowed;
  const double memory = std::max(counts.total_bytes / kMemoryBytes, counts.blocks * kDispatch);
  const double longest = std::max({busy, waiting, memory});
  const double rest = busy + waiting + memory - longest;
  return (longest + kExposed * rest) / kCyclesPerUs + kLaunchUs +
         counts.blocks * counts.atomics / (kAtomics * cores);
}

class PlanModel {
public:
  PlanModel(const kernel::Plan& plan, const Target& target) : plan_(plan), target_(target) {}

  double us(const std::vector<kernel::Step>& steps) {
    double sum = 0;
    for (const kernel::Step& step : steps) {
      const auto* launch = std::get_if<kernel::Launch>(&step.node);
      sum += launch ? us(*launch) : us(std::get<kernel::Loop>(step.node));
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
  double us(const kernel::Loop& loop) {
    const std::int64_t lo = value(loop.lo);
    const std::int64_t rounds = std::max<std::int64_t>(value(loop.hi) - lo, 0);
    counters_.emplace_back(loop.counter.id, kernel::int_imm(lo + rounds / 2));
    const double one = us(loop.body);
    counters_.pop_back();
    return static_cast<double>(rounds) * one;
  }

  double us(const kernel::Launch& launch) const {
    std::vector<std::int64_t> ints;
    for (const kernel::ExprPtr& expr : launch.ints)
      ints.push_back(value(expr));
    return microseconds(
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
  return {PlanModel(plan, target).us(plan.steps), hash_of(kernel::print(plan))};
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
