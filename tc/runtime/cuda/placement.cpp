// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/placement.h"

#include <cstdint>

#include <fmt/format.h>

#include "tc/runtime/cuda/loaded_module.h"
#include "tc/support/check.h"

namespace tc::runtime::cuda {
namespace {

/// For an address that is not plainly memory of the device: what it is.
std::optional<std::string> describe(const Driver& driver, int device, CuDevicePtr address,
                                    int owner) {
  const DriverApi& api = driver.api();
  unsigned type = 0;
  CuResult code = api.pointer_get_attribute(&type, PointerAttribute::MemoryType, address);
  if (code == result::kInvalidValue || (code == result::kSuccess && type == 0))
    return fmt::format("is no memory that CUDA knows, where memory of {} is expected",
                       driver.device_text(device));
  // Any other error is one of the device: the launch reports it.
  if (code != result::kSuccess || type != kMemoryTypeDevice || owner == device) return std::nullopt;
  unsigned managed = 0;
  code = api.pointer_get_attribute(&managed, PointerAttribute::IsManaged, address);
  if (code != result::kSuccess || managed != 0) return std::nullopt;
  return fmt::format("is memory of {}, where memory of {} is expected", driver.device_text(owner),
                     driver.device_text(device));
}

}  // namespace

std::optional<std::string> misplaced(const Module& module, int device, const void* address) {
  const LoadedModule* loaded = module.loaded(device);
  check(loaded != nullptr, "memory is checked for a device on which the module is prepared");
  const Driver& driver = module.driver();
  const ContextScope scope(driver.api(), loaded->context);
  if (scope.status() != result::kSuccess) return std::nullopt;  // the launch reports it
  const auto at = static_cast<CuDevicePtr>(reinterpret_cast<std::uintptr_t>(address));
  int owner = -1;
  const CuResult code =
      driver.api().pointer_get_attribute(&owner, PointerAttribute::DeviceOrdinal, at);
  if (code == result::kSuccess && owner == device) return std::nullopt;
  return describe(driver, device, at, owner);
}

}  // namespace tc::runtime::cuda
