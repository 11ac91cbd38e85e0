// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/merge_reductions.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "tc/support/numeric.h"

namespace tc::tile {
namespace {

using kernel::ExprPtr;
using Renaming = std::vector<std::pair<int, ExprPtr>>;

/// More results of one operation would not stay in registers beside what it reads.
constexpr std::size_t kMostTargets = 4;

void add_loads(const ExprPtr& expr, const std::function<void(const kernel::Load&)>& use) {
  if (!expr) return;
  kernel::walk(expr, [&](const kernel::Expr& e) {
    if (const auto* load = std::get_if<kernel::Load>(&e.node)) use(*load);
  });
}

void each_load(const Op& op, const std::function<void(const kernel::Load&)>& use) {
  for (const auto& condition : op.conditions)
    add_loads(condition, use);
  for (const auto& dim : op.dims) {
    add_loads(dim.begin, use);
    add_loads(dim.end, use);
  }
  for (const auto& target : op.targets) {
    add_loads(target.value, use);
    for (const auto& subscript : target.subscripts)
      add_loads(subscript, use);
  }
}

/// Buffers, by id, that nodes read and write.
struct Effects {
  std::set<int> reads, writes;

  void add(const Op& op) {
    each_load(op, [&](const kernel::Load& load) { reads.insert(load.buffer->id); });
    for (const auto& target : op.targets) {
      writes.insert(target.buffer->id);
      // What an update starts from it reads.
      if (op.combine && !op.from_identity) reads.insert(target.buffer->id);
    }
  }
  void add(const std::vector<Node>& nodes) {
    for (const auto& node : nodes)
      std::visit(Overloaded{[&](const Op& op) { add(op); },
                            [&](const std::shared_ptr<const Loop>& loop) { add(loop->body); },
                            [](const auto&) {}},
                 node);
  }
};

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int id) { return b.count(id) != 0; });
}

bool is_candidate(const Op& op) {
  return op.kind == OpKind::Reduce && op.from_identity && !op.layout &&
         *op.combine != Combine::ArgMin && *op.combine != Combine::ArgMax;
}

/// The variables of `later` as those of `earlier`, if both run over one box.
std::optional<Renaming> same_box(const Op& earlier, const Op& later) {
  if (earlier.dims.size() != later.dims.size() ||
      earlier.conditions.size() != later.conditions.size())
    return std::nullopt;
  Renaming renaming;
  for (std::size_t d = 0; d < later.dims.size(); ++d) {
    const Dim &a = earlier.dims[d], &b = later.dims[d];
    if (a.reduction != b.reduction || a.max_extent != b.max_extent || a.step != b.step ||
        !kernel::equal(a.begin, kernel::substitute(b.begin, renaming)) ||
        !kernel::equal(a.end, kernel::substitute(b.end, renaming)))
      return std::nullopt;
    renaming.emplace_back(b.var.id, kernel::var_ref(a.var));
  }
  for (std::size_t c = 0; c < later.conditions.size(); ++c)
    if (!kernel::equal(earlier.conditions[c], kernel::substitute(later.conditions[c], renaming)))
      return std::nullopt;
  return renaming;
}

Op renamed(Op op, const Renaming& renaming) {
  for (auto& target : op.targets) {
    target.value = kernel::substitute(target.value, renaming);
    for (auto& subscript : target.subscripts)
      subscript = kernel::substitute(subscript, renaming);
  }
  return op;
}

/// Whether both read some element at the same point.
bool share_a_load(const Op& a, const Op& b) {
  bool shared = false;
  each_load(a, [&](const kernel::Load& x) {
    each_load(b, [&](const kernel::Load& y) {
      shared = shared || (x.buffer->id == y.buffer->id &&
                          std::equal(x.indices.begin(), x.indices.end(), y.indices.begin(),
                                     y.indices.end(), kernel::equal));
    });
  });
  return shared;
}

/// Moves the operation at `later` into the one at `earlier`; false if that is not allowed or no
/// use.
bool merge(std::vector<Node>& nodes, std::size_t earlier, std::size_t later) {
  const Op& first = std::get<Op>(nodes[earlier]);
  const Op& second = std::get<Op>(nodes[later]);
  if (first.combine != second.combine || first.targets.size() >= kMostTargets) return false;
  if (compute_type(first.targets[0].buffer->type) != compute_type(second.targets[0].buffer->type))
    return false;
  const auto renaming = same_box(first, second);
  if (!renaming) return false;
  const Op moved = renamed(second, *renaming);
  if (!share_a_load(first, moved)) return false;
  Effects passed, own;
  passed.add(std::vector<Node>(nodes.begin() + static_cast<std::ptrdiff_t>(earlier),
                               nodes.begin() + static_cast<std::ptrdiff_t>(later)));
  own.add(moved);
  if (meet(passed.writes, own.reads) || meet(passed.writes, own.writes) ||
      meet(passed.reads, own.writes))
    return false;
  Op merged = first;
  merged.label += "_" + moved.label;
  if (merged.text != moved.text) merged.text += "; " + moved.text;
  merged.targets.insert(merged.targets.end(), moved.targets.begin(), moved.targets.end());
  nodes[earlier] = std::move(merged);
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(later));
  // Its buffers must exist where it runs now.
  std::vector<Node> declarations;
  for (std::size_t n = earlier + 1; n < later;) {
    const auto* local = std::get_if<Local>(&nodes[n]);
    if (!local || own.writes.count(local->buffer->id) == 0) {
      ++n;
      continue;
    }
    declarations.push_back(nodes[n]);
    nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(n));
    --later;
  }
  nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(earlier), declarations.begin(),
               declarations.end());
  return true;
}

bool is_candidate(const Node& node) {
  const auto* op = std::get_if<Op>(&node);
  return op && is_candidate(*op);
}

/// Merges the operation at `later` into the first that takes it.
bool merge_into_any(std::vector<Node>& nodes, std::size_t later) {
  if (!is_candidate(nodes[later])) return false;
  for (std::size_t earlier = 0; earlier < later; ++earlier)
    if (is_candidate(nodes[earlier]) && merge(nodes, earlier, later)) return true;
  return false;
}

}  // namespace

std::vector<Node> merge_reductions(std::vector<Node> nodes) {
  for (auto& node : nodes) {
    const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&node);
    if (!loop) continue;
    auto copy = std::make_shared<Loop>(**loop);
    copy->body = merge_reductions(std::move(copy->body));
    node = std::shared_ptr<const Loop>(std::move(copy));
  }
  // Behind a merged operation stands another, or a declaration that moved before it.
  for (std::size_t later = 1; later < nodes.size();)
    if (!merge_into_any(nodes, later)) ++later;
  return nodes;
}

}  // namespace tc::tile
