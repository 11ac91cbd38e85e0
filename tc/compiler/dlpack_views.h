// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tc/dlpack.h"
#include "tc/support/dtype.h"
#include "tc/support/result.h"
#include "tc/support/tensor_meta.h"

namespace tc::compiler {

/// DLPack's type of an element type, and back (nullopt: no element type of the language).
DLDataType to_dlpack(DType type);
std::optional<DType> from_dlpack(DLDataType type);

/// Metadata of a view; the error says what is wrong with the view itself. Alignment is that of the
/// elements (1 for null data).
Result<TensorMeta, std::string> metadata_of(const DLTensor& tensor);

/// Address of element (0, ..., 0).
void* element_address(const DLTensor& tensor);

/// Smallest and one past the largest byte that the elements of a view touch; nullopt when it has no
/// elements.
struct ByteRange {
  const char* begin;
  const char* end;
};
std::optional<ByteRange> byte_range(const DLTensor& tensor, const TensorMeta& meta);

}  // namespace tc::compiler
