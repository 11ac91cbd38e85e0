// SPDX-License-Identifier: Apache-2.0
//
// One kernel as a function of CUDA C++. Internal to the room.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tc/codegen/cuda/codegen.h"
#include "tc/kernel/affine.h"

namespace tc::codegen::cuda {

struct KernelText {
  std::string text;
  KernelInfo info;
  std::set<std::string> headers;      ///< device headers that it needs beyond those of every text
  std::set<std::string> definitions;  ///< of the device, before the kernel, in namespace tc
};

/// \param kernel      simplified
/// \param name        of the function
/// \param groups      which buffers may share memory (kernel/aliasing.h)
/// \param parameters  intervals of Kernel::int_params
Result<KernelText, Rejection> kernel_text(const kernel::Kernel& kernel, const std::string& name,
                                          const std::map<int, int>& groups,
                                          const std::vector<kernel::Interval>& parameters,
                                          const Target& target);

}  // namespace tc::codegen::cuda
