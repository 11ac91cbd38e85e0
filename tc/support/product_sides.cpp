// SPDX-License-Identifier: Apache-2.0
#include "tc/support/product_sides.h"

#include <algorithm>
#include <map>

namespace tc {

ProductSides product_sides(const std::vector<std::vector<bool>>& factors) {
  ProductSides result;
  const std::size_t n = factors.empty() ? 0 : factors.front().size();
  result.side.assign(n, -1);
  // Factors without any index take part in no side.
  std::vector<std::vector<bool>> varying;
  for (const auto& factor : factors)
    if (std::find(factor.begin(), factor.end(), true) != factor.end()) varying.push_back(factor);
  const auto is_batch = [&](std::size_t i) {
    return std::all_of(varying.begin(), varying.end(),
                       [&](const std::vector<bool>& factor) -> bool { return factor[i]; });
  };
  for (std::size_t f = 0; f < varying.size(); ++f) {
    // The sides that meet in this factor become one.
    const int own = static_cast<int>(f);
    for (std::size_t i = 0; i < n; ++i) {
      if (!varying[f][i] || is_batch(i)) continue;
      if (const int before = result.side[i]; before >= 0)
        std::replace(result.side.begin(), result.side.end(), before, own);
      result.side[i] = own;
    }
  }
  std::map<int, int> numbers;
  for (int& side : result.side)
    if (side >= 0) side = numbers.emplace(side, static_cast<int>(numbers.size())).first->second;
  result.count = static_cast<int>(numbers.size());
  return result;
}

}  // namespace tc
