// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/compiler/verify.h"
#include "tc/lang/typed.h"

namespace tc::cases {

/// Whether every statement computes without rounding as long as the numbers in it are small
/// multiples of a quarter: any legal order of evaluation then gives the same bits.
bool has_exact_operations(const lang::TypedDef& def);

/// Whether the two precisions of the interpreter agree, on values far from where float32 sums begin
/// to round.
bool is_exact(const compiler::Reference& reference);

}  // namespace tc::cases
