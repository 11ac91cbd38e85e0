// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/mutate.h"

#include <optional>
#include <utility>

#include "tc/kernel/passes.h"

namespace tc::emulation {
namespace {

/// Rebuilds a body with a change at its n-th place where a change is possible, in the order of the
/// traversal.
class Change {
public:
  explicit Change(int place) : left_(place) {}

  kernel::StmtPtr apply(const kernel::StmtPtr& stmt) {
    if (done()) return stmt;
    if (const auto* barrier = std::get_if<kernel::Barrier>(&stmt->node)) {
      if (!take(Mutant::Kind::BarrierRemoved, "barrier " + barrier->scope)) return stmt;
      return kernel::block({});
    }
    if (const auto* guard = std::get_if<kernel::If>(&stmt->node)) {
      if (guard->else_body == nullptr &&
          take(Mutant::Kind::GuardWeakened, kernel::print(guard->condition)))
        return guard->then_body;
    }
    if (const auto* store = std::get_if<kernel::Store>(&stmt->node)) return unmask(stmt, *store);
    if (const auto* atomic = std::get_if<kernel::Atomic>(&stmt->node)) return unmask(stmt, *atomic);
    return children(stmt);
  }

  struct Made {
    Mutant::Kind kind;
    std::string description;
  };
  const std::optional<Made>& made() const { return made_; }

private:
  bool done() const { return made_.has_value(); }
  bool take(Mutant::Kind kind, std::string description) {
    if (left_-- != 0) return false;
    made_ = Made{kind, std::move(description)};
    return true;
  }

  kernel::StmtPtr children(const kernel::StmtPtr& stmt) {
    return kernel::map_children(
        stmt, [this](const kernel::ExprPtr& expr) { return apply(expr); },
        [this](const kernel::StmtPtr& child) { return apply(child); });
  }

  template <class Node>
  kernel::StmtPtr unmask(const kernel::StmtPtr& stmt, const Node& node) {
    if (node.mask == nullptr || !take(Mutant::Kind::MaskWeakened, kernel::print(node.mask)))
      return children(stmt);
    Node changed = node;
    changed.mask = nullptr;
    return kernel::make_stmt(std::move(changed));
  }

  kernel::ExprPtr apply(const kernel::ExprPtr& expr) {
    if (done() || expr == nullptr) return expr;
    const auto* load = std::get_if<kernel::Load>(&expr->node);
    if (load != nullptr && load->mask != nullptr &&
        take(Mutant::Kind::MaskWeakened, kernel::print(load->mask)))
      return kernel::load(load->buffer, load->indices);
    return kernel::map_children(expr,
                                [this](const kernel::ExprPtr& child) { return apply(child); });
  }

  int left_;
  std::optional<Made> made_;
};

}  // namespace

std::vector<Mutant> mutants(const kernel::Plan& plan) {
  std::vector<Mutant> result;
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    for (int place = 0;; ++place) {
      Change change(place);
      const kernel::StmtPtr body = change.apply(plan.kernels[k].body);
      if (!change.made()) break;
      Mutant mutant{change.made()->kind, plan.kernels[k].name, change.made()->description, plan};
      mutant.plan.kernels[k].body = body;
      result.push_back(std::move(mutant));
    }
  }
  return result;
}

}  // namespace tc::emulation
