// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/support/options.h"
#include "tc/tuner/facts.h"

namespace tc::tuner {

/// The model of a CPU: estimated run time in arbitrary units, for ranking candidates before
/// anything is compiled.
///
/// Of one task of the heaviest group: the bytes of its footprints (whole cache lines; what does not
/// fit half of L2 counts as often as it is used again, up to how often it overflows) over the
/// bandwidth of a core, or its points over the vector lanes that a contiguous row keeps busy,
/// whichever is longer; plus the cost of starting a task; times the rounds that the cores need.
double estimate(const Facts& facts, const MappingOptions& options);

}  // namespace tc::tuner
