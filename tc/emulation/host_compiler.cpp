// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/host_compiler.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tc/support/check.h"

extern char** environ;

namespace tc::emulation {

PrivateDirectory::PrivateDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tc-emulation-XXXXXX").string();
  check(mkdtemp(pattern.data()) != nullptr, "a private directory for the compiler");
  path_ = pattern;
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;  // a left-over directory is no reason to end the program
  std::filesystem::remove_all(path_, ignored);
}

CommandOutcome run_command(const std::vector<std::string>& command,
                           const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (const auto& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return {-1, command.front() + ": " + std::strerror(error)};

  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return {-1, command.front() + ": " + std::strerror(errno)};
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(log)};
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  check(static_cast<bool>(stream.flush()), "room for the files of a host compilation");
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace tc::emulation
