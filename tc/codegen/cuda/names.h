// SPDX-License-Identifier: Apache-2.0
//
// Identifiers of C++ for the names of a kernel. Internal to the room.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tc::codegen::cuda {

/// `name` as an identifier that means nothing to C++, CUDA or the headers: other characters become
/// underscores, and a name that is reserved gets one behind it.
std::string identifier(std::string_view name);

/// Hands out identifiers that differ from each other.
class Identifiers {
public:
  std::string unique(std::string_view name);

private:
  std::set<std::string> taken_;
};

/// Text for a `//` comment: one line that does not continue on the next.
std::string comment_text(std::string_view text);

}  // namespace tc::codegen::cuda
