// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <isl/cpp.h>

#include <cstdint>
#include <string>

namespace tc::sets {

/// The owning isl context of one compilation; declare it before every isl object and use it from
/// one thread. isl errors become isl::exception; running out of the quota becomes
/// isl::exception_quota.
class IslContext {
public:
  /// `max_operations` bounds the work between two reset_quota() calls; 0 is unlimited.
  explicit IslContext(std::uint64_t max_operations = 0);
  ~IslContext();
  IslContext(const IslContext&) = delete;
  IslContext& operator=(const IslContext&) = delete;

  isl::ctx get() const;
  void reset_quota();
  void set_quota(std::uint64_t max_operations);
  /// Whether the last failure was for want of operations.
  bool quota_exceeded() const;

private:
  isl_ctx* context_;
};

/// An id with exactly this name. (The constructor of isl::id parses its argument: it stops at the
/// first dot, and takes no word of isl's own language.)
isl::id named_id(isl::ctx ctx, const std::string& name);

}  // namespace tc::sets
