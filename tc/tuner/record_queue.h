// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>

#include "tc/tuner/record.h"

namespace tc::tuner {

/// Records on their way to a store that may be locked, full or away for a while: they wait here and
/// are tried again, so that the search goes on and nothing is lost.
class RecordQueue {
public:
  explicit RecordQueue(RecordStore& store) : store_(store) {}

  void put(const Record& record);
  /// Waits for a store that others use. False: some records could not be kept.
  bool finish();

private:
  using Clock = std::chrono::steady_clock;

  bool flush(Clock::time_point until);

  RecordStore& store_;
  std::deque<Record> waiting_;
  Clock::time_point next_try_{};
};

}  // namespace tc::tuner
