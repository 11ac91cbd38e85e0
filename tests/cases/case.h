// SPDX-License-Identifier: Apache-2.0
//
// Programs with data and their right results, apart from how they are compiled and run: the same
// cases serve every target.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cases/view.h"
#include "tc/lang/interpreter.h"
#include "tc/tc.h"

namespace tc::cases {

/// Data of one tensor parameter.
struct Input {
  lang::Value value;
  View view = View::Contiguous;
};

/// Right contents of one output.
struct Expected {
  lang::Value value;
  double tolerance = 0;  ///< largest |result - value| / max(1, |value|); 0: equal
};

/// One program, its data, its right result.
struct Case {
  std::string name;
  std::string text;
  std::string def;
  std::vector<Input> inputs;              ///< by parameter position
  std::map<int, lang::Value> initial;     ///< of accumulated outputs, by return position
  std::vector<Expected> expected;         ///< by return position
  std::string warning;                    ///< code that compiling must report; empty: no warning
  std::vector<std::string> warning_text;  ///< parts of its message and notes
};

/// A program or call that must be refused.
struct Refusal {
  std::string name;
  std::string text;
  std::string def;
  Metadata metadata;
  Failure::Kind kind = Failure::Kind::Program;
  std::string code;                ///< of the first diagnostic; empty when the kind has none
  std::vector<std::string> parts;  ///< of the message
};

/// A set of mapping options and what it is called in messages.
struct NamedOptions {
  std::string name;
  MappingOptions options;
};

/// Naive, default, and sets that are awkward on purpose: tiles larger than any extent, tiles that
/// divide nothing, every strategy of fusion.
std::vector<NamedOptions> option_sets();

}  // namespace tc::cases
