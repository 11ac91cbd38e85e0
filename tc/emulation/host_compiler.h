// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tc/support/result.h"

namespace tc::emulation {

/// A directory that only this user can enter; removed with all it holds.
class PrivateDirectory {
public:
  PrivateDirectory();
  ~PrivateDirectory();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

/// What a program that has ended said and how it ended.
struct CommandOutcome {
  int status = -1;     ///< exit status; -1 if it could not be started or was killed
  std::string output;  ///< both streams
};
/// Runs a program (searched in PATH) without a shell; `log` is a file for its output.
CommandOutcome run_command(const std::vector<std::string>& command,
                           const std::filesystem::path& log);

void write_text(const std::filesystem::path& file, const std::string& text);
std::string read_text(const std::filesystem::path& file);

}  // namespace tc::emulation
