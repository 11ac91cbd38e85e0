// SPDX-License-Identifier: Apache-2.0
//
// The CUDA target without a GPU, for the runners of tests/cases: programs become CUDA text, many
// texts one unit of the host's compiler, and the emulator runs them.
//
// Compiling for the host costs seconds however small the text, so tests run twice: once with a
// callback that only collects what is asked for, then with one that runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cases/runner.h"
#include "tc/codegen/cuda/codegen.h"
#include "tc/emulation/host_module.h"

namespace tc::cases {

class EmulatedCompiler {
public:
  explicit EmulatedCompiler(std::string arch = "sm_90a");

  /// First pass: translates to CUDA text and keeps it. What it returns succeeds and does nothing
  /// until build(), and then runs as that of run(). `change` replaces the plan of each program.
  using Change = std::function<kernel::Plan(const kernel::Plan&)>;
  /// `edit` replaces its text.
  using Edit = std::function<std::string(std::string)>;
  Compile collect(std::uint64_t seed = 0, const Change& change = {}, const Edit& edit = {});
  /// Compiles what was collected; `texts_per_unit` texts in one run of the host's compiler. Throws
  /// std::runtime_error when a text does not compile.
  void build(std::size_t texts_per_unit = 60);
  /// Second pass. A finding of the emulator is a failure of the run. Each run of one result has an
  /// order of threads and blocks of its own, drawn from `seed`.
  Compile run(std::uint64_t seed = 0);

  /// Number of different texts.
  std::size_t size() const { return entries_.size(); }
  /// Calls `visit` for each text with the program and options that it was made of.
  void for_each(
      const std::function<void(const std::string&, const codegen::cuda::Source&)>& visit) const;

private:
  struct Entry {
    std::string description;
    kernel::Plan plan;
    codegen::cuda::Source source;
    std::vector<Diagnostic> warnings;
    std::vector<int> defined;  ///< outputs whose contents count before a run
    std::shared_ptr<const emulation::HostModule> module;
    std::size_t text = 0;  ///< position in the module
  };

  Result<std::shared_ptr<Entry>, Failure> translate(const Request& request, const Change& change,
                                                    const Edit& edit);
  static Compiled compiled(const std::shared_ptr<Entry>& entry, std::uint64_t seed);
  static std::optional<Failure> emulate(const Entry& entry, std::span<const DLTensor* const> inputs,
                                        std::span<const DLTensor* const> outputs,
                                        std::uint64_t seed);

  Target target_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  ///< by CUDA text and plan
};

/// The option sets under which every program is emulated: naive, default, a block of 48 threads,
/// tiles larger than any extent.
std::vector<NamedOptions> cuda_option_sets();

}  // namespace tc::cases
