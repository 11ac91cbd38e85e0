// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tc/emulation/launch_state.h"
#include "tc/emulation/memory.h"

namespace tc::emulation {

/// Checks what the threads of a block read and write.
class Accesses {
public:
  Accesses(LaunchState& state, GlobalMemory& global) : state_(state), global_(global) {}

  void start_launch(std::size_t shared_bytes);
  void start_block();
  void end_block();

  // Called by a thread.
  void access(AccessKind kind, const void* address, std::size_t bytes, int line);
  /// A product of a warp group reads these bytes of shared memory at any time from the clock value
  /// to now.
  void read_panel(const void* address, std::size_t bytes, Clock since, int line);
  void* shared_memory(std::size_t offset, std::size_t bytes, const char* name);
  void copy_async(void* shared, const void* global, std::size_t bytes, std::size_t source_bytes,
                  int line);
  void copy_commit();
  void copy_wait(int groups, int line);
  void copy_wait_all(int line);

private:
  struct Copy {
    SharedMemory::Range* range;
    std::size_t offset, bytes;  ///< in the range
    const void* source;
    std::size_t source_bytes;
  };
  struct Copies {
    std::vector<Copy> open;  ///< not yet in a group
    std::deque<std::vector<Copy>> groups;
  };

  [[noreturn]] void stop(FindingKind kind, std::string buffer, std::int64_t offset, int line,
                         const std::string& what);
  [[noreturn]] void stop(const ConflictSite& site, AccessKind kind, std::size_t bytes,
                         const std::string& space, const std::string& buffer, std::int64_t offset,
                         int line);
  [[noreturn]] void outside(AccessKind kind, const void* address, std::size_t bytes,
                            const Place& place, int line);
  void access_shared(AccessKind kind, SharedMemory::Range& range, const void* address,
                     std::size_t bytes, int line);
  [[noreturn]] void outside_shared(AccessKind kind, const SharedMemory::Range& range,
                                   const void* address, std::size_t bytes, int line);
  void access_global(AccessKind kind, const void* address, std::size_t bytes, int line);
  void finish(const std::vector<Copy>& copies, int line);
  std::array<int, 3> block_at(Clock clock) const;

  LaunchState& state_;
  GlobalMemory& global_;
  std::unique_ptr<SharedMemory> shared_;
  std::vector<Copies> copies_;  ///< by thread
  struct BlockStart {
    Clock clock;
    std::array<int, 3> block;
  };
  std::vector<BlockStart> block_starts_;  ///< of the launch, ascending
};

}  // namespace tc::emulation
