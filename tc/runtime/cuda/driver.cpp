// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include <fmt/format.h>

namespace tc::runtime::cuda {
namespace {

Rejection missing(std::string message, std::int64_t used = 0, std::int64_t limit = 0) {
  return {RejectionKind::TargetMissing, std::move(message), used, limit};
}

/// Where systems keep the driver, in the order in which it is looked for.
const std::vector<std::string>& usual_places() {
  static const std::vector<std::string> places = {
      "libcuda.so.1",
      "/usr/lib/wsl/lib/libcuda.so.1",
      "/usr/local/nvidia/lib64/libcuda.so.1",
      "/run/opengl-driver/lib/libcuda.so.1",
  };
  return places;
}

struct Library {
  void* handle = nullptr;
  std::string path;
};

Result<Library, Rejection> find_library(const DriverSearch& search) {
  const auto places =
      search.library.empty() ? usual_places() : std::vector<std::string>{search.library};
  std::string looked;
  for (const std::string& place : places) {
    // Kept for good: the driver has threads and exit handlers of its own.
    if (void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library{handle, place};
    const char* reason = dlerror();
    looked += fmt::format("\n  {}", reason != nullptr ? reason : place.c_str());
  }
  return missing("no NVIDIA driver was found; install it, or use target 'cpu'. Looked for:" +
                 looked);
}

}  // namespace

struct Driver::Contexts {
  std::mutex mutex;
  std::vector<std::atomic<CuContext>> by_device;
  explicit Contexts(std::size_t count) : by_device(count) {}
};

std::string Device::arch() const {
  // From 9.0 on the instructions that make a device fast exist only in the 'a' variant.
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

Driver::Driver() : process_(getpid()) {}

bool Driver::is_forked() const {
  return getpid() != process_;
}

Driver::~Driver() {
  if (!contexts_ || is_forked()) return;
  // At the end of the process the driver may be gone already; its answer does not matter.
  for (std::size_t i = 0; i < contexts_->by_device.size(); ++i) {
    CuDevice device = 0;
    if (contexts_->by_device[i].load() != nullptr &&
        api_.device_get(&device, static_cast<int>(i)) == result::kSuccess)
      api_.primary_context_release(device);
  }
}

Result<std::shared_ptr<const Driver>, Rejection> Driver::open(const DriverSearch& search) {
  auto library = find_library(search);
  if (!library) return library.error();
  auto loaded = load_driver_api(library->handle, library->path);
  if (!loaded) return loaded.error();
  std::shared_ptr<Driver> driver(new Driver());
  driver->api_ = loaded->api;
  driver->version_ = loaded->version;
  driver->path_ = library->path;
  if (const auto error = driver->error(driver->api_.init(0), "starting CUDA"))
    return rejection(*error);
  if (auto problem = driver->read_devices()) return *problem;
  return std::shared_ptr<const Driver>(std::move(driver));
}

std::optional<Rejection> Driver::read_devices() {
  int count = 0;
  if (const auto problem = error(api_.device_get_count(&count), "counting CUDA devices"))
    return rejection(*problem);
  if (count == 0) return rejection(*error(result::kNoDevice, "counting CUDA devices"));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CuDevice handle = 0;
    Device device;
    device.ordinal = ordinal;
    char name[256] = {};
    std::size_t memory = 0;
    const std::string what = fmt::format("reading CUDA device {}", ordinal);
    CuResult code = api_.device_get(&handle, ordinal);
    if (code == result::kSuccess) code = api_.device_get_name(name, sizeof name - 1, handle);
    if (code == result::kSuccess) code = api_.device_total_mem(&memory, handle);
    if (const auto problem = error(code, what)) return rejection(*problem);
    // An attribute that a driver does not know stays 0: none of them decides whether it works.
    const auto attribute = [&](DeviceAttribute id) {
      int value = 0;
      return api_.device_get_attribute(&value, id, handle) == result::kSuccess ? value : 0;
    };
    device.name = name;
    device.memory_bytes = static_cast<std::int64_t>(memory);
    device.major = attribute(DeviceAttribute::CapabilityMajor);
    device.minor = attribute(DeviceAttribute::CapabilityMinor);
    device.multiprocessors = attribute(DeviceAttribute::Multiprocessors);
    device.threads_per_block = attribute(DeviceAttribute::MaxThreadsPerBlock);
    device.threads_per_multiprocessor = attribute(DeviceAttribute::ThreadsPerMultiprocessor);
    device.registers_per_block = attribute(DeviceAttribute::RegistersPerBlock);
    device.registers_per_multiprocessor = attribute(DeviceAttribute::RegistersPerMultiprocessor);
    device.shared_per_block = attribute(DeviceAttribute::SharedPerBlockOptin);
    device.shared_per_multiprocessor = attribute(DeviceAttribute::SharedPerMultiprocessor);
    device.shared_reserved_per_block = attribute(DeviceAttribute::SharedReservedPerBlock);
    device.l2_bytes = attribute(DeviceAttribute::L2Bytes);
    device.clock_khz = attribute(DeviceAttribute::ClockKhz);
    device.memory_clock_khz = attribute(DeviceAttribute::MemoryClockKhz);
    device.memory_bus_bits = attribute(DeviceAttribute::MemoryBusBits);
    device.compute_mode = attribute(DeviceAttribute::ComputeMode);
    device.cooperative_launch = attribute(DeviceAttribute::CooperativeLaunch) != 0;
    device.cluster_launch = attribute(DeviceAttribute::ClusterLaunch) != 0;
    devices_.push_back(std::move(device));
  }
  contexts_ = std::make_unique<Contexts>(devices_.size());
  return std::nullopt;
}

std::string Driver::device_text(int device) const {
  if (device < 0 || device >= static_cast<int>(devices_.size()))
    return fmt::format("device {}", device);
  return fmt::format("device {} ({})", device, devices_[static_cast<std::size_t>(device)].name);
}

Rejection Driver::no_context(int device, CuResult code) const {
  const int mode = devices_[static_cast<std::size_t>(device)].compute_mode;
  const bool refused = code == result::kDeviceUnavailable || code == result::kInvalidDevice;
  if (refused && mode == kComputeModeExclusive)
    return missing(fmt::format("{} is busy: it is in exclusive mode and another process uses it; "
                               "wait for that, or 'nvidia-smi -c DEFAULT' shares it",
                               device_text(device)));
  if (refused && mode == kComputeModeProhibited)
    return missing(fmt::format("{} is in prohibited mode; 'nvidia-smi -c DEFAULT' opens it",
                               device_text(device)));
  return rejection(*error(code, "opening " + device_text(device)));
}

Result<CuContext, Rejection> Driver::context(int device) const {
  if (device < 0 || device >= static_cast<int>(devices_.size()))
    return missing(
        fmt::format("there is no CUDA device {}, the last one is {}", device, devices_.size() - 1));
  auto& slot = contexts_->by_device[static_cast<std::size_t>(device)];
  if (CuContext context = slot.load(std::memory_order_acquire)) return context;
  const std::lock_guard lock(contexts_->mutex);
  if (CuContext context = slot.load(std::memory_order_relaxed)) return context;
  CuDevice handle = 0;
  CuContext context = nullptr;
  CuResult code = api_.device_get(&handle, device);
  if (code == result::kSuccess) code = api_.primary_context_retain(&context, handle);
  if (code != result::kSuccess) return no_context(device, code);
  slot.store(context, std::memory_order_release);
  return context;
}

}  // namespace tc::runtime::cuda
