// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tc/emulation/device_hooks.h"
#include "tc/emulation/fibers.h"
#include "tc/emulation/finding.h"
#include "tc/emulation/shadow.h"

namespace tc::emulation {

/// The block that is running, as far as all parts of the emulator need it.
struct LaunchState {
  std::string kernel;
  int threads = 0;  ///< of a block
  device::Position position;
  BlockTime time;
  std::optional<Finding> finding;
  Fibers fibers;

  explicit LaunchState(std::uint64_t seed) : fibers(seed) {}

  void record(Finding found) {
    found.kernel = kernel;
    found.block = {position.block[0], position.block[1], position.block[2]};
    finding = std::move(found);
  }
  /// Ends the launch, called by a thread.
  [[noreturn]] void stop(Finding found) {
    record(std::move(found));
    throw ThreadStopped();
  }
  /// Suspends the running thread.
  void wait() {
    fibers.suspend();
    position.thread = fibers.current();
  }
};

}  // namespace tc::emulation
