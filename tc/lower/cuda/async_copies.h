// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/kernel/ir.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::lower::cuda {

/// Every store of a load as an asynchronous copy. The elements of a vector are copied together if
/// the first one is to be, else zeros are.
/// Errors: Rejection{Unsupported} if a store is none, or its elements do not lie side by side.
Result<kernel::StmtPtr, Rejection> as_async_copies(const kernel::StmtPtr& stmt);

}  // namespace tc::lower::cuda
