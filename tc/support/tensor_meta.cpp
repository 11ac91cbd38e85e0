// SPDX-License-Identifier: Apache-2.0
#include "tc/support/tensor_meta.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tc {

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  // A dimension of size 0 counts as 1, so that strides stay usable for the shape without it.
  // Products of sizes that exceed 64 bits have no tensor; they wrap here and are refused where the
  // tensor is made.
  for (std::size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[d]) *
                                  static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[d], 1)));
  return strides;
}

std::vector<std::int64_t> row_major_strides(DType type, std::vector<std::int64_t> sizes) {
  if (bits(type) < 8 && !sizes.empty() && sizes.back() < std::numeric_limits<std::int64_t>::max())
    sizes.back() += sizes.back() == 0 ? 2 : sizes.back() % 2;
  return row_major_strides(sizes);
}

bool TensorMeta::is_contiguous() const {
  if (strides.empty()) return true;
  if (strides.size() != sizes.size()) return false;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
  const std::vector<std::int64_t> expected = row_major_strides(type, sizes);
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != 1 && strides[d] != expected[d]) return false;
  return true;
}

std::string TensorMeta::to_string() const {
  std::string text = fmt::format("{}({})", name(type), fmt::join(sizes, ", "));
  if (!is_contiguous()) text += fmt::format(" strides ({})", fmt::join(strides, ", "));
  return text;
}

}  // namespace tc
