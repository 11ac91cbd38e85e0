// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/kernel/ir.h"

namespace tc::lower::cuda {

/// The value with every load guarded, zero where the guard fails.
kernel::ExprPtr guarded(const kernel::ExprPtr& value, const kernel::ExprPtr& guard);

}  // namespace tc::lower::cuda
