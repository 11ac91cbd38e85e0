// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tc/compiler/pipeline.h"
#include "tc/support/diagnostic.h"

namespace tc::compiler {

enum class Temporaries { Ignored, Counted };

/// The tensor of a call that takes most memory, with bytes that may be beyond 64 bits.
struct LargestTensor {
  const lang::Tensor* tensor = nullptr;  ///< null: the def has none
  double bytes = 0;
};
LargestTensor largest_tensor(const FrontEnd& front, Temporaries temporaries);

/// Elements times their size.
double bytes_of(const TensorMeta& meta);

/// "'C', 5000 x 5000 elements of float32": how messages about memory name a tensor of a specialised
/// def.
std::string tensor_text(const lang::Tensor& tensor);

/// E0501 at the tensor that takes most: `problem`, then that tensor and what it takes.
Diagnostic memory_diagnostic(const FrontEnd& front, const std::string& problem,
                             Temporaries temporaries);

/// "1.5 GiB"
std::string memory_text(double bytes);

}  // namespace tc::compiler
