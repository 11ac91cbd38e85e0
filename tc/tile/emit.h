// SPDX-License-Identifier: Apache-2.0
//
// One group -> one kernel: operations, locals, loops. Internal to the room.
#pragma once

#include <optional>

#include "tc/tile/build.h"
#include "tc/tile/storage.h"

namespace tc::tile {

/// A kernel with the positions of its buffers in Program::arguments.
struct EmittedKernel {
  Kernel kernel;
  std::vector<int> arguments;
  std::vector<int> counters;  ///< for each int parameter, the position of its launch loop in
                              ///< GroupContext::counters
};

struct EmitInput {
  const poly::Scop& scop;
  const PlacedGroup& group;
  const Storage& storage;
  const Placement& placement;
  Bounds bounds;
};

/// The kernel of a group; nullopt if nothing in it has work.
std::optional<EmittedKernel> emit_kernel(const EmitInput& input, const std::string& name);
/// Under bounds=error, a kernel that checks the gathered subscripts of the group in a single task,
/// before the group runs; nullopt if there are none. Only for groups that write nothing that these
/// subscripts read (else emit_kernel checks in place).
std::optional<EmittedKernel> emit_check_kernel(const EmitInput& input, const std::string& name);
/// Whether the group reads, in subscripts or on the way to them, something that it also writes, or
/// has such subscripts inside a `for`.
bool checks_in_place(const poly::Scop& scop, const poly::Group& group);
bool has_gathers(const poly::Scop& scop);

/// The kernel that clears the status record.
EmittedKernel emit_clear_kernel(const Storage& storage, const std::string& name);

}  // namespace tc::tile
