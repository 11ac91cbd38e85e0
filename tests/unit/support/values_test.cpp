// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tc/support/rejection.h"
#include "tc/support/target.h"
#include "tc/support/tensor_meta.h"

namespace tc {
namespace {

TEST(TensorMeta, Strides) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(row_major_strides({}), Sizes{});
  EXPECT_EQ(row_major_strides({5}), Sizes{1});
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Sizes{12, 4, 1}));
  EXPECT_EQ(row_major_strides({2, 0, 4}), (Sizes{4, 4, 1}));
  EXPECT_EQ(row_major_strides(DType::Int4, {2, 3, 5}), (Sizes{18, 6, 1}));
  EXPECT_EQ(row_major_strides(DType::UInt4, {3, 4}), (Sizes{4, 1}));
  EXPECT_EQ(row_major_strides(DType::UInt4, {3, 1}), (Sizes{2, 1}));
  EXPECT_EQ(row_major_strides(DType::Int8, {3, 5}), (Sizes{5, 1}));
  EXPECT_TRUE((TensorMeta{DType::Int4, {3, 5}, {6, 1}}.is_contiguous()));
  EXPECT_FALSE((TensorMeta{DType::Int4, {3, 5}, {5, 1}}.is_contiguous()));
}

TEST(TensorMeta, Contiguity) {
  const auto contiguous = [](std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
    return TensorMeta{DType::Float32, std::move(sizes), std::move(strides)}.is_contiguous();
  };
  EXPECT_TRUE(contiguous({2, 3}, {}));
  EXPECT_TRUE(contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(contiguous({2, 3}, {3, -1}));
  EXPECT_FALSE(contiguous({2, 3}, {0, 1}));
  EXPECT_TRUE(contiguous({1, 3}, {77, 1}));  // a dimension of size 1 never steps
  EXPECT_TRUE(contiguous({0, 3}, {9, 9}));   // no elements
  EXPECT_TRUE(contiguous({}, {}));
}

TEST(TensorMeta, Text) {
  EXPECT_EQ((TensorMeta{DType::Float32, {4, 5}, {}}.to_string()), "float32(4, 5)");
  EXPECT_EQ((TensorMeta{DType::Int8, {4, 5}, {1, 4}}.to_string()), "int8(4, 5) strides (1, 4)");
  EXPECT_EQ((TensorMeta{DType::Bool, {}, {}}.to_string()), "bool()");
}

TEST(Target, Levels) {
  for (const char* arch : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    const std::optional<Target> target = cpu_target(arch);
    ASSERT_TRUE(target) << arch;
    EXPECT_EQ(target->arch, arch);
    EXPECT_NE(target->to_string().find(arch), std::string::npos);
  }
  EXPECT_EQ(cpu_target("x86-64-v4")->vector_bits, 512);
  EXPECT_EQ(cpu_target("x86-64-v4")->vector_registers, 32);
  EXPECT_EQ(cpu_target("x86-64-v2")->vector_bits, 128);
  EXPECT_FALSE(cpu_target("native"));
  EXPECT_FALSE(cpu_target(""));
}

TEST(Target, TextNamesEveryFact) {
  const Target base;
  Target other = base;
  other.features = "+avx2";
  EXPECT_NE(base.to_string(), other.to_string());
  other = base;
  other.l2_bytes += 1;
  EXPECT_NE(base.to_string(), other.to_string());
  other = base;
  other.cores = 2;
  EXPECT_NE(base.to_string(), other.to_string());
}

TEST(Rejection, TextHasKindAndNumbers) {
  const Rejection rejection{RejectionKind::LocalMemoryOverflow, "the tiles need 70000 bytes", 70000,
                            65536};
  EXPECT_EQ(rejection.to_string(),
            "the tiles need 70000 bytes [local-memory-overflow] (used 70000, limit 65536)");
  EXPECT_EQ((Rejection{RejectionKind::Unsupported, "no such operation"}.to_string()),
            "no such operation [unsupported]");
}

}  // namespace
}  // namespace tc
