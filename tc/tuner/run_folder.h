// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace tc::tuner {

/// A folder of one tuning run below the system's folder of temporary files, removed at its end.
/// What killed runs left is removed when the next one begins.
class RunFolder {
public:
  RunFolder();
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// Empty: none could be made.
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace tc::tuner
