// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "exit_status.h"

namespace tc::cli {

namespace {

class FileDescriptor {
public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return descriptor_; }

private:
  int descriptor_;
};

CommandError file_error(std::string_view what, const std::string& path, int error) {
  return {kUserError, fmt::format("cannot {} '{}': {}", what, path, std::strerror(error))};
}

void write_all(int descriptor, std::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    const ssize_t written = ::write(descriptor, contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw file_error("write", path, errno);
    }
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// For file systems without unnamed files: a named temporary, removed unless it was renamed.
void write_by_rename(const std::filesystem::path& target, const std::filesystem::path& temporary,
                     std::string_view contents) {
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) throw file_error("write", target.string(), errno);
  try {
    write_all(file.get(), contents, target.string());
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace

std::string read_file(const std::string& path) {
  const bool from_stdin = path == "-";
  FileDescriptor file(from_stdin ? ::dup(STDIN_FILENO)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw file_error("read", path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode))
    throw CommandError(kUserError, fmt::format("cannot read '{}': it is a directory", path));
  std::string contents;
  if (S_ISREG(status.st_mode)) contents.reserve(static_cast<std::size_t>(status.st_size));
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("read", path, errno);
    if (count == 0) return contents;
    contents.append(buffer, static_cast<std::size_t>(count));
  }
}

void write_file(const std::string& path, std::string_view contents) {
  if (path == "-") {
    write_all(STDOUT_FILENO, contents, "standard output");
    return;
  }
  // Follow a link to the file that is meant, so that the link itself stays.
  std::error_code ignored;
  std::filesystem::path target = path;
  if (std::filesystem::is_symlink(target, ignored))
    target = std::filesystem::weakly_canonical(target, ignored);
  if (std::filesystem::exists(target, ignored) &&
      !std::filesystem::is_regular_file(target, ignored)) {
    FileDescriptor device(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) throw file_error("write", path, errno);
    write_all(device.get(), contents, path);
    return;
  }
  if (std::filesystem::exists(target, ignored) && ::access(target.c_str(), W_OK) != 0)
    throw file_error("write", path, errno);
  const std::filesystem::path directory =
      target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  const std::filesystem::path temporary =
      directory / fmt::format(".{}.{}", target.filename().string(), ::getpid());
  {
    FileDescriptor unnamed(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    if (unnamed.get() >= 0) {
      write_all(unnamed.get(), contents, path);
      const std::string link = fmt::format("/proc/self/fd/{}", unnamed.get());
      ::unlink(temporary.c_str());
      if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
        throw file_error("write", path, errno);
    } else if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) {
      write_by_rename(target, temporary, contents);
    } else {
      throw file_error("write", path, errno);
    }
  }
  if (::rename(temporary.c_str(), target.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    throw file_error("write", path, error);
  }
}

}  // namespace tc::cli
