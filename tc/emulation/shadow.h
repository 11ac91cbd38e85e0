// SPDX-License-Identifier: Apache-2.0
//
// What is known about every byte of a memory: who wrote and read it last, and when. "When" is a
// clock value: one clock per run, which moves at every barrier. Blocks run one after another, so
// the clock also tells the block and the launch of an access.
//
// An earlier access is ordered before the running thread when a barrier lies in between that both
// threads took part in; two accesses to one byte, not both reads, not both atomic, must be ordered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tc/support/cuda_limits.h"

namespace tc::emulation {

using Clock = std::uint32_t;
constexpr int kWarpSize = 32;
constexpr int kMaxWarps = cuda_limits::kThreads / kWarpSize;
/// Write clock of a byte with a copy under way.
constexpr Clock kInFlight = ~Clock{0};
/// Write clock of a byte that has its value from before the first launch. All others are later.
constexpr Clock kFromHost = 1;

/// What orders the accesses of one block: moved by barriers, read by the shadows.
struct BlockTime {
  Clock now = kFromHost;
  Clock launch_start = 0;
  Clock block_start = 0;
  Clock block_floor = 0;        ///< accesses before the last barrier of the whole block are older
  Clock epoch[kMaxWarps] = {};  ///< clock of each warp's last barrier: stamps accesses
  /// Counts fences: a thread's fence publishes what it wrote under a smaller number.
  std::uint32_t fence_count = 1;
  struct Fence {
    std::uint32_t number;
    Clock clock;
  };
  std::vector<std::vector<Fence>> fences;  ///< of the block, by thread, in order
  Clock known[kMaxWarps][kMaxWarps] = {};  ///< accesses of warp j older than known[i][j] are
                                           ///< ordered before what warp i does now

  void start_launch();
  void start_block();
  void block_barrier();
  void warp_barrier(int warp);
  /// The warps whose bit is set take part.
  void named_barrier(std::uint32_t warps);
  /// The thread publishes what it has written to products of warp groups.
  void fence(int thread);
};

enum class AccessKind {
  Read,
  Write,
  Atomic,        ///< reads, changes and writes
  PartialWrite,  ///< an atomic change of some bits only, whatever the others are
};
constexpr bool is_atomic(AccessKind kind) {
  return kind == AccessKind::Atomic || kind == AccessKind::PartialWrite;
}
constexpr bool needs_value(AccessKind kind) {
  return kind == AccessKind::Read || kind == AccessKind::Atomic;
}

/// Why an access is a defect.
enum class Conflict : std::uint8_t {
  None,
  Uninitialised,
  InFlight,
  WriteWrite,  ///< with a write of another thread of the block
  ReadAfterWrite,
  WriteAfterRead,
  Unpublished,  ///< the writer did not publish it before the barrier
  Overwritten,  ///< written since the read began
  BlockWrote,   ///< another block of the launch wrote it
  BlockRead,
};

struct ConflictSite {
  Conflict conflict = Conflict::None;
  std::size_t offset = 0;  ///< byte
  int thread = -1;         ///< the other thread
  Clock clock = 0;         ///< of the other access; tells the block for BlockWrote and BlockRead
};

/// Shadow of one buffer. Cells stand for 4 bytes as long as all accesses are whole multiples of 4,
/// then for 2 or 1.
class Shadow {
public:
  enum class Life {
    Block,   ///< shared memory: values and accesses of earlier blocks do not exist
    Launch,  ///< global memory: values stay, accesses of earlier launches are ordered
  };
  enum class Initial { Undefined, Defined };

  Shadow(std::size_t bytes, Life life, Initial initial);

  /// Checks an access of the thread against earlier ones and remembers it.
  ConflictSite access(AccessKind kind, std::size_t offset, std::size_t bytes, int thread,
                      const BlockTime& time);
  /// A read by a product of a warp group that has been under way since the clock value: nothing has
  /// written the bytes since, and whoever wrote them before has published them.
  ConflictSite read_panel(std::size_t offset, std::size_t bytes, int thread, Clock since,
                          const BlockTime& time);
  /// From now on the bytes belong to an asynchronous copy of the thread. Checked as a write.
  ConflictSite start_copy(std::size_t offset, std::size_t bytes, int thread, const BlockTime& time);
  /// The copy has arrived: written by the thread, now.
  void finish_copy(std::size_t offset, std::size_t bytes, int thread, const BlockTime& time);
  /// Forgets a copy that nobody waited for; the block is over.
  void drop_copy(std::size_t offset, std::size_t bytes);

private:
  struct Cell {
    Clock write_clock = 0;    ///< of the last write that is not atomic
    Clock atomic_clock = 0;   ///< of the last atomic update
    Clock foreign_write = 0;  ///< last atomic update of another block that a later one displaced
    Clock foreign_read = 0;   ///< likewise for reads
    Clock read_clock[3] = {0, 0, 0};
    std::uint32_t fences = 0;  ///< BlockTime::fence_count at the last write
    /// Last reader; last other reader of its warp; last reader of another warp.
    std::uint16_t reader[3] = {0, 0, 0};
    std::uint16_t writer = 0;
    std::uint16_t updater = 0;  ///< of the last atomic update: thread number and flags
  };

  template <AccessKind kind>
  Conflict check(const Cell& cell, int thread, const BlockTime& time) const;
  template <AccessKind kind>
  ConflictSite access(std::size_t offset, std::size_t bytes, int thread, const BlockTime& time);
  static bool is_published(const Cell& cell, int thread, const BlockTime& time);
  void record_read(Cell& cell, int thread, const BlockTime& time) const;
  void record_write(Cell& cell, int thread, const BlockTime& time) const;
  void record_update(Cell& cell, int thread, const BlockTime& time) const;
  ConflictSite describe(Conflict conflict, const Cell& cell, std::size_t offset, int thread,
                        const BlockTime& time) const;
  void refine(std::size_t offset, std::size_t bytes);
  Clock since(const BlockTime& time) const {
    return life_ == Life::Block ? time.block_start : time.launch_start;
  }

  Life life_;
  int shift_ = 2;  ///< a cell stands for 1 << shift_ bytes
  std::vector<Cell> cells_;
};

}  // namespace tc::emulation
