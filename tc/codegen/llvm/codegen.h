// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tc/kernel/plan.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"
#include "tc/support/target.h"

namespace tc::codegen::native {

enum class Output { LlvmText, Assembly, Object };

struct Request {
  Output output = Output::Object;
  /// Jit: vector math from libmvec and the runtime's own scalar builtins, resolved by the loader.
  /// Freestanding: libc/libm only, one C-callable entry per plan (see c_header()), launch steps run
  /// serially.
  enum class Linkage { Jit, Freestanding } linkage = Linkage::Jit;
  bool fast_math = false;
};

/// Every kernel K of the plan becomes a function
///   void K(void* const* buffers, const int64_t* ints, int64_t task_begin, int64_t task_end)
/// that runs the tasks [task_begin, task_end) of the flattened grid (last dimension fastest).
/// `buffers` as in Kernel::buffers: the address of element (0,...,0). An object of linkage Jit is
/// sealed (kernel/seal.h): an ELF file with a checksum behind it. Deterministic: the same plan,
/// target and request give the same bytes. Errors: Rejection{Unsupported} e.g. for a builtin that a
/// freestanding object cannot have.
Result<std::string, Rejection> emit(const kernel::Plan& plan, const Target& target,
                                    const Request& request);

/// C header for a freestanding object of this plan: one documented function.
std::string c_header(const kernel::Plan& plan);

/// Version text of code generator and LLVM, part of the cache key.
std::string version();

}  // namespace tc::codegen::native
