// SPDX-License-Identifier: Apache-2.0
//
// The few declarations of the CUDA driver interface that this room needs, so that nothing of CUDA
// is needed to build. Layouts and numbers are part of NVIDIA's stable binary interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::runtime::cuda {

using CuResult = int;
using CuDevice = int;
using CuDevicePtr = unsigned long long;
using CuContext = struct CuContextState*;
using CuModule = struct CuModuleState*;
using CuFunction = struct CuFunctionState*;
using CuStream = struct CuStreamState*;
using CuEvent = struct CuEventState*;
using CuGraph = struct CuGraphState*;
using CuGraphExec = struct CuGraphExecState*;

/// Results that the room tells apart; the others only have a name.
namespace result {
constexpr CuResult kSuccess = 0;
constexpr CuResult kInvalidValue = 1;
constexpr CuResult kOutOfMemory = 2;
constexpr CuResult kNotInitialized = 3;
constexpr CuResult kDeinitialized = 4;
constexpr CuResult kStubLibrary = 34;
constexpr CuResult kNeedsNewerDriver = 36;
constexpr CuResult kDeviceUnavailable = 46;
constexpr CuResult kNoDevice = 100;
constexpr CuResult kInvalidDevice = 101;
constexpr CuResult kInvalidImage = 200;
constexpr CuResult kInvalidContext = 201;
constexpr CuResult kNoBinaryForGpu = 209;
constexpr CuResult kUncorrectableEcc = 214;
constexpr CuResult kInvalidPtx = 218;
constexpr CuResult kNoJitCompiler = 221;
constexpr CuResult kUnsupportedPtxVersion = 222;
constexpr CuResult kInvalidHandle = 400;
constexpr CuResult kNotFound = 500;
constexpr CuResult kIllegalAddress = 700;
constexpr CuResult kLaunchOutOfResources = 701;
constexpr CuResult kLaunchTimeout = 702;
constexpr CuResult kAssert = 710;
constexpr CuResult kIllegalInstruction = 715;
constexpr CuResult kMisalignedAddress = 716;
constexpr CuResult kLaunchFailed = 719;
constexpr CuResult kCooperativeTooLarge = 720;
constexpr CuResult kSystemNotReady = 802;
constexpr CuResult kSystemDriverMismatch = 803;
constexpr CuResult kCompatNotSupported = 804;
constexpr CuResult kCaptureFirst = 900;  ///< 900..908: what stream capture forbids
constexpr CuResult kCaptureLast = 908;
constexpr CuResult kUnknown = 999;
}  // namespace result

/// CUdevice_attribute.
enum class DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxGridX = 5,
  MaxGridY = 6,
  MaxGridZ = 7,
  RegistersPerBlock = 12,
  ClockKhz = 13,
  Multiprocessors = 16,
  ComputeMode = 20,
  MemoryClockKhz = 36,
  MemoryBusBits = 37,
  L2Bytes = 38,
  ThreadsPerMultiprocessor = 39,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  SharedPerMultiprocessor = 81,
  RegistersPerMultiprocessor = 82,
  CooperativeLaunch = 95,
  SharedPerBlockOptin = 97,
  SharedReservedPerBlock = 111,
  ClusterLaunch = 120,
};

/// CUfunction_attribute.
enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  StaticShared = 1,
  Registers = 4,
  MaxDynamicShared = 8,
  NonPortableCluster = 14,
};

/// CUlaunchAttribute.
enum class PointerAttribute : int { MemoryType = 2, IsManaged = 8, DeviceOrdinal = 9 };
constexpr unsigned kMemoryTypeDevice = 2;

enum class LaunchAttributeId : int { Cooperative = 2, ClusterDimension = 4 };
struct LaunchAttribute {
  LaunchAttributeId id;
  std::uint32_t padding;
  union {
    std::uint64_t words[8];
    int cooperative;
    std::uint32_t cluster[3];
  };
};
static_assert(sizeof(LaunchAttribute) == 72 && alignof(LaunchAttribute) == 8);

/// CUlaunchConfig.
struct LaunchConfig {
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t dynamic_shared_bytes;
  CuStream stream;
  LaunchAttribute* attributes;  ///< read only
  std::uint32_t attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

/// Keys of the `extra` list of a launch: a parameter buffer and the address of its size.
inline void* const kParameterEnd = nullptr;
inline void* const kParameterBuffer = reinterpret_cast<void*>(1);
inline void* const kParameterSize = reinterpret_cast<void*>(2);

constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureThreadLocal = 1;
constexpr int kCaptureRelaxed = 2;
constexpr int kComputeModeProhibited = 2;
constexpr int kComputeModeExclusive = 3;

/// Entry points of the driver in the versions of CUDA 12.0, all present unless marked.
struct DriverApi {
  CuResult (*get_error_name)(CuResult, const char**);
  CuResult (*get_error_string)(CuResult, const char**);
  CuResult (*init)(unsigned);
  CuResult (*device_get_count)(int*);
  CuResult (*device_get)(CuDevice*, int);
  CuResult (*device_get_name)(char*, int, CuDevice);
  CuResult (*device_get_attribute)(int*, DeviceAttribute, CuDevice);
  CuResult (*device_total_mem)(std::size_t*, CuDevice);
  CuResult (*primary_context_retain)(CuContext*, CuDevice);
  CuResult (*primary_context_release)(CuDevice);
  CuResult (*context_get_current)(CuContext*);
  CuResult (*context_push)(CuContext);
  CuResult (*context_pop)(CuContext*);
  CuResult (*exchange_capture_mode)(int*);
  CuResult (*module_load_data)(CuModule*, const void*, unsigned, int*, void**);
  CuResult (*module_unload)(CuModule);
  CuResult (*module_get_function)(CuFunction*, CuModule, const char*);
  CuResult (*function_load)(CuFunction);  ///< since 12.4; null before
  CuResult (*function_get_attribute)(int*, FunctionAttribute, CuFunction);
  CuResult (*function_set_attribute)(CuFunction, FunctionAttribute, int);
  CuResult (*max_active_blocks)(int*, CuFunction, int, std::size_t);
  CuResult (*launch)(const LaunchConfig*, CuFunction, void**, void**);
  CuResult (*memory_info)(std::size_t*, std::size_t*);
  CuResult (*memory_alloc)(CuDevicePtr*, std::size_t);
  CuResult (*memory_free)(CuDevicePtr);
  CuResult (*host_alloc)(void**, std::size_t, unsigned);  ///< may be null, as the next one
  CuResult (*host_free)(void*);
  CuResult (*pointer_get_attribute)(void*, PointerAttribute, CuDevicePtr);
  CuResult (*copy_to_device)(CuDevicePtr, const void*, std::size_t, CuStream);
  CuResult (*copy_to_host)(void*, CuDevicePtr, std::size_t, CuStream);
  CuResult (*fill_bytes)(CuDevicePtr, unsigned char, std::size_t, CuStream);
  CuResult (*stream_create)(CuStream*, unsigned);
  CuResult (*stream_destroy)(CuStream);
  CuResult (*stream_synchronize)(CuStream);
  CuResult (*stream_begin_capture)(CuStream, int);
  CuResult (*stream_end_capture)(CuStream, CuGraph*);
  CuResult (*event_create)(CuEvent*, unsigned);
  CuResult (*event_destroy)(CuEvent);
  CuResult (*event_record)(CuEvent, CuStream);
  CuResult (*event_synchronize)(CuEvent);
  CuResult (*event_elapsed)(float*, CuEvent, CuEvent);
  CuResult (*graph_instantiate)(CuGraphExec*, CuGraph, unsigned long long);
  CuResult (*graph_launch)(CuGraphExec, CuStream);
  CuResult (*graph_exec_destroy)(CuGraphExec);
  CuResult (*graph_destroy)(CuGraph);
};

/// CUDA version that a driver must have, as cuDriverGetVersion says it (1000 * major + 10 * minor).
constexpr int kMinimumDriverVersion = 12000;

struct LoadedApi {
  DriverApi api;
  int version = 0;  ///< of the driver, as above
};
/// Resolves every entry point of a library that dlopen gave.
/// Errors: Rejection{TargetMissing} for a driver older than kMinimumDriverVersion, with both
/// versions, or for a library without one of the entry points.
Result<LoadedApi, Rejection> load_driver_api(void* library, const std::string& path);

}  // namespace tc::runtime::cuda
