// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <isl/version.h>

#include "tc/codegen/llvm/codegen.h"
#include "tc/tc.h"

namespace tc {

namespace {
// Goes up with every change of the compiler that can change generated code, so that older cache
// entries are misses.
constexpr int kCodeRevision = 1;
}  // namespace

std::string version() {
  std::string isl = isl_version();
  while (!isl.empty() && isl.back() == '\n')
    isl.pop_back();
  return fmt::format("{} (code {}, {}, {})", TC_VERSION, kCodeRevision, codegen::native::version(),
                     isl);
}

}  // namespace tc
