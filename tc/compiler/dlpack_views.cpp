// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/dlpack_views.h"

#include <fmt/format.h>

#include <algorithm>

#include "tc/compiler/metadata_checks.h"
#include "tc/support/check.h"

namespace tc::compiler {

DLDataType to_dlpack(DType type) {
  auto make = [&](int code) {
    return DLDataType{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits(type)), 1};
  };
  switch (type) {
  case DType::Bool: return make(kDLBool);
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Int64:
  case DType::Int4: return make(kDLInt);
  case DType::UInt8:
  case DType::UInt16:
  case DType::UInt32:
  case DType::UInt64:
  case DType::UInt4: return make(kDLUInt);
  case DType::Float16:
  case DType::Float32:
  case DType::Float64: return make(kDLFloat);
  case DType::BFloat16: return make(kDLBfloat);
  case DType::Float8E4M3FN: return make(kDLFloat8_e4m3fn);
  case DType::Float8E5M2: return make(kDLFloat8_e5m2);
  }
  unreachable("unknown element type");
}

std::optional<DType> from_dlpack(DLDataType type) {
  if (type.lanes != 1) return std::nullopt;
  for (int i = 0; i < kNumDTypes; ++i) {
    const DLDataType candidate = to_dlpack(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits) return static_cast<DType>(i);
  }
  return std::nullopt;
}

Result<TensorMeta, std::string> metadata_of(const DLTensor& tensor) {
  TensorMeta meta;
  const std::optional<DType> type = from_dlpack(tensor.dtype);
  if (!type) {
    return fmt::format("element type (code {}, {} bits, {} lanes) is not supported",
                       tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  }
  meta.type = *type;
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr))
    return std::string("the view has no shape");
  bool empty = false;
  for (int d = 0; d < tensor.ndim; ++d) {
    if (tensor.shape[d] < 0)
      return fmt::format("size {} in dimension {} is negative", tensor.shape[d], d);
    meta.sizes.push_back(tensor.shape[d]);
    empty = empty || tensor.shape[d] == 0;
  }
  meta.strides = row_major_strides(meta.type, meta.sizes);
  if (tensor.strides != nullptr) {
    for (int d = 0; d < tensor.ndim; ++d) {
      // Frameworks write anything as the stride of a dimension with at most one element; it is
      // never used.
      if (tensor.shape[d] > 1 && !empty)
        meta.strides[static_cast<std::size_t>(d)] = tensor.strides[d];
    }
  }
  if (auto problem = beyond_address_space(meta)) return *problem;
  if (bits(meta.type) < 8 && tensor.ndim > 0 && meta.sizes.back() > 1 && meta.strides.back() != 1) {
    return std::string("a packed 4-bit tensor needs stride 1 in its innermost dimension");
  }
  for (std::size_t d = 0; bits(meta.type) < 8 && d + 1 < meta.strides.size(); ++d) {
    if (meta.strides[d] % 2 != 0) {
      return fmt::format("stride {} in dimension {}: rows of a packed 4-bit tensor begin at whole "
                         "bytes",
                         meta.strides[d], d);
    }
  }
  meta.alignment = std::max(1, bits(meta.type) / 8);
  return meta;
}

void* element_address(const DLTensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
}

std::optional<ByteRange> byte_range(const DLTensor& tensor, const TensorMeta& meta) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] == 0) return std::nullopt;
    const std::int64_t reach = (meta.sizes[d] - 1) * meta.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const auto* base = static_cast<const char*>(element_address(tensor));
  const std::int64_t width = bits(meta.type);
  // 4-bit: positions are half bytes; round outward.
  const std::int64_t begin = low * width / 8 - (low * width % 8 != 0 ? 1 : 0);
  const std::int64_t end = ((high + 1) * width + 7) / 8;
  return ByteRange{base + begin, base + end};
}

}  // namespace tc::compiler
