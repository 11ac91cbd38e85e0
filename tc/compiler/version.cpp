// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <isl/version.h>

#include "build_identity.h"
#include "tc/codegen/llvm/codegen.h"
#include "tc/tc.h"

namespace tc {

std::string version() {
  std::string isl = isl_version();
  while (!isl.empty() && isl.back() == '\n')
    isl.pop_back();
  return fmt::format("{} ({}, {})", TC_VERSION, codegen::native::version(), isl);
}

std::string build_identity() {
  return TC_BUILD_IDENTITY;
}

}  // namespace tc
