// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tc/kernel/plan.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"
#include "tc/support/target.h"

namespace tc::runtime::cpu {

using KernelFunction = void (*)(void* const* buffers, const std::int64_t* ints,
                                std::int64_t task_begin, std::int64_t task_end);

/// Facts of the machine this process runs on (LLVM's host CPU and features, caches, cores that the
/// process may use).
Target host_target();

/// Machine code of a plan, linked into this process by ORC. Immutable, shared, thread-safe; unloads
/// with the last reference.
class Module {
public:
  /// `object`: bytes made by codegen::native::emit. `kernels`: function names to resolve.
  /// Errors: Rejection{Unsupported} when the object does not link (a damaged cache entry).
  static Result<std::shared_ptr<const Module>, Rejection>
  load(std::string_view object, const std::vector<std::string>& kernels);
  virtual ~Module() = default;
  virtual KernelFunction kernel(std::size_t index) const = 0;
};

/// What remains of a plan at run time: grid sizes, argument positions and steps, without kernel
/// bodies. Serialisable for the cache.
struct LaunchTable {
  struct Kernel {
    std::string name;
    std::int64_t tasks = 1;
  };
  std::vector<kernel::Argument> arguments;
  std::vector<Kernel> kernels;
  std::vector<kernel::Step> steps;
  std::int64_t scratch_bytes = 0;
};
LaunchTable launch_table(const kernel::Plan& plan);
/// Text form for the compile cache, and back.
std::string to_text(const LaunchTable& table);
Result<LaunchTable, std::string> launch_table_from_text(std::string_view text);

/// Runs the steps: `pointers[i]` for arguments[i] (scratch already offset). Tasks of one launch are
/// spread over the OpenMP threads of the process; one launch ends before the next begins.
/// Thread-safe.
void run(const LaunchTable& table, const Module& module, void* const* pointers);

}  // namespace tc::runtime::cpu
