// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "tc/emulation/accesses.h"
#include "tc/emulation/device_hooks.h"
#include "tc/emulation/launch_state.h"

namespace tc::emulation {

/// Products of warp groups that are on their way. Each thread computes its own part, as late as its
/// waits allow.
class Products {
public:
  Products(LaunchState& state, Accesses& accesses) : state_(state), accesses_(accesses) {}

  void start_block();

  // Called by a thread.
  void fence();
  void begin(const device::Product& product, int line);
  void commit();
  void wait(int groups);
  /// From a product that begins or ends.
  void read_panel(const void* address, std::size_t bytes, int line);

private:
  struct Begun {
    device::Product product;
    Clock since;
    int line;
  };
  /// What the registers of products will hold; they themselves are not a number meanwhile.
  struct Registers {
    float* at;
    std::vector<float> values;
    int products;  ///< that have not ended
  };
  struct Thread {
    bool fenced = false;
    std::vector<Begun> open;  ///< not yet in a group
    std::deque<std::vector<Begun>> groups;
    std::vector<Registers> registers;
    Clock since = 0;  ///< of the product that is announcing
  };

  Thread& thread() { return threads_[static_cast<std::size_t>(state_.position.thread)]; }
  static std::vector<Registers>::iterator registers_of(Thread& thread,
                                                       const device::Product& product);
  void end(Thread& thread, const Begun& begun);
  Clock now() const { return state_.time.epoch[state_.position.thread / kWarpSize]; }

  LaunchState& state_;
  Accesses& accesses_;
  std::vector<Thread> threads_;
};

}  // namespace tc::emulation
