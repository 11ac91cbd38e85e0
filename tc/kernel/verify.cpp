// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tc/kernel/fold.h"
#include "tc/kernel/mma.h"
#include "tc/kernel/passes.h"
#include "tc/kernel/text.h"
#include "tc/kernel/uniform.h"
#include "tc/support/check.h"

namespace tc::kernel {
namespace {

bool is_compute(DType type) {
  return compute_type(type) == type;
}

class Verifier {
public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& b = *kernel_.buffers[i];
      if (b.argument != static_cast<int>(i))
        error("buffer '{}' is argument {} at position {}", b.name, b.argument, i);
      if (b.space != Space::Global && b.space != Space::Scratch)
        error("buffer '{}' of a kernel is neither global nor scratch", b.name);
      define(b);
    }
    for (const auto& param : kernel_.int_params) {
      if (param.type != Type{}) error("integer parameter '{}' is not int64", param.name);
      define(param);
    }
    for (const auto& dim : kernel_.grid) {
      if (dim.var.type != Type{}) error("grid variable '{}' is not int64", dim.var.name);
      if (dim.extent < 0) error("grid dimension '{}' has extent {}", dim.var.name, dim.extent);
      define(dim.var);
    }
    for (const auto& dim : kernel_.threads) {
      if (dim.var.type != Type{}) error("thread variable '{}' is not int64", dim.var.name);
      if (dim.extent < 1) error("thread dimension '{}' has extent {}", dim.var.name, dim.extent);
      define(dim.var);
    }
    if (!kernel_.body) error("the kernel has no body");
    statement(kernel_.body);
    return std::move(errors_);
  }

private:
  struct Register {
    Type type;
    int count = 0;
  };

  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    errors_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  // ---- definitions ----
  void define(const Var& var) {
    if (var.id < 0 || !var_ids_.insert(var.id).second)
      error("variable '{}' is defined twice", var.name);
    if (!is_compute(var.type.elem) || var.type.lanes < 1)
      error("variable '{}' has type {}", var.name, to_text(var.type));
    vars_[var.id] = var.type;
  }

  void define(const Buffer& b) {
    if (b.id < 0 || !buffer_ids_.insert(b.id).second) error("buffer '{}' is defined twice", b.name);
    buffers_.insert(b.id);
    if (b.strides.size() != b.extents.size())
      error("buffer '{}' has {} strides for {} dimensions", b.name, b.strides.size(),
            b.extents.size());
    for (const auto extent : b.extents)
      if (extent < 0) error("buffer '{}' has a negative extent", b.name);
    if (b.alignment <= 0 || (b.alignment & (b.alignment - 1)) != 0)
      error("buffer '{}' has alignment {}, which is no power of two", b.name, b.alignment);
    if (bits(b.type) == 4) packed_strides(b);
  }

  void packed_strides(const Buffer& b) {
    for (std::size_t d = 0; d < b.strides.size(); ++d) {
      const bool innermost = d + 1 == b.strides.size();
      if (innermost ? b.strides[d] != 1 : b.strides[d] % 2 != 0)
        error("buffer '{}' of a 4-bit type has stride {} in dimension {}", b.name, b.strides[d], d);
    }
  }

  // ---- expressions ----
  void use(const BufferPtr& b, const std::vector<ExprPtr>& indices) {
    if (!b) return error("an access without a buffer");
    if (buffers_.count(b->id) == 0) error("buffer '{}' is not in scope", b->name);
    if (indices.size() != b->extents.size())
      error("buffer '{}' of {} dimensions has {} subscripts", b->name, b->extents.size(),
            indices.size());
    for (const auto& index : indices) {
      expression(index);
      if (index && index->type.elem != DType::Int64 && index->type.elem != DType::Int32)
        error("a subscript of '{}' has type {}", b->name, to_text(index->type));
      if (index && index->type.lanes > 1 && b->swizzled)
        error("a vector of swizzled buffer '{}'", b->name);
    }
  }

  void expect(const ExprPtr& e, Type type, const char* what) {
    if (e && e->type != type)
      error("{} has type {}, not {}", what, to_text(e->type), to_text(type));
  }

  void expression(const ExprPtr& e) {
    if (!e) return error("an expression is missing");
    if (!is_compute(e->type.elem) || e->type.lanes < 1)
      error("an expression has type {}", to_text(e->type));
    std::visit(Overloaded{
                   [&](const IntImm&) {
                     if (is_float(e->type.elem) || e->type.lanes != 1)
                       error("an integer constant has type {}", to_text(e->type));
                   },
                   [&](const FloatImm&) {
                     if (!is_float(e->type.elem) || e->type.lanes != 1)
                       error("a float constant has type {}", to_text(e->type));
                   },
                   [&](const VarRef& n) { variable(n, e->type); },
                   [&](const RegRef& n) { reg(n.reg, n.slot, e->type); },
                   [&](const Unary& n) {
                     expression(n.operand);
                     expect(n.operand, e->type, "an operand");
                     if ((n.op == UnaryOp::Not) != (e->type.elem == DType::Bool))
                       error("Not is for bool and Negate for numbers");
                   },
                   [&](const Binary& n) { operation(n, e->type); },
                   [&](const Select& n) {
                     for (const auto& child : {n.condition, n.if_true, n.if_false})
                       expression(child);
                     expect(n.condition, {DType::Bool, e->type.lanes}, "a condition");
                     expect(n.if_true, e->type, "a side of a select");
                     expect(n.if_false, e->type, "a side of a select");
                   },
                   [&](const Cast& n) {
                     expression(n.operand);
                     if (n.operand)
                       expect(e, {compute_type(n.to), n.operand->type.lanes}, "a cast");
                   },
                   [&](const Load& n) { loading(n, e->type); },
                   [&](const Ramp& n) {
                     expression(n.base);
                     expect(n.base, {e->type.elem, 1}, "the base of a ramp");
                     if (!is_integer(e->type.elem)) error("a ramp has type {}", to_text(e->type));
                   },
                   [&](const Broadcast& n) {
                     expression(n.value);
                     expect(n.value, {e->type.elem, 1}, "a broadcast value");
                   },
                   [&](const Call& n) {
                     if (n.args.empty()) error("call of '{}' without arguments", n.function);
                     for (const auto& arg : n.args) {
                       expression(arg);
                       if (arg && arg->type.lanes != e->type.lanes)
                         error("an argument of '{}' has {} lanes, not {}", n.function,
                               arg->type.lanes, e->type.lanes);
                     }
                   },
                   [&](const Reduce& n) {
                     expression(n.vector);
                     if (n.vector) expect(e, {n.vector->type.elem, 1}, "a reduction");
                     const bool logical = n.op == ReduceOp::And || n.op == ReduceOp::Or;
                     if (logical != (e->type.elem == DType::Bool))
                       error("reduction '{}' of type {}", symbol(n.op), to_text(e->type));
                   },
                   [&](const Lane& n) {
                     expression(n.vector);
                     if (!n.vector) return;
                     expect(e, {n.vector->type.elem, 1}, "a lane");
                     if (n.lane < 0 || n.lane >= n.vector->type.lanes)
                       error("lane {} of {}", n.lane, n.vector->type.lanes);
                   },
                   [&](const Shuffle& n) {
                     expression(n.value);
                     if (n.value) expect(e, {n.value->type.elem, 1}, "a shuffle");
                     if (kernel_.threads.empty()) error("a shuffle in a kernel without threads");
                   },
               },
               e->node);
  }

  void variable(const VarRef& n, Type type) {
    const auto found = vars_.find(n.var.id);
    if (found == vars_.end()) return error("variable '{}' is not in scope", n.var.name);
    if (found->second != type)
      error("variable '{}' of type {} is used as {}", n.var.name, to_text(found->second),
            to_text(type));
  }

  void reg(int id, const ExprPtr& slot, Type type) {
    expression(slot);
    expect(slot, Type{}, "a register slot");
    const auto found = registers_.find(id);
    if (found == registers_.end()) return error("register {} is not in scope", id);
    if (found->second.type != type)
      error("register {} of type {} is used as {}", id, to_text(found->second.type), to_text(type));
    const auto constant = slot ? constant_int(slot) : std::nullopt;
    if (constant && (*constant < 0 || *constant >= found->second.count))
      error("slot {} of a register array of {}", *constant, found->second.count);
  }

  void operation(const Binary& n, Type type) {
    expression(n.left);
    expression(n.right);
    if (!n.left || !n.right) return;
    const Type operand = n.left->type;
    expect(n.right, operand, "an operand");
    const bool comparison = n.op >= BinaryOp::Lt && n.op <= BinaryOp::Ne;
    const Type result = comparison ? Type{DType::Bool, operand.lanes} : operand;
    if (result != type)
      error("'{}' gives {}, not {}", symbol(n.op), to_text(result), to_text(type));
    const bool logical = n.op == BinaryOp::And || n.op == BinaryOp::Or;
    const bool equality = n.op == BinaryOp::Eq || n.op == BinaryOp::Ne;
    const bool whole = n.op == BinaryOp::FloorDiv || n.op == BinaryOp::FloorMod;
    const bool fits = logical                 ? operand.elem == DType::Bool
                      : whole                 ? is_integer(operand.elem)
                      : n.op == BinaryOp::Div ? is_float(operand.elem)
                                              : equality || operand.elem != DType::Bool;
    if (!fits) error("'{}' of {}", symbol(n.op), to_text(operand));
  }

  void loading(const Load& n, Type type) {
    use(n.buffer, n.indices);
    if (!n.buffer) return;
    if (compute_type(n.buffer->type) != type.elem)
      error("a load from '{}' has type {}", n.buffer->name, to_text(type));
    bool vector = type.lanes == 1;
    const auto lanes = [&](const ExprPtr& e) {
      if (!e) return;
      if (e->type.lanes == type.lanes) vector = true;
      if (e->type.lanes != 1 && e->type.lanes != type.lanes)
        error("a load of {} lanes from '{}' has an operand of {}", type.lanes, n.buffer->name,
              e->type.lanes);
    };
    for (const auto& index : n.indices)
      lanes(index);
    if (n.otherwise && !n.mask)
      error("a load from '{}' has a replacement but no mask", n.buffer->name);
    if (n.mask) {
      expression(n.mask);
      lanes(n.mask);
      expect(n.mask, {DType::Bool, type.lanes}, "the mask of a load");
    }
    if (n.otherwise) {
      expression(n.otherwise);
      expect(n.otherwise, type, "the replacement of a load");
    }
    if (!vector) error("a load of {} lanes from '{}' has only scalars", type.lanes, n.buffer->name);
  }

  // ---- statements ----
  /// A statement with a scope of its own.
  void scoped(const StmtPtr& stmt) {
    const auto vars = vars_;
    const auto registers = registers_;
    const auto buffers = buffers_;
    statement(stmt);
    vars_ = vars;
    registers_ = registers;
    buffers_ = buffers;
  }

  void statement(const StmtPtr& stmt) {
    if (!stmt) return;
    std::visit(Overloaded{
                   [&](const Block& n) {
                     for (const auto& child : n.stmts) {
                       if (child && std::holds_alternative<Block>(child->node))
                         scoped(child);
                       else
                         statement(child);
                     }
                   },
                   [&](const For& n) { loop(n); },
                   [&](const If& n) {
                     expression(n.condition);
                     expect(n.condition, {DType::Bool, 1}, "the condition of an if");
                     scoped(n.then_body);
                     scoped(n.else_body);
                   },
                   [&](const Let& n) {
                     expression(n.value);
                     expect(n.value, n.var.type, "the value of a let");
                     define(n.var);
                   },
                   [&](const Declare& n) { declaration(n); },
                   [&](const Assign& n) {
                     expression(n.value);
                     if (n.value) reg(n.reg, n.slot, n.value->type);
                   },
                   [&](const Store& n) { storing(n.buffer, n.indices, n.value, n.mask, "store"); },
                   [&](const Alloc& n) { allocation(n); },
                   [&](const Atomic& n) {
                     storing(n.buffer, n.indices, n.value, n.mask, "atomic");
                     const bool logical = n.op == ReduceOp::And || n.op == ReduceOp::Or;
                     if (n.buffer && logical != (n.buffer->type == DType::Bool))
                       error("atomic '{}' on '{}' of {}", symbol(n.op), n.buffer->name,
                             name(n.buffer->type));
                   },
                   [&](const Barrier& n) {
                     if (n.scope.empty()) error("a barrier names its participants");
                   },
                   [&](const Mma& n) { product(n); },
                   [&](const Copy& n) { copy(n); },
                   [&](const Await& n) {
                     if (n.pending < 0) error("an await that leaves {}", n.pending);
                   },
                   [](const Comment&) {},
               },
               stmt->node);
  }

  void loop(const For& n) {
    expression(n.lo);
    expression(n.hi);
    if (!is_integer(n.var.type.elem) || n.var.type.lanes != 1)
      error("loop variable '{}' has type {}", n.var.name, to_text(n.var.type));
    expect(n.lo, n.var.type, "the lower bound of a loop");
    expect(n.hi, n.var.type, "the upper bound of a loop");
    if (n.step <= 0) error("loop '{}' has step {}", n.var.name, n.step);
    const bool unrolled = n.kind == ForKind::Unrolled;
    if (unrolled && !(is_known(n.lo) && is_known(n.hi)))
      error("unrolled loop '{}' has bounds that are not constant", n.var.name);
    const auto vars = vars_;
    define(n.var);
    if (unrolled) unrolled_.insert(n.var.id);
    scoped(n.body);
    vars_ = vars;
  }

  /// Constant once the enclosing unrolled loops are expanded.
  bool is_known(const ExprPtr& e) const {
    bool known = true;
    walk(e, [&](const Expr& child) {
      if (const auto* ref = std::get_if<VarRef>(&child.node))
        known = known && unrolled_.count(ref->var.id) != 0;
      known = known && !std::holds_alternative<Load>(child.node) &&
              !std::holds_alternative<RegRef>(child.node) &&
              !std::holds_alternative<Call>(child.node);
    });
    return known;
  }

  void declaration(const Declare& n) {
    if (n.count < 1) error("register array '{}' of {}", n.name, n.count);
    if (!is_compute(n.type.elem) || n.type.lanes < 1)
      error("register '{}' has type {}", n.name, to_text(n.type));
    if (n.init) {
      expression(n.init);
      expect(n.init, n.type, "the initial value of a register");
    }
    if (!register_ids_.insert(n.reg).second) error("register '{}' is defined twice", n.name);
    registers_[n.reg] = {n.type, n.count};
  }

  void storing(const BufferPtr& b, const std::vector<ExprPtr>& indices, const ExprPtr& value,
               const ExprPtr& mask, const char* what) {
    use(b, indices);
    expression(value);
    if (!b || !value) return;
    if (!b->writable) error("{} to '{}', which is not writable", what, b->name);
    if (value->type.elem != compute_type(b->type))
      error("{} of {} to '{}' of {}", what, to_text(value->type), b->name, name(b->type));
    int lanes = 1;
    for (const auto& index : indices)
      if (index) lanes = std::max(lanes, index->type.lanes);
    for (const auto& index : indices)
      if (index && index->type.lanes != 1 && index->type.lanes != lanes)
        error("subscripts of '{}' have {} and {} lanes", b->name, index->type.lanes, lanes);
    if (value->type.lanes != 1 && value->type.lanes != lanes)
      error("{} of {} lanes to {} elements of '{}'", what, value->type.lanes, lanes, b->name);
    if (!mask) return;
    expression(mask);
    if (mask->type.elem != DType::Bool || (mask->type.lanes != 1 && mask->type.lanes != lanes))
      error("the mask of a {} to '{}' has type {}", what, b->name, to_text(mask->type));
  }

  // ---- tensor cores and asynchronous copies ----
  void product(const Mma& n) {
    use(n.accumulator, n.first);
    use(n.rows.buffer, n.rows.corner);
    use(n.columns.buffer, n.columns.corner);
    if (!n.accumulator || !n.rows.buffer || !n.columns.buffer) return;
    for (auto& problem : mma_problems(n))
      errors_.push_back(std::move(problem));
    std::int64_t threads = 1;
    for (const auto& dim : kernel_.threads)
      threads *= dim.extent;
    if (kernel_.threads.empty() || threads % kMmaThreads != 0)
      error("a product of warp groups in a kernel of {} threads", threads);
  }

  void copy(const Copy& n) {
    use(n.to, n.to_indices);
    use(n.from, n.from_indices);
    if (!n.to || !n.from) return;
    const auto scalar = [&](const std::vector<ExprPtr>& indices) {
      return std::all_of(indices.begin(), indices.end(),
                         [](const ExprPtr& index) { return index && index->type.lanes == 1; });
    };
    if (!scalar(n.to_indices) || !scalar(n.from_indices))
      error("a copy to '{}' has a vector as subscript", n.to->name);
    if (n.to->space != Space::Shared || !n.to->writable)
      error("a copy to '{}', which is not shared memory to write to", n.to->name);
    if (n.from->space != Space::Global && n.from->space != Space::Scratch)
      error("a copy from '{}', which is not in global memory", n.from->name);
    if (n.to->type != n.from->type || bits(n.to->type) < 8)
      error("a copy from '{}' of {} to '{}' of {}", n.from->name, name(n.from->type), n.to->name,
            name(n.to->type));
    const std::int64_t bytes = n.count * bits(n.to->type) / 8;
    if (bytes != 4 && bytes != 8 && bytes != 16)
      error("a copy of {} bytes to '{}'", bytes, n.to->name);
    if (!n.predicate) return;
    expression(n.predicate);
    expect(n.predicate, {DType::Bool, 1}, "the predicate of a copy");
  }

  void allocation(const Alloc& n) {
    if (!n.buffer) return error("an allocation without a buffer");
    const Space space = n.buffer->space;
    if (space != Space::Local && space != Space::Register && space != Space::Shared)
      error("local buffer '{}' is neither local nor in registers nor shared", n.buffer->name);
    if (space == Space::Shared && kernel_.threads.empty())
      error("shared buffer '{}' in a kernel without threads", n.buffer->name);
    if (n.buffer->argument != -1) error("local buffer '{}' is an argument", n.buffer->name);
    if (n.buffer->swizzled && (space != Space::Shared || bits(n.buffer->type) != 16 ||
                               n.buffer->alignment % kSwizzledAlignment != 0))
      error("swizzled buffer '{}' is not of 16-bit elements in shared memory, {} bytes aligned",
            n.buffer->name, kSwizzledAlignment);
    for (const auto stride : n.buffer->strides)
      if (stride < 0) error("local buffer '{}' has a negative stride", n.buffer->name);
    define(*n.buffer);
  }

  const Kernel& kernel_;
  std::vector<std::string> errors_;
  std::set<int> var_ids_, buffer_ids_, register_ids_, unrolled_;
  std::map<int, Type> vars_;
  std::map<int, Register> registers_;
  std::set<int> buffers_;
};

}  // namespace

std::vector<std::string> verify(const Kernel& kernel) {
  std::vector<std::string> errors = Verifier(kernel).run();
  if (!errors.empty()) return errors;
  return divergent_barriers(kernel);
}

}  // namespace tc::kernel
