// SPDX-License-Identifier: Apache-2.0
//
// Simplification with facts: intervals of loop variables, strides of loops, conditions of enclosing
// branches. Expressions are rebuilt bottom-up by the builders (which fold constants); this pass
// adds what needs the facts.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tc/kernel/affine.h"
#include "tc/kernel/fold.h"
#include "tc/kernel/passes.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::kernel {
namespace {

bool is_index(const Type& type) {
  return type == Type{DType::Int64, 1};
}

/// base = quotient * divisor + rest, as forms; the split that makes rest small.
struct Split {
  Affine quotient;
  Affine rest;
};

class ExprSimplifier {
public:
  explicit ExprSimplifier(const Facts& facts) : facts_(facts) {}

  /// A rule may uncover another one (a uniform vector becomes a scalar that is a sum): until
  /// nothing changes.
  ExprPtr operator()(const ExprPtr& expr) const {
    constexpr int kRounds = 8;
    ExprPtr result = expr;
    for (int round = 0; result && round < kRounds; ++round) {
      ExprPtr next = once(result);
      if (next == result) break;
      result = std::move(next);
    }
    return result;
  }

private:
  ExprPtr once(const ExprPtr& expr) const {
    const ExprPtr inner = map_children(expr, [this](const ExprPtr& child) { return once(child); });
    const auto* n = std::get_if<Binary>(&inner->node);
    if (!n) return inner;
    switch (n->op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul: return is_index(inner->type) ? sum(inner) : inner;
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod: return division(inner, *n);
    case BinaryOp::Min:
    case BinaryOp::Max: return extremum(inner, *n);
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
    case BinaryOp::Eq:
    case BinaryOp::Ne: return comparison(inner, *n);
    default: return inner;
    }
  }

  /// One form for equal sums; the quotient and the remainder of one division join again.
  ExprPtr sum(const ExprPtr& expr) const {
    Affine form = affine(expr);
    while (join_division(form)) {
    }
    ExprPtr result = to_expr(form);
    return equal(result, expr) ? expr : result;
  }

  /// k*c * (x / c) + k * (x % c) = k * x.
  static bool join_division(Affine& form) {
    for (const auto& [atom, k] : form.terms) {
      const auto* mod = std::get_if<Binary>(&atom->node);
      if (!mod || mod->op != BinaryOp::FloorMod) continue;
      const auto c = constant_int(mod->right);
      std::int64_t wanted = 0;
      if (!c || *c <= 0 || !checked_mul(k, *c, wanted)) continue;
      for (const auto& [other, coefficient] : form.terms) {
        const auto* div = std::get_if<Binary>(&other->node);
        if (!div || div->op != BinaryOp::FloorDiv || coefficient != wanted) continue;
        if (!equal(div->left, mod->left) || !equal(div->right, mod->right)) continue;
        Affine joined = form;
        joined.add_term(atom, -k);
        joined.add_term(other, -wanted);
        joined.add(affine(mod->left), k);
        form = std::move(joined);
        return true;
      }
    }
    return false;
  }

  /// Terms whose coefficient is a multiple of c go to the quotient.
  static Split split(const Affine& form, std::int64_t c) {
    Split result;
    for (const auto& [atom, coefficient] : form.terms) {
      if (coefficient % c == 0)
        result.quotient.add_term(atom, coefficient / c);
      else
        result.rest.add_term(atom, coefficient);
    }
    result.quotient.constant = floor_div(form.constant, c);
    result.rest.constant = floor_mod(form.constant, c);
    return result;
  }

  /// Takes the terms out of `rest` that are multiples of c because their atoms are.
  Affine take_multiples(Affine& rest, std::int64_t c) const {
    Affine multiples;
    Affine kept;
    kept.constant = rest.constant;
    for (const auto& [atom, coefficient] : rest.terms) {
      std::int64_t factor = 0;
      const bool divides =
          checked_mul(coefficient, facts_.multiple(atom), factor) && factor % c == 0;
      (divides ? multiples : kept).add_term(atom, coefficient);
    }
    rest = std::move(kept);
    return multiples;
  }

  ExprPtr division(const ExprPtr& expr, const Binary& n) const {
    const auto c = constant_int(n.right);
    if (!c || *c <= 1 || expr->type.elem != DType::Int64) return expr;
    const bool quotient = n.op == BinaryOp::FloorDiv;
    const int lanes = expr->type.lanes;
    if (const auto nested = nested_division(n, *c)) return *nested;
    auto form = lane_affine(n.left);
    if (!form || !facts_.exact_range(*form)) return expr;
    const Split parts = split(form->base, *c);
    LaneAffine rest{parts.rest, form->step, form->lanes};
    const Affine multiples = take_multiples(rest.base, *c);
    const auto rest_range = facts_.exact_range(rest);
    if (!rest_range || !facts_.exact_range(parts.quotient)) return expr;
    if (rest_range->lo >= 0 && rest_range->hi < *c) {
      if (!quotient) return ramp(to_expr(rest.base), rest.step, lanes);
      ExprPtr result = to_expr(parts.quotient);
      if (!multiples.terms.empty())
        result = add(result, binary(BinaryOp::FloorDiv, to_expr(multiples), int_imm(*c)));
      return broadcast(sum(result), lanes);
    }
    if (lanes > 1) return vector_division(expr, *form, *c, quotient);
    return scalar_division(expr, parts, multiples, rest.base, *c, quotient);
  }

  /// A ramp whose step is a multiple of the divisor, or whose lanes cross no multiple of it.
  ExprPtr vector_division(const ExprPtr& expr, const LaneAffine& form, std::int64_t c,
                          bool quotient) const {
    const BinaryOp op = quotient ? BinaryOp::FloorDiv : BinaryOp::FloorMod;
    const auto base = [&] { return (*this)(binary(op, to_expr(form.base), int_imm(c))); };
    if (form.step % c == 0)
      return quotient ? ramp(base(), form.step / c, form.lanes) : broadcast(base(), form.lanes);
    // base = block * y + offset for some y.
    std::int64_t block = c;
    for (const auto& [atom, coefficient] : form.base.terms) {
      std::int64_t factor = 0;
      if (!checked_mul(coefficient, facts_.multiple(atom), factor)) factor = coefficient;
      block = std::gcd(block, factor);
    }
    const std::int64_t offset = floor_mod(form.base.constant, block);
    std::int64_t reach = 0;
    if (form.step < 0 || !checked_mul(form.step, form.lanes - 1, reach) ||
        !checked_add(reach, offset, reach) || reach >= block)
      return expr;
    return quotient ? broadcast(base(), form.lanes) : ramp(base(), form.step, form.lanes);
  }

  /// The form over g, rounded down; g divides every coefficient.
  static Affine divided(const Affine& form, std::int64_t g) {
    Affine result;
    for (const auto& [atom, coefficient] : form.terms)
      result.add_term(atom, coefficient / g);
    result.constant = floor_div(form.constant, g);
    return result;
  }

  ExprPtr scalar_division(const ExprPtr& expr, const Split& parts, const Affine& multiples,
                          const Affine& small, std::int64_t c, bool quotient) const {
    const bool has_quotient = !parts.quotient.terms.empty() || parts.quotient.constant != 0;
    // The common factor of divisor and terms goes; the constant rounds down.
    std::int64_t g = c;
    for (const auto& [atom, coefficient] : small.terms)
      g = std::gcd(g, coefficient);
    if (!quotient) {
      const bool common = g > 1 && g < c && !small.terms.empty();
      if (!has_quotient && multiples.terms.empty() && !common) return expr;
      if (!common) return binary(BinaryOp::FloorMod, to_expr(small), int_imm(c));
      // (g*y + r) % (g*d) = g * (y % d) + r
      const ExprPtr low =
          (*this)(binary(BinaryOp::FloorMod, to_expr(divided(small, g)), int_imm(c / g)));
      return sum(add(mul(low, int_imm(g)), int_imm(floor_mod(small.constant, g))));
    }
    g = c;
    for (const auto& [atom, coefficient] : parts.rest.terms)
      g = std::gcd(g, coefficient);
    if (!has_quotient && (g == 1 || parts.rest.terms.empty())) return expr;
    const ExprPtr low =
        (*this)(binary(BinaryOp::FloorDiv, to_expr(divided(parts.rest, g)), int_imm(c / g)));
    return sum(add(to_expr(parts.quotient), low));
  }

  /// (x / a) / c = x / (a * c);  (x % a) % c = x % c where c divides a.
  std::optional<ExprPtr> nested_division(const Binary& n, std::int64_t c) const {
    const auto* inner = std::get_if<Binary>(&n.left->node);
    if (!inner || inner->op != n.op) return std::nullopt;
    const auto a = constant_int(inner->right);
    if (!a || *a <= 0) return std::nullopt;
    const int lanes = n.left->type.lanes;
    std::int64_t product = 0;
    if (n.op == BinaryOp::FloorMod)
      return *a % c == 0
                 ? std::optional((*this)(binary(n.op, inner->left, broadcast(int_imm(c), lanes))))
                 : std::nullopt;
    if (!checked_mul(*a, c, product)) return std::nullopt;
    return (*this)(binary(n.op, inner->left, broadcast(int_imm(product), lanes)));
  }

  ExprPtr extremum(const ExprPtr& expr, const Binary& n) const {
    if (!is_integer(expr->type.elem)) return expr;
    const bool minimum = n.op == BinaryOp::Min;
    if (equal(n.left, n.right)) return n.left;
    if (const auto order = facts_.at_most(n.left, n.right))
      return *order == minimum ? n.left : n.right;
    if (const auto order = facts_.at_most(n.right, n.left))
      return *order == minimum ? n.right : n.left;
    return expr;
  }

  ExprPtr comparison(const ExprPtr& expr, const Binary& n) const {
    if (!is_integer(n.left->type.elem)) return expr;
    const int lanes = expr->type.lanes;
    const auto known = [&](bool value) { return broadcast(bool_imm(value), lanes); };
    // At most one of the four questions below is asked per operation, so each stays cheap.
    switch (n.op) {
    case BinaryOp::Le:
      if (const auto v = facts_.at_most(n.left, n.right)) return known(*v);
      break;
    case BinaryOp::Gt:
      if (const auto v = facts_.at_most(n.left, n.right)) return known(!*v);
      break;
    case BinaryOp::Ge:
      if (const auto v = facts_.at_most(n.right, n.left)) return known(*v);
      break;
    case BinaryOp::Lt:
      if (const auto v = facts_.at_most(n.right, n.left)) return known(!*v);
      break;
    default: {
      const auto above = facts_.at_most(n.left, n.right);
      const auto below = facts_.at_most(n.right, n.left);
      const bool equal_op = n.op == BinaryOp::Eq;
      if ((above && !*above) || (below && !*below)) return known(!equal_op);
      if (above && below) return known(equal_op);
    }
    }
    return shorter_comparison(expr, n);
  }

  /// Terms that both sides of a comparison of whole numbers share go; one constant is left.
  ExprPtr shorter_comparison(const ExprPtr& expr, const Binary& n) const {
    if (!is_index(n.left->type)) return expr;
    const Affine left = affine(n.left);
    const Affine right = affine(n.right);
    if (!facts_.exact_range(left) || !facts_.exact_range(right)) return expr;
    Affine difference = left;
    difference.add(right, -1);
    const bool fewer_terms = difference.terms.size() < left.terms.size() + right.terms.size();
    const bool two_constants = left.constant != 0 && right.constant != 0;
    if (!fewer_terms && !two_constants) return expr;
    if (!facts_.exact_range(difference)) return expr;
    Affine a;
    Affine b;
    for (const auto& [atom, coefficient] : difference.terms) {
      if (coefficient > 0)
        a.add_term(atom, coefficient);
      else
        b.add_term(atom, -coefficient);
    }
    if (difference.constant == std::numeric_limits<std::int64_t>::min()) return expr;
    b.constant = -difference.constant;
    if (!facts_.exact_range(a) || !facts_.exact_range(b)) return expr;
    return binary(n.op, to_expr(a), to_expr(b));
  }

  const Facts& facts_;
};

class StmtSimplifier {
public:
  explicit StmtSimplifier(Facts facts) : facts_(std::move(facts)) {}

  StmtPtr operator()(const StmtPtr& stmt) {
    if (!stmt) return nullptr;
    if (const auto* n = std::get_if<Block>(&stmt->node)) return sequence(*n);
    if (const auto* n = std::get_if<For>(&stmt->node)) return loop(*n);
    if (const auto* n = std::get_if<If>(&stmt->node)) return conditional(*n);
    const ExprSimplifier simplify_expr(facts_);
    StmtPtr result = map_children(
        stmt, [&](const ExprPtr& e) { return simplify_expr(e); },
        [](const StmtPtr& s) { return s; });
    if (const auto* n = std::get_if<Store>(&result->node))
      if (is_false(n->mask)) return block({});
    if (const auto* n = std::get_if<Atomic>(&result->node))
      if (is_false(n->mask)) return block({});
    return without_true_mask(result);
  }

private:
  static bool is_false(const ExprPtr& mask) { return mask && constant_int(mask) == 0; }

  static StmtPtr without_true_mask(const StmtPtr& stmt) {
    const auto is_true = [](const ExprPtr& mask) {
      return mask && constant_int(mask).value_or(0) != 0;
    };
    if (const auto* n = std::get_if<Store>(&stmt->node); n && is_true(n->mask))
      return make_stmt(Store{n->buffer, n->indices, n->value, nullptr, n->agreed});
    if (const auto* n = std::get_if<Atomic>(&stmt->node); n && is_true(n->mask))
      return make_stmt(Atomic{n->op, n->buffer, n->indices, n->value, nullptr});
    return stmt;
  }

  StmtPtr sequence(const Block& n) {
    std::vector<StmtPtr> stmts;
    std::vector<std::pair<int, ExprPtr>> replaced;
    for (const auto& child : n.stmts) {
      StmtPtr stmt = (*this)(substitute(child, replaced));
      if (const auto* let = std::get_if<Let>(&stmt->node)) {
        const auto& node = let->value->node;
        if (std::holds_alternative<IntImm>(node) || std::holds_alternative<FloatImm>(node) ||
            std::holds_alternative<VarRef>(node)) {
          replaced.emplace_back(let->var.id, let->value);
          continue;
        }
        if (is_integer(let->value->type.elem)) facts_.set_range(let->var, facts_.range(let->value));
      }
      stmts.push_back(std::move(stmt));
    }
    return block(std::move(stmts));
  }

  static bool is_empty(const StmtPtr& stmt) {
    if (!stmt) return true;
    const auto* n = std::get_if<Block>(&stmt->node);
    return n && n->stmts.empty();
  }

  StmtPtr conditional(const If& n) {
    const ExprPtr condition = ExprSimplifier(facts_)(n.condition);
    if (const auto value = constant_int(condition)) {
      const StmtPtr& taken = *value != 0 ? n.then_body : n.else_body;
      // In a block of its own: what the branch defines stays in the branch.
      return taken ? (*this)(taken) : block({});
    }
    const auto branch = [&](const StmtPtr& body, bool holds) {
      Facts inner = facts_;
      inner.assume(condition, holds);
      return StmtSimplifier(std::move(inner))(body);
    };
    StmtPtr then_body = branch(n.then_body, true);
    StmtPtr else_body = branch(n.else_body, false);
    if (is_empty(else_body)) else_body = nullptr;
    if (is_empty(then_body)) {
      if (!else_body) return block({});
      return make_stmt(If{unary(UnaryOp::Not, condition), std::move(else_body), nullptr});
    }
    return make_stmt(If{condition, std::move(then_body), std::move(else_body)});
  }

  StmtPtr loop(const For& n) {
    const ExprSimplifier simplify_expr(facts_);
    const ExprPtr lo = simplify_expr(n.lo);
    const ExprPtr hi = simplify_expr(n.hi);
    if (facts_.at_most(hi, lo) == true) return block({});
    if (runs_once(lo, hi, n.step)) return (*this)(substitute(n.body, {{n.var.id, lo}}));
    Facts inner = facts_;
    note_loop(n, lo, hi, inner);
    StmtPtr body = StmtSimplifier(std::move(inner))(n.body);
    if (is_empty(body)) return block({});
    return make_stmt(For{n.var, lo, hi, n.step, n.kind, std::move(body)});
  }

  bool runs_once(const ExprPtr& lo, const ExprPtr& hi, std::int64_t step) const {
    if (!is_index(lo->type)) return false;
    if (facts_.at_most(hi, lo) != false) return false;
    Affine next = affine(lo);
    if (!facts_.exact_range(next) || !checked_add(next.constant, step, next.constant)) return false;
    if (!facts_.exact_range(next)) return false;
    return facts_.at_most(hi, to_expr(next)) == true;
  }

  static void note_loop(const For& n, const ExprPtr& lo, const ExprPtr& hi, Facts& inner) {
    if (!is_index(n.var.type)) return;
    const Interval low = inner.range(lo);
    const Interval high = inner.range(hi);
    std::int64_t last = 0;
    if (!checked_add(high.hi, -1, last)) return;
    std::int64_t distance = 0;
    if (low.lo == low.hi && low.lo != std::numeric_limits<std::int64_t>::min() &&
        checked_add(last, -low.lo, distance) && distance >= 0)
      last = low.lo + distance / n.step * n.step;
    if (low.lo <= last) inner.set_range(n.var, {low.lo, last});
    const auto start = constant_int(lo);
    if (start && *start != std::numeric_limits<std::int64_t>::min())
      inner.set_multiple(n.var, std::gcd(*start, n.step));
    inner.assume(binary(BinaryOp::Le, lo, var_ref(n.var)), true);
    inner.assume(binary(BinaryOp::Lt, var_ref(n.var), hi), true);
  }

  Facts facts_;
};

}  // namespace

Kernel simplify(const Kernel& kernel) {
  Facts facts;
  for (const auto& dim : kernel.grid)
    facts.set_range(dim.var, {0, std::max<std::int64_t>(dim.extent - 1, 0)});
  for (const auto& dim : kernel.threads)
    facts.set_range(dim.var, {0, std::max<std::int64_t>(dim.extent - 1, 0)});
  Kernel result = kernel;
  result.body = StmtSimplifier(std::move(facts))(kernel.body);
  return result;
}

ExprPtr simplify(const ExprPtr& expr, const std::vector<VarRange>& ranges) {
  Facts facts;
  for (const auto& [var, lo, hi] : ranges)
    facts.set_range(var, {lo, hi});
  return ExprSimplifier(facts)(expr);
}

}  // namespace tc::kernel
