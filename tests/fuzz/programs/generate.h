// SPDX-License-Identifier: Apache-2.0
//
// Random well-formed programs. A program grows statement by statement; each draft of a statement is
// shown to the front end, and only what it accepts stays. So a program may use everything the
// language has, and what earlier statements wrote is known exactly.
#pragma once

#include <cstdint>

#include "case.h"

namespace tc::fuzz {

struct Generated {
  Case experiment;
  int drafts = 0;    ///< statements shown to the front end
  int rejected = 0;  ///< of these, refused with a diagnostic
  std::string last_rejection;
};

/// The program, sizes, data and option sets of a seed. No text when no draft was accepted.
Generated generate(std::uint64_t seed);

}  // namespace tc::fuzz
