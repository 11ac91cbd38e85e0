// SPDX-License-Identifier: Apache-2.0
//
// Device memory and streams for programs that have no framework to bring them. A run itself needs
// none of this.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "tc/runtime/cuda/driver.h"

namespace tc::runtime::cuda {

/// A block of device memory, given back with its owner.
class DeviceMemory {
public:
  /// Errors: out of memory, with the bytes asked for and those free.
  static Result<DeviceMemory, Rejection> allocate(std::shared_ptr<const Driver> driver, int device,
                                                  std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  void* get() const { return reinterpret_cast<void*>(address_); }  ///< null for 0 bytes
  std::size_t size() const { return size_; }

private:
  DeviceMemory() = default;

  std::shared_ptr<const Driver> driver_;
  int device_ = 0;
  CuDevicePtr address_ = 0;
  std::size_t size_ = 0;
};

/// Memory of this process that a device reads and writes without a detour; ordinary memory where
/// the driver gives none of that.
class HostMemory {
public:
  HostMemory(std::shared_ptr<const Driver> driver, int device, std::size_t bytes);
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  unsigned char* get() const { return address_; }
  std::size_t size() const { return size_; }

private:
  std::shared_ptr<const Driver> driver_;
  int device_ = 0;
  unsigned char* address_ = nullptr;
  std::size_t size_ = 0;
  std::unique_ptr<unsigned char[]> ordinary_;
};

/// A stream of its own, independent of the default stream.
class Stream {
public:
  static Result<Stream, Rejection> create(std::shared_ptr<const Driver> driver, int device);
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  void* get() const { return stream_; }
  int device() const { return device_; }
  const Driver& driver() const { return *driver_; }
  /// Waits until all that was enqueued is done. A fault of a kernel shows here.
  std::optional<Rejection> synchronise() const;

private:
  Stream() = default;

  std::shared_ptr<const Driver> driver_;
  int device_ = 0;
  CuStream stream_ = nullptr;
};

/// Copies behind what the stream holds, and waits for the copy.
std::optional<Rejection> copy_to_device(const Stream& stream, void* to, const void* from,
                                        std::size_t bytes);
std::optional<Rejection> copy_to_host(const Stream& stream, void* to, const void* from,
                                      std::size_t bytes);
/// The same for a stream of the caller's.
std::optional<Rejection> copy_to_host(const Driver& driver, int device, void* stream, void* to,
                                      const void* from, std::size_t bytes);
/// Sets each byte, behind what the stream holds; does not wait.
std::optional<Rejection> fill(const Stream& stream, void* to, unsigned char value,
                              std::size_t bytes);

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};
Result<MemoryInfo, Rejection> memory_info(const Driver& driver, int device);

}  // namespace tc::runtime::cuda
