// SPDX-License-Identifier: Apache-2.0
//
// The text itself: what people read, names, index arithmetic, aliasing, the shape of launches.
#include <gtest/gtest.h>

#include "batch.h"
#include "tc/codegen/cuda/names.h"

namespace tc::test {
namespace {

TEST(Text, NamesAreNoKeywordsAndDiffer) {
  using codegen::cuda::identifier;
  EXPECT_EQ(identifier("A"), "A");
  EXPECT_EQ(identifier("for"), "for_");
  EXPECT_EQ(identifier("threadIdx"), "threadIdx_");
  EXPECT_EQ(identifier("thread_local"), "thread_local_");
  EXPECT_EQ(identifier("tc"), "tc_");
  EXPECT_EQ(identifier("NAN"), "NAN_");
  EXPECT_EQ(identifier("__shared__"), "shared_");
  EXPECT_EQ(identifier("x.1"), "x_1");
  EXPECT_EQ(identifier("1"), "v1");
  EXPECT_EQ(identifier("é"), "v");
  codegen::cuda::Identifiers names;
  EXPECT_EQ(names.unique("x_2"), "x_2");
  EXPECT_EQ(names.unique("x"), "x");
  EXPECT_EQ(names.unique("x"), "x_3");
  EXPECT_EQ(names.unique("for"), "for_");
  EXPECT_EQ(names.unique("for"), "for_2");
}

}  // namespace
}  // namespace tc::test
