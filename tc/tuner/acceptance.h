// SPDX-License-Identifier: Apache-2.0
//
// Comparing large results at the speed of memory.
#pragma once

#include <vector>

#include "tc/compiler/verify.h"

namespace tc::tuner {

/// The elements of one output in row-major order, where somebody else keeps them.
struct OutputView {
  DType type = DType::Float32;
  std::vector<std::int64_t> sizes;
  unsigned char* data = nullptr;
  std::size_t bytes = 0;

  compiler::HostTensor copy() const;
};

/// For each element the least and the greatest value that compiler::compare() lets pass, made once.
/// What is accepted is right; what is not may be right all the same, and that is compare()'s to
/// say.
class Acceptance {
public:
  Acceptance(const lang::TypedDef& specialised, const compiler::Reference& reference,
             compiler::Exactness exactness);

  bool accepts(const std::vector<OutputView>& outputs) const;

private:
  struct Bounds {
    DType type = DType::Float32;
    std::vector<std::int64_t> sizes;
    std::size_t bytes = 0;
    /// Of floats as integers in the order of the values; of other types the only accepted bytes.
    std::vector<unsigned char> least, greatest;
  };

  std::vector<Bounds> outputs_;
};

}  // namespace tc::tuner
