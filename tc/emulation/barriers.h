// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tc/emulation/launch_state.h"

namespace tc::emulation {

/// Where the threads of a block meet: barriers of the block, of a warp and named ones, and
/// exchanges inside a warp.
class Barriers {
public:
  explicit Barriers(LaunchState& state) : state_(state) {}

  void start_block();
  // Called by a thread; return when all participants have arrived.
  void block(int line);
  void warp(int line);
  void named(int id, int threads, int line);
  void gather(const void* value, std::size_t bytes, void* all, int group, int line);

  /// Why the suspended threads of a block cannot go on.
  Finding describe_stuck() const;

private:
  enum class Place { None, Gather, Warp, Named, Block };
  struct Wait {
    Place place = Place::None;
    int line = 0;
    int id = 0;  ///< Named
  };
  /// Threads that have arrived at one barrier, in order of arrival.
  struct Meeting {
    std::vector<int> arrived;
    int line = 0;
    int threads = 0;        ///< Named: participants
    std::size_t bytes = 0;  ///< Gather
  };
  struct GatherSlot {
    alignas(16) unsigned char values[kWarpSize * 16];
    void* all[kWarpSize];
  };

  void leave(Meeting& meeting);
  void wait(Place place, int line, int id);
  [[noreturn]] void different_places(Place place, const Meeting& meeting, int line) const;
  int lanes(int warp) const;
  std::string describe(const Wait& wait) const;

  LaunchState& state_;
  Meeting block_;
  std::vector<Meeting> warps_;
  std::vector<Meeting> named_;
  std::vector<Meeting> gathers_;  ///< by the first thread and the size of the group
  std::vector<GatherSlot> slots_;
  std::vector<Wait> waits_;  ///< by thread
};

/// "thread 3", "threads 0-31, 64".
std::string describe_threads(const std::vector<int>& ascending);

}  // namespace tc::emulation
