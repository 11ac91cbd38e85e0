// SPDX-License-Identifier: Apache-2.0
//
// What results of candidates are compared with: computed once for a run, kept in a file for every
// worker.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tc/compiler/pipeline.h"
#include "tc/compiler/verify.h"
#include "tc/tuner/bench.h"

namespace tc::tuner {

/// The right results on the integer-valued inputs.
class Oracle {
public:
  /// By the reference interpreter where that has few enough points to run; else by the naive
  /// mapping on the CPU: one element a step, scalar, nothing fused, blocked or staged; where even
  /// that takes too long by the default one. A mapping runs in the language's precision and, on the
  /// same values, with everything in float64.
  static Result<Oracle, Failure> compute(const compiler::FrontEnd& front, Arguments& arguments,
                                         std::string_view text, std::string_view def,
                                         const Metadata& metadata, const CompileContext& context);
  /// False: the file cannot be written.
  bool save(const std::filesystem::path& file) const;
  static std::optional<Oracle> load(const std::filesystem::path& file);

  /// Bit for bit where every output is exact (see is_exact()), within rounding otherwise. The error
  /// names the first difference.
  std::optional<std::string> compare(const compiler::FrontEnd& front,
                                     const std::vector<OutputView>& outputs);
  /// Whether no order of operations changes a bit: every float of the outputs is an integer that
  /// its accumulation holds exactly, and float64 arithmetic gives the same.
  bool is_exact() const { return exact_; }
  /// "interpreter, exact", for records.
  std::string description() const;

private:
  std::string source_;
  bool exact_ = false;
  compiler::Reference reference_;
  std::optional<Acceptance> acceptance_;  ///< made for the first comparison
};

}  // namespace tc::tuner
