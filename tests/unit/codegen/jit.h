// SPDX-License-Identifier: Apache-2.0
//
// Compiles the text of one kernel for this machine and runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tc/codegen/llvm/codegen.h"
#include "tc/kernel/plan.h"
#include "tc/runtime/cpu/module.h"

namespace tc::test {

/// A plan of one launch: read-only buffers are inputs, the others outputs.
kernel::Plan single_launch(kernel::Kernel kernel);

/// Parses (failing the test on an error), verifies, and checks that the printed text parses back to
/// itself.
kernel::Kernel parse_kernel(const std::string& text);

class Jit {
public:
  explicit Jit(const std::string& text, const Target& target = runtime::cpu::host_target());

  /// One pointer for each buffer of the kernel.
  template <class... T>
  void run(T*... buffers) const {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(buffers))...};
    runtime::cpu::run(table_, *module_, pointers);
  }

private:
  runtime::cpu::LaunchTable table_;
  std::shared_ptr<const runtime::cpu::Module> module_;
};

/// Code of one kernel in another form than an object.
std::string emit_text(const std::string& text, codegen::native::Output output,
                      const Target& target = runtime::cpu::host_target());

/// Targets that this machine can run: itself, and the named levels below it.
std::vector<Target> runnable_targets();

}  // namespace tc::test
