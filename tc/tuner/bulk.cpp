// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/bulk.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "tc/tuner/devices.h"

namespace tc::tuner {

namespace {

/// Beyond, memory is the limit, and other workers want cores too.
constexpr std::size_t kMostThreads = 8;
/// Bytes for which a thread is worth starting.
constexpr std::size_t kLeastBytes = std::size_t{1} << 22;
/// Parts of a thread: it looks between them whether another one has found out.
constexpr std::size_t kParts = 8;

}  // namespace

bool holds_for_all(std::size_t count, std::size_t least,
                   const std::function<bool(std::size_t begin, std::size_t end)>& f) {
  const std::size_t wanted =
      std::min({count / std::max<std::size_t>(least, 1), kMostThreads, usable_cores().size()});
  if (wanted < 2) return f(0, count);
  std::atomic<bool> holds{true};
  std::atomic<std::size_t> next{0};
  const std::size_t parts = wanted * kParts;
  const auto work = [&] {
    for (std::size_t part = next++; part < parts && holds; part = next++) {
      const std::size_t begin = count / parts * part;
      const std::size_t end = part + 1 == parts ? count : count / parts * (part + 1);
      if (!f(begin, end)) holds = false;
    }
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < wanted)
      threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The threads that there are do it.
  }
  work();
  for (std::thread& thread : threads)
    thread.join();
  return holds;
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  auto* const target = static_cast<unsigned char*>(to);
  const auto* const source = static_cast<const unsigned char*>(from);
  holds_for_all(bytes, kLeastBytes, [&](std::size_t begin, std::size_t end) {
    if (begin < end) std::memcpy(target + begin, source + begin, end - begin);
    return true;
  });
}

bool is_same_bytes(const void* a, const void* b, std::size_t bytes) {
  const auto* const first = static_cast<const unsigned char*>(a);
  const auto* const second = static_cast<const unsigned char*>(b);
  return holds_for_all(bytes, kLeastBytes, [&](std::size_t begin, std::size_t end) {
    return begin == end || std::memcmp(first + begin, second + begin, end - begin) == 0;
  });
}

}  // namespace tc::tuner
