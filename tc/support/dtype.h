// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tc {

/// Element types of tensors. float8 and 4-bit types are storage types: see compute_type().
enum class DType : std::uint8_t {
  Bool,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Float8E4M3FN,
  Float8E5M2,
  Int4,
  UInt4,
};
inline constexpr int kNumDTypes = 17;

/// Canonical name in the language: "float32", "int4", "float8_e4m3fn", ...
std::string_view name(DType type);
/// Parses a canonical name or one of the synonyms half, float, double.
std::optional<DType> dtype_from_name(std::string_view name);

/// Width of one element in bits; 4 for the packed types, 8 for bool.
int bits(DType type);
/// Bytes that a contiguous innermost row of `elements` occupies (4-bit rows are padded to whole
/// bytes).
std::int64_t row_bytes(DType type, std::int64_t elements);

bool is_float(DType type);    ///< any floating type, float8 included
bool is_integer(DType type);  ///< any integer type, bool excluded, 4-bit included
bool is_signed_integer(DType type);
bool is_unsigned_integer(DType type);
bool is_storage_only(DType type);  ///< float8 and 4-bit types

/// The type that a read of a tensor of this type has in the language: float8 -> float32, int4/uint4
/// -> int32, else itself.
DType read_type(DType type);
/// The type in which arithmetic inside one statement runs: 16- and 8-bit floats -> float32,
/// integers of at most 16 bits (4-bit included) -> int32, else itself. Bool stays bool.
DType compute_type(DType type);

/// Promotion between tensor operands as in PyTorch (language.md section 5). nullopt: no common type
/// (int64 with uint64).
std::optional<DType> promote(DType a, DType b);

/// Limits of integer types as wide integers. Requires is_integer(type).
std::int64_t min_value(DType type);
std::uint64_t max_value(DType type);

}  // namespace tc
