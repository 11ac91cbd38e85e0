// SPDX-License-Identifier: Apache-2.0
#include "tc/support/dtype.h"

#include <gtest/gtest.h>

#include "tc/support/check.h"

namespace tc {
namespace {

using enum DType;

constexpr DType kAll[] = {Bool,    Int8,         Int16,      Int32,   Int64,    UInt8,
                          UInt16,  UInt32,       UInt64,     Float16, BFloat16, Float32,
                          Float64, Float8E4M3FN, Float8E5M2, Int4,    UInt4};
static_assert(std::size(kAll) == kNumDTypes);

TEST(DType, NamesRoundTrip) {
  for (const DType type : kAll)
    EXPECT_EQ(dtype_from_name(name(type)), type) << name(type);
  EXPECT_EQ(dtype_from_name("half"), Float16);
  EXPECT_EQ(dtype_from_name("float"), Float32);
  EXPECT_EQ(dtype_from_name("double"), Float64);
  for (const char* unknown : {"", "Float", "float3", "int", "float16 ", "uint"})
    EXPECT_FALSE(dtype_from_name(unknown)) << unknown;
}

TEST(DType, FamiliesAreDisjoint) {
  for (const DType type : kAll) {
    EXPECT_EQ((type == Bool) + is_float(type) + is_signed_integer(type) + is_unsigned_integer(type),
              1)
        << name(type);
    EXPECT_EQ(is_integer(type), is_signed_integer(type) || is_unsigned_integer(type));
    EXPECT_EQ(is_storage_only(type), bits(type) == 4 || (bits(type) == 8 && is_float(type)));
    EXPECT_EQ(read_type(type) == type, !is_storage_only(type));
    EXPECT_EQ(compute_type(compute_type(type)), compute_type(type));
  }
}

TEST(DType, RowsOfFourBitElementsArePadded) {
  EXPECT_EQ(row_bytes(Int4, 0), 0);
  EXPECT_EQ(row_bytes(Int4, 1), 1);
  EXPECT_EQ(row_bytes(UInt4, 5), 3);
  EXPECT_EQ(row_bytes(UInt4, 6), 3);
  EXPECT_EQ(row_bytes(Bool, 3), 3);
  EXPECT_EQ(row_bytes(BFloat16, 3), 6);
  EXPECT_EQ(row_bytes(Float64, 3), 24);
}

TEST(DType, ComputeTypesAreWide) {
  struct Case {
    DType type, computed;
  };
  for (const Case& c : {Case{Bool, Bool},
                        {Int4, Int32},
                        {UInt4, Int32},
                        {Int8, Int32},
                        {UInt8, Int32},
                        {Int16, Int32},
                        {UInt16, Int32},
                        {Int32, Int32},
                        {UInt32, UInt32},
                        {Int64, Int64},
                        {UInt64, UInt64},
                        {Float8E4M3FN, Float32},
                        {Float8E5M2, Float32},
                        {Float16, Float32},
                        {BFloat16, Float32},
                        {Float32, Float32},
                        {Float64, Float64}})
    EXPECT_EQ(compute_type(c.type), c.computed) << name(c.type);
}

/// torch.promote_types over the types that PyTorch shares with the language, row by row in the
/// order of `kShared`.

TEST(DType, PromotionTable) {
  const DType kShared[] = {Bool,  UInt8,   Int8,     Int16,   Int32,
                           Int64, Float16, BFloat16, Float32, Float64};
  const char* const kTable[][10] = {
      {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
       "float64"},
      {"uint8", "uint8", "int16", "int16", "int32", "int64", "float16", "bfloat16", "float32",
       "float64"},
      {"int8", "int16", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
       "float64"},
      {"int16", "int16", "int16", "int16", "int32", "int64", "float16", "bfloat16", "float32",
       "float64"},
      {"int32", "int32", "int32", "int32", "int32", "int64", "float16", "bfloat16", "float32",
       "float64"},
      {"int64", "int64", "int64", "int64", "int64", "int64", "float16", "bfloat16", "float32",
       "float64"},
      {"float16", "float16", "float16", "float16", "float16", "float16", "float16", "float32",
       "float32", "float64"},
      {"bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "float32",
       "bfloat16", "float32", "float64"},
      {"float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32",
       "float32", "float64"},
      {"float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64",
       "float64", "float64"},
  };
  for (std::size_t i = 0; i < std::size(kShared); ++i)
    for (std::size_t j = 0; j < std::size(kShared); ++j) {
      const std::optional<DType> type = promote(kShared[i], kShared[j]);
      ASSERT_TRUE(type);
      EXPECT_EQ(name(*type), kTable[i][j]) << name(kShared[i]) << " with " << name(kShared[j]);
    }
}

TEST(DType, PromotionOfWideUnsignedTypes) {
  struct Case {
    DType a, b;
    std::optional<DType> result;
  };
  for (const Case& c : {Case{UInt16, Int8, Int32},
                        {UInt16, Int16, Int32},
                        {UInt16, Int32, Int32},
                        {UInt32, Int8, Int64},
                        {UInt32, Int32, Int64},
                        {UInt32, Int64, Int64},
                        {UInt8, UInt64, UInt64},
                        {UInt16, UInt32, UInt32},
                        {UInt64, Int8, std::nullopt},
                        {UInt64, Int64, std::nullopt},
                        {UInt64, Float16, Float16},
                        {UInt64, Bool, UInt64}}) {
    EXPECT_EQ(promote(c.a, c.b), c.result) << name(c.a) << " with " << name(c.b);
    EXPECT_EQ(promote(c.b, c.a), c.result) << name(c.b) << " with " << name(c.a);
  }
}

TEST(DType, StorageTypesPromoteAsWhatTheyAreReadAs) {
  EXPECT_EQ(promote(Float8E4M3FN, Float8E4M3FN), Float32);
  EXPECT_EQ(promote(Float8E4M3FN, Float8E5M2), Float32);
  EXPECT_EQ(promote(Int4, Int4), Int32);
  EXPECT_EQ(promote(UInt4, Int8), Int32);
  EXPECT_EQ(promote(Int4, Float16), Float16);
}

TEST(DType, PromotionIsCommutativeAndIdempotent) {
  for (const DType a : kAll) {
    EXPECT_EQ(promote(a, a), read_type(a));
    for (const DType b : kAll) {
      const std::optional<DType> type = promote(a, b);
      EXPECT_EQ(type, promote(b, a));
      if (type) {
        EXPECT_EQ(promote(*type, a), type);
      }
    }
  }
}

TEST(DType, IntegerLimits) {
  EXPECT_EQ(min_value(Int4), -8);
  EXPECT_EQ(max_value(Int4), 7u);
  EXPECT_EQ(max_value(UInt4), 15u);
  EXPECT_EQ(min_value(Int8), -128);
  EXPECT_EQ(max_value(UInt8), 255u);
  EXPECT_EQ(min_value(UInt64), 0);
  EXPECT_EQ(max_value(UInt64), UINT64_MAX);
  EXPECT_EQ(min_value(Int64), INT64_MIN);
  EXPECT_EQ(max_value(Int64), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_THROW(min_value(Float32), InternalError);
}

}  // namespace
}  // namespace tc
