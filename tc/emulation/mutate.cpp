// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/mutate.h"

#include <limits>
#include <optional>
#include <utility>

#include "tc/kernel/passes.h"
#include "tc/kernel/text.h"
#include "tc/support/dtype.h"

namespace tc::emulation {
namespace {

/// Conditions that hold wherever the given one does and in more places, but not everywhere.
std::vector<kernel::ExprPtr> weaker(const kernel::ExprPtr& condition) {
  const auto* node = std::get_if<kernel::Binary>(&condition->node);
  if (node == nullptr) return {};
  if (node->op == kernel::BinaryOp::Lt)
    return {kernel::binary(kernel::BinaryOp::Le, node->left, node->right)};
  if (node->op != kernel::BinaryOp::And) return {};
  std::vector<kernel::ExprPtr> result = {node->right, node->left};
  for (const auto& left : weaker(node->left))
    result.push_back(kernel::binary(kernel::BinaryOp::And, left, node->right));
  for (const auto& right : weaker(node->right))
    result.push_back(kernel::binary(kernel::BinaryOp::And, node->left, right));
  return result;
}

/// A statement that reads far outside of the buffer if the condition holds, in any of its lanes.
kernel::StmtPtr trap(const kernel::ExprPtr& condition, const kernel::BufferPtr& buffer) {
  constexpr std::int64_t kFar = std::int64_t{1} << 28;
  constexpr int kId = 1 << 30;  // of no other variable
  const int lanes = condition->type.lanes;
  std::vector<kernel::ExprPtr> indices(buffer->extents.size(), kernel::int_imm(0));
  if (!indices.empty())
    indices.back() =
        lanes == 1 ? kernel::int_imm(kFar) : kernel::ramp(kernel::int_imm(kFar), 1, lanes);
  const DType type = compute_type(buffer->type);
  kernel::ExprPtr zero = type == DType::Bool ? kernel::bool_imm(false)
                         : is_float(type)    ? kernel::float_imm(0, type)
                                             : kernel::int_imm(0, type);
  if (lanes > 1) zero = kernel::broadcast(zero, lanes);
  const kernel::ExprPtr far = kernel::load(buffer, indices, condition, zero);
  return kernel::make_stmt(kernel::Let{{kId, "trapped", far->type}, far});
}

/// A value that shows in every result that depends on it.
kernel::ExprPtr poison(double number, const kernel::ExprPtr& mask, const kernel::Type& type) {
  const kernel::ExprPtr value = type.elem == DType::Bool ? kernel::bool_imm(true)
                                : is_float(type.elem)    ? kernel::float_imm(number, type.elem)
                                                         : kernel::int_imm(77, type.elem);
  return mask->type.lanes > 1 ? kernel::broadcast(value, mask->type.lanes) : value;
}

/// Rebuilds a body with a change at its n-th place where a change is possible, in the order of the
/// traversal; with `trapped`, instead of the change, with a trap that goes off where the changed
/// condition holds and the old one does not.
class Change {
public:
  Change(int place, kernel::BufferPtr trapped, std::optional<double> poison = std::nullopt)
      : left_(place), trapped_(std::move(trapped)), poison_(poison) {}

  kernel::StmtPtr apply(const kernel::StmtPtr& stmt) {
    if (done()) return stmt;
    kernel::StmtPtr changed = statement(stmt);
    if (difference_ == nullptr) return changed;
    changed = kernel::block({trap(difference_, trapped_), changed});
    difference_ = nullptr;
    return changed;
  }

  struct Made {
    Mutant::Kind kind;
    std::string description;
  };
  const std::optional<Made>& made() const { return made_; }
  bool is_load() const { return is_load_; }

private:
  bool done() const { return made_.has_value(); }
  bool take(Mutant::Kind kind, std::string description) {
    if (left_-- != 0) return false;
    made_ = Made{kind, std::move(description)};
    return true;
  }

  kernel::StmtPtr statement(const kernel::StmtPtr& stmt) {
    if (const auto* barrier = std::get_if<kernel::Barrier>(&stmt->node)) {
      if (!take(Mutant::Kind::BarrierRemoved, "barrier " + barrier->scope)) return stmt;
      return trapped_ ? stmt : kernel::block({});
    }
    if (const auto* await = std::get_if<kernel::Await>(&stmt->node)) {
      if (take(Mutant::Kind::AwaitRemoved, kernel::print(*await))) return kernel::block({});
      if (loops_ == 0 || !take(Mutant::Kind::AwaitWeakened, kernel::print(*await))) return stmt;
      return kernel::make_stmt(kernel::Await{await->what, await->pending + 1});
    }
    if (std::holds_alternative<kernel::For>(stmt->node)) {
      ++loops_;
      kernel::StmtPtr changed = children(stmt);
      --loops_;
      return changed;
    }
    if (const auto* guard = std::get_if<kernel::If>(&stmt->node);
        guard != nullptr && guard->else_body == nullptr) {
      if (const auto condition = weaken(Mutant::Kind::GuardWeakened, guard->condition)) {
        if (trapped_) return stmt;
        if (*condition == nullptr) return guard->then_body;
        return kernel::make_stmt(kernel::If{*condition, guard->then_body, nullptr});
      }
    }
    if (const auto* store = std::get_if<kernel::Store>(&stmt->node)) return unmask(stmt, *store);
    if (const auto* atomic = std::get_if<kernel::Atomic>(&stmt->node)) return unmask(stmt, *atomic);
    if (const auto* copy = std::get_if<kernel::Copy>(&stmt->node)) return unmask(stmt, *copy);
    return children(stmt);
  }

  /// The condition after the change, null for one that always holds; nullopt: no change here.
  std::optional<kernel::ExprPtr> weaken(Mutant::Kind kind, const kernel::ExprPtr& condition) {
    const auto opposite = kernel::unary(kernel::UnaryOp::Not, condition);
    if (take(kind, kernel::print(condition))) {
      if (trapped_) difference_ = opposite;
      return kernel::ExprPtr();
    }
    for (const auto& weak : weaker(condition)) {
      if (!take(kind, kernel::print(condition) + " becomes " + kernel::print(weak))) continue;
      if (trapped_) difference_ = kernel::binary(kernel::BinaryOp::And, weak, opposite);
      return weak;
    }
    return std::nullopt;
  }

  kernel::StmtPtr children(const kernel::StmtPtr& stmt) {
    return kernel::map_children(
        stmt, [this](const kernel::ExprPtr& expr) { return apply(expr); },
        [this](const kernel::StmtPtr& child) { return apply(child); });
  }

  template <class Node>
  static auto& mask_of(Node& node) {
    if constexpr (std::is_same_v<std::remove_const_t<Node>, kernel::Copy>)
      return node.predicate;
    else
      return node.mask;
  }

  template <class Node>
  kernel::StmtPtr unmask(const kernel::StmtPtr& stmt, const Node& node) {
    if (mask_of(node) == nullptr) return children(stmt);
    const auto mask = weaken(Mutant::Kind::MaskWeakened, mask_of(node));
    if (!mask) return children(stmt);
    if (trapped_) return stmt;
    Node changed = node;
    mask_of(changed) = *mask;
    return kernel::make_stmt(std::move(changed));
  }

  kernel::ExprPtr apply(const kernel::ExprPtr& expr) {
    if (done() || expr == nullptr) return expr;
    const auto* load = std::get_if<kernel::Load>(&expr->node);
    if (load != nullptr && load->mask != nullptr) {
      if (const auto mask = weaken(Mutant::Kind::MaskWeakened, load->mask)) {
        if (trapped_) return expr;
        is_load_ = true;
        if (poison_) {
          kernel::ExprPtr instead = poison(*poison_, load->mask, expr->type);
          if (*mask != nullptr && load->otherwise != nullptr)
            instead = kernel::select(*mask, instead, load->otherwise);
          return kernel::load(load->buffer, load->indices, load->mask, instead);
        }
        return kernel::load(load->buffer, load->indices, *mask,
                            *mask == nullptr ? nullptr : load->otherwise);
      }
    }
    return kernel::map_children(expr,
                                [this](const kernel::ExprPtr& child) { return apply(child); });
  }

  int left_;
  int loops_ = 0;                 ///< around the statement
  kernel::BufferPtr trapped_;     ///< null: make the change
  std::optional<double> poison_;  ///< what a masked load does not read is this
  bool is_load_ = false;
  kernel::ExprPtr difference_;
  std::optional<Made> made_;
};

/// A buffer outside of which one can read.
kernel::BufferPtr trap_buffer(const kernel::Kernel& kernel) {
  for (const auto& buffer : kernel.buffers)
    if (!buffer->extents.empty() && buffer->strides.back() != 0 && bits(buffer->type) >= 8)
      return buffer;
  return nullptr;
}

}  // namespace

std::vector<Mutant> mutants(const kernel::Plan& plan) {
  std::vector<Mutant> result;
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    const kernel::Kernel& kernel = plan.kernels[k];
    const kernel::BufferPtr trapped = trap_buffer(kernel);
    for (int place = 0;; ++place) {
      Change change(place, nullptr);
      const kernel::StmtPtr body = change.apply(kernel.body);
      if (!change.made()) break;
      Mutant mutant{change.made()->kind, kernel.name, change.made()->description, plan, {}, {}, {}};
      mutant.plan.kernels[k].body = body;
      const bool has_condition =
          mutant.kind == Mutant::Kind::GuardWeakened || mutant.kind == Mutant::Kind::MaskWeakened;
      if (trapped != nullptr && has_condition) {
        mutant.probe = plan;
        mutant.probe->kernels[k].body = Change(place, trapped).apply(kernel.body);
      }
      if (change.is_load()) {
        mutant.poisoned = mutant.finite = plan;
        constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
        mutant.poisoned->kernels[k].body = Change(place, nullptr, kNan).apply(kernel.body);
        mutant.finite->kernels[k].body = Change(place, nullptr, 1e3).apply(kernel.body);
      }
      result.push_back(std::move(mutant));
    }
  }
  return result;
}

}  // namespace tc::emulation
