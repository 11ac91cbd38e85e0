// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/memory.h"

#include <utility>

#include <fmt/format.h>

#include "tc/runtime/cuda/call.h"

namespace tc::runtime::cuda {
namespace {

/// Bytes: atomic updates of narrow elements exchange whole words (device/atomic.cuh).
constexpr std::size_t kWord = 4;

CuDevicePtr address_of(const void* pointer) {
  return reinterpret_cast<CuDevicePtr>(pointer);
}

}  // namespace

Result<DeviceMemory, Rejection> DeviceMemory::allocate(std::shared_ptr<const Driver> driver,
                                                       int device, std::size_t bytes) {
  DeviceMemory memory;
  memory.device_ = device;
  memory.size_ = bytes;
  if (bytes > 0) {
    std::size_t available = 0;
    const RelaxedCapture relaxed(driver->api());
    const auto allocate = [&](const DriverApi& api) {
      const CuResult code = api.memory_alloc(&memory.address_, (bytes + kWord - 1) / kWord * kWord);
      std::size_t total = 0;
      if (code == result::kOutOfMemory) api.memory_info(&available, &total);
      return code;
    };
    auto problem = call(*driver, device, fmt::format("allocating {} bytes", bytes), allocate);
    if (problem) {
      if (available > 0) problem->message += fmt::format("; {} bytes are free", available);
      problem->used = static_cast<std::int64_t>(bytes);
      problem->limit = static_cast<std::int64_t>(available);
      return *problem;
    }
  }
  memory.driver_ = std::move(driver);
  return memory;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept {
  *this = std::move(other);
}
DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}
DeviceMemory::~DeviceMemory() {
  if (address_ == 0 || !driver_) return;
  release(*driver_, device_, [&](const DriverApi& api) { api.memory_free(address_); });
}

HostMemory::HostMemory(std::shared_ptr<const Driver> driver, int device, std::size_t bytes)
    : driver_(std::move(driver)), device_(device), size_(bytes) {
  constexpr unsigned kNoFlags = 0;
  void* address = nullptr;
  const RelaxedCapture relaxed(driver_->api());
  const bool has_function =
      driver_->api().host_alloc != nullptr && driver_->api().host_free != nullptr;
  if (bytes > 0 && has_function &&
      !call(*driver_, device_, fmt::format("allocating {} bytes of the host", bytes),
            [&](const DriverApi& api) { return api.host_alloc(&address, bytes, kNoFlags); })) {
    address_ = static_cast<unsigned char*>(address);
    return;
  }
  ordinary_ = std::make_unique<unsigned char[]>(bytes);
  address_ = ordinary_.get();
}

HostMemory::HostMemory(HostMemory&& other) noexcept {
  *this = std::move(other);
}
HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(ordinary_, other.ordinary_);
  return *this;
}
HostMemory::~HostMemory() {
  if (address_ == nullptr || ordinary_ || !driver_) return;
  release(*driver_, device_, [&](const DriverApi& api) { api.host_free(address_); });
}

Result<Stream, Rejection> Stream::create(std::shared_ptr<const Driver> driver, int device) {
  Stream stream;
  stream.device_ = device;
  if (auto problem = call(*driver, device, "creating a stream", [&](const DriverApi& api) {
        return api.stream_create(&stream.stream_, kStreamNonBlocking);
      }))
    return *problem;
  stream.driver_ = std::move(driver);
  return stream;
}

Stream::Stream(Stream&& other) noexcept {
  *this = std::move(other);
}
Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  return *this;
}
Stream::~Stream() {
  if (stream_ == nullptr || !driver_) return;
  release(*driver_, device_, [&](const DriverApi& api) { api.stream_destroy(stream_); });
}

std::optional<Rejection> Stream::synchronise() const {
  return call(*driver_, device_, "waiting for the stream",
              [&](const DriverApi& api) { return api.stream_synchronize(stream_); });
}

std::optional<Rejection> copy_to_device(const Stream& stream, void* to, const void* from,
                                        std::size_t bytes) {
  if (bytes == 0) return std::nullopt;
  if (auto problem = call(stream.driver(), stream.device(),
                          fmt::format("copying {} bytes to it", bytes), [&](const DriverApi& api) {
                            return api.copy_to_device(address_of(to), from, bytes,
                                                      static_cast<CuStream>(stream.get()));
                          }))
    return problem;
  return stream.synchronise();
}

std::optional<Rejection> copy_to_host(const Stream& stream, void* to, const void* from,
                                      std::size_t bytes) {
  return copy_to_host(stream.driver(), stream.device(), stream.get(), to, from, bytes);
}

std::optional<Rejection> copy_to_host(const Driver& driver, int device, void* stream, void* to,
                                      const void* from, std::size_t bytes) {
  if (bytes == 0) return std::nullopt;
  auto* const handle = static_cast<CuStream>(stream);
  if (auto problem = call(driver, device, fmt::format("copying {} bytes from it", bytes),
                          [&](const DriverApi& api) {
                            return api.copy_to_host(to, address_of(from), bytes, handle);
                          }))
    return problem;
  return call(driver, device, "waiting for the stream",
              [&](const DriverApi& api) { return api.stream_synchronize(handle); });
}

std::optional<Rejection> fill(const Stream& stream, void* to, unsigned char value,
                              std::size_t bytes) {
  if (bytes == 0) return std::nullopt;
  return call(stream.driver(), stream.device(), fmt::format("filling {} bytes", bytes),
              [&](const DriverApi& api) {
                return api.fill_bytes(address_of(to), value, bytes,
                                      static_cast<CuStream>(stream.get()));
              });
}

Result<MemoryInfo, Rejection> memory_info(const Driver& driver, int device) {
  MemoryInfo info;
  if (auto problem = call(driver, device, "reading its free memory", [&](const DriverApi& api) {
        return api.memory_info(&info.free_bytes, &info.total_bytes);
      }))
    return *problem;
  return info;
}

}  // namespace tc::runtime::cuda
