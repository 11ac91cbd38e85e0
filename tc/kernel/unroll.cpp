// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tc/kernel/fold.h"
#include "tc/kernel/passes.h"
#include "tc/support/check.h"

namespace tc::kernel {
namespace {

/// Ids that no definition of a kernel uses yet.
struct FreshIds {
  int var = 0;
  int reg = 0;
  int buffer = 0;

  explicit FreshIds(const Kernel& kernel) {
    for (const auto& param : kernel.int_params)
      var = std::max(var, param.id + 1);
    for (const auto& dim : kernel.grid)
      var = std::max(var, dim.var.id + 1);
    for (const auto& dim : kernel.threads)
      var = std::max(var, dim.var.id + 1);
    for (const auto& b : kernel.buffers)
      buffer = std::max(buffer, b->id + 1);
    walk(
        kernel.body,
        [&](const Stmt& stmt) {
          if (const auto* n = std::get_if<For>(&stmt.node)) var = std::max(var, n->var.id + 1);
          if (const auto* n = std::get_if<Let>(&stmt.node)) var = std::max(var, n->var.id + 1);
          if (const auto* n = std::get_if<Declare>(&stmt.node)) reg = std::max(reg, n->reg + 1);
          if (const auto* n = std::get_if<Alloc>(&stmt.node))
            buffer = std::max(buffer, n->buffer->id + 1);
        },
        [](const Expr&) {});
  }
};

/// A copy of a statement in which every definition has a new id and one variable has a value.
class Copier {
public:
  Copier(FreshIds& fresh, int var, ExprPtr value) : fresh_(fresh) { vars_[var] = std::move(value); }

  StmtPtr operator()(const StmtPtr& stmt) {
    if (const auto* n = std::get_if<For>(&stmt->node)) {
      ExprPtr lo = expr(n->lo);
      ExprPtr hi = expr(n->hi);
      const Var var = define(n->var);
      return make_stmt(For{var, std::move(lo), std::move(hi), n->step, n->kind, (*this)(n->body)});
    }
    if (const auto* n = std::get_if<Let>(&stmt->node)) {
      ExprPtr value = expr(n->value);
      return make_stmt(Let{define(n->var), std::move(value)});
    }
    if (const auto* n = std::get_if<Declare>(&stmt->node)) {
      ExprPtr init = expr(n->init);
      const int id = registers_[n->reg] = fresh_.reg++;
      return make_stmt(Declare{id, n->name, n->type, n->count, std::move(init)});
    }
    if (const auto* n = std::get_if<Assign>(&stmt->node)) {
      const auto renamed = registers_.find(n->reg);
      const int id = renamed == registers_.end() ? n->reg : renamed->second;
      ExprPtr slot = expr(n->slot);
      return make_stmt(Assign{id, std::move(slot), expr(n->value)});
    }
    if (const auto* n = std::get_if<Alloc>(&stmt->node)) {
      auto copy = std::make_shared<Buffer>(*n->buffer);
      const int old = copy->id;
      copy->id = fresh_.buffer++;
      buffers_[old] = copy;
      return make_stmt(Alloc{copy});
    }
    if (const auto* n = std::get_if<Store>(&stmt->node)) {
      auto indices = exprs(n->indices);
      ExprPtr value = expr(n->value);
      return make_stmt(
          Store{buffer(n->buffer), std::move(indices), std::move(value), expr(n->mask), n->agreed});
    }
    if (const auto* n = std::get_if<Atomic>(&stmt->node)) {
      auto indices = exprs(n->indices);
      ExprPtr value = expr(n->value);
      return make_stmt(
          Atomic{n->op, buffer(n->buffer), std::move(indices), std::move(value), expr(n->mask)});
    }
    if (const auto* n = std::get_if<Mma>(&stmt->node)) {
      Mma copy = map_subscripts(*n, [this](const ExprPtr& e) { return expr(e); });
      for (auto* used : {&copy.accumulator, &copy.rows.buffer, &copy.columns.buffer})
        *used = buffer(*used);
      return make_stmt(std::move(copy));
    }
    if (const auto* n = std::get_if<Copy>(&stmt->node)) {
      auto to = exprs(n->to_indices);
      auto from = exprs(n->from_indices);
      return make_stmt(Copy{n->count, buffer(n->to), std::move(to), buffer(n->from),
                            std::move(from), expr(n->predicate)});
    }
    return map_children(
        stmt, [this](const ExprPtr& e) { return expr(e); },
        [this](const StmtPtr& s) { return (*this)(s); });
  }

private:
  Var define(const Var& var) {
    Var copy = var;
    copy.id = fresh_.var++;
    vars_[var.id] = var_ref(copy);
    return copy;
  }

  BufferPtr buffer(const BufferPtr& original) const {
    const auto renamed = buffers_.find(original->id);
    return renamed == buffers_.end() ? original : renamed->second;
  }

  std::vector<ExprPtr> exprs(const std::vector<ExprPtr>& list) {
    std::vector<ExprPtr> result;
    for (const auto& e : list)
      result.push_back(expr(e));
    return result;
  }

  ExprPtr expr(const ExprPtr& e) {
    if (!e) return nullptr;
    if (const auto* ref = std::get_if<VarRef>(&e->node)) {
      const auto value = vars_.find(ref->var.id);
      return value == vars_.end() ? e : value->second;
    }
    if (const auto* ref = std::get_if<RegRef>(&e->node)) {
      const auto renamed = registers_.find(ref->reg);
      if (renamed != registers_.end()) return reg_ref(renamed->second, expr(ref->slot), e->type);
    }
    if (const auto* n = std::get_if<Load>(&e->node); n && buffers_.count(n->buffer->id) != 0)
      return broadcast(
          load(buffer(n->buffer), exprs(n->indices), expr(n->mask), expr(n->otherwise)),
          e->type.lanes);
    return map_children(e, [this](const ExprPtr& child) { return expr(child); });
  }

  FreshIds& fresh_;
  std::map<int, ExprPtr> vars_;
  std::map<int, int> registers_;
  std::map<int, BufferPtr> buffers_;
};

/// Outermost loops first: bounds of inner ones may use their variables.
StmtPtr expand(const StmtPtr& stmt, FreshIds& fresh) {
  if (!stmt) return nullptr;
  const auto* n = std::get_if<For>(&stmt->node);
  if (!n || n->kind != ForKind::Unrolled)
    return map_children(
        stmt, [](const ExprPtr& e) { return e; },
        [&](const StmtPtr& s) { return expand(s, fresh); });
  const auto lo = constant_int(n->lo);
  const auto hi = constant_int(n->hi);
  check(lo && hi && n->step > 0, "an unrolled loop has constant bounds");
  std::vector<StmtPtr> copies;
  for (std::int64_t i = *lo; i < *hi; i += n->step) {
    Copier copy(fresh, n->var.id, int_imm(i, n->var.type.elem));
    copies.push_back(expand(copy(n->body), fresh));
  }
  return block(std::move(copies));
}

}  // namespace

Kernel unroll(const Kernel& kernel) {
  FreshIds fresh(kernel);
  Kernel result = kernel;
  result.body = expand(kernel.body, fresh);
  return result;
}

}  // namespace tc::kernel
