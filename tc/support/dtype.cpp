// SPDX-License-Identifier: Apache-2.0
#include "tc/support/dtype.h"

#include <algorithm>
#include <array>

#include "tc/support/check.h"

namespace tc {

namespace {

enum class Family { Bool, Signed, Unsigned, Float };

struct TypeFacts {
  DType type;
  std::string_view name;
  int bits;
  Family family;
  bool storage_only;
};

// In the order of the enumerators, which facts() relies on.
constexpr std::array<TypeFacts, kNumDTypes> kTypes = {{
    {DType::Bool, "bool", 8, Family::Bool, false},
    {DType::Int8, "int8", 8, Family::Signed, false},
    {DType::Int16, "int16", 16, Family::Signed, false},
    {DType::Int32, "int32", 32, Family::Signed, false},
    {DType::Int64, "int64", 64, Family::Signed, false},
    {DType::UInt8, "uint8", 8, Family::Unsigned, false},
    {DType::UInt16, "uint16", 16, Family::Unsigned, false},
    {DType::UInt32, "uint32", 32, Family::Unsigned, false},
    {DType::UInt64, "uint64", 64, Family::Unsigned, false},
    {DType::Float16, "float16", 16, Family::Float, false},
    {DType::BFloat16, "bfloat16", 16, Family::Float, false},
    {DType::Float32, "float32", 32, Family::Float, false},
    {DType::Float64, "float64", 64, Family::Float, false},
    {DType::Float8E4M3FN, "float8_e4m3fn", 8, Family::Float, true},
    {DType::Float8E5M2, "float8_e5m2", 8, Family::Float, true},
    {DType::Int4, "int4", 4, Family::Signed, true},
    {DType::UInt4, "uint4", 4, Family::Unsigned, true},
}};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    if (static_cast<std::size_t>(kTypes[i].type) != i) return false;
  return true;
}
static_assert(in_enum_order());

const TypeFacts& facts(DType type) {
  const auto position = static_cast<std::size_t>(type);
  check(position < kTypes.size(), "a DType holds one of its enumerators");
  return kTypes[position];
}

std::optional<DType> signed_of_width(int width) {
  switch (width) {
  case 8: return DType::Int8;
  case 16: return DType::Int16;
  case 32: return DType::Int32;
  case 64: return DType::Int64;
  default: return std::nullopt;
  }
}

DType promote_floats(DType a, DType b) {
  if (bits(a) != bits(b)) return bits(a) > bits(b) ? a : b;
  return a == b ? a : DType::Float32;  // float16 with bfloat16: neither holds the other
}

std::optional<DType> promote_integers(DType a, DType b) {
  if (is_signed_integer(a) == is_signed_integer(b)) return bits(a) >= bits(b) ? a : b;
  const DType signed_type = is_signed_integer(a) ? a : b;
  const DType unsigned_type = is_signed_integer(a) ? b : a;
  return signed_of_width(std::max(bits(signed_type), 2 * bits(unsigned_type)));
}

}  // namespace

std::string_view name(DType type) {
  return facts(type).name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  if (name == "half") return DType::Float16;
  if (name == "float") return DType::Float32;
  if (name == "double") return DType::Float64;
  for (const TypeFacts& entry : kTypes)
    if (entry.name == name) return entry.type;
  return std::nullopt;
}

int bits(DType type) {
  return facts(type).bits;
}

std::int64_t row_bytes(DType type, std::int64_t elements) {
  // Split so that no product of a large row with a width overflows.
  if (bits(type) == 4) return elements / 2 + elements % 2;
  return elements * (bits(type) / 8);
}

bool is_float(DType type) {
  return facts(type).family == Family::Float;
}
bool is_signed_integer(DType type) {
  return facts(type).family == Family::Signed;
}
bool is_unsigned_integer(DType type) {
  return facts(type).family == Family::Unsigned;
}
bool is_integer(DType type) {
  return is_signed_integer(type) || is_unsigned_integer(type);
}
bool is_storage_only(DType type) {
  return facts(type).storage_only;
}

DType read_type(DType type) {
  if (!is_storage_only(type)) return type;
  return is_float(type) ? DType::Float32 : DType::Int32;
}

DType compute_type(DType type) {
  if (is_float(type)) return bits(type) <= 16 ? DType::Float32 : type;
  if (is_integer(type)) return bits(type) <= 16 ? DType::Int32 : type;
  return type;
}

std::optional<DType> promote(DType a, DType b) {
  a = read_type(a);
  b = read_type(b);
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_float(a) && is_float(b)) return promote_floats(a, b);
  if (is_float(a)) return a;
  if (is_float(b)) return b;
  return promote_integers(a, b);
}

std::int64_t min_value(DType type) {
  check(is_integer(type), "min_value() of an integer type");
  if (is_unsigned_integer(type)) return 0;
  return INT64_MIN >> (64 - bits(type));
}

std::uint64_t max_value(DType type) {
  check(is_integer(type), "max_value() of an integer type");
  const std::uint64_t all = UINT64_MAX >> (64 - bits(type));
  return is_signed_integer(type) ? all >> 1 : all;
}

}  // namespace tc
