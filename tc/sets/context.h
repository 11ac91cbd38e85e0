// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <isl/cpp.h>

#include <cstdint>

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

}  // namespace tc::sets
