// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tc/emulation/finding.h"
#include "tc/emulation/host_module.h"
#include "tc/kernel/plan.h"

namespace tc::emulation {

/// Runs the steps of a plan on an emulated device of its own.
///
/// \param text      the text of `module` whose kernels are those of the plan, in the same order
/// \param shapes    how each kernel is launched; one with an empty grid is left out
/// \param pointers  element (0, ..., 0) of each Plan::arguments; those of scratch are not used. An
///                  output with the pointer of an input is updated in place; any other counts as
///                  undefined until a kernel writes it.
/// The outputs arrive at `pointers` only if there is no finding.
std::optional<Finding> run_plan(const kernel::Plan& plan, const HostModule& module,
                                std::size_t text, std::span<const LaunchShape> shapes,
                                std::span<void* const> pointers, std::uint64_t seed);

}  // namespace tc::emulation
