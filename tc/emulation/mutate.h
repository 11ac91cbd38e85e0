// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tc/kernel/plan.h"

namespace tc::emulation {

/// A plan with one defect: what a test of the emulator, or of a set of cases run by it, has to
/// find.
struct Mutant {
  enum class Kind {
    BarrierRemoved,
    AwaitRemoved,   ///< of copies or of products on their way, which then belong to the next group
    AwaitWeakened,  ///< one in a loop leaves one group more on its way
    GuardWeakened,  ///< an If without else runs its body always, or in more places: without one of
                    ///< several conditions, with <= for <
    MaskWeakened,   ///< a masked load touches every lane; a store or atomic update every lane or
                    ///< more of them
  } kind;
  std::string kernel;
  std::string description;  ///< the statement or the condition, as text
  kernel::Plan plan;
  /// Of a weakened condition: the plan as it was, but with an access far out of bounds where the
  /// weaker condition holds and the original does not. If that runs, the two agree on the data at
  /// hand. None for kernels without a buffer that has an outside.
  std::optional<kernel::Plan> probe{};
  /// Of a weakened mask of a load: the plan as it was, but what the mask keeps from being read is
  /// poison. If that gives right results, they do not depend on it.
  std::optional<kernel::Plan> poisoned{};
  /// The same with a finite number instead of NaN: right results then depend on it at most by a
  /// product with zero.
  std::optional<kernel::Plan> finite{};
};

/// All plans that differ from the given one in one such place. A mutant need not be wrong: a guard
/// that always holds on the sizes at hand, or a barrier between accesses to different bytes, makes
/// no difference.
std::vector<Mutant> mutants(const kernel::Plan& plan);

}  // namespace tc::emulation
