// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tc::cli {

/// Whole contents of a file, or of stdin for "-". Throws CommandError{kUserError} naming the file
/// and the reason.
std::string read_file(const std::string& path);

/// Replaces `path` by `contents` in one step: until the end the old file stays, and an interrupted
/// process leaves nothing behind.
/// "-" writes to stdout. Throws CommandError{kUserError}.
void write_file(const std::string& path, std::string_view contents);

}  // namespace tc::cli
