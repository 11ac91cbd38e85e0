// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tc/runtime/cuda/module.h"

namespace tc::runtime::cuda {

/// Why kernels on `device` must not be given memory at `address`, as the end of a sentence that
/// begins with its name; nullopt: they may. Memory of the device itself, pools and mapped ranges
/// included, managed memory and host memory that CUDA has registered pass. Asks the driver once or
/// twice; allowed within stream capture. Requires a module that is prepared on the device.
std::optional<std::string> misplaced(const Module& module, int device, const void* address);

}  // namespace tc::runtime::cuda
