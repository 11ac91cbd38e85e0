// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tc {

/// A defect of the compiler itself. Never reachable by user input; the front doors turn it into
/// exit status 70 with a reproducer.
class InternalError : public std::logic_error {
public:
  InternalError(std::string_view message, const char* file, int line)
      : std::logic_error(std::string(message) + " (" + file + ":" + std::to_string(line) + ")") {}
};

/// Throws InternalError unless `condition` holds. `message` states the invariant that broke.
inline void check(bool condition, std::string_view message, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!condition) throw InternalError(message, file, line);
}

/// For places that no control flow reaches.
[[noreturn]] inline void unreachable(std::string_view message, const char* file = __builtin_FILE(),
                                     int line = __builtin_LINE()) {
  throw InternalError(message, file, line);
}

/// Builds a visitor for std::visit from lambdas; forgetting an alternative is a compile error.
template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace tc
