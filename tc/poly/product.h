// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tc/poly/scop.h"

namespace tc::poly {

/// The indices of the target that only one side of a sum of products depends on. The columns are
/// the side of the target's innermost such index.
struct Product {
  std::vector<int> rows, columns;  ///< statement indices, ascending
};

/// target += a * b where both factors have indices of their own besides a reduction; with `chains`
/// also where only factors of factors divide into such sides, as in A(i,j,k) * B(j,r) * C(k,r).
/// nullopt: the statement is no such sum.
std::optional<Product> find_product(const Statement& statement, bool chains);

}  // namespace tc::poly
