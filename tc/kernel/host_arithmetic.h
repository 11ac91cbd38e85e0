// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tc/kernel/ir.h"

namespace tc::kernel {

/// Add, Sub or Mul of int64, wrapping.
std::int64_t wrapping(BinaryOp op, std::int64_t a, std::int64_t b);
/// Any operation but Div on int64 and bool (0 or 1), as kernels compute it (ir.h): for values that
/// the host computes, such as bounds of loops around launches.
std::int64_t evaluate(BinaryOp op, std::int64_t a, std::int64_t b);

}  // namespace tc::kernel
