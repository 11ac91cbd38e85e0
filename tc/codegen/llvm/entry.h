// SPDX-License-Identifier: Apache-2.0
//
// Functions of a plan: one per kernel, and the C entry of a freestanding object. Internal to the
// room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tc/codegen/llvm/machine.h"
#include "tc/kernel/plan.h"

namespace tc::codegen::native {

/// void K(buffers, ints, task_begin, task_end) of a kernel whose unrolled loops are expanded.
llvm::Function* emit_kernel(llvm::Module& module, const Machine& machine,
                            const kernel::Kernel& kernel, const std::string& symbol,
                            const std::map<int, int>& groups);

/// The C entry that runs all steps one after the other. `kernels`: the function of each kernel of
/// the plan.
void emit_entry(llvm::Module& module, const Machine& machine, const kernel::Plan& plan,
                const std::vector<llvm::Function*>& kernels);

/// Parameters of the C entry, in order.
struct EntryParameter {
  std::string name;
  DType type = DType::UInt8;  ///< element type; scratch: bytes
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  bool is_const = false;
  bool is_scratch = false;
  std::vector<int> arguments;  ///< positions in Plan::arguments that it serves
};
std::vector<EntryParameter> entry_parameters(const kernel::Plan& plan);
/// The plan's name as c_function() makes it.
std::string entry_name(const kernel::Plan& plan);

}  // namespace tc::codegen::native
