// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tc/tc.h"

namespace tc::compiler {

/// Everything that a compilation depends on.
struct CompileInput {
  std::string text;
  std::string def;
  Metadata metadata;
  MappingOptions options;
  Target target;
};

/// Writes a JSON file named after the content's hash and returns its path; empty if it could not be
/// written.
std::string write_reproducer(const std::filesystem::path& directory, const CompileInput& input,
                             std::string_view error);
/// Reads one back. The error names the file and what is wrong with it.
Result<CompileInput, std::string> read_reproducer(const std::filesystem::path& file);

}  // namespace tc::compiler
