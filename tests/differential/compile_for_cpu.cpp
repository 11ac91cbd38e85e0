// SPDX-License-Identifier: Apache-2.0
#include "compile_for_cpu.h"

#include <filesystem>

namespace tc::cases {

Compile compile_for_cpu() {
  return [](const Request& request) -> Result<Compiled, Failure> {
    CompileContext context;
    context.reproducer_dir = std::filesystem::temp_directory_path();
    const Result<Executor, Failure> executor = compile(request.text, request.def, request.metadata,
                                                       request.options, std::nullopt, context);
    if (!executor) return executor.error();
    return Compiled{[executor = *executor](std::span<const DLTensor* const> inputs,
                                           std::span<const DLTensor* const> outputs) {
                      return executor.run(inputs, outputs);
                    },
                    executor->report().warnings};
  };
}

}  // namespace tc::cases
