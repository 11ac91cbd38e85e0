// SPDX-License-Identifier: Apache-2.0
//
// Runs a scheduled scop on float64 values, tile by tile and as adversely as the schedule permits:
// tiles last to first, the instances of a statement in reverse.
#pragma once

#include <vector>

#include "tc/poly/schedule.h"

namespace tc::poly::testing {

/// Contents of every tensor of the scop, row-major. Parameters are given by position; the others
/// start as NaN.
using Memory = std::vector<std::vector<double>>;

Memory run(const Scop& scop, const Schedule& schedule, Memory memory, std::int64_t tile);

/// Memory of a scop with its parameters filled: value(tensor, position) gives the elements.
template <class F>
Memory initial_memory(const Scop& scop, F&& value);

std::int64_t elements(const Tensor& tensor);

template <class F>
Memory initial_memory(const Scop& scop, F&& value) {
  Memory memory;
  for (const Tensor& tensor : scop.tensors) {
    std::vector<double> content(static_cast<std::size_t>(elements(tensor)), __builtin_nan(""));
    if (tensor.is_param) {
      for (std::size_t i = 0; i < content.size(); ++i)
        content[i] = value(tensor, i);
    }
    memory.push_back(std::move(content));
  }
  return memory;
}

}  // namespace tc::poly::testing
