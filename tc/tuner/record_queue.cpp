// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/record_queue.h"

#include <algorithm>

namespace tc::tuner {

namespace {

/// For a store that others use, while candidates wait to be measured.
constexpr std::chrono::milliseconds kShort{200};
/// Between tries of a store that takes nothing.
constexpr std::chrono::seconds kPause{2};
/// At the end of a run.
constexpr std::chrono::seconds kLong{60};

}  // namespace

void RecordQueue::put(const Record& record) {
  waiting_.push_back(record);
  if (Clock::now() < next_try_) return;
  if (!flush(Clock::now() + kShort)) next_try_ = Clock::now() + kPause;
}

bool RecordQueue::finish() {
  return flush(Clock::now() + kLong);
}

bool RecordQueue::flush(Clock::time_point until) {
  while (!waiting_.empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (!store_.put(waiting_.front(), std::max(left, std::chrono::milliseconds(0)))) return false;
    waiting_.pop_front();
  }
  return true;
}

}  // namespace tc::tuner
