// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/windows.h"

#include <algorithm>
#include <cstdlib>

namespace tc::lower::cuda {

using kernel::ExprPtr;

namespace {

class WindowSearch {
public:
  WindowSearch(const tile::Op& op, const OpInfo& info, const Factor& factor)
      : op_(op), info_(info), factor_(factor) {}

  std::vector<BoxDim> run() {
    if (!collect(factor_.value)) windows_.clear();
    std::vector<BoxDim> box;
    for (const int d : factor_.reductions)
      if (!window_of(&BoxDim::reduction, d)) box.push_back({-1, d});
    for (const int d : factor_.kept) {
      const BoxDim* window = window_of(&BoxDim::kept, d);
      box.push_back(window ? *window : BoxDim{d, -1});
    }
    return box;
  }

private:
  const BoxDim* window_of(int BoxDim::* side, int dim) const {
    const auto at = std::find_if(windows_.begin(), windows_.end(),
                                 [&](const BoxDim& window) { return window.*side == dim; });
    return at == windows_.end() ? nullptr : &*at;
  }

  static bool has(const std::vector<int>& dims, int d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  }

  /// Whether the windows below the expression describe all that it says of their dims: its value
  /// is to depend on the position alone.
  bool collect(const ExprPtr& expr) {
    if (const auto* load = std::get_if<kernel::Load>(&expr->node))
      return std::all_of(load->indices.begin(), load->indices.end(),
                         [&](const ExprPtr& index) { return take(index); }) &&
             (!load->mask || collect(load->mask)) && (!load->otherwise || collect(load->otherwise));
    if (expr->type.elem == DType::Int64 && !contains_load(expr)) return take(expr);
    bool fine = true;
    kernel::map_children(expr, [&](const ExprPtr& child) {
      fine = fine && collect(child);
      return child;
    });
    return fine;
  }

  /// An index expression, of a subscript or a condition.
  bool take(const ExprPtr& subscript) {
    if (contains_load(subscript)) return false;
    const Affine sum = info_.ranges.affine(subscript);
    BoxDim here;
    for (const int d : dims_in(op_, subscript)) {
      const auto scale = sum.coefficient(op_.dims[d].var.id);
      if (!scale) return false;
      if (has(factor_.kept, d)) {
        if (here.kept >= 0) return false;
        here.kept = d;
        here.kept_scale = *scale;
      } else if (has(factor_.reductions, d)) {
        if (here.reduction >= 0) return false;
        here.reduction = d;
        here.reduction_scale = *scale;
      }
    }
    for (const auto& [side, dim] :
         {std::pair(&BoxDim::kept, here.kept), std::pair(&BoxDim::reduction, here.reduction)}) {
      if (dim < 0) continue;
      if (has(seen_, dim)) {
        // Elsewhere too: only as the same window.
        const BoxDim* window = window_of(side, dim);
        const bool same = window && window->kept == here.kept &&
                          window->reduction == here.reduction &&
                          window->kept_scale == here.kept_scale &&
                          window->reduction_scale == here.reduction_scale;
        if (!same && (window || here.is_window())) return false;
      }
      seen_.push_back(dim);
    }
    if (!here.is_window() || window_of(&BoxDim::kept, here.kept)) return true;
    if (!is_sliding(here)) return false;
    windows_.push_back(here);
    return true;
  }

  bool is_sliding(const BoxDim& window) const {
    const tile::Dim& reduction = op_.dims[window.reduction];
    return window.kept_scale > 0 && window.reduction_scale != 0 &&
           (window.kept_scale == 1 || std::abs(window.reduction_scale) == 1) &&
           constant_of(reduction.begin) && constant_of(reduction.end);
  }

  const tile::Op& op_;
  const OpInfo& info_;
  const Factor& factor_;
  std::vector<BoxDim> windows_;
  std::vector<int> seen_;  ///< dims of subscripts so far
};

}  // namespace

std::int64_t BoxDim::length(std::int64_t values, std::int64_t points) const {
  return kept_scale * (values - 1) + std::abs(reduction_scale) * (points - 1) + 1;
}

std::optional<Boxes> find_windows(const tile::Op& op, const OpInfo& info, const Roles& roles) {
  Boxes boxes;
  bool any = false;
  for (const auto& factor : roles.factors) {
    boxes.push_back(WindowSearch(op, info, factor).run());
    any = any || std::any_of(boxes.back().begin(), boxes.back().end(), [&](const BoxDim& dim) {
            return dim.is_window() && extent(op, dim.kept) > 1 && extent(op, dim.reduction) > 1;
          });
  }
  if (!any) return std::nullopt;
  return boxes;
}

}  // namespace tc::lower::cuda
