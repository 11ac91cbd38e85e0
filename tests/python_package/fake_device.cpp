// SPDX-License-Identifier: Apache-2.0
//
// What the fake driver recorded, for tests in Python: a line per launch.
#include <sstream>
#include <string>

#include "../unit/runtime_cuda/fake_driver.h"

/// "kernel device stream parameter...", numbers in decimal. Valid until the next call.
extern "C" const char* tc_fake_launches() {
  static std::string text;
  std::ostringstream lines;
  for (const fake::Launch& launch : fake::launches()) {
    lines << launch.kernel << ' ' << launch.device << ' '
          << reinterpret_cast<std::uintptr_t>(launch.stream);
    for (const std::uint64_t parameter : launch.parameters)
      lines << ' ' << parameter;
    lines << '\n';
  }
  text = lines.str();
  return text.c_str();
}
