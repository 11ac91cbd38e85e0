// SPDX-License-Identifier: Apache-2.0
//
// From a plan to CUDA text and from there to machine code.
#pragma once

#include <string>

#include "tc/codegen/cuda/codegen.h"
#include "tc/compiler/cuda_platform.h"
#include "tc/kernel/plan.h"

namespace tc::compiler {

Result<codegen::cuda::Source, Failure>
cuda_source(const kernel::Plan& plan, const MappingOptions& options, const Target& target);

/// Errors: no NVRTC, one that does not know the architecture, too much shared memory.
Result<runtime::cuda::Compiled, Failure> cuda_binary(const CudaPlatform& platform,
                                                     const kernel::Plan& plan,
                                                     const codegen::cuda::Source& source,
                                                     const MappingOptions& options,
                                                     const Target& target);

}  // namespace tc::compiler
