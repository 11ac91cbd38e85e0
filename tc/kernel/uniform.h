// SPDX-License-Identifier: Apache-2.0
//
// Where barriers stand: control flow that all participants take alike. Internal to the room.
#pragma once

#include <string>
#include <vector>

#include "tc/kernel/ir.h"

namespace tc::kernel {

/// Every barrier of a kernel with threads that stands below a condition or a loop whose course may
/// differ between the threads of a task. What a thread loads is taken to differ unless the buffer
/// is read-only and the subscripts are uniform; what it keeps in registers always is.
std::vector<std::string> divergent_barriers(const Kernel& kernel);

}  // namespace tc::kernel
