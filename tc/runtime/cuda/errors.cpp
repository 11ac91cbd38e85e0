// SPDX-License-Identifier: Apache-2.0
//
// What the driver's results mean to a user.
#include <fmt/format.h>

#include "tc/runtime/cuda/driver.h"

namespace tc::runtime::cuda {
namespace {

struct Advice {
  CuResult code;
  const char* text;
};

constexpr const char* kFault =
    "a kernel faulted; every later call on this device fails until the process ends";
constexpr const char* kForeignCode = "the code is for another architecture, or from a newer CUDA "
                                     "than this driver knows; compile for "
                                     "the device's own architecture or update the driver";

constexpr Advice kAdvice[] = {
    {result::kOutOfMemory, "the device is out of memory; free some or use smaller sizes"},
    {result::kNotInitialized, "CUDA cannot be used in a process that was forked after it was "
                              "initialised; start workers with "
                              "'spawn'"},
    {result::kDeinitialized, "the process is ending"},
    {result::kStubLibrary,
     "libcuda.so.1 is the stub that toolkits ship for linking; install the NVIDIA driver"},
    {result::kNeedsNewerDriver, "update the NVIDIA driver"},
    {result::kDeviceUnavailable, "another process holds the device"},
    {result::kNoDevice,
     "no CUDA device is visible; nvidia-smi lists them, CUDA_VISIBLE_DEVICES can hide them"},
    {result::kInvalidImage, kForeignCode},
    {result::kNoBinaryForGpu, kForeignCode},
    {result::kInvalidPtx, kForeignCode},
    {result::kNoJitCompiler,
     "the driver's compiler for PTX (libnvidia-ptxjitcompiler) is not installed"},
    {result::kUnsupportedPtxVersion, kForeignCode},
    {result::kInvalidHandle,
     "the stream belongs to another device or no longer exists, or its context was destroyed"},
    {result::kIllegalAddress, kFault},
    {result::kLaunchOutOfResources,
     "a block needs more registers or shared memory than the device has"},
    {result::kLaunchTimeout,
     "the kernel ran longer than the display's watchdog allows; every later call on this device "
     "fails until the process ends"},
    {result::kAssert, kFault},
    {result::kIllegalInstruction, kFault},
    {result::kMisalignedAddress, kFault},
    {result::kLaunchFailed, kFault},
    {result::kCooperativeTooLarge,
     "a cooperative grid must fit the device all at once; use fewer blocks"},
    {result::kSystemNotReady,
     "the system is not ready: is the fabric manager of this machine running?"},
    {result::kSystemDriverMismatch,
     "the driver's library and its kernel module are of different versions; reboot"},
    {result::kCompatNotSupported, "the CUDA compatibility package does not support this device"},
    {result::kUnknown, "the driver does not say why; its kernel log does (dmesg)"},
};

const char* advice_for(CuResult code) {
  if (code >= result::kCaptureFirst && code <= result::kCaptureLast)
    return "the stream is being captured; prepare modules and allocate before the capture begins";
  for (const Advice& advice : kAdvice)
    if (advice.code == code) return advice.text;
  return "";
}

}  // namespace

std::string DriverError::to_string() const {
  std::string message = fmt::format("{} failed with {} ({})", what, name, code);
  if (!text.empty()) message += ": " + text;
  if (const char* advice = advice_for(code); *advice != '\0')
    message += fmt::format("; {}", advice);
  return message;
}

bool DriverError::is_sticky() const {
  switch (code) {
  case result::kUncorrectableEcc:
  case result::kIllegalAddress:
  case result::kLaunchTimeout:
  case result::kAssert:
  case result::kIllegalInstruction:
  case result::kMisalignedAddress:
  case result::kLaunchFailed: return true;
  default: return false;
  }
}

Rejection rejection(const DriverError& error) {
  return {RejectionKind::TargetMissing, error.to_string()};
}

std::optional<DriverError> Driver::error(CuResult code, std::string what) const {
  if (code == result::kSuccess) return std::nullopt;
  DriverError error;
  error.code = code;
  const char* text = nullptr;
  error.name = api_.get_error_name(code, &text) == result::kSuccess && text != nullptr
                   ? text
                   : "an unknown result";
  text = nullptr;
  if (api_.get_error_string(code, &text) == result::kSuccess && text != nullptr) error.text = text;
  error.what = std::move(what);
  return error;
}

}  // namespace tc::runtime::cuda
