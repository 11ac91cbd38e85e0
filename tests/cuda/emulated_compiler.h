// SPDX-License-Identifier: Apache-2.0
//
// The CUDA target without a GPU, for the runners of tests/cases: programs become CUDA text, many
// texts one unit of the host's compiler, and the emulator runs them.
//
// Compiling for the host costs seconds however small the text, so tests run twice: once with a
// callback that only collects what is asked for, then with one that runs it.
#pragma once

#include <cstdint>
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

  /// First pass: translates to CUDA text and keeps it; runs succeed and do nothing.
  Compile collect();
  /// Compiles what was collected; `texts_per_unit` texts in one run of the host's compiler. Throws
  /// std::runtime_error when a text does not compile.
  void build(std::size_t texts_per_unit = 60);
  /// Second pass. A finding of the emulator is a failure of the run.
  Compile run(std::uint64_t seed = 0);

  /// Number of different texts, and the texts with their kernels' plans.
  std::size_t size() const { return entries_.size(); }

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

  Result<std::shared_ptr<Entry>, Failure> translate(const Request& request);
  std::optional<Failure> emulate(const Entry& entry, std::span<const DLTensor* const> inputs,
                                 std::span<const DLTensor* const> outputs, std::uint64_t seed);

  Target target_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  ///< by CUDA text and plan
};

/// The option sets under which every program is emulated: naive, default, a block of 48 threads,
/// tiles larger than any extent.
std::vector<NamedOptions> cuda_option_sets();

}  // namespace tc::cases
