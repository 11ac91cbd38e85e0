// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/shadow.h"

#include <algorithm>
#include <utility>

#include "tc/support/check.h"

namespace tc::emulation {
namespace {

// Flags beside the thread number of an updater: updates of several threads that nothing orders
// leave one record.
constexpr std::uint16_t kThreadMask = cuda_limits::kThreads - 1;
static_assert((cuda_limits::kThreads & kThreadMask) == 0 && kThreadMask < 1u << 14,
              "a thread number leaves room for the flags");
constexpr std::uint16_t kSeveralLanes = 1u << 14;  ///< threads of one warp
constexpr std::uint16_t kSeveralWarps = 1u << 15;

bool ordered(int other, Clock clock, int thread, const BlockTime& time) {
  return other == thread || clock < time.block_floor ||
         clock < time.known[thread / kWarpSize][other / kWarpSize];
}

bool updates_ordered(std::uint16_t updater, Clock clock, int thread, const BlockTime& time) {
  if (clock < time.block_floor) return true;
  if ((updater & kSeveralWarps) != 0) return false;
  const int other = updater & kThreadMask;
  if ((updater & kSeveralLanes) != 0)
    return clock < time.known[thread / kWarpSize][other / kWarpSize];
  return ordered(other, clock, thread, time);
}

}  // namespace

void BlockTime::start_launch() {
  check(now < kInFlight / 2, "the clock of an emulation has room for the next launch");
  launch_start = ++now;
}

void BlockTime::start_block() {
  for (auto& list : fences)
    list.clear();
  block_barrier();
  block_start = now;
}

void BlockTime::block_barrier() {
  check(++now < kInFlight, "the clock of an emulation has room for the next barrier");
  block_floor = now;
  std::fill(std::begin(epoch), std::end(epoch), now);
}

void BlockTime::warp_barrier(int warp) {
  check(++now < kInFlight, "the clock of an emulation has room for the next barrier");
  epoch[warp] = now;
  known[warp][warp] = now;
}

void BlockTime::named_barrier(std::uint32_t warps) {
  check(++now < kInFlight, "the clock of an emulation has room for the next barrier");
  Clock joined[kMaxWarps] = {};
  for (int warp = 0; warp < kMaxWarps; ++warp) {
    if ((warps >> warp & 1u) == 0) continue;
    for (int other = 0; other < kMaxWarps; ++other)
      joined[other] = std::max(joined[other], known[warp][other]);
  }
  for (int warp = 0; warp < kMaxWarps; ++warp)
    if ((warps >> warp & 1u) != 0) joined[warp] = epoch[warp] = now;
  for (int warp = 0; warp < kMaxWarps; ++warp)
    if ((warps >> warp & 1u) != 0) std::copy(std::begin(joined), std::end(joined), known[warp]);
}

void BlockTime::fence(int thread) {
  if (fences.empty()) fences.resize(static_cast<std::size_t>(cuda_limits::kThreads));
  fences[static_cast<std::size_t>(thread)].push_back({++fence_count, epoch[thread / kWarpSize]});
}

Shadow::Shadow(std::size_t bytes, Life life, Initial initial)
    : life_(life), cells_((bytes + 3) / 4) {
  if (initial == Initial::Defined)
    for (auto& cell : cells_)
      cell.write_clock = kFromHost;
}

void Shadow::refine(std::size_t offset, std::size_t bytes) {
  while (((offset | bytes) & ((std::size_t{1} << shift_) - 1)) != 0) {
    std::vector<Cell> halves(cells_.size() * 2);
    for (std::size_t i = 0; i < halves.size(); ++i)
      halves[i] = cells_[i / 2];
    cells_ = std::move(halves);
    --shift_;
  }
}

template <AccessKind kind>
Conflict Shadow::check(const Cell& cell, int thread, const BlockTime& time) const {
  const Clock begin = since(time);
  const Clock written = cell.write_clock;
  if (written == kInFlight) return Conflict::InFlight;
  if (needs_value(kind)) {
    const Clock oldest = life_ == Life::Block ? begin : kFromHost;
    if (written < oldest && cell.atomic_clock < oldest) return Conflict::Uninitialised;
  }
  constexpr Conflict with_write =
      kind == AccessKind::Read ? Conflict::ReadAfterWrite : Conflict::WriteWrite;
  if (written >= begin) {
    if (written < time.block_start) return Conflict::BlockWrote;
    if (!ordered(cell.writer, written, thread, time)) return with_write;
  }
  if (!is_atomic(kind)) {
    if (cell.foreign_write >= begin) return Conflict::BlockWrote;
    if (cell.atomic_clock >= begin) {
      if (cell.atomic_clock < time.block_start) return Conflict::BlockWrote;
      if (!updates_ordered(cell.updater, cell.atomic_clock, thread, time)) return with_write;
    }
  }
  if (kind == AccessKind::Read) return Conflict::None;
  if (cell.foreign_read >= begin) return Conflict::BlockRead;
  if (cell.read_clock[0] < begin) return Conflict::None;
  if (cell.read_clock[0] < time.block_start) return Conflict::BlockRead;
  for (int i = 0; i < 3; ++i)
    if (cell.read_clock[i] >= time.block_floor &&
        !ordered(cell.reader[i], cell.read_clock[i], thread, time))
      return Conflict::WriteAfterRead;
  return Conflict::None;
}

void Shadow::record_read(Cell& cell, int thread, const BlockTime& time) const {
  const int warp = thread / kWarpSize;
  const Clock now = time.epoch[warp];
  const auto reader = static_cast<std::uint16_t>(thread);
  if (cell.reader[0] == reader && cell.read_clock[0] >= time.block_start) {
    cell.read_clock[0] = now;
    return;
  }
  if (cell.read_clock[0] < time.block_start) {
    if (cell.read_clock[0] >= since(time)) cell.foreign_read = cell.read_clock[0];
    cell.read_clock[1] = cell.read_clock[2] = 0;
  } else if (cell.reader[0] / kWarpSize == warp) {
    cell.reader[1] = cell.reader[0];
    cell.read_clock[1] = cell.read_clock[0];
  } else {
    const bool same_warp = cell.reader[2] / kWarpSize == warp && cell.reader[2] != reader;
    cell.reader[1] = cell.reader[2];
    cell.read_clock[1] = same_warp ? cell.read_clock[2] : 0;
    cell.reader[2] = cell.reader[0];
    cell.read_clock[2] = cell.read_clock[0];
  }
  cell.reader[0] = reader;
  cell.read_clock[0] = now;
}

void Shadow::record_write(Cell& cell, int thread, const BlockTime& time) const {
  cell.writer = static_cast<std::uint16_t>(thread);
  cell.write_clock = time.epoch[thread / kWarpSize];
  cell.fences = time.fence_count;
}

/// The first fence of the writer behind the write is the one that counts.
bool Shadow::is_published(const Cell& cell, int thread, const BlockTime& time) {
  if (time.fences.empty()) return false;
  const auto& fences = time.fences[cell.writer];
  const auto first = std::upper_bound(
      fences.begin(), fences.end(), cell.fences,
      [](std::uint32_t number, const BlockTime::Fence& fence) { return number < fence.number; });
  return first != fences.end() && ordered(cell.writer, first->clock, thread, time);
}

void Shadow::record_update(Cell& cell, int thread, const BlockTime& time) const {
  auto updater = static_cast<std::uint16_t>(thread);
  const Clock before = cell.atomic_clock;
  if (before >= since(time) && before < time.block_start) cell.foreign_write = before;
  if (!updates_ordered(cell.updater, before, thread, time)) {
    const bool same_warp = (cell.updater & kThreadMask) / kWarpSize == thread / kWarpSize;
    updater |= (cell.updater & kSeveralWarps) | (same_warp ? kSeveralLanes : kSeveralWarps);
  }
  cell.updater = updater;
  cell.atomic_clock = time.epoch[thread / kWarpSize];
}

ConflictSite Shadow::describe(Conflict conflict, const Cell& cell, std::size_t offset, int thread,
                              const BlockTime& time) const {
  ConflictSite site{.conflict = conflict, .offset = offset, .thread = -1, .clock = 0};
  switch (conflict) {
  case Conflict::None:
  case Conflict::Uninitialised: break;
  case Conflict::InFlight:
  case Conflict::Unpublished:
  case Conflict::Overwritten:
    site.thread = cell.writer;
    site.clock = cell.write_clock;
    break;
  case Conflict::WriteWrite:
  case Conflict::ReadAfterWrite: {
    const bool write =
        cell.write_clock >= since(time) && !ordered(cell.writer, cell.write_clock, thread, time);
    site.thread = write ? cell.writer : cell.updater & kThreadMask;
    site.clock = write ? cell.write_clock : cell.atomic_clock;
    break;
  }
  case Conflict::BlockWrote:
    for (const auto& [clock, by] :
         {std::pair{cell.write_clock, int{cell.writer}}, std::pair{cell.foreign_write, -1},
          std::pair{cell.atomic_clock, cell.updater & kThreadMask}})
      if (clock >= since(time) && clock < time.block_start) {
        site.clock = clock;
        site.thread = by;
        break;
      }
    break;
  case Conflict::BlockRead:
    site.clock =
        std::max(cell.foreign_read, cell.read_clock[0] < time.block_start ? cell.read_clock[0] : 0);
    if (site.clock == cell.read_clock[0]) site.thread = cell.reader[0];
    break;
  case Conflict::WriteAfterRead:
    for (int i = 0; i < 3 && site.thread < 0; ++i)
      if (cell.read_clock[i] >= time.block_floor &&
          !ordered(cell.reader[i], cell.read_clock[i], thread, time)) {
        site.thread = cell.reader[i];
        site.clock = cell.read_clock[i];
      }
    break;
  }
  return site;
}

template <AccessKind kind>
ConflictSite Shadow::access(std::size_t offset, std::size_t bytes, int thread,
                            const BlockTime& time) {
  if (((offset | bytes) & ((std::size_t{1} << shift_) - 1)) != 0) refine(offset, bytes);
  const std::size_t end = (offset + bytes) >> shift_;
  for (std::size_t i = offset >> shift_; i < end; ++i) {
    Cell& cell = cells_[i];
    const Conflict conflict = check<kind>(cell, thread, time);
    if (conflict != Conflict::None) return describe(conflict, cell, i << shift_, thread, time);
    if (kind == AccessKind::Read)
      record_read(cell, thread, time);
    else if (is_atomic(kind))
      record_update(cell, thread, time);
    else
      record_write(cell, thread, time);
  }
  return {};
}

ConflictSite Shadow::access(AccessKind kind, std::size_t offset, std::size_t bytes, int thread,
                            const BlockTime& time) {
  switch (kind) {
  case AccessKind::Read: return access<AccessKind::Read>(offset, bytes, thread, time);
  case AccessKind::Write: return access<AccessKind::Write>(offset, bytes, thread, time);
  case AccessKind::Atomic: return access<AccessKind::Atomic>(offset, bytes, thread, time);
  case AccessKind::PartialWrite:
    return access<AccessKind::PartialWrite>(offset, bytes, thread, time);
  }
  unreachable("an access reads, writes or is atomic");
}

ConflictSite Shadow::read_panel(std::size_t offset, std::size_t bytes, int thread, Clock since,
                                const BlockTime& time) {
  if (((offset | bytes) & ((std::size_t{1} << shift_) - 1)) != 0) refine(offset, bytes);
  for (std::size_t i = offset >> shift_; i < (offset + bytes) >> shift_; ++i) {
    Cell& cell = cells_[i];
    Conflict conflict = check<AccessKind::Read>(cell, thread, time);
    if (conflict == Conflict::None && cell.write_clock > since) conflict = Conflict::Overwritten;
    if (conflict == Conflict::None && !is_published(cell, thread, time))
      conflict = Conflict::Unpublished;
    if (conflict != Conflict::None) return describe(conflict, cell, i << shift_, thread, time);
    record_read(cell, thread, time);
  }
  return {};
}

ConflictSite Shadow::start_copy(std::size_t offset, std::size_t bytes, int thread,
                                const BlockTime& time) {
  const ConflictSite site = access<AccessKind::Write>(offset, bytes, thread, time);
  if (site.conflict != Conflict::None) return site;
  for (std::size_t i = offset >> shift_; i < (offset + bytes) >> shift_; ++i)
    cells_[i].write_clock = kInFlight;
  return {};
}

void Shadow::finish_copy(std::size_t offset, std::size_t bytes, int thread, const BlockTime& time) {
  for (std::size_t i = offset >> shift_; i < (offset + bytes) >> shift_; ++i)
    record_write(cells_[i], thread, time);
}

void Shadow::drop_copy(std::size_t offset, std::size_t bytes) {
  for (std::size_t i = offset >> shift_; i < (offset + bytes) >> shift_; ++i)
    cells_[i].write_clock = 0;
}

}  // namespace tc::emulation
