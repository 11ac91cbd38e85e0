// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tc/support/options.h"
#include "tc/support/target.h"
#include "tc/tile/ir.h"

namespace tc::test {

/// How a lowered program is run: every access checked, or as machine code of this host.
enum class Run { Checked, Native };

/// Runs a tile program directly and lowered, on the same data. Empty if everything is well formed
/// and equal, else what is wrong.
std::string check_lowered(const tile::Program& program, const MappingOptions& options,
                          const Target& target, Run run, unsigned seed);

/// Selects layouts first; the selected program must also verify and survive its own text.
std::string check_selected(const tile::Program& program, const MappingOptions& options,
                           const Target& target, Run run, unsigned seed);

}  // namespace tc::test
