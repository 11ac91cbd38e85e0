// SPDX-License-Identifier: Apache-2.0
//
// On what a run measures: CUDA devices of one kind, or equal parts of the cores of a CPU.
#pragma once

#include <optional>
#include <vector>

#include "tc/tune.h"

namespace tc::tuner {

/// The wrong in measuring on these devices: one that is not there, two that differ, or parts of a
/// CPU without a core of their own.
std::optional<Failure> wrong_devices(const std::vector<int>& devices, TargetKind kind,
                                     const CompileContext& context);

/// Cores that this process may use.
std::vector<int> usable_cores();
/// Those of part `part` of `parts`, which are equal; `parts` are at most as many as the cores.
std::vector<int> cores_of(const std::vector<int>& cores, std::size_t part, std::size_t parts);

}  // namespace tc::tuner
