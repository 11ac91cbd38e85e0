// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tc::cases {

/// Contents of a file of the source tree, by its path from the root. Throws std::runtime_error.
std::string read_source(const std::string& path);
/// The root of the source tree.
std::string source_root();

}  // namespace tc::cases
