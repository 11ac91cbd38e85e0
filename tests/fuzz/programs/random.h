// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tc::fuzz {

/// A stream of choices that is the same on every machine (splitmix64; the standard distributions
/// differ between libraries).
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// In [lo, hi]; lo when the interval is empty.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    if (hi <= lo) return lo;
    return lo + static_cast<std::int64_t>(next() % (static_cast<std::uint64_t>(hi - lo) + 1));
  }
  bool percent(int chance) { return between(0, 99) < chance; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  /// Position in `weights`, with that frequency.
  std::size_t weighted(std::initializer_list<int> weights) {
    int sum = 0;
    for (int weight : weights)
      sum += weight;
    std::int64_t at = between(0, sum - 1);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      at -= weights.begin()[i];
      if (at < 0) return i;
    }
    return 0;
  }

private:
  std::uint64_t state_;
};

}  // namespace tc::fuzz
