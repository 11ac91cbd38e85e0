// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>

#include "tc/kernel/plan.h"

namespace tc::kernel {

/// Which buffers of a kernel may share memory: buffer id -> group. Different groups never do.
/// Decided by all launches of the kernel.
std::map<int, int> alias_groups(const Plan& plan, std::size_t kernel);

}  // namespace tc::kernel
