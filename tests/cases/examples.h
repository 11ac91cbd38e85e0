// SPDX-License-Identifier: Apache-2.0
//
// Every def of examples/ with the sizes at which it is tested (examples.json, shared with the tests
// in Python), run on random data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cases/runner.h"

namespace tc::cases {

using Sizes = std::map<std::string, std::int64_t>;

struct Example {
  std::string file;
  std::string def;
  std::vector<Sizes> sizes;  ///< values of sizes and const parameters: small, odd, with a 1
  /// Subscript tensors without repetitions, and the size below which their values lie.
  std::map<std::string, std::string> distinct;
};

/// In the order of files and defs. Throws std::runtime_error when a def has no sizes, or sizes have
/// no def.
std::vector<Example> examples();

/// The text of an example, and its metadata at these sizes.
std::string text_of(const Example& example);
Metadata metadata_of(const Example& example, const Sizes& sizes);

/// What one experiment showed.
struct ExampleOutcome {
  Problems problems;
  bool refused = false;  ///< by the front end or the proofs, and so by `compile` under every set
  std::string code;      ///< of the refusal
  bool exact = false;    ///< integer data was compared bit for bit
};

/// Whether sizes may be outside of what the def accepts.
enum class Preconditions { Hold, MayFail };

/// Normal data against the interpreter in higher precision and, where every operation is exact,
/// integer data bit for bit; both under each option set, twice into poisoned outputs.
ExampleOutcome run_example(const Example& example, const Sizes& sizes, std::uint64_t seed,
                           const std::vector<NamedOptions>& options, const Compile& compile,
                           Preconditions preconditions = Preconditions::Hold);

}  // namespace tc::cases
