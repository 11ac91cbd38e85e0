// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "tc/codegen/cuda/emitter.h"
#include "tc/kernel/fold.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::codegen::cuda {

namespace {

constexpr std::int64_t kIntMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();

/// Arrays of at most this many registers name the initial value of each.
constexpr int kListedRegisters = 8;

bool is_zero(const kernel::ExprPtr& expr) {
  if (const auto value = kernel::constant_int(expr)) return *value == 0;
  const auto value = kernel::constant_float(expr);
  return value && *value == 0 && !std::signbit(*value);
}

}  // namespace

void Emitter::line(const std::string& text) {
  text_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n";
}

void Emitter::define(const kernel::Var& var, const std::string& name, bool is_int) {
  vars_[var.id] = {name, is_int};
}

void Emitter::statement(const kernel::StmtPtr& stmt) {
  if (!stmt) return;
  std::visit(Overloaded{
                 [&](const kernel::Block& n) {
                   for (const auto& child : n.stmts)
                     statement(child);
                 },
                 [&](const kernel::For& n) { loop(n); },
                 [&](const kernel::If& n) { branch(n); },
                 [&](const kernel::Let& n) { let(n); },
                 [&](const kernel::Declare& n) { declare(n); },
                 [&](const kernel::Assign& n) { assign(n); },
                 [&](const kernel::Store& n) { store(n); },
                 [&](const kernel::Alloc& n) {
                   // Shared arrays stand at the beginning of the kernel.
                   if (n.buffer->space != kernel::Space::Shared) local(*n.buffer);
                 },
                 [&](const kernel::Atomic& n) { atomic(n); },
                 [&](const kernel::Barrier& n) {
                   check(n.scope == "block" || n.scope == "warp", "a barrier's participants");
                   if (has_warp_groups_) line("tc::publish_panels();");
                   line(fmt::format("tc::barrier_{}();", n.scope));
                 },
                 [&](const kernel::Mma& n) { mma(n); },
                 [&](const kernel::Copy& n) { copy(n); },
                 [&](const kernel::Await& n) { await(n); },
                 [&](const kernel::Comment& n) { line("// " + comment_text(n.text)); },
             },
             stmt->node);
}

bool Emitter::is_fixed(const kernel::ExprPtr& expr) const {
  bool fixed = true;
  walk(expr, [&](const kernel::Expr& e) {
    fixed = fixed && !std::holds_alternative<kernel::RegRef>(e.node) &&
            !std::holds_alternative<kernel::Load>(e.node) &&
            !std::holds_alternative<kernel::Call>(e.node);
  });
  return fixed;
}

void Emitter::loop(const kernel::For& n) {
  const std::string name = identifiers_.unique(n.var.name);
  const DType elem = n.var.type.elem;
  kernel::Interval range = kernel::full_interval(elem);
  bool is_int = elem == DType::Int32;
  bool may_wrap = elem == DType::UInt32 && n.step != 1;
  if (elem == DType::Int64 || elem == DType::Int32) {
    const kernel::Interval lo = facts_.range(n.lo);
    const kernel::Interval hi = facts_.range(n.hi);
    range = {lo.lo, std::max(lo.lo, hi.hi - (hi.hi > lo.lo ? 1 : 0))};
    const bool fits = lo.lo >= kIntMin && hi.hi <= kIntMax - n.step;
    may_wrap = elem == DType::Int32 && !fits;
    is_int = is_int || fits;
  }
  const Text lo = value(n.lo);
  Text hi = value(n.hi);
  // The bound is evaluated once, before the loop.
  if (!is_fixed(n.hi)) {
    const std::string end = identifiers_.unique(n.var.name + "_end");
    line(fmt::format("const {} {} = {};", value_type({hi.elem, 1}), end, hi.code));
    hi = {end, Binding::Whole, hi.elem};
  }
  if (n.kind == kernel::ForKind::Unrolled) line("#pragma unroll");
  // A 32-bit counter that could pass the end of its type counts in 64.
  const std::string counter = may_wrap ? identifiers_.unique(n.var.name + "_wide") : name;
  const std::string type =
      may_wrap || !is_int ? value_type({may_wrap ? DType::Int64 : elem, 1}) : "int";
  const std::string step =
      n.step == 1 ? fmt::format("++{}", counter) : fmt::format("{} += {}", counter, n.step);
  line(fmt::format("for ({} {} = {}; {} < {}; {}) {{", type, counter, lo.code, counter,
                   wrapped(hi, Binding::Shift), step));
  indent();
  if (may_wrap)
    line(fmt::format("const {} {} = static_cast<{}>({});", value_type(n.var.type), name,
                     value_type(n.var.type), counter));
  const kernel::Facts outside = facts_;
  facts_.set_range(n.var, range);
  if (elem == DType::Int64) {
    const std::int64_t factor = std::gcd(factor_of(kernel::affine(n.lo)), n.step);
    facts_.set_multiple(n.var, factor);
  }
  define(n.var, name, is_int);
  statement(n.body);
  facts_ = outside;
  dedent();
  line("}");
}

void Emitter::branch(const kernel::If& n) {
  const Text condition = value(n.condition);
  line(fmt::format("if ({}) {{", condition.code));
  const kernel::Facts outside = facts_;
  const auto arm = [&](const kernel::StmtPtr& body, bool holds) {
    indent();
    facts_.assume(n.condition, holds);
    statement(body);
    facts_ = outside;
    dedent();
  };
  arm(n.then_body, true);
  if (n.else_body) {
    line("} else {");
    arm(n.else_body, false);
  }
  line("}");
}

void Emitter::let(const kernel::Let& n) {
  Text text = value(n.value);
  const std::string name = identifiers_.unique(n.var.name);
  bool is_int = n.var.type.elem == DType::Int64 && text.elem == DType::Int32;
  const bool index = n.var.type == kernel::Type{};
  if (index && !is_int && fits_int(n.value)) {
    text = function("static_cast<int>", {text}, DType::Int32, 1);
    is_int = true;
  }
  const kernel::Type type{is_int ? DType::Int32 : n.var.type.elem, n.var.type.lanes};
  line(fmt::format("const {} {} = {};", value_type(type), name, text.code));
  define(n.var, name, is_int);
  if (index) {
    facts_.set_range(n.var, facts_.range(n.value));
    const std::int64_t factor = factor_of(kernel::affine(n.value));
    // A value that is always 0 is a multiple of anything.
    facts_.set_multiple(n.var, factor == 0 ? 1 : factor);
  }
}

void Emitter::declare(const kernel::Declare& n) {
  const std::string name = identifiers_.unique(n.name);
  registers_[n.reg] = {name, n.count, n.type};
  const std::string type = value_type(n.type);
  const std::string array = n.count == 1 ? name : fmt::format("{}[{}]", name, n.count);
  if (!n.init) return line(fmt::format("{} {};", type, array));
  if (n.count > 1 && is_zero(n.init)) return line(fmt::format("{} {} = {{}};", type, array));
  Text init = value(n.init, n.type.lanes);
  if (n.type.elem == DType::Int64) init = widened(std::move(init));
  if (n.count == 1) return line(fmt::format("{} {} = {};", type, array, init.code));
  if (n.count <= kListedRegisters && kernel::constant_float(n.init) && n.type.lanes == 1) {
    std::string list;
    for (int slot = 0; slot < n.count; ++slot)
      list += (slot == 0 ? "" : ", ") + init.code;
    return line(fmt::format("{} {} = {{{}}};", type, array, list));
  }
  const std::string slot = identifiers_.unique("slot");
  line(fmt::format("{} {};", type, array));
  line("#pragma unroll");
  line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", slot, n.count));
  line(fmt::format("  {}[{}] = {};", name, slot, init.code));
}

void Emitter::assign(const kernel::Assign& n) {
  const auto found = registers_.find(n.reg);
  check(found != registers_.end(), "a register of a verified kernel is in scope");
  const kernel::Type type = found->second.type;
  const Text target = register_text(n.reg, n.slot, type);
  // acc[i] = acc[i] + x
  if (const auto* sum = std::get_if<kernel::Binary>(&n.value->node);
      sum && sum->op == kernel::BinaryOp::Add && is_float(type.elem) && type.lanes == 1) {
    const auto* old = std::get_if<kernel::RegRef>(&sum->left->node);
    if (old && old->reg == n.reg && equal(old->slot, n.slot))
      return line(fmt::format("{} += {};", target.code, value(sum->right).code));
  }
  Text given = value(n.value, type.lanes);
  if (type.elem == DType::Int64 && type.lanes > 1) given = widened(std::move(given));
  line(fmt::format("{} = {};", target.code, given.code));
}

void Emitter::local(const kernel::Buffer& buffer) {
  const std::string name = identifiers_.unique(buffer.name);
  define(buffer, name);
  line(fmt::format("tc::local_array<{}, {}, {}> {};  // {}", storage_type(buffer.type),
                   storage_count(buffer), base_alignment(buffer), name, shape_text(buffer)));
}

}  // namespace tc::codegen::cuda
