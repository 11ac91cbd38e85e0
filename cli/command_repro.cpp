// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>

#include "commands.h"
#include "exit_status.h"
#include "tc/compiler/reproducer.h"

namespace tc::cli {

int repro_command(const std::string& file, const Environment& environment) {
  Result<compiler::CompileInput, std::string> input = compiler::read_reproducer(file);
  if (!input) throw CommandError(kUserError, input.error());
  // The point is to run the compiler again.
  const CompileContext context = make_context(environment, CacheUse::None);
  Result<Executor, Failure> executor =
      compile(input->text, input->def, input->metadata, input->options, input->target, context);
  if (!executor) throw_failure(executor.error());
  fmt::print("'{}' compiles '{}' without an error in this version\n", file, executor->name());
  return kDone;
}

}  // namespace tc::cli
