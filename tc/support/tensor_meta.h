// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tc/support/dtype.h"

namespace tc {

/// Everything about a tensor but its data: what compilation depends on.
struct TensorMeta {
  DType type = DType::Float32;
  std::vector<std::int64_t> sizes;  ///< elements
  std::vector<std::int64_t>
      strides;  ///< elements; empty: row-major contiguous. Any sign for inputs
  std::int64_t alignment =
      1;  ///< bytes; largest power of two known to divide the address of element 0, capped at 64

  bool operator==(const TensorMeta&) const = default;
  bool is_contiguous() const;
  std::string to_string() const;  ///< "float32(4, 5)", with strides when not contiguous
};
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& sizes);
/// The same in memory: rows of 4-bit types begin at whole bytes, so their strides are even.
std::vector<std::int64_t> row_major_strides(DType type, std::vector<std::int64_t> sizes);

}  // namespace tc
