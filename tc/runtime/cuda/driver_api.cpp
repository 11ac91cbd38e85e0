// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/driver_api.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace tc::runtime::cuda {
namespace {

using GetProcAddress = CuResult (*)(const char*, void**, int, std::uint64_t, int*);

/// Handle 0 is the legacy default stream, whatever the process was compiled with.
constexpr std::uint64_t kLegacyStream = 1;
constexpr int kFunctionLoadVersion = 12040;

Rejection missing(std::string message, std::int64_t used = 0, std::int64_t limit = 0) {
  return {RejectionKind::TargetMissing, std::move(message), used, limit};
}

/// Asks the driver for entry points by name and remembers the first that it lacks.
class Resolver {
public:
  explicit Resolver(GetProcAddress get) : get_(get) {}

  template <class Function>
  void optional(Function& function, const char* name, int version) {
    void* address = nullptr;
    if (get_(name, &address, version, kLegacyStream, nullptr) != result::kSuccess)
      address = nullptr;
    function = reinterpret_cast<Function>(address);
  }
  template <class Function>
  void required(Function& function, const char* name) {
    optional(function, name, kMinimumDriverVersion);
    if (function == nullptr && lacking_.empty()) lacking_ = name;
  }
  const std::string& lacking() const { return lacking_; }

private:
  GetProcAddress get_;
  std::string lacking_;
};

void resolve_devices(Resolver& r, DriverApi& api) {
  r.required(api.get_error_name, "cuGetErrorName");
  r.required(api.get_error_string, "cuGetErrorString");
  r.required(api.init, "cuInit");
  r.required(api.device_get_count, "cuDeviceGetCount");
  r.required(api.device_get, "cuDeviceGet");
  r.required(api.device_get_name, "cuDeviceGetName");
  r.required(api.device_get_attribute, "cuDeviceGetAttribute");
  r.required(api.device_total_mem, "cuDeviceTotalMem");
  r.required(api.primary_context_retain, "cuDevicePrimaryCtxRetain");
  r.required(api.primary_context_release, "cuDevicePrimaryCtxRelease");
  r.required(api.context_get_current, "cuCtxGetCurrent");
  r.required(api.context_push, "cuCtxPushCurrent");
  r.required(api.context_pop, "cuCtxPopCurrent");
  r.required(api.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
}

void resolve_modules(Resolver& r, DriverApi& api) {
  r.required(api.module_load_data, "cuModuleLoadDataEx");
  r.required(api.module_unload, "cuModuleUnload");
  r.required(api.module_get_function, "cuModuleGetFunction");
  r.optional(api.function_load, "cuFuncLoad", kFunctionLoadVersion);
  r.required(api.function_get_attribute, "cuFuncGetAttribute");
  r.required(api.function_set_attribute, "cuFuncSetAttribute");
  r.required(api.max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  r.required(api.launch, "cuLaunchKernelEx");
}

void resolve_memory(Resolver& r, DriverApi& api) {
  r.required(api.memory_info, "cuMemGetInfo");
  r.required(api.memory_alloc, "cuMemAlloc");
  r.required(api.memory_free, "cuMemFree");
  r.optional(api.host_alloc, "cuMemHostAlloc", kMinimumDriverVersion);
  r.optional(api.host_free, "cuMemFreeHost", kMinimumDriverVersion);
  r.required(api.pointer_get_attribute, "cuPointerGetAttribute");
  r.required(api.copy_to_device, "cuMemcpyHtoDAsync");
  r.required(api.copy_to_host, "cuMemcpyDtoHAsync");
  r.required(api.fill_bytes, "cuMemsetD8Async");
}

void resolve_streams(Resolver& r, DriverApi& api) {
  r.required(api.stream_create, "cuStreamCreate");
  r.required(api.stream_destroy, "cuStreamDestroy");
  r.required(api.stream_synchronize, "cuStreamSynchronize");
  r.required(api.stream_begin_capture, "cuStreamBeginCapture");
  r.required(api.stream_end_capture, "cuStreamEndCapture");
  r.required(api.event_create, "cuEventCreate");
  r.required(api.event_destroy, "cuEventDestroy");
  r.required(api.event_record, "cuEventRecord");
  r.required(api.event_synchronize, "cuEventSynchronize");
  r.required(api.event_elapsed, "cuEventElapsedTime");
  r.required(api.graph_instantiate, "cuGraphInstantiateWithFlags");
  r.required(api.graph_launch, "cuGraphLaunch");
  r.required(api.graph_exec_destroy, "cuGraphExecDestroy");
  r.required(api.graph_destroy, "cuGraphDestroy");
}

}  // namespace

Result<LoadedApi, Rejection> load_driver_api(void* library, const std::string& path) {
  LoadedApi loaded{};
  // Present in every driver, so that one that is too old can be told from a foreign library.
  const auto get_version =
      reinterpret_cast<CuResult (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  if (get_version == nullptr)
    return missing(fmt::format("'{}' is no CUDA driver: it has no cuDriverGetVersion", path));
  if (const CuResult code = get_version(&loaded.version); code == result::kStubLibrary)
    return missing(
        fmt::format("'{}' is the stub that toolkits ship for linking; install the NVIDIA "
                    "driver, or take the stub's directory off the library path",
                    path));
  if (loaded.version < kMinimumDriverVersion)
    return missing(fmt::format("the NVIDIA driver supports CUDA {}.{}, {}.{} or newer is needed; "
                               "update the driver",
                               loaded.version / 1000, loaded.version % 1000 / 10,
                               kMinimumDriverVersion / 1000, kMinimumDriverVersion % 1000 / 10),
                   loaded.version, kMinimumDriverVersion);
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr)
    return missing(fmt::format("'{}' has no cuGetProcAddress_v2; update the driver", path));
  Resolver resolver(get);
  resolve_devices(resolver, loaded.api);
  resolve_modules(resolver, loaded.api);
  resolve_memory(resolver, loaded.api);
  resolve_streams(resolver, loaded.api);
  if (!resolver.lacking().empty())
    return missing(fmt::format("the driver '{}' has no {}", path, resolver.lacking()));
  return loaded;
}

}  // namespace tc::runtime::cuda
