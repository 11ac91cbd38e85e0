// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/product.h"

#include "tc/poly/bounds.h"
#include "tc/support/product_sides.h"

namespace tc::poly {
namespace {

const lang::Binary* as_product(const lang::ExprPtr& expr) {
  const auto* binary = std::get_if<lang::Binary>(&expr->node);
  return binary && binary->op == lang::BinaryOp::Mul ? binary : nullptr;
}

void flatten(const lang::ExprPtr& expr, std::vector<lang::ExprPtr>& factors) {
  if (const auto* product = as_product(expr)) {
    flatten(product->left, factors);
    flatten(product->right, factors);
    return;
  }
  factors.push_back(expr);
}

std::optional<ProductSides> sides_of(const Statement& statement,
                                     const std::vector<lang::ExprPtr>& factors) {
  std::vector<std::vector<bool>> uses;
  for (const auto& factor : factors) {
    auto& used = uses.emplace_back(statement.indices.size(), false);
    for (const int index : indices_in(factor))
      used[static_cast<std::size_t>(index)] =
          statement.indices[static_cast<std::size_t>(index)].on_left;
  }
  ProductSides sides = product_sides(uses);
  if (sides.count < 2) return std::nullopt;
  return sides;
}

/// The side of the innermost index of the target that has one; the last one otherwise.
int innermost_side(const Statement& statement, const ProductSides& sides) {
  const auto& subscripts = statement.targets.front().subscripts;
  for (auto subscript = subscripts.rbegin(); subscript != subscripts.rend(); ++subscript)
    for (const int index : indices_in(*subscript))
      if (const int side = sides.side[static_cast<std::size_t>(index)]; side >= 0) return side;
  return sides.count - 1;
}

}  // namespace

std::optional<Product> find_product(const Statement& statement, bool chains) {
  if (statement.kind != StatementKind::Reduce || statement.op != lang::ReduceOp::Add ||
      statement.scatter)
    return std::nullopt;
  const auto* product = as_product(statement.targets.front().value);
  if (!product) return std::nullopt;
  auto sides = sides_of(statement, {product->left, product->right});
  if (!sides && chains) {
    std::vector<lang::ExprPtr> factors;
    flatten(statement.targets.front().value, factors);
    sides = sides_of(statement, factors);
  }
  if (!sides) return std::nullopt;
  const int columns = innermost_side(statement, *sides);
  Product result;
  for (std::size_t i = 0; i < sides->side.size(); ++i)
    if (sides->side[i] >= 0)
      (sides->side[i] == columns ? result.columns : result.rows).push_back(static_cast<int>(i));
  return result;
}

}  // namespace tc::poly
