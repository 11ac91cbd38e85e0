// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tc {

enum class RejectionKind {
  SchedulerQuota,       ///< an isl operation quota ran out
  NotParallel,          ///< the mapping asks for parallelism that a dependence forbids
  NonBoxFootprint,      ///< a staged footprint is not a box of constant size
  LocalMemoryOverflow,  ///< more tile-local memory than the target has
  RegisterOverflow,     ///< a register tile larger than the register file
  TooManyThreads,       ///< thread or task count beyond the target's limit
  ScratchOverflow,      ///< declared scratch beyond the limit
  Unsupported,          ///< the target cannot express the operation
  TargetMissing,        ///< target, device or library not present
};

/// Why a mapping or a target cannot do what was asked: data, not an exception.
struct Rejection {
  RejectionKind kind;
  std::string message;     ///< for a user: lower case, names and numbers
  std::int64_t used = 0;   ///< what the mapping needs (unit as in the message)
  std::int64_t limit = 0;  ///< what there is
  std::string tensor{};    ///< the tensor that is too large, if it is one

  std::string to_string() const;
};

const char* to_string(RejectionKind kind);

}  // namespace tc
