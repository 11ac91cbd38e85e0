// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/lower/op/names.h"
#include "tc/tile/ir.h"

namespace tc::lower {

/// Names beyond every variable and buffer of a tile kernel.
Names names_after(const tile::Kernel& kernel);

}  // namespace tc::lower
