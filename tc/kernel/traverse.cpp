// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows the children of every node.
#include <algorithm>
#include <bit>

#include "tc/kernel/ir.h"
#include "tc/support/check.h"

namespace tc::kernel {
namespace {

using OnExpr = std::function<ExprPtr(const ExprPtr&)>;
using OnStmt = std::function<StmtPtr(const StmtPtr&)>;

/// Applies `f` to children one by one and remembers whether any of them changed.
class Mapper {
public:
  explicit Mapper(const OnExpr& f) : f_(f) {}

  ExprPtr operator()(const ExprPtr& child) {
    if (!child) return nullptr;
    ExprPtr mapped = f_(child);
    changed_ = changed_ || mapped != child;
    return mapped;
  }
  std::vector<ExprPtr> operator()(const std::vector<ExprPtr>& children) {
    std::vector<ExprPtr> mapped;
    mapped.reserve(children.size());
    for (const auto& child : children)
      mapped.push_back((*this)(child));
    return mapped;
  }
  bool changed() const { return changed_; }

private:
  const OnExpr& f_;
  bool changed_ = false;
};

/// Children of an expression in evaluation order.
template <class F>
void for_children(const Expr& expr, F&& f) {
  const auto each = [&](const std::vector<ExprPtr>& children) {
    for (const auto& child : children)
      f(child);
  };
  std::visit(Overloaded{
                 [](const IntImm&) {},
                 [](const FloatImm&) {},
                 [](const VarRef&) {},
                 [&](const RegRef& n) { f(n.slot); },
                 [&](const Unary& n) { f(n.operand); },
                 [&](const Binary& n) {
                   f(n.left);
                   f(n.right);
                 },
                 [&](const Select& n) {
                   f(n.condition);
                   f(n.if_true);
                   f(n.if_false);
                 },
                 [&](const Cast& n) { f(n.operand); },
                 [&](const Load& n) {
                   each(n.indices);
                   if (n.mask) f(n.mask);
                   if (n.otherwise) f(n.otherwise);
                 },
                 [&](const Ramp& n) { f(n.base); },
                 [&](const Broadcast& n) { f(n.value); },
                 [&](const Call& n) { each(n.args); },
                 [&](const Reduce& n) { f(n.vector); },
                 [&](const Lane& n) { f(n.vector); },
                 [&](const Shuffle& n) { f(n.value); },
             },
             expr.node);
}

bool equal_or_null(const ExprPtr& a, const ExprPtr& b) {
  if (!a || !b) return a == b;
  return equal(a, b);
}

bool equal_lists(const std::vector<ExprPtr>& a, const std::vector<ExprPtr>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), equal_or_null);
}

/// Same alternative, same data, same children.
bool same_node(const Expr& a, const Expr& b) {
  const auto& other = b.node;
  return std::visit(
      Overloaded{
          [&](const IntImm& n) { return n.value == std::get<IntImm>(other).value; },
          [&](const FloatImm& n) {
            return std::bit_cast<std::uint64_t>(n.value) ==
                   std::bit_cast<std::uint64_t>(std::get<FloatImm>(other).value);
          },
          [&](const VarRef& n) { return n.var.id == std::get<VarRef>(other).var.id; },
          [&](const RegRef& n) {
            const auto& o = std::get<RegRef>(other);
            return n.reg == o.reg && equal(n.slot, o.slot);
          },
          [&](const Unary& n) {
            const auto& o = std::get<Unary>(other);
            return n.op == o.op && equal(n.operand, o.operand);
          },
          [&](const Binary& n) {
            const auto& o = std::get<Binary>(other);
            return n.op == o.op && equal(n.left, o.left) && equal(n.right, o.right);
          },
          [&](const Select& n) {
            const auto& o = std::get<Select>(other);
            return equal(n.condition, o.condition) && equal(n.if_true, o.if_true) &&
                   equal(n.if_false, o.if_false);
          },
          [&](const Cast& n) {
            const auto& o = std::get<Cast>(other);
            return n.to == o.to && equal(n.operand, o.operand);
          },
          [&](const Load& n) {
            const auto& o = std::get<Load>(other);
            return n.buffer->id == o.buffer->id && equal_lists(n.indices, o.indices) &&
                   equal_or_null(n.mask, o.mask) && equal_or_null(n.otherwise, o.otherwise);
          },
          [&](const Ramp& n) {
            const auto& o = std::get<Ramp>(other);
            return n.stride == o.stride && equal(n.base, o.base);
          },
          [&](const Broadcast& n) { return equal(n.value, std::get<Broadcast>(other).value); },
          [&](const Call& n) {
            const auto& o = std::get<Call>(other);
            return n.function == o.function && equal_lists(n.args, o.args);
          },
          [&](const Reduce& n) {
            const auto& o = std::get<Reduce>(other);
            return n.op == o.op && equal(n.vector, o.vector);
          },
          [&](const Lane& n) {
            const auto& o = std::get<Lane>(other);
            return n.lane == o.lane && equal(n.vector, o.vector);
          },
          [&](const Shuffle& n) {
            const auto& o = std::get<Shuffle>(other);
            return n.distance == o.distance && n.group == o.group && equal(n.value, o.value);
          },
      },
      a.node);
}

const ExprPtr* find(const std::vector<std::pair<int, ExprPtr>>& replacements, int id) {
  for (const auto& [key, value] : replacements)
    if (key == id) return &value;
  return nullptr;
}

}  // namespace

ExprPtr map_children(const ExprPtr& expr, const OnExpr& f) {
  Mapper map(f);
  ExprPtr result = std::visit(
      Overloaded{
          [&](const IntImm&) { return expr; },
          [&](const FloatImm&) { return expr; },
          [&](const VarRef&) { return expr; },
          [&](const RegRef& n) {
            auto slot = map(n.slot);
            return map.changed() ? reg_ref(n.reg, std::move(slot), expr->type) : expr;
          },
          [&](const Unary& n) {
            auto operand = map(n.operand);
            return map.changed() ? unary(n.op, std::move(operand)) : expr;
          },
          [&](const Binary& n) {
            auto left = map(n.left);
            auto right = map(n.right);
            return map.changed() ? binary(n.op, std::move(left), std::move(right)) : expr;
          },
          [&](const Select& n) {
            auto condition = map(n.condition);
            auto if_true = map(n.if_true);
            auto if_false = map(n.if_false);
            return map.changed()
                       ? select(std::move(condition), std::move(if_true), std::move(if_false))
                       : expr;
          },
          [&](const Cast& n) {
            auto operand = map(n.operand);
            return map.changed() ? cast(n.to, std::move(operand)) : expr;
          },
          [&](const Load& n) {
            auto indices = map(n.indices);
            auto mask = map(n.mask);
            auto otherwise = map(n.otherwise);
            if (!map.changed()) return expr;
            ExprPtr loaded =
                load(n.buffer, std::move(indices), std::move(mask), std::move(otherwise));
            // All lanes may have become one element; a scalar may have become a vector.
            return loaded->type.lanes == 1 ? broadcast(std::move(loaded), expr->type.lanes)
                                           : loaded;
          },
          [&](const Ramp& n) {
            auto base = map(n.base);
            return map.changed() ? ramp(std::move(base), n.stride, expr->type.lanes) : expr;
          },
          [&](const Broadcast& n) {
            auto value = map(n.value);
            return map.changed() ? broadcast(std::move(value), expr->type.lanes) : expr;
          },
          [&](const Call& n) {
            auto args = map(n.args);
            return map.changed() ? call(n.function, std::move(args), expr->type.elem) : expr;
          },
          [&](const Reduce& n) {
            auto vector = map(n.vector);
            return map.changed() ? reduce(n.op, std::move(vector)) : expr;
          },
          [&](const Lane& n) {
            auto vector = map(n.vector);
            return map.changed() ? lane(std::move(vector), n.lane) : expr;
          },
          [&](const Shuffle& n) {
            auto value = map(n.value);
            return map.changed() ? shuffle(std::move(value), n.distance, n.group) : expr;
          },
      },
      expr->node);
  return result;
}

Mma map_subscripts(const Mma& mma, const OnExpr& f) {
  Mma result = mma;
  for (auto* subscripts : {&result.first, &result.rows.corner, &result.columns.corner})
    for (auto& subscript : *subscripts)
      subscript = f(subscript);
  return result;
}

StmtPtr map_children(const StmtPtr& stmt, const OnExpr& on_expr, const OnStmt& on_stmt) {
  Mapper map(on_expr);
  bool changed = false;
  const auto sub = [&](const StmtPtr& child) -> StmtPtr {
    if (!child) return nullptr;
    StmtPtr mapped = on_stmt(child);
    changed = changed || mapped != child;
    return mapped;
  };
  const auto rebuilt = [&](auto node) {
    return changed || map.changed() ? make_stmt(std::move(node)) : stmt;
  };
  return std::visit(
      Overloaded{
          [&](const Block& n) {
            std::vector<StmtPtr> stmts;
            stmts.reserve(n.stmts.size());
            for (const auto& child : n.stmts)
              stmts.push_back(sub(child));
            return changed ? block(std::move(stmts)) : stmt;
          },
          [&](const For& n) {
            auto lo = map(n.lo);
            auto hi = map(n.hi);
            auto body = sub(n.body);
            return rebuilt(
                For{n.var, std::move(lo), std::move(hi), n.step, n.kind, std::move(body)});
          },
          [&](const If& n) {
            auto condition = map(n.condition);
            auto then_body = sub(n.then_body);
            auto else_body = sub(n.else_body);
            return rebuilt(If{std::move(condition), std::move(then_body), std::move(else_body)});
          },
          [&](const Let& n) { return rebuilt(Let{n.var, map(n.value)}); },
          [&](const Declare& n) {
            return rebuilt(Declare{n.reg, n.name, n.type, n.count, map(n.init)});
          },
          [&](const Assign& n) {
            auto slot = map(n.slot);
            return rebuilt(Assign{n.reg, std::move(slot), map(n.value)});
          },
          [&](const Store& n) {
            auto indices = map(n.indices);
            auto value = map(n.value);
            return rebuilt(
                Store{n.buffer, std::move(indices), std::move(value), map(n.mask), n.agreed});
          },
          [&](const Alloc&) { return stmt; },
          [&](const Atomic& n) {
            auto indices = map(n.indices);
            auto value = map(n.value);
            return rebuilt(
                Atomic{n.op, n.buffer, std::move(indices), std::move(value), map(n.mask)});
          },
          [&](const Barrier&) { return stmt; },
          [&](const Mma& n) {
            return rebuilt(map_subscripts(n, [&](const ExprPtr& child) { return map(child); }));
          },
          [&](const Copy& n) {
            auto to = map(n.to_indices);
            auto from = map(n.from_indices);
            return rebuilt(
                Copy{n.count, n.to, std::move(to), n.from, std::move(from), map(n.predicate)});
          },
          [&](const Await&) { return stmt; },
          [&](const Comment&) { return stmt; },
      },
      stmt->node);
}

void walk(const ExprPtr& expr, const std::function<void(const Expr&)>& f) {
  if (!expr) return;
  f(*expr);
  for_children(*expr, [&](const ExprPtr& child) { walk(child, f); });
}

void walk(const StmtPtr& stmt, const std::function<void(const Stmt&)>& on_stmt,
          const std::function<void(const Expr&)>& on_expr) {
  if (!stmt) return;
  on_stmt(*stmt);
  const auto exprs = [&](const std::vector<ExprPtr>& list) {
    for (const auto& expr : list)
      walk(expr, on_expr);
  };
  const auto sub = [&](const StmtPtr& child) { walk(child, on_stmt, on_expr); };
  std::visit(Overloaded{
                 [&](const Block& n) {
                   for (const auto& child : n.stmts)
                     sub(child);
                 },
                 [&](const For& n) {
                   exprs({n.lo, n.hi});
                   sub(n.body);
                 },
                 [&](const If& n) {
                   exprs({n.condition});
                   sub(n.then_body);
                   sub(n.else_body);
                 },
                 [&](const Let& n) { exprs({n.value}); },
                 [&](const Declare& n) { exprs({n.init}); },
                 [&](const Assign& n) { exprs({n.slot, n.value}); },
                 [&](const Store& n) {
                   exprs(n.indices);
                   exprs({n.value, n.mask});
                 },
                 [](const Alloc&) {},
                 [&](const Atomic& n) {
                   exprs(n.indices);
                   exprs({n.value, n.mask});
                 },
                 [](const Barrier&) {},
                 [&](const Mma& n) {
                   exprs(n.first);
                   exprs(n.rows.corner);
                   exprs(n.columns.corner);
                 },
                 [&](const Copy& n) {
                   exprs(n.to_indices);
                   exprs(n.from_indices);
                   exprs({n.predicate});
                 },
                 [](const Await&) {},
                 [](const Comment&) {},
             },
             stmt->node);
}

bool equal(const ExprPtr& a, const ExprPtr& b) {
  if (a == b) return true;
  return a->type == b->type && a->node.index() == b->node.index() && same_node(*a, *b);
}

ExprPtr substitute(const ExprPtr& expr, const std::vector<std::pair<int, ExprPtr>>& replacements) {
  if (!expr || replacements.empty()) return expr;
  if (const auto* ref = std::get_if<VarRef>(&expr->node)) {
    const auto* value = find(replacements, ref->var.id);
    return value ? *value : expr;
  }
  return map_children(expr, [&](const ExprPtr& child) { return substitute(child, replacements); });
}

StmtPtr substitute(const StmtPtr& stmt, const std::vector<std::pair<int, ExprPtr>>& replacements) {
  if (!stmt || replacements.empty()) return stmt;
  return map_children(
      stmt, [&](const ExprPtr& child) { return substitute(child, replacements); },
      [&](const StmtPtr& child) { return substitute(child, replacements); });
}

}  // namespace tc::kernel
