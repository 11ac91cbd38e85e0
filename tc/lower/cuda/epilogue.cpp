// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/epilogue.h"

#include <algorithm>

namespace tc::lower::cuda {

using kernel::ExprPtr;

namespace {

std::vector<const kernel::Load*> held_loads(const tile::Op& op, const HeldProducts& held) {
  std::vector<const kernel::Load*> loads;
  const auto take = [&](const ExprPtr& expr) {
    if (!expr) return;
    kernel::walk(expr, [&](const kernel::Expr& e) {
      const auto* load = std::get_if<kernel::Load>(&e.node);
      if (load && held.count(load->buffer->id) != 0) loads.push_back(load);
    });
  };
  for (const auto& condition : op.conditions)
    take(condition);
  for (const auto& target : op.targets) {
    take(target.value);
    for (const auto& subscript : target.subscripts)
      take(subscript);
  }
  return loads;
}

bool same(const Ranges& ranges, const ExprPtr& a, const ExprPtr& b) {
  return equal(ranges.affine(a), ranges.affine(b));
}

class Reading {
public:
  Reading(const tile::Op& op, const HeldProducts& held, const Ranges& outer)
      : op_(op), held_(held), outer_(outer) {}

  std::optional<tile::Op> run(Names& names) {
    if (op_.combine || op_.layout) return std::nullopt;
    const auto loads = held_loads(op_, held_);
    if (loads.empty()) return std::nullopt;
    first_ = &held_.at(loads.front()->buffer->id);
    if (!match_dims(*loads.front())) return std::nullopt;
    for (const auto* load : loads)
      if (load->mask || !is_element(*load)) return std::nullopt;
    OnFragments on = on_fragments(first_->cover, rows_, columns_, Beyond::Excluded, outer_, names);
    registers_ = on.registers;
    tile::Op result = std::move(on.op);
    result.label = op_.label;
    result.text = op_.text;
    for (const auto& condition : op_.conditions)
      result.conditions.push_back(replace(condition, on.elements));
    for (const auto& target : op_.targets) {
      tile::Target moved = target;
      for (auto& subscript : moved.subscripts)
        subscript = replace(subscript, on.elements);
      moved.value = replace(target.value, on.elements);
      result.targets.push_back(std::move(moved));
    }
    result.kind = tile::classify(result);
    return result;
  }

private:
  /// Which dim of the operation plays which row or column: the one of which the load makes the same
  /// subscript.
  bool match_dims(const kernel::Load& load) {
    std::vector<bool> used(op_.dims.size(), false);
    const auto match = [&](const std::vector<tile::Dim>& theirs, std::vector<tile::Dim>& ours) {
      for (const auto& dim : theirs) {
        const auto s = std::find_if(
            first_->subscripts.begin(), first_->subscripts.end(),
            [&](const ExprPtr& subscript) { return depends_on(subscript, dim.var.id); });
        if (s == first_->subscripts.end()) return false;
        const auto& subscript =
            load.indices[static_cast<std::size_t>(s - first_->subscripts.begin())];
        int found = -1;
        for (std::size_t d = 0; d < op_.dims.size(); ++d)
          if (!used[d] && depends_on(subscript, op_.dims[d].var.id)) found = static_cast<int>(d);
        if (found < 0) return false;
        const tile::Dim& own = op_.dims[static_cast<std::size_t>(found)];
        if (own.reduction || own.step != 1 || !same(outer_, own.begin, dim.begin) ||
            !same(outer_, own.end, dim.end))
          return false;
        used[static_cast<std::size_t>(found)] = true;
        ours.push_back(own);
      }
      return true;
    };
    return match(first_->rows, rows_) && match(first_->columns, columns_) &&
           std::find(used.begin(), used.end(), false) == used.end();
  }

  /// The load reads the element of this point.
  bool is_element(const kernel::Load& load) const {
    const FragmentProduct& product = held_.at(load.buffer->id);
    if (product.cover != first_->cover || product.rows.size() != rows_.size() ||
        product.columns.size() != columns_.size())
      return false;
    std::vector<std::pair<int, ExprPtr>> here;
    const auto pair = [&](const std::vector<tile::Dim>& theirs,
                          const std::vector<tile::Dim>& ours) {
      for (std::size_t d = 0; d < ours.size(); ++d) {
        if (!same(outer_, theirs[d].begin, ours[d].begin) ||
            !same(outer_, theirs[d].end, ours[d].end))
          return false;
        here.emplace_back(theirs[d].var.id, kernel::var_ref(ours[d].var));
      }
      return true;
    };
    if (!pair(product.rows, rows_) || !pair(product.columns, columns_)) return false;
    for (std::size_t s = 0; s < load.indices.size(); ++s)
      if (!same(outer_, load.indices[s], kernel::substitute(product.subscripts[s], here)))
        return false;
    return true;
  }

  /// Held loads become the accumulators; their subscripts are those of the new dims already.
  ExprPtr replace(const ExprPtr& expr, const std::vector<std::pair<int, ExprPtr>>& elements) const {
    if (const auto* load = std::get_if<kernel::Load>(&expr->node))
      if (const auto product = held_.find(load->buffer->id); product != held_.end())
        return kernel::load(product->second.accumulator, registers_);
    if (std::holds_alternative<kernel::VarRef>(expr->node))
      return kernel::substitute(expr, elements);
    return kernel::map_children(expr,
                                [&](const ExprPtr& child) { return replace(child, elements); });
  }

  const tile::Op& op_;
  const HeldProducts& held_;
  const Ranges& outer_;
  const FragmentProduct* first_ = nullptr;
  std::vector<tile::Dim> rows_, columns_;
  std::vector<ExprPtr> registers_;
};

}  // namespace

std::vector<int> held_reads(const tile::Op& op, const HeldProducts& held) {
  std::vector<int> ids;
  for (const auto* load : held_loads(op, held))
    if (std::find(ids.begin(), ids.end(), load->buffer->id) == ids.end())
      ids.push_back(load->buffer->id);
  return ids;
}

std::optional<tile::Op> read_accumulators(const tile::Op& op, const HeldProducts& held,
                                          const Ranges& outer, Names& names) {
  const tile::Op plain = without_single_dims(op, outer);
  return Reading(plain, held, outer).run(names);
}

}  // namespace tc::lower::cuda
