// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>

#include "commands.h"
#include "exit_status.h"
#include "tc/compiler/reproducer.h"

namespace tc::cli {

int repro_command(const std::string& file) {
  Result<compiler::CompileInput, std::string> input = compiler::read_reproducer(file);
  if (!input) throw CommandError(kUserError, input.error());
  // No cache: the point is to run the compiler again.
  Result<Executor, Failure> executor =
      compile(input->text, input->def, input->metadata, input->options, input->target);
  if (!executor) throw_failure(executor.error());
  fmt::print("'{}' compiles '{}' without an error in this version\n", file, executor->name());
  return kDone;
}

}  // namespace tc::cli
