// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace tc::cli {

/// Exit statuses that scripts rely on.
enum ExitStatus {
  kDone = 0,
  kUserError = 1,      ///< the user's program or data is wrong
  kUsage = 2,          ///< wrong usage of the command line
  kMismatch = 3,       ///< verification or numeric mismatch
  kTargetMissing = 4,  ///< the target is not available
  kInternal = 70,      ///< a defect of the compiler
};

/// Ends a command with a message for stderr. Thrown and caught inside the command line only.
struct CommandError : std::runtime_error {
  CommandError(ExitStatus status, const std::string& message)
      : std::runtime_error(message), status(status) {}
  ExitStatus status;
};

}  // namespace tc::cli
