// SPDX-License-Identifier: Apache-2.0
#include "execute.h"

#include <cmath>
#include <functional>
#include <limits>

#include "evaluate.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::test {
namespace {

using kernel::BinaryOp;

// ---- tile programs ----

struct Key {
  Index index;
  bool operator<(const Key& other) const { return index < other.index; }
};

Scalar neutral(tile::Combine combine, DType type) {
  const double infinite = std::numeric_limits<double>::infinity();
  switch (combine) {
  case tile::Combine::Add: return {0, 0};
  case tile::Combine::Mul: return {1, 1};
  case tile::Combine::Min:
  case tile::Combine::ArgMin:
    return {infinite, type == DType::Bool ? 1
                      : is_float(type)    ? 0
                                          : static_cast<std::int64_t>(max_value(type))};
  default: return {-infinite, type == DType::Bool || is_float(type) ? 0 : min_value(type)};
  }
}

Scalar joined(tile::Combine combine, DType type, Scalar a, Scalar b) {
  if (type == DType::Bool) {
    const bool any = combine == tile::Combine::Add || combine == tile::Combine::Max;
    return {0, any ? (a.i || b.i) : (a.i && b.i)};
  }
  static constexpr BinaryOp kOps[] = {BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max};
  return binary(kOps[static_cast<int>(combine)], type, a, b);
}

/// True if (v, p) beats (w, q): NaN first, then the better value, then the lower position.
bool beats(bool is_max, DType type, Scalar v, std::int64_t p, Scalar w, std::int64_t q) {
  const auto rank = [&](Scalar s) { return is_float(type) ? s.f : static_cast<double>(s.i); };
  const bool vn = std::isnan(rank(v)), wn = std::isnan(rank(w));
  if (vn != wn) return vn;
  if (!vn && rank(v) != rank(w)) return is_max ? rank(v) > rank(w) : rank(v) < rank(w);
  return p < q;
}

class TileExecution {
public:
  TileExecution(const tile::Kernel& kernel, Memory& memory) : kernel_(kernel) {
    env_.memory = &memory;
  }

  void grid(std::size_t level) {
    if (level == kernel_.grid.size()) {
      list(kernel_.body);
      return;
    }
    const auto& loop = kernel_.grid[level];
    for (std::int64_t v = loop.begin; v < loop.end; v += loop.step) {
      env_.vars[loop.var.id] = Value{Scalar{0, v}};
      grid(level + 1);
    }
  }

private:
  void list(const std::vector<tile::Node>& nodes) {
    for (const auto& node : nodes)
      std::visit(Overloaded{
                     [&](const tile::Op& op) { operation(op); },
                     [&](const std::shared_ptr<const tile::Loop>& loop) {
                       const std::int64_t end = env_.integer(loop->end);
                       for (std::int64_t v = env_.integer(loop->begin); v < end; v += loop->step) {
                         env_.vars[loop->var.id] = Value{Scalar{0, v}};
                         list(loop->body);
                       }
                     },
                     [&](const tile::Local& local) {
                       std::mt19937 random(1);
                       Storage storage(local.buffer);
                       fill(storage, Fill::Poison, random);
                       env_.memory->insert_or_assign(local.buffer->id, std::move(storage));
                     },
                     [](const tile::Barrier&) {},
                     [](const kernel::Mma&) { unreachable("CPU code has no products of groups"); },
                     [](const kernel::Await&) { unreachable("CPU code has no such copies"); },
                 },
                 node);
  }

  void box(const tile::Op& op, std::size_t d, bool kept_only, const std::function<void()>& f) {
    if (d == op.dims.size()) return f();
    const auto& dim = op.dims[d];
    if (kept_only && dim.reduction) return box(op, d + 1, kept_only, f);
    const std::int64_t end = env_.integer(dim.end);
    const std::int64_t begin = env_.integer(dim.begin);
    check(end - begin <= dim.max_extent, "an extent keeps within max_extent");
    for (std::int64_t v = begin; v < end; ++v) {
      env_.vars[dim.var.id] = Value{Scalar{0, v}};
      box(op, d + 1, kept_only, f);
    }
  }

  bool holds(const tile::Op& op, bool kept_only) {
    for (const auto& condition : op.conditions) {
      bool depends = false;
      for (const auto& dim : op.dims)
        kernel::walk(condition, [&](const kernel::Expr& e) {
          if (const auto* v = std::get_if<kernel::VarRef>(&e.node))
            depends = depends || (v->var.id == dim.var.id && dim.reduction);
        });
      if (kept_only && depends) continue;
      if (!env_.integer(condition)) return false;
    }
    return true;
  }

  Key key(const tile::Target& target) {
    Key key;
    for (const auto& subscript : target.subscripts)
      key.index.push_back(env_.integer(subscript));
    return key;
  }

  void operation(const tile::Op& op) {
    const auto storage = [&](std::size_t t) -> Storage& {
      return env_.memory->at(op.targets[t].buffer->id);
    };
    if (!op.combine) {
      box(op, 0, false, [&] {
        if (holds(op, false))
          storage(0).write(key(op.targets[0]).index, env_.evaluate(op.targets[0].value)[0]);
      });
      return;
    }
    const DType type = compute_type(op.targets[0].buffer->type);
    const bool arg = op.targets.size() == 2;
    std::map<Key, std::pair<Scalar, std::int64_t>> results;
    if (op.from_identity)
      box(op, 0, true, [&] {
        if (holds(op, true))
          results[key(op.targets[0])] = {
              neutral(*op.combine, type),
              arg ? static_cast<std::int64_t>(max_value(op.targets[1].buffer->type)) : 0};
      });
    box(op, 0, false, [&] {
      if (!holds(op, false)) return;
      const Key at = key(op.targets[0]);
      if (!results.count(at))
        results[at] = {storage(0).read(at.index), arg ? storage(1).read(at.index).i : 0};
      auto& [value, position] = results[at];
      const Scalar v = env_.evaluate(op.targets[0].value)[0];
      if (!arg) {
        value = joined(*op.combine, type, value, v);
        return;
      }
      const std::int64_t p = env_.integer(op.targets[1].value);
      if (!beats(*op.combine == tile::Combine::ArgMax, type, v, p, value, position)) return;
      value = v;
      position = p;
    });
    for (const auto& [at, result] : results) {
      storage(0).write(at.index, result.first);
      if (arg) storage(1).write(at.index, {0, result.second});
    }
  }

  const tile::Kernel& kernel_;
  Environment env_;
};

// ---- kernels ----

class KernelExecution {
public:
  KernelExecution(const kernel::Kernel& kernel, Memory& memory) : kernel_(kernel) {
    env_.memory = &memory;
  }

  void grid(std::size_t level) {
    if (level == kernel_.grid.size()) return run(kernel_.body);
    for (std::int64_t v = 0; v < kernel_.grid[level].extent; ++v) {
      env_.vars[kernel_.grid[level].var.id] = Value{Scalar{0, v}};
      grid(level + 1);
    }
  }

private:
  void run(const kernel::StmtPtr& stmt) {
    if (!stmt) return;
    std::visit(Overloaded{
                   [&](const kernel::Block& n) {
                     for (const auto& child : n.stmts)
                       run(child);
                   },
                   [&](const kernel::For& n) {
                     const std::int64_t hi = env_.integer(n.hi);
                     for (std::int64_t v = env_.integer(n.lo); v < hi; v += n.step) {
                       env_.vars[n.var.id] = Value{Scalar{0, v}};
                       run(n.body);
                     }
                   },
                   [&](const kernel::If& n) {
                     run(env_.integer(n.condition) ? n.then_body : n.else_body);
                   },
                   [&](const kernel::Let& n) { env_.vars[n.var.id] = env_.evaluate(n.value); },
                   [&](const kernel::Declare& n) {
                     env_.registers[n.reg].assign(n.count, n.init ? env_.evaluate(n.init)
                                                                  : Value(n.type.lanes));
                   },
                   [&](const kernel::Assign& n) {
                     env_.registers.at(n.reg).at(env_.integer(n.slot)) = env_.evaluate(n.value);
                   },
                   [&](const kernel::Store& n) { store(n); },
                   [&](const kernel::Alloc& n) {
                     std::mt19937 random(1);
                     Storage storage(n.buffer);
                     fill(storage, Fill::Poison, random);
                     env_.memory->insert_or_assign(n.buffer->id, std::move(storage));
                   },
                   [](const kernel::Atomic&) { unreachable("CPU code has no atomics"); },
                   [](const kernel::Barrier&) {},
                   [](const kernel::Mma&) { unreachable("CPU code has no products of groups"); },
                   [](const kernel::Copy&) { unreachable("CPU code has no such copies"); },
                   [](const kernel::Await&) { unreachable("CPU code has no such copies"); },
                   [](const kernel::Comment&) {},
               },
               stmt->node);
  }

  void store(const kernel::Store& n) {
    const Value value = env_.evaluate(n.value);
    const Value mask = n.mask ? env_.evaluate(n.mask) : Value(value.size(), {0, 1});
    check(mask.size() == value.size(), "a mask has the lanes of the value");
    boost::container::static_vector<Value, 8> indices;
    for (const auto& index : n.indices)
      indices.push_back(env_.evaluate(index));
    for (std::size_t l = 0; l < value.size(); ++l) {
      if (!mask[l].i) continue;
      Index at;
      for (const auto& index : indices)
        at.push_back(index.size() == 1 ? index[0].i : index.at(l).i);
      env_.memory->at(n.buffer->id).write(at, value[l]);
    }
  }

  const kernel::Kernel& kernel_;
  Environment env_;
};

}  // namespace

void execute(const tile::Kernel& kernel, Memory& memory) {
  TileExecution(kernel, memory).grid(0);
}
void execute(const kernel::Kernel& kernel, Memory& memory) {
  KernelExecution(kernel, memory).grid(0);
}

}  // namespace tc::test
