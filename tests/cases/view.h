// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tc/support/tensor_meta.h"

namespace tc::cases {

/// How an input or output lies in memory.
enum class View {
  Contiguous,
  Aligned,     ///< contiguous, and known to begin at a multiple of 64 bytes
  Offset,      ///< contiguous, begins one element behind an aligned address
  Padded,      ///< rows are longer than the innermost size
  Strided,     ///< gaps in every dimension
  Transposed,  ///< dimensions in the opposite order in memory
  Reversed,    ///< the innermost dimension runs backwards
  Expanded,    ///< stride 0 in the outermost dimension; inputs only
};
inline constexpr int kNumViews = 8;
const char* to_string(View view);
std::optional<View> view_from_name(std::string_view name);

/// Strides of a view of a tensor, in elements.
std::vector<std::int64_t> strides_of(View view, DType type, const std::vector<std::int64_t>& sizes);
/// Whether a tensor can lie in memory like this: 4-bit rows are packed, rank 0 has no strides.
bool possible(View view, DType type, std::size_t rank);
/// Metadata of a tensor that lies like this, with what is known of its alignment.
TensorMeta meta_of(View view, DType type, const std::vector<std::int64_t>& sizes);
/// Elements between an aligned address and the tensor's first.
inline std::int64_t offset_of(View view) {
  return view == View::Offset ? 1 : 0;
}

}  // namespace tc::cases
