// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels on the devices of this process, and running them on a caller's stream.
//
//   auto module = Module::create(driver, kernel::seal(compiled.cubin), table);
//   (*module)->prepare(device);                          // once, outside of stream capture
//   run(**module, device, pointers, stream);             // any number of times, from any thread
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tc/runtime/cuda/driver.h"
#include "tc/runtime/cuda/host_program.h"
#include "tc/runtime/cuda/launch_table.h"
#include "tc/support/run_limits.h"

namespace tc::runtime::cuda {

/// A module as one device has it.
struct LoadedModule;

/// One cubin (or PTX) and its launch table. Immutable, shared, thread-safe: each device loads it on
/// first use. Unloads with the last reference; whoever captured a run into a graph keeps a
/// reference as long as the graph.
class Module {
public:
  /// `image`: a sealed cubin, or sealed PTX, which the driver compiles when it is loaded.
  /// Errors: Rejection{Unsupported}: damaged image, grid, block or cluster that no device launches,
  /// parameters that do not fit, a run beyond `limits`; {TooManyThreads}: more threads a block than
  /// any device has.
  static Result<std::shared_ptr<const Module>, Rejection>
  create(std::shared_ptr<const Driver> driver, std::string_view image, LaunchTable table,
         const RunLimits& limits = {});
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  const LaunchTable& table() const { return table_; }
  const Driver& driver() const { return *driver_; }
  const HostProgram& program() const { return program_; }

  /// Loads the module on a device and resolves all that a run needs, so that runs allocate and load
  /// nothing and may be captured. Does nothing after the first success; after a failure the next
  /// call tries again.
  /// Errors: no device, wrong architecture, out of memory, more shared memory, threads or
  /// cooperative blocks than the device has, a kernel that the image lacks.
  std::optional<Rejection> prepare(int device) const;
  /// What prepare() made; null before.
  const LoadedModule* loaded(int device) const {
    if (device < 0 || static_cast<std::size_t>(device) >= slots_.size()) return nullptr;
    return slots_[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
  }

private:
  Module(std::shared_ptr<const Driver> driver, std::string image, LaunchTable table,
         HostProgram program);

  std::shared_ptr<const Driver> driver_;
  std::string image_;  // bare, and PTX ends with a zero
  LaunchTable table_;
  HostProgram program_;
  mutable std::mutex mutex_;  // held while a device loads
  mutable std::vector<std::unique_ptr<LoadedModule>> owned_;
  mutable std::vector<std::atomic<const LoadedModule*>> slots_;
};

/// Why a run ended early. Launches before the failing one were enqueued.
struct LaunchFailure {
  std::string kernel;                 ///< that did not launch; empty: none was tried
  Rejection rejection;                ///< the message for people
  std::optional<DriverError> driver;  ///< when the driver said so
};

/// Enqueues one run on `stream` (a CUstream; null: the legacy default stream) of `device`:
/// `pointers[i]` is the device address for table().arguments[i], scratch already offset. Allocates,
/// copies and waits for nothing; may run within stream capture once the module is prepared (it is
/// prepared here otherwise). The thread's current context is as before afterwards.
std::optional<LaunchFailure> run(const Module& module, int device, void* const* pointers,
                                 void* stream);

}  // namespace tc::runtime::cuda
