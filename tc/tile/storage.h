// SPDX-License-Identifier: Apache-2.0
//
// Where every tensor of a call lives. Internal to the room.
//
// Parameters and outputs are arguments. A temporary whose accesses all lie in one group is private
// to a tile of it: every member of the band is coincident, so whatever a tile reads it wrote
// itself (in the same launch, if the group runs in a loop around launches: set_before_use). Private
// temporaries become local, the smallest first, while the sum of their footprints stays within the
// limit; all others lie in scratch for the time between their first and last launch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tc/support/rejection.h"
#include "tc/tile/build.h"
#include "tc/tile/footprint.h"

namespace tc::tile {

struct TensorStorage {
  enum class Kind { Unused, Argument, Local } kind = Kind::Unused;
  std::string name;   ///< identifier, unique in the program
  int argument = -1;  ///< Argument: position in Program::arguments
  Footprint box;      ///< Local
};

struct Storage {
  std::vector<TensorStorage> tensors;  ///< by scop tensor
  std::vector<kernel::Argument> arguments;
  int status_argument = -1;  ///< of bounds=error; -1: none
  std::int64_t scratch_bytes = 0;
};

/// One group with its frame and the range of launches during which it may run (a loop around
/// launches counts as a whole).
struct PlacedGroup {
  GroupContext context;
  GroupFrame frame;
  int first_launch = 0, last_launch = 0;
};

/// Errors: Rejection{ScratchOverflow} beyond 1 TiB of scratch.
Result<Storage, Rejection> assign_storage(const poly::Scop& scop,
                                          const std::vector<PlacedGroup>& groups, bool with_status,
                                          std::int64_t local_limit);

}  // namespace tc::tile
