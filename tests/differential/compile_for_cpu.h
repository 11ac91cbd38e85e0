// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cases/runner.h"

namespace tc::cases {

/// Compiles for this machine, without a cache.
Compile compile_for_cpu();

}  // namespace tc::cases
