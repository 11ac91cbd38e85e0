// SPDX-License-Identifier: Apache-2.0
//
// Two executions that share nothing with lowering: tile programs straight from the words of
// tile/ir.h, and kernels with every access checked, so that a lane that should be masked off and is
// not cannot hide.
#pragma once

#include "memory.h"
#include "tc/tile/ir.h"

namespace tc::test {

void execute(const tile::Kernel& kernel, Memory& memory);
void execute(const kernel::Kernel& kernel, Memory& memory);

}  // namespace tc::test
