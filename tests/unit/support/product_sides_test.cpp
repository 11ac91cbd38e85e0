// SPDX-License-Identifier: Apache-2.0
#include "tc/support/product_sides.h"

#include <gtest/gtest.h>

namespace tc {
namespace {

using Uses = std::vector<std::vector<bool>>;

TEST(ProductSides, MatrixProduct) {
  const ProductSides sides = product_sides(Uses{{true, false}, {false, true}});
  EXPECT_EQ(sides.side, (std::vector<int>{0, 1}));
  EXPECT_EQ(sides.count, 2);
}

TEST(ProductSides, IndicesOfAllFactorsAreBatches) {
  const ProductSides sides = product_sides(Uses{{true, true, false}, {true, false, true}});
  EXPECT_EQ(sides.side, (std::vector<int>{-1, 0, 1}));
}

TEST(ProductSides, FactorsThatShareAnIndexAreOneSide) {
  // A(i) * B(r) * C(r)
  const ProductSides sides = product_sides(Uses{{true, false}, {false, true}, {false, true}});
  EXPECT_EQ(sides.side, (std::vector<int>{0, 1}));
  // A(i) * B(j) * C(i,j): one side only.
  EXPECT_EQ(product_sides(Uses{{true, false}, {false, true}, {true, true}}).count, 1);
}

TEST(ProductSides, LateFactorJoinsSides) {
  // A(i) * B(j) * C(k) * D(i,k)
  const ProductSides sides = product_sides(
      Uses{{true, false, false}, {false, true, false}, {false, false, true}, {true, false, true}});
  EXPECT_EQ(sides.side, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(sides.count, 2);
}

TEST(ProductSides, FactorsWithoutIndicesTakeNoPart) {
  const ProductSides sides = product_sides(Uses{{false, false}, {true, false}, {false, true}});
  EXPECT_EQ(sides.side, (std::vector<int>{0, 1}));
  EXPECT_EQ(product_sides(Uses{{false}, {true}}).count, 0);
  EXPECT_EQ(product_sides({}).count, 0);
}

}  // namespace
}  // namespace tc
