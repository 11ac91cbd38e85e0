// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/roles.h"

#include <algorithm>
#include <cstdlib>

#include "tc/lower/op/access.h"
#include "tc/support/product_sides.h"
#include "tc/tile/tile_sizes.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

const kernel::Binary* as_product(const ExprPtr& expr) {
  const auto* binary = std::get_if<kernel::Binary>(&expr->node);
  return binary && binary->op == BinaryOp::Mul ? binary : nullptr;
}

void flatten(const ExprPtr& expr, std::vector<ExprPtr>& factors) {
  if (const auto* product = as_product(expr)) {
    flatten(product->left, factors);
    flatten(product->right, factors);
    return;
  }
  factors.push_back(expr);
}

bool bounds_are_constant(const tile::Op& op) {
  return std::all_of(op.dims.begin(), op.dims.end(), [&](const tile::Dim& dim) {
    return dims_in(op, dim.begin).empty() && dims_in(op, dim.end).empty();
  });
}

class RoleSearch {
public:
  RoleSearch(const tile::Op& op, const OpInfo& info) : op_(op), info_(info) {}

  std::optional<Roles> run() {
    const auto* product = as_product(op_.targets[0].value);
    if (!product) return std::nullopt;
    for (std::size_t d = 0; d < op_.dims.size(); ++d)
      if (!info_.is_pure_reduction(d) && (!info_.distinct[d] || op_.dims[d].reduction))
        return std::nullopt;
    sides_ = sides_of({product->left, product->right});
    if (sides_.count < 2) {
      std::vector<ExprPtr> factors;
      flatten(op_.targets[0].value, factors);
      sides_ = sides_of(factors);
    }
    if (sides_.count < 2) return std::nullopt;
    assign_dims();
    if (!collect(op_.targets[0].value) || roles_.reductions.empty()) return std::nullopt;
    return std::move(roles_);
  }

private:
  ProductSides sides_of(const std::vector<ExprPtr>& factors) const {
    std::vector<std::vector<bool>> uses;
    for (const auto& factor : factors) {
      auto& used = uses.emplace_back(op_.dims.size(), false);
      for (const int d : dims_in(op_, factor))
        used[static_cast<std::size_t>(d)] = !info_.is_pure_reduction(d);
    }
    return product_sides(uses);
  }

  void assign_dims() {
    const Access store = accesses_of(op_, info_).back();
    columns_ = sides_.count - 1;
    const int n = static_cast<int>(op_.dims.size());
    for (int d = 0; d < n; ++d)
      if (sides_.side[d] >= 0 && store.stride[d] == 1 && extent(op_, d) > 1)
        columns_ = sides_.side[d];
    for (int d = 0; d < n; ++d) {
      if (info_.is_pure_reduction(d))
        roles_.reductions.push_back(d);
      else if (sides_.side[d] < 0)
        roles_.batch.push_back(d);
      else
        (sides_.side[d] == columns_ ? roles_.columns : roles_.rows).push_back(d);
    }
    for (auto* dims : {&roles_.rows, &roles_.columns})
      std::stable_sort(dims->begin(), dims->end(), [&](int a, int b) {
        return std::abs(store.stride[a]) > std::abs(store.stride[b]);
      });
  }

  /// The largest parts of the product that depend on one side; false if a smallest one has both.
  bool collect(const ExprPtr& expr) {
    Factor factor{expr, {}, {}};
    const auto dims = dims_in(op_, expr);
    const auto used = [&](int d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
    std::copy_if(roles_.reductions.begin(), roles_.reductions.end(),
                 std::back_inserter(factor.reductions), used);
    std::vector<int> rows, columns;
    std::copy_if(roles_.rows.begin(), roles_.rows.end(), std::back_inserter(rows), used);
    std::copy_if(roles_.columns.begin(), roles_.columns.end(), std::back_inserter(columns), used);
    if (rows.empty() || columns.empty()) {
      factor.kept = rows.empty() ? std::move(columns) : std::move(rows);
      roles_.factors.push_back(std::move(factor));
      return true;
    }
    const auto* product = as_product(expr);
    return product && collect(product->left) && collect(product->right);
  }

  const tile::Op& op_;
  const OpInfo& info_;
  ProductSides sides_;
  int columns_ = 0;
  Roles roles_;
};

}  // namespace

std::int64_t extent(const tile::Op& op, int dim) {
  return std::max<std::int64_t>(op.dims[dim].max_extent, 1);
}

std::int64_t volume(const tile::Op& op, const std::vector<int>& dims) {
  std::int64_t product = 1;
  for (const int d : dims)
    product = std::min(product * extent(op, d), std::int64_t{1} << 40);
  return product;
}

std::optional<Roles> find_roles(const tile::Op& op, const OpInfo& info) {
  if (op.combine != tile::Combine::Add || op.targets.size() != 1 || !op.conditions.empty())
    return std::nullopt;
  if (!bounds_are_constant(op) || bits(op.targets[0].buffer->type) < 8) return std::nullopt;
  if (!op.from_identity && rounds_partial_results(op)) return std::nullopt;
  return RoleSearch(op, info).run();
}

std::optional<Roles> staged_roles(const tile::Op& plain, const OpInfo& info,
                                  const MappingOptions& options) {
  if (!options.stage) return std::nullopt;
  auto roles = find_roles(plain, info);
  if (!roles || volume(plain, roles->rows) < tile::kFewestStaged ||
      volume(plain, roles->columns) < tile::kFewestStaged ||
      volume(plain, roles->reductions) < tile::kFewestStaged)
    return std::nullopt;
  return roles;
}

std::optional<std::int64_t> staged_elements(const tile::Op& op, const Ranges& outer,
                                            const MappingOptions& options) {
  const tile::Op plain = without_unit_bounds(op, outer);
  const auto roles = staged_roles(plain, analyse(plain, outer), options);
  if (!roles || roles->reductions.size() > 1) return std::nullopt;
  return volume(plain, roles->rows) * volume(plain, roles->columns);
}

std::optional<std::int64_t> unstaged_elements(const tile::Op& op, const Ranges& outer,
                                              const MappingOptions& options) {
  const tile::Op plain = without_unit_bounds(op, outer);
  const OpInfo info = analyse(plain, outer);
  const auto roles = find_roles(plain, info);
  if (!roles || staged_roles(plain, info, options)) return std::nullopt;
  return volume(plain, roles->rows) * volume(plain, roles->columns) * volume(plain, roles->batch);
}

std::vector<tile::Node> around(const tile::Dim& dim, std::vector<tile::Node> body) {
  auto loop = std::make_shared<tile::Loop>();
  loop->var = dim.var;
  loop->begin = dim.begin;
  loop->end = dim.end;
  loop->body = std::move(body);
  return {std::move(loop)};
}

tile::Op without_unit_bounds(const tile::Op& op, const Ranges& outer) {
  tile::Op result = op;
  for (std::size_t d = result.dims.size(); d-- > 0;) {
    const tile::Dim dim = result.dims[d];
    const bool bounds_others =
        std::any_of(result.dims.begin(), result.dims.end(), [&](const tile::Dim& other) {
          return depends_on(other.begin, dim.var.id) || depends_on(other.end, dim.var.id);
        });
    const Interval values = outer.of(kernel::sub(dim.end, dim.begin));
    if (!bounds_others || values.lo != 1 || values.hi != 1 || dim.step != 1) continue;
    const std::vector<std::pair<int, ExprPtr>> only{{dim.var.id, dim.begin}};
    result.dims.erase(result.dims.begin() + static_cast<std::ptrdiff_t>(d));
    for (auto& other : result.dims) {
      other.begin = kernel::substitute(other.begin, only);
      other.end = kernel::substitute(other.end, only);
    }
    for (auto& condition : result.conditions)
      condition = kernel::substitute(condition, only);
    for (auto& target : result.targets) {
      if (target.value) target.value = kernel::substitute(target.value, only);
      for (auto& subscript : target.subscripts)
        subscript = kernel::substitute(subscript, only);
    }
  }
  return result;
}

}  // namespace tc::lower::cuda
