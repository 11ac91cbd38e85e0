// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner.h"

namespace tc::fuzz {

/// A smaller case that breaks the same property: defs, statements, clauses and results dropped,
/// expressions replaced by their parts, sizes, options and views made plain. Stops after `seconds`
/// even if more could go.
Case shrink(const Case& experiment, const Outcome& outcome, int seconds);

}  // namespace tc::fuzz
