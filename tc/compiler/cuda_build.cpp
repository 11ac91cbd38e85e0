// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/cuda_build.h"

#include "tc/compiler/pipeline.h"

namespace tc::compiler {

Result<codegen::cuda::Source, Failure>
cuda_source(const kernel::Plan& plan, const MappingOptions& options, const Target& target) {
  codegen::cuda::Request request;
  request.fast_math = options.fast_math;
  Result<codegen::cuda::Source, Rejection> source = codegen::cuda::emit(plan, target, request);
  if (!source) return mapping_failure(source.error());
  return std::move(source).value();
}

Result<runtime::cuda::Compiled, Failure> cuda_binary(const CudaPlatform& platform,
                                                     const kernel::Plan& plan,
                                                     const codegen::cuda::Source& source,
                                                     const MappingOptions& options,
                                                     const Target& target) {
  const auto& nvrtc = platform.nvrtc();
  if (!nvrtc) return mapping_failure(nvrtc.error());
  std::map<std::string, std::string> headers;
  for (const codegen::cuda::DeviceHeader& header : codegen::cuda::device_headers())
    headers.emplace(header.name, header.text);
  runtime::cuda::CompileOptions how;
  how.fast_math = options.fast_math;
  how.line_info = true;  // for profilers; it changes no instruction
  Result<runtime::cuda::Compiled, Rejection> compiled = runtime::cuda::compile_cubin(
      **nvrtc, source.text, plan.name + ".cu", headers, target.arch, how);
  if (!compiled) return mapping_failure(compiled.error());
  return std::move(compiled).value();
}

}  // namespace tc::compiler
