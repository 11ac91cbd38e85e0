// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/memory_demand.h"

#include <fmt/format.h>

namespace tc::compiler {

namespace {

/// Of a specialised tensor.
double bytes_of(const lang::Tensor& tensor) {
  double count = 1;
  for (const lang::ExprPtr& extent : tensor.extent)
    count *= static_cast<double>(lang::evaluate(extent, {}).value_or(0));
  return count * bits(tensor.type) / 8;
}

}  // namespace

double bytes_of(const TensorMeta& meta) {
  double count = 1;
  for (const std::int64_t size : meta.sizes)
    count *= static_cast<double>(size);
  return count * bits(meta.type) / 8;
}

LargestTensor largest_tensor(const FrontEnd& front, Temporaries temporaries) {
  LargestTensor largest;
  for (const lang::Tensor& tensor : front.specialised.tensors) {
    if (temporaries == Temporaries::Ignored && !tensor.is_param && !tensor.is_output) continue;
    const double bytes = bytes_of(tensor);
    if (largest.tensor == nullptr || bytes > largest.bytes) largest = {&tensor, bytes};
  }
  return largest;
}

std::string tensor_text(const lang::Tensor& tensor) {
  std::string shape;
  for (const lang::ExprPtr& extent : tensor.extent) {
    shape += shape.empty() ? "" : " x ";
    shape += fmt::format("{}", lang::evaluate(extent, {}).value_or(0));
  }
  return fmt::format("'{}', {} element{} of {}", tensor.name, shape.empty() ? "1" : shape,
                     shape.empty() || shape == "1" ? "" : "s", name(tensor.type));
}

Diagnostic memory_diagnostic(const FrontEnd& front, const std::string& problem,
                             Temporaries temporaries) {
  const LargestTensor largest = largest_tensor(front, temporaries);
  Diagnostic diagnostic{Severity::Error, "E0501", {}, problem, {}};
  if (largest.tensor == nullptr) return diagnostic;
  diagnostic.range = largest.tensor->range;
  diagnostic.message +=
      fmt::format(": {} take {}{}", tensor_text(*largest.tensor), memory_text(largest.bytes),
                  lang::sizes_text(front.bindings, front.symbolic));
  return diagnostic;
}

std::string memory_text(double bytes) {
  constexpr double kMebi = 1024.0 * 1024;
  constexpr double kGibi = 1024 * kMebi;
  return bytes < kGibi ? fmt::format("{:.1f} MiB", bytes / kMebi)
                       : fmt::format("{:.1f} GiB", bytes / kGibi);
}

}  // namespace tc::compiler
