// SPDX-License-Identifier: Apache-2.0
//
// Runs kernels that were compiled for the host together with device_hooks.h, block by block, and
// ends a launch at the first defect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tc/emulation/device_hooks.h"
#include "tc/emulation/finding.h"
#include "tc/emulation/memory.h"

namespace tc::emulation {

using Entry = void (*)(void* const* buffers, const long long* ints);

struct LaunchShape {
  std::string kernel;
  std::array<int, 3> grid{1, 1, 1};   ///< x, y, z
  std::array<int, 3> block{1, 1, 1};  ///< x, y, z; threads are numbered with x fastest
  std::size_t shared_bytes = 0;
};

struct LaunchBuffer {
  GlobalBuffer* buffer = nullptr;
  bool writable = false;
};

/// One emulated device: its memory and the launches on it, in order. The same seed gives the same
/// order of threads and blocks. Not thread-safe.
class Emulator {
public:
  explicit Emulator(std::uint64_t seed = 0);
  ~Emulator();

  GlobalMemory& memory();
  /// To be bound to the code of the kernels (device::current_hooks) before a launch.
  const device::Hooks& hooks() const;

  /// Runs all blocks. After a finding the contents of writable buffers are meaningless.
  std::optional<Finding> launch(const LaunchShape& shape, Entry entry,
                                std::span<const LaunchBuffer> buffers,
                                std::span<const long long> ints);

private:
  struct Device;
  std::unique_ptr<Device> device_;
};

}  // namespace tc::emulation
