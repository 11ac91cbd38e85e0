// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/image.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tc::tuner {
namespace {

compiler::HostTensor numbered(DType type, std::vector<std::int64_t> sizes) {
  lang::Value value = lang::Value::zeros(type, std::move(sizes));
  for (std::size_t i = 0; i < value.real.size(); ++i)
    value.real[i] = static_cast<double>(i) + 1;
  for (std::size_t i = 0; i < value.integer.size(); ++i)
    value.integer[i] = static_cast<std::int64_t>(i % 7);
  return compiler::from_value(value);
}

void expect_round_trip(const TensorMeta& meta) {
  std::optional<Image> image = poisoned_image(meta);
  ASSERT_TRUE(image.has_value()) << meta.to_string();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image->address()) % kImageAlignment, 0u);
  const compiler::HostTensor values = numbered(meta.type, meta.sizes);
  write(*image, values);
  EXPECT_TRUE(is_surrounded_by_poison(*image));
  const lang::Value before = compiler::to_value(values);
  const lang::Value after = compiler::to_value(read(*image));
  EXPECT_EQ(after.real, before.real) << meta.to_string();
  EXPECT_EQ(after.integer, before.integer) << meta.to_string();
  image->bytes[image->begin - 1] ^= 1;
  EXPECT_FALSE(is_surrounded_by_poison(*image));
  image->bytes[image->begin - 1] ^= 1;
  image->bytes[image->end] ^= 1;
  EXPECT_FALSE(is_surrounded_by_poison(*image));
}

TEST(Image, KeepsElementsAtTheirStrides) {
  expect_round_trip({DType::Float32, {3, 5}, {}, 4});
  expect_round_trip({DType::Float16, {3, 5}, {1, 3}, 2});
  expect_round_trip({DType::Float64, {4, 3}, {10, 2}, 8});
  expect_round_trip({DType::Int8, {4, 3}, {-3, 1}, 1});
  expect_round_trip({DType::Float32, {}, {}, 4});
  expect_round_trip({DType::Int4, {3, 5}, {}, 1});
  expect_round_trip({DType::Float32, {0, 5}, {}, 4});
}

TEST(Image, StridesPlaceElements) {
  std::optional<Image> image = poisoned_image({DType::Int32, {2, 2}, {1, 4}, 4});
  write(*image, numbered(DType::Int32, {2, 2}));
  const auto* elements = static_cast<const std::int32_t*>(image->address());
  EXPECT_EQ(elements[0], 0);
  EXPECT_EQ(elements[4], 1);
  EXPECT_EQ(elements[1], 2);
  EXPECT_EQ(elements[5], 3);
  EXPECT_EQ(static_cast<std::uint32_t>(elements[2]), 0xA5A5A5A5u) << "between elements";
}

TEST(Image, PackedTypesAtOtherStridesHaveNone) {
  EXPECT_FALSE(poisoned_image({DType::Int4, {4, 4}, {1, 4}, 1}).has_value());
}

}  // namespace
}  // namespace tc::tuner
