// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>

namespace tc::tuner {

namespace {

constexpr const char* kPrefix = "tensorc-tune-";

/// A run holds the lock on its file as long as its process lives.
void remove_abandoned(const std::filesystem::path& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    if (entry.path().filename().string().rfind(kPrefix, 0) != 0) continue;
    const int file = ::open((entry.path() / "lock").c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(entry.path(), error);
    ::close(file);
  }
}

}  // namespace

RunFolder::RunFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) return;
  remove_abandoned(parent);
  std::string name = (parent / (std::string(kPrefix) + "XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) return;
  path_ = name;
  // Locked before it has the name that others look for.
  const std::filesystem::path unnamed = path_ / "unlocked";
  lock_ = ::open(unnamed.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (lock_ >= 0 && flock(lock_, LOCK_EX) == 0)
    std::filesystem::rename(unnamed, path_ / "lock", error);
}

RunFolder::~RunFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace tc::tuner
