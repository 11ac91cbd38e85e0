// SPDX-License-Identifier: Apache-2.0
//
// Work on large blocks of memory, by several threads where the calling one may use several cores.
#pragma once

#include <cstddef>
#include <functional>

namespace tc::tuner {

/// Whether f(begin, end) holds for all parts that [0, count) is cut into, of at least `least` each.
/// They run at the same time; where one does not hold, others may not be looked at.
bool holds_for_all(std::size_t count, std::size_t least,
                   const std::function<bool(std::size_t begin, std::size_t end)>& f);

void copy_bytes(void* to, const void* from, std::size_t bytes);
bool is_same_bytes(const void* a, const void* b, std::size_t bytes);

}  // namespace tc::tuner
