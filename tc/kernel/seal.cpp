// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/seal.h"

#include <cstdint>

namespace tc::kernel {
namespace {

constexpr std::string_view kMark = "tc-seal1";
constexpr std::size_t kHashBytes = 8;

/// FNV-1a: every step is invertible, so a change of any one byte changes the result.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211u;
  }
  return hash;
}

}  // namespace

std::string seal(std::string bytes) {
  const std::uint64_t hash = checksum(bytes);
  bytes += kMark;
  for (std::size_t i = 0; i < kHashBytes; ++i)
    bytes += static_cast<char>(hash >> (8 * i) & 0xff);
  return bytes;
}

std::optional<std::string_view> unseal(std::string_view sealed) {
  const std::size_t extra = kMark.size() + kHashBytes;
  if (sealed.size() < extra) return std::nullopt;
  const std::string_view bytes = sealed.substr(0, sealed.size() - extra);
  if (sealed.substr(bytes.size(), kMark.size()) != kMark) return std::nullopt;
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < kHashBytes; ++i)
    hash |= static_cast<std::uint64_t>(
                static_cast<unsigned char>(sealed[bytes.size() + kMark.size() + i]))
            << (8 * i);
  if (hash != checksum(bytes)) return std::nullopt;
  return bytes;
}

}  // namespace tc::kernel
