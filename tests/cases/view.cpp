// SPDX-License-Identifier: Apache-2.0
#include "view.h"

#include <algorithm>
#include <array>

namespace tc::cases {

namespace {

constexpr std::array<const char*, kNumViews> kViewNames = {
    "contiguous", "aligned", "offset", "padded", "strided", "transposed", "reversed", "expanded"};

}  // namespace

std::optional<View> view_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kViewNames.size(); ++i) {
    if (kViewNames[i] == name) return static_cast<View>(i);
  }
  return std::nullopt;
}

const char* to_string(View view) {
  return kViewNames[static_cast<std::size_t>(view)];
}

bool possible(View view, DType type, std::size_t rank) {
  if (view == View::Contiguous || view == View::Aligned) return true;
  if (bits(type) < 8) return false;
  if (view == View::Offset) return true;
  if (view == View::Padded || view == View::Transposed) return rank >= 2;
  return rank >= 1;
}

std::vector<std::int64_t> strides_of(View view, DType type,
                                     const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides = row_major_strides(type, sizes);
  if (!possible(view, type, sizes.size())) return strides;
  const std::size_t rank = sizes.size();
  switch (view) {
  case View::Contiguous:
  case View::Aligned:
  case View::Offset: break;
  case View::Padded:
  case View::Strided: {
    std::int64_t stride = view == View::Padded ? 1 : 2;
    for (std::size_t d = rank; d-- > 0;) {
      strides[d] = stride;
      stride *= std::max<std::int64_t>(sizes[d], 1) + (d + 1 == rank ? 3 : 1);
    }
    break;
  }
  case View::Transposed: {
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      strides[d] = stride;
      stride *= std::max<std::int64_t>(sizes[d], 1);
    }
    break;
  }
  case View::Reversed: strides[rank - 1] = -strides[rank - 1]; break;
  case View::Expanded: strides[0] = 0; break;
  }
  return strides;
}

TensorMeta meta_of(View view, DType type, const std::vector<std::int64_t>& sizes) {
  TensorMeta meta{type, sizes, strides_of(view, type, sizes)};
  meta.alignment = view == View::Aligned ? 64 : std::max(1, bits(type) / 8);
  return meta;
}

}  // namespace tc::cases
