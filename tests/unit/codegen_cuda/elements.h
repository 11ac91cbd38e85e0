// SPDX-License-Identifier: Apache-2.0
//
// Elements of any type in bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tc/support/dtype.h"
#include "tc/support/numeric.h"

namespace tc::test {

/// Elements as a contiguous tensor of the type holds them.
inline std::vector<std::uint8_t> bytes_of(DType type, std::size_t elements) {
  return std::vector<std::uint8_t>(
      static_cast<std::size_t>(row_bytes(type, static_cast<std::int64_t>(elements))));
}
inline std::uint64_t element(DType type, const std::vector<std::uint8_t>& bytes, std::size_t i) {
  if (bits(type) == 4) return (bytes[i / 2] >> (i % 2 * 4)) & 15;
  std::uint64_t value = 0;
  const auto size = static_cast<std::size_t>(bits(type) / 8);
  std::memcpy(&value, bytes.data() + i * size, size);
  return value;
}
inline void set_element(DType type, std::vector<std::uint8_t>& bytes, std::size_t i,
                        std::uint64_t value) {
  if (bits(type) == 4) {
    const auto shift = static_cast<unsigned>(i % 2 * 4);
    bytes[i / 2] =
        static_cast<std::uint8_t>((bytes[i / 2] & ~(15u << shift)) | (value & 15) << shift);
    return;
  }
  const auto size = static_cast<std::size_t>(bits(type) / 8);
  std::memcpy(bytes.data() + i * size, &value, size);
}

/// What a load gives, as a number.
inline double decoded(DType type, std::uint64_t pattern) {
  switch (type) {
  case DType::Bool: return pattern != 0 ? 1 : 0;
  case DType::Float16:
    return static_cast<double>(float16_to_float(static_cast<std::uint16_t>(pattern)));
  case DType::BFloat16:
    return static_cast<double>(bfloat16_to_float(static_cast<std::uint16_t>(pattern)));
  case DType::Float8E4M3FN:
    return static_cast<double>(float8_e4m3fn_to_float(static_cast<std::uint8_t>(pattern)));
  case DType::Float8E5M2:
    return static_cast<double>(float8_e5m2_to_float(static_cast<std::uint8_t>(pattern)));
  case DType::Float32:
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
  case DType::Float64: return std::bit_cast<double>(pattern);
  default: return static_cast<double>(wrap_to(type, static_cast<std::int64_t>(pattern)));
  }
}

}  // namespace tc::test
