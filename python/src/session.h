// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tc/tc.h"

namespace tc::python {

/// Where kernels are kept and CUDA is looked for; shared by everything that a process compiles.
struct Session {
  CompileContext context;
  CudaSearch search;        ///< where `context` found CUDA
  std::string cpu = "cpu";  ///< target of tensors in this machine's memory
};

/// "default", "naive" or JSON, for a kind of target.
inline Result<MappingOptions, std::string> read_options(const std::string& text, TargetKind kind) {
  if (text.find('{') == std::string::npos) return named_options(text, kind);
  return options_from_json(text);
}

}  // namespace tc::python
