// SPDX-License-Identifier: Apache-2.0
#include "tc/sets/context.h"

#include <isl/ctx.h>
#include <isl/options.h>

namespace tc::sets {

IslContext::IslContext(std::uint64_t max_operations) : context_(isl_ctx_alloc()) {
  // The C++ bindings turn errors into exceptions only when isl itself keeps going.
  isl_options_set_on_error(context_, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(context_, max_operations);
}

IslContext::~IslContext() {
  isl_ctx_free(context_);
}

isl::ctx IslContext::get() const {
  return isl::ctx(context_);
}

void IslContext::reset_quota() {
  isl_ctx_reset_operations(context_);
}

void IslContext::set_quota(std::uint64_t max_operations) {
  isl_ctx_set_max_operations(context_, max_operations);
  isl_ctx_reset_operations(context_);
}

bool IslContext::quota_exceeded() const {
  return isl_ctx_last_error(context_) == isl_error_quota;
}

isl::id named_id(isl::ctx ctx, const std::string& name) {
  return isl::manage(isl_id_alloc(ctx.get(), name.c_str(), nullptr));
}

}  // namespace tc::sets
