// SPDX-License-Identifier: Apache-2.0
//
// Random programs of tests/fuzz/programs on the CUDA target, emulated. A program goes through two
// steps, so that many share one run of the host's compiler: translate, then, once everything is
// built, run and compare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cases/runner.h"
#include "fuzz/programs/case.h"
#include "fuzz/programs/data.h"

namespace tc::cases {

/// The program of a seed with one or two random sets of options that mean something on a GPU. No
/// text when the generator has none for the seed.
fuzz::Case random_cuda_case(std::uint64_t seed);

/// One program between the two steps.
class RandomProgram {
public:
  RandomProgram(fuzz::Case experiment, const Compile& compile);

  /// Interprets, runs every option set that could be mapped, compares. Empty: all is right, or
  /// there is nothing to run. Problems carry the text that replays them.
  Problems run();

  bool has_program() const { return program_.has_value(); }
  int mapped() const { return static_cast<int>(runs_.size()); }  ///< option sets
  int refused() const { return refused_; }
  bool is_exact() const { return exact_; }  ///< after run(): compared bit for bit

private:
  struct OptionRun {
    MappingOptions options;
    Compiled compiled;
  };

  void translate(const Compile& compile);
  Problems run_one(const OptionRun& option_run, const Data& data, fuzz::Oracle& oracle) const;
  std::string with_case(const std::string& problem, const MappingOptions& options) const;

  fuzz::Case experiment_;
  std::optional<Program> program_;
  std::vector<View> views_;  ///< by parameter position
  std::vector<OptionRun> runs_;
  Problems problems_;  ///< of the first step
  int refused_ = 0;
  bool exact_ = false;
};

}  // namespace tc::cases
