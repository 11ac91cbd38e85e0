// SPDX-License-Identifier: Apache-2.0
//
// The NVIDIA driver of this machine: found at run time, its devices, their primary contexts, and
// what its errors mean.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/runtime/cuda/driver_api.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::runtime::cuda {

/// What a driver call said.
struct DriverError {
  CuResult code = 0;
  std::string name;  ///< "CUDA_ERROR_OUT_OF_MEMORY"
  std::string text;  ///< the driver's own sentence
  std::string what;  ///< what was being done, with kernel and device

  /// One sentence with all of it, and what to do where that is known.
  std::string to_string() const;
  /// Whether the context is lost: every later call of the process on this device fails too.
  bool is_sticky() const;
};
/// The error as a reason why the target cannot be used.
Rejection rejection(const DriverError& error);

/// Facts of one device. Sizes in bytes.
struct Device {
  int ordinal = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;
  int threads_per_block = 0;
  int threads_per_multiprocessor = 0;
  int registers_per_block = 0;
  int registers_per_multiprocessor = 0;
  std::int64_t shared_per_block = 0;  ///< largest that a kernel may ask for
  std::int64_t shared_per_multiprocessor = 0;
  std::int64_t shared_reserved_per_block = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  int clock_khz = 0;         ///< 0: the driver does not say
  int memory_clock_khz = 0;  ///< 0: the driver does not say
  int memory_bus_bits = 0;
  int compute_mode = 0;  ///< CUcomputemode
  bool cooperative_launch = false;
  bool cluster_launch = false;

  /// Architecture to compile for: "sm_80"; with the device's own instructions from 9.0 on:
  /// "sm_90a".
  std::string arch() const;
};

/// Where the driver is looked for.
struct DriverSearch {
  std::string library;  ///< a file; empty: libcuda.so.1 where systems keep it
};

/// One loaded driver with its devices. Thread-safe. Retains a device's primary context on its first
/// use (the context that the CUDA runtime and so every framework of the process uses) and releases
/// it with the last reference.
class Driver {
public:
  /// Errors: Rejection{TargetMissing}: no driver, too old, no device, each with its own message.
  static Result<std::shared_ptr<const Driver>, Rejection> open(const DriverSearch& search = {});
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  const DriverApi& api() const { return api_; }
  const std::string& path() const { return path_; }
  int version() const { return version_; }  ///< 1000 * major + 10 * minor of its CUDA
  const std::vector<Device>& devices() const { return devices_; }

  /// The device's primary context, retained once.
  /// Errors: no such device, busy device, out of memory.
  Result<CuContext, Rejection> context(int device) const;
  /// "device 0 (NVIDIA H200)".
  std::string device_text(int device) const;
  /// The error of a call that was doing `what`; nullopt for success.
  std::optional<DriverError> error(CuResult code, std::string what) const;
  /// Whether the process came from a fork after open(): the driver cannot be used there, not even
  /// to give back what it holds.
  bool is_forked() const;

private:
  struct Contexts;
  Driver();
  std::optional<Rejection> read_devices();
  Rejection no_context(int device, CuResult code) const;

  DriverApi api_{};
  std::string path_;
  int version_ = 0;
  int process_ = 0;
  std::vector<Device> devices_;
  std::unique_ptr<Contexts> contexts_;
};

/// Makes a context current for a scope, touching nothing if it is current already.
class ContextScope {
public:
  ContextScope(const DriverApi& api, CuContext context) : api_(api) {
    CuContext current = nullptr;
    status_ = api_.context_get_current(&current);
    if (status_ != result::kSuccess || current == context) return;
    status_ = api_.context_push(context);
    pushed_ = status_ == result::kSuccess;
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    CuContext ignored = nullptr;
    if (pushed_) api_.context_pop(&ignored);
  }
  CuResult status() const { return status_; }

private:
  const DriverApi& api_;
  CuResult status_ = result::kSuccess;
  bool pushed_ = false;
};

/// Lets this thread load, unload and allocate while another stream of the process is being
/// captured: those calls enqueue nothing, but capture in global mode forbids them to everyone.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const DriverApi& api) : api_(api) { api_.exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { api_.exchange_capture_mode(&mode_); }

private:
  const DriverApi& api_;
  int mode_ = kCaptureRelaxed;
};

}  // namespace tc::runtime::cuda
