// SPDX-License-Identifier: Apache-2.0
//
// A checksum behind machine code that goes through files: linkers trust their input, so whoever
// loads code checks it first. Lives here because the code generators and the runtimes, which do not
// know each other, both use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tc::kernel {

/// `bytes` and 16 more: a mark and a 64-bit checksum. Readers of ELF ignore what follows the file.
std::string seal(std::string bytes);
/// The bytes that were sealed; nullopt if mark or checksum is wrong.
std::optional<std::string_view> unseal(std::string_view sealed);

}  // namespace tc::kernel
