// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tc/lang/parser.h"
#include "tc/lang/ranges.h"
#include "tc/lang/sema.h"

namespace tc::lang::testing {

using Sizes = std::map<std::string, std::int64_t>;

/// A text with everything that was said about it.
struct Analysed {
  std::optional<TypedDef> def;
  std::vector<Diagnostic> diagnostics;
  std::string text;  ///< rendered diagnostics

  /// "E0310 E0312": the codes of the errors, in order of place.
  std::string errors() const;
};

/// Front end of the last def of a text.
Analysed analysed(const std::string& text);
/// The same, specialised for sizes (integer consts are given among them) and proven.
Analysed specialised(const std::string& text, const Sizes& sizes);
Analysed proven(const std::string& text, const Sizes& sizes);

/// "i in 0:N, k in 0:min(K, 3)" of the statement at a position.
std::string ranges(const TypedDef& def, int statement);
/// "C(0:M, 1:N - 1)" of a tensor.
std::string box(const TypedDef& def, const std::string& tensor);

}  // namespace tc::lang::testing
