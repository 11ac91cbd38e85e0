// SPDX-License-Identifier: Apache-2.0
#include "disassemble.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "exit_status.h"
#include "files.h"

extern char** environ;

namespace tc::cli {

namespace {

namespace fs = std::filesystem;

/// A directory of this process's own, gone with its owner.
class PrivateDirectory {
public:
  PrivateDirectory() {
    std::string pattern = (fs::temp_directory_path() / "tensorc-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw CommandError(kUserError,
                         fmt::format("cannot create '{}': {}", pattern, std::strerror(errno)));
    path_ = pattern;
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  ~PrivateDirectory() {
    std::error_code ignored;  // a left-over directory is no reason to end the program
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

private:
  fs::path path_;
};

/// Where the tools may be, the user's choice first.
std::vector<fs::path> tool_folders(const std::string& nvrtc) {
  std::vector<fs::path> folders;
  const char* path = std::getenv("PATH");
  for (std::string rest = path == nullptr ? "" : path; !rest.empty();) {
    const std::size_t colon = rest.find(':');
    if (colon != 0) folders.emplace_back(rest.substr(0, colon));
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  folders.emplace_back("/usr/local/cuda/bin");
  const fs::path library = fs::path(nvrtc).parent_path();
  // A toolkit (lib64/ beside bin/, or targets/*/lib/), a wheel (nvidia/*/lib/ beside
  // nvidia/*/bin/).
  folders.push_back(library / "../bin");
  folders.push_back(library / "../../../bin");
  folders.push_back(library / "../../cuda_nvcc/bin");
  return folders;
}

std::optional<fs::path> find_tool(const std::vector<fs::path>& folders, const char* name) {
  for (const fs::path& folder : folders) {
    if (access((folder / name).c_str(), X_OK) == 0) return folder / name;
  }
  return std::nullopt;
}

/// Runs a program with its output in a file; the status that it ended with, -1 for none.
int run(const std::vector<std::string>& command, const fs::path& output, const fs::path& errors) {
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), kWrite, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), kWrite, 0600);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::string disassemble(const std::string& cubin, const std::string& nvrtc) {
  const std::vector<fs::path> folders = tool_folders(nvrtc);
  std::vector<std::string> command;
  if (auto tool = find_tool(folders, "nvdisasm")) {
    command = {tool->string(), "--print-code"};
  } else if (auto other = find_tool(folders, "cuobjdump")) {
    command = {other->string(), "--dump-sass"};
  } else {
    std::vector<std::string> places;
    for (const fs::path& folder : folders)
      places.push_back(folder.string());
    throw CommandError(kTargetMissing,
                       fmt::format("stage 'sass' needs nvdisasm or cuobjdump of the CUDA toolkit; "
                                   "neither is in {}",
                                   fmt::join(places, ", ")));
  }
  const PrivateDirectory directory;
  const fs::path file = directory.path() / "kernels.cubin";
  const fs::path output = directory.path() / "sass";
  const fs::path errors = directory.path() / "errors";
  write_file(file.string(), cubin);
  command.push_back(file.string());
  const int status = run(command, output, errors);
  if (status != 0) {
    throw CommandError(kTargetMissing,
                       fmt::format("'{}' failed with status {}: {}", command.front(), status,
                                   read_file(errors.string())));
  }
  return read_file(output.string());
}

}  // namespace tc::cli
