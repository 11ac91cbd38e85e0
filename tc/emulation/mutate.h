// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tc/kernel/plan.h"

namespace tc::emulation {

/// A plan with one defect: what a test of the emulator, or of a set of cases run by it, has to
/// find.
struct Mutant {
  enum class Kind {
    BarrierRemoved,
    GuardWeakened,  ///< an If without else always runs its body
    MaskWeakened,   ///< a masked load, store or atomic update touches every lane
  } kind;
  std::string kernel;
  std::string description;  ///< the statement or the condition, as text
  kernel::Plan plan;
};

/// All plans that differ from the given one in one such place. A mutant need not be wrong: a guard
/// that always holds on the sizes at hand, or a barrier between accesses to different bytes, makes
/// no difference.
std::vector<Mutant> mutants(const kernel::Plan& plan);

}  // namespace tc::emulation
