// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "case.h"

namespace tc::fuzz {

enum class Verdict {
  Passed,
  RejectedText,     ///< a diagnostic or an argument error of the front end or the proofs
  RejectedMapping,  ///< no option set could be mapped
  TooLarge,         ///< more points than an experiment may have
  Failed,
};

/// What one experiment showed.
struct Outcome {
  Verdict verdict = Verdict::Passed;
  /// Failed: which property broke ("mismatch", "internal", "tile text", ...), stable under
  /// shrinking.
  std::string property;
  std::string message;
  int failed_options = -1;         ///< position of the option set at fault, -1: none in particular
  int mapped = 0;                  ///< option sets that ran
  int refused = 0;                 ///< option sets that could not be mapped
  bool beside_a_step = false;      ///< compared with the help of compiler::interpret_shifted()
  bool exact = false;              ///< results were compared bit for bit
  bool reread = false;             ///< the tile program and kernels ran after printing and parsing
  std::set<std::string> features;  ///< what the program and its tile programs contain
};

/// Largest number of statement instances of an experiment; bounds the interpreter's time.
inline constexpr std::int64_t kMaxPoints = 250'000;

/// Compiles the case under each of its option sets, runs it between guard zones, and compares with
/// the interpreter; checks the texts of every stage under the first option set that can be mapped,
/// and runs what they hold. Throws nothing.
Outcome run_case(const Case& experiment);

/// Whether front end and proofs accept the text, and what it then is.
struct Acceptance {
  bool accepted = false;
  bool too_large = false;
  std::string message;
  struct Tensor {
    std::string name;
    DType type;
    std::vector<std::int64_t> begin, extent;
  };
  std::vector<Tensor> tensors;  ///< of the accepted def: parameters, outputs, temporaries
};
Acceptance accept(const Case& experiment);

}  // namespace tc::fuzz
