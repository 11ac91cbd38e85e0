// SPDX-License-Identifier: Apache-2.0
//
// The sides of a product of factors, as rows and columns of a contraction. Factor f depends on the
// kept index i where factors[f][i]. Indices of all factors are batches; others belong together when
// a factor depends on both.
//
//   A(i,k) * B(k,j)              {i}, {j}
//   A(b,i,k) * B(b,k,j)          {i}, {j}, batch b
//   A(i,j,k) * B(j,r) * C(k,r)   {i}, {r}
#pragma once

#include <vector>

namespace tc {

struct ProductSides {
  std::vector<int> side;  ///< per index: number of its side; -1: batch, or of no factor
  int count = 0;          ///< sides, numbered by their first index
};

ProductSides product_sides(const std::vector<std::vector<bool>>& factors);

}  // namespace tc
