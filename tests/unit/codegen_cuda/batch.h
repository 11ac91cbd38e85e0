// SPDX-License-Identifier: Apache-2.0
//
// Kernels given as text, translated to CUDA C++, compiled for the host in one run of the compiler
// and executed by the emulator.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/codegen/cuda/codegen.h"
#include "tc/emulation/host_module.h"
#include "tc/kernel/plan.h"

namespace tc::test {

/// The target of all tests.
Target cuda_target();
/// Parses and verifies, failing the test on an error; a plan of one launch. Read-only buffers are
/// inputs, the others outputs. `int_values` for its integer parameters.
kernel::Plan single_launch(const std::string& text,
                           const std::vector<std::int64_t>& int_values = {});
codegen::cuda::Source emitted(const std::string& text);
/// The function itself, without comment and includes.
std::string function_text(const std::string& text);

/// Values of one buffer, in place. `origin`: where element (0, ..., 0) lies, in bytes.
struct Argument {
  void* data;
  std::size_t bytes;
  std::size_t origin = 0;
};
template <class T>
Argument argument(std::vector<T>& values, std::size_t origin = 0) {
  return {values.data(), values.size() * sizeof(T), origin * sizeof(T)};
}

/// Texts with the device headers and the functions of tc/math.
std::shared_ptr<const emulation::HostModule>
compile_for_host(const std::vector<emulation::KernelText>& texts);

class Batch {
public:
  explicit Batch(const std::vector<std::string>& kernels);

  std::size_t size() const { return plans_.size(); }
  const codegen::cuda::Source& source(std::size_t i) const { return sources_[i]; }
  /// Runs a kernel; the outputs replace the contents of the arguments. What the emulator finds is
  /// returned.
  std::optional<emulation::Finding> run(std::size_t i, const std::vector<Argument>& arguments,
                                        const std::vector<long long>& ints = {},
                                        std::uint64_t seed = 0) const;

private:
  std::vector<kernel::Plan> plans_;
  std::vector<codegen::cuda::Source> sources_;
  std::shared_ptr<const emulation::HostModule> module_;
};

/// run() that fails the test on a finding.
void expect_runs(const Batch& batch, std::size_t i, const std::vector<Argument>& arguments,
                 const std::vector<long long>& ints = {});

}  // namespace tc::test
