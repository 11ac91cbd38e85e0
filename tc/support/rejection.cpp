// SPDX-License-Identifier: Apache-2.0
#include "tc/support/rejection.h"

#include <fmt/format.h>

#include "tc/support/check.h"

namespace tc {

const char* to_string(RejectionKind kind) {
  switch (kind) {
  case RejectionKind::SchedulerQuota: return "scheduler-quota";
  case RejectionKind::NotParallel: return "not-parallel";
  case RejectionKind::NonBoxFootprint: return "non-box-footprint";
  case RejectionKind::LocalMemoryOverflow: return "local-memory-overflow";
  case RejectionKind::RegisterOverflow: return "register-overflow";
  case RejectionKind::TooManyThreads: return "too-many-threads";
  case RejectionKind::ScratchOverflow: return "scratch-overflow";
  case RejectionKind::Unsupported: return "unsupported";
  case RejectionKind::TargetMissing: return "target-missing";
  }
  unreachable("a RejectionKind holds one of its enumerators");
}

std::string Rejection::to_string() const {
  std::string text = fmt::format("{} [{}]", message, tc::to_string(kind));
  if (used != 0 || limit != 0) text += fmt::format(" (used {}, limit {})", used, limit);
  return text;
}

}  // namespace tc
