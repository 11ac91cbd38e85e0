// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/typed.h"

#include <cmath>
#include <utility>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang {

namespace {

bool is_comparison(BinaryOp op) {
  switch (op) {
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne: return true;
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::Mod:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::And:
  case BinaryOp::Or: return false;
  }
  unreachable("BinaryOp");
}

bool is_logic(BinaryOp op) {
  return op == BinaryOp::And || op == BinaryOp::Or;
}

std::optional<std::int64_t> int_constant(const ExprPtr& expr) {
  const auto* constant = std::get_if<IntConst>(&expr->node);
  if (!constant) return std::nullopt;
  return constant->value;
}

bool fits(DType type, std::int64_t value) {
  if (type == DType::Bool) return value == 0 || value == 1;
  if (!is_integer(type)) return false;
  return wrap_to(type, value) == value;
}

/// Exact integer result; nullopt where int64 does not hold it.
std::optional<std::int64_t> apply_int(BinaryOp op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  switch (op) {
  case BinaryOp::Add: return checked_add(a, b, out) ? std::optional(out) : std::nullopt;
  case BinaryOp::Sub:
    if (b == INT64_MIN) return std::nullopt;
    return checked_add(a, -b, out) ? std::optional(out) : std::nullopt;
  case BinaryOp::Mul: return checked_mul(a, b, out) ? std::optional(out) : std::nullopt;
  case BinaryOp::Div: return floor_div(a, b);
  case BinaryOp::Mod: return floor_mod(a, b);
  case BinaryOp::Min: return a < b ? a : b;
  case BinaryOp::Max: return a > b ? a : b;
  case BinaryOp::Lt: return a < b;
  case BinaryOp::Le: return a <= b;
  case BinaryOp::Gt: return a > b;
  case BinaryOp::Ge: return a >= b;
  case BinaryOp::Eq: return a == b;
  case BinaryOp::Ne: return a != b;
  case BinaryOp::And: return a != 0 && b != 0;
  case BinaryOp::Or: return a != 0 || b != 0;
  }
  unreachable("BinaryOp");
}

ExprPtr fold_int(BinaryOp op, const ExprPtr& left, const ExprPtr& right, DType type,
                 SourceRange range) {
  // A uint64 constant is a bit pattern: its order and quotients are not those of int64.
  if (left->type == DType::UInt64) return nullptr;
  const auto a = int_constant(left);
  const auto b = int_constant(right);
  if (!a || !b) return nullptr;
  const auto value = apply_int(op, *a, *b);
  if (!value || !fits(type, *value)) return nullptr;
  return make_int(*value, type, range);
}

ExprPtr fold_float(BinaryOp op, const ExprPtr& left, const ExprPtr& right, DType type,
                   SourceRange range) {
  const auto* a = std::get_if<FloatConst>(&left->node);
  const auto* b = std::get_if<FloatConst>(&right->node);
  if (!a || !b) return nullptr;
  // Rounding the double result once more is exact for float32: 53 >= 2*24 + 2 bits.
  switch (op) {
  case BinaryOp::Add: return make_float(a->value + b->value, type, range);
  case BinaryOp::Sub: return make_float(a->value - b->value, type, range);
  case BinaryOp::Mul: return make_float(a->value * b->value, type, range);
  case BinaryOp::Div: return make_float(a->value / b->value, type, range);
  case BinaryOp::Mod:
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::And:
  case BinaryOp::Or: return nullptr;
  }
  unreachable("BinaryOp");
}

/// `(x + c) + d` and the like with one constant; null if that is not the form or the constant does
/// not fit.
ExprPtr join_constants(BinaryOp op, const ExprPtr& left, std::int64_t right, SourceRange range) {
  const auto* inner = std::get_if<Binary>(&left->node);
  if (!inner || (inner->op != BinaryOp::Add && inner->op != BinaryOp::Sub)) return nullptr;
  const auto constant = int_constant(inner->right);
  if (!constant || *constant == INT64_MIN || right == INT64_MIN) return nullptr;
  const std::int64_t first = inner->op == BinaryOp::Add ? *constant : -*constant;
  const std::int64_t second = op == BinaryOp::Add ? right : -right;
  std::int64_t sum = 0;
  if (!checked_add(first, second, sum) || sum == INT64_MIN ||
      !fits(left->type, sum < 0 ? -sum : sum))
    return nullptr;
  if (sum < 0)
    return make_binary(BinaryOp::Sub, inner->left, make_int(-sum, left->type, range), range);
  return make_binary(BinaryOp::Add, inner->left, make_int(sum, left->type, range), range);
}

/// Integer identities. Operands with Reads are never dropped: the proofs must see every access.
ExprPtr simplify_int(BinaryOp op, const ExprPtr& left, const ExprPtr& right, SourceRange range) {
  const auto a = int_constant(left);
  const auto b = int_constant(right);
  switch (op) {
  case BinaryOp::Add:
    if (a == 0) return right;
    if (b == 0) return left;
    return b ? join_constants(op, left, *b, range) : nullptr;
  case BinaryOp::Sub:
    if (b == 0) return left;
    return b ? join_constants(op, left, *b, range) : nullptr;
  case BinaryOp::Mul:
    if (a == 1) return right;
    if (b == 1) return left;
    if ((a == 0 && !contains_read(right)) || (b == 0 && !contains_read(left)))
      return make_int(0, left->type, range);
    return nullptr;
  case BinaryOp::Div:
    if (b == 1) return left;
    return nullptr;
  case BinaryOp::Mod:
    if (b == 1 && !contains_read(left)) return make_int(0, left->type, range);
    return nullptr;
  case BinaryOp::Min:
  case BinaryOp::Max:
    if (equal(left, right)) return left;
    return nullptr;
  case BinaryOp::Le:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
    if (equal(left, right) && !contains_read(left)) return make_int(1, DType::Bool, range);
    return nullptr;
  case BinaryOp::Lt:
  case BinaryOp::Gt:
  case BinaryOp::Ne:
    if (equal(left, right) && !contains_read(left)) return make_int(0, DType::Bool, range);
    return nullptr;
  case BinaryOp::And:
  case BinaryOp::Or: return nullptr;
  }
  unreachable("BinaryOp");
}

ExprPtr simplify_logic(BinaryOp op, const ExprPtr& left, const ExprPtr& right) {
  const std::int64_t neutral = op == BinaryOp::And ? 1 : 0;
  if (const auto a = int_constant(left)) {
    if (*a == neutral) return right;
    return left;  // the right operand is never evaluated
  }
  if (const auto b = int_constant(right); b == neutral) return left;
  return nullptr;
}

}  // namespace

ExprPtr make_expr(DType type, SourceRange range, decltype(Expr::node) node) {
  return std::make_shared<const Expr>(Expr{type, range, std::move(node)});
}

ExprPtr make_int(std::int64_t value, DType type, SourceRange range) {
  return make_expr(type, range, IntConst{value});
}

ExprPtr make_float(double value, DType type, SourceRange range) {
  return make_expr(type, range, FloatConst{round_to(type, value)});
}

ExprPtr make_index(int index, DType type, SourceRange range) {
  return make_expr(type, range, IndexRef{index});
}

ExprPtr make_unary(UnaryOp op, ExprPtr operand, SourceRange range) {
  if (const auto* constant = std::get_if<IntConst>(&operand->node)) {
    if (op == UnaryOp::Not) return make_int(constant->value == 0, DType::Bool, range);
    if (constant->value != INT64_MIN && fits(operand->type, -constant->value))
      return make_int(-constant->value, operand->type, range);
  }
  if (const auto* constant = std::get_if<FloatConst>(&operand->node);
      constant && op == UnaryOp::Negate)
    return make_float(-constant->value, operand->type, range);
  if (const auto* inner = std::get_if<Unary>(&operand->node); inner && inner->op == op)
    return inner->operand;
  const DType type = operand->type;
  return make_expr(type, range, Unary{op, std::move(operand)});
}

ExprPtr make_cast(DType to, ExprPtr operand, SourceRange range) {
  const DType result = compute_type(to);
  if (to == operand->type) return operand;
  if (const auto* constant = std::get_if<IntConst>(&operand->node)) {
    const bool from_unsigned = operand->type == DType::UInt64;
    if (to == DType::Bool) return make_int(constant->value != 0, to, range);
    if (is_integer(to)) return make_int(wrap_to(to, constant->value), result, range);
    // float64 first would round twice: int64 -> float32 is rounded here in one step.
    if (result == DType::Float32 && to == DType::Float32) {
      const float rounded = from_unsigned
                                ? static_cast<float>(static_cast<std::uint64_t>(constant->value))
                                : static_cast<float>(constant->value);
      return make_float(rounded, result, range);
    }
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (to == DType::Float64 || (constant->value > -kExact && constant->value < kExact)) {
      const double wide = from_unsigned
                              ? static_cast<double>(static_cast<std::uint64_t>(constant->value))
                              : static_cast<double>(constant->value);
      return make_float(round_to(to, wide), result, range);
    }
  }
  if (const auto* constant = std::get_if<FloatConst>(&operand->node)) {
    if (to == DType::Bool) return make_int(constant->value != 0, to, range);
    if (is_integer(to)) return make_int(float_to_integer(to, constant->value), result, range);
    return make_float(round_to(to, constant->value), result, range);
  }
  return make_expr(result, range, Cast{to, std::move(operand)});
}

ExprPtr make_binary(BinaryOp op, ExprPtr left, ExprPtr right, SourceRange range) {
  check(left && right, "make_binary without operands");
  if (left->type != right->type && is_integer(left->type) && is_integer(right->type)) {
    const DType wide = promote(left->type, right->type).value_or(DType::Int64);
    left = make_cast(wide, left, left->range);
    right = make_cast(wide, right, right->range);
  }
  check(left->type == right->type, "operands of a binary operator must have one type");
  const DType type = is_comparison(op) || is_logic(op) ? DType::Bool : left->type;
  if (is_float(left->type)) {
    if (ExprPtr folded = fold_float(op, left, right, type, range)) return folded;
  } else {
    if (ExprPtr folded = fold_int(op, left, right, type, range)) return folded;
    ExprPtr simple =
        is_logic(op) ? simplify_logic(op, left, right) : simplify_int(op, left, right, range);
    if (simple) return simple;
  }
  return make_expr(type, range, Binary{op, std::move(left), std::move(right)});
}

namespace {

/// The children in evaluation order; null children (an absent pad) are left out.
template <class F>
void for_each_child(const Expr& expr, F&& f) {
  std::visit(Overloaded{
                 [](const IntConst&) {},
                 [](const FloatConst&) {},
                 [](const IndexRef&) {},
                 [](const SizeRef&) {},
                 [](const ConstRef&) {},
                 [](const ForRef&) {},
                 [](const DimOf&) {},
                 [&](const Read& read) {
                   for (const ExprPtr& subscript : read.subscripts)
                     f(subscript);
                   if (read.pad) f(read.pad);
                 },
                 [&](const Unary& unary) { f(unary.operand); },
                 [&](const Binary& binary) {
                   f(binary.left);
                   f(binary.right);
                 },
                 [&](const Select& select) {
                   f(select.condition);
                   f(select.if_true);
                   f(select.if_false);
                 },
                 [&](const Cast& cast) { f(cast.operand); },
                 [&](const Builtin& builtin) {
                   for (const ExprPtr& arg : builtin.args)
                     f(arg);
                 },
             },
             expr.node);
}

}  // namespace

ExprPtr map_children(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& f) {
  bool changed = false;
  const auto map = [&](const ExprPtr& child) {
    ExprPtr mapped = f(child);
    if (mapped != child) changed = true;
    return mapped;
  };
  const auto map_all = [&](const std::vector<ExprPtr>& children) {
    std::vector<ExprPtr> mapped;
    mapped.reserve(children.size());
    for (const ExprPtr& child : children)
      mapped.push_back(map(child));
    return mapped;
  };
  using Result = decltype(Expr::node);
  Result node = std::visit(
      Overloaded{
          [](const IntConst& leaf) -> Result { return leaf; },
          [](const FloatConst& leaf) -> Result { return leaf; },
          [](const IndexRef& leaf) -> Result { return leaf; },
          [](const SizeRef& leaf) -> Result { return leaf; },
          [](const ConstRef& leaf) -> Result { return leaf; },
          [](const ForRef& leaf) -> Result { return leaf; },
          [](const DimOf& leaf) -> Result { return leaf; },
          [&](const Read& read) -> Result {
            std::vector<ExprPtr> subscripts = map_all(read.subscripts);
            return Read{read.tensor, std::move(subscripts), read.pad ? map(read.pad) : nullptr};
          },
          [&](const Unary& unary) -> Result { return Unary{unary.op, map(unary.operand)}; },
          [&](const Binary& binary) -> Result {
            ExprPtr left = map(binary.left);
            return Binary{binary.op, std::move(left), map(binary.right)};
          },
          [&](const Select& select) -> Result {
            ExprPtr condition = map(select.condition);
            ExprPtr if_true = map(select.if_true);
            return Select{std::move(condition), std::move(if_true), map(select.if_false)};
          },
          [&](const Cast& cast) -> Result { return Cast{cast.to, map(cast.operand)}; },
          [&](const Builtin& builtin) -> Result {
            return Builtin{builtin.name, map_all(builtin.args)};
          },
      },
      expr->node);
  if (!changed) return expr;
  return make_expr(expr->type, expr->range, std::move(node));
}

void walk(const ExprPtr& expr, const std::function<void(const Expr&)>& f) {
  if (!expr) return;
  f(*expr);
  for_each_child(*expr, [&](const ExprPtr& child) { walk(child, f); });
}

ExprPtr rewrite(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& f) {
  if (!expr) return expr;
  ExprPtr rebuilt = map_children(expr, [&](const ExprPtr& child) { return rewrite(child, f); });
  ExprPtr replaced = f(rebuilt);
  return replaced ? replaced : rebuilt;
}

bool contains_read(const ExprPtr& expr) {
  if (std::holds_alternative<Read>(expr->node)) return true;
  bool found = false;
  for_each_child(*expr, [&](const ExprPtr& child) { found = found || contains_read(child); });
  return found;
}

namespace {

bool equal_lists(const std::vector<ExprPtr>& a, const std::vector<ExprPtr>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i])) return false;
  return true;
}

/// Equal as values of one type: NaN equals NaN, 0.0 differs from -0.0.
bool same_float(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace

bool equal(const ExprPtr& a, const ExprPtr& b) {
  if (a == b) return true;
  if (!a || !b || a->type != b->type || a->node.index() != b->node.index()) return false;
  return std::visit(
      Overloaded{
          [&](const IntConst& x) { return x.value == std::get<IntConst>(b->node).value; },
          [&](const FloatConst& x) {
            return same_float(x.value, std::get<FloatConst>(b->node).value);
          },
          [&](const IndexRef& x) { return x.index == std::get<IndexRef>(b->node).index; },
          [&](const SizeRef& x) { return x.size == std::get<SizeRef>(b->node).size; },
          [&](const ConstRef& x) { return x.id == std::get<ConstRef>(b->node).id; },
          [&](const ForRef& x) { return x.var == std::get<ForRef>(b->node).var; },
          [&](const DimOf& x) {
            const auto& y = std::get<DimOf>(b->node);
            return x.tensor == y.tensor && x.dim == y.dim && x.part == y.part;
          },
          [&](const Read& x) {
            const auto& y = std::get<Read>(b->node);
            return x.tensor == y.tensor && equal_lists(x.subscripts, y.subscripts) &&
                   equal(x.pad, y.pad);
          },
          [&](const Unary& x) {
            const auto& y = std::get<Unary>(b->node);
            return x.op == y.op && equal(x.operand, y.operand);
          },
          [&](const Binary& x) {
            const auto& y = std::get<Binary>(b->node);
            return x.op == y.op && equal(x.left, y.left) && equal(x.right, y.right);
          },
          [&](const Select& x) {
            const auto& y = std::get<Select>(b->node);
            return equal(x.condition, y.condition) && equal(x.if_true, y.if_true) &&
                   equal(x.if_false, y.if_false);
          },
          [&](const Cast& x) {
            const auto& y = std::get<Cast>(b->node);
            return x.to == y.to && equal(x.operand, y.operand);
          },
          [&](const Builtin& x) {
            const auto& y = std::get<Builtin>(b->node);
            return x.name == y.name && equal_lists(x.args, y.args);
          },
      },
      a->node);
}

namespace {

std::optional<std::int64_t> lookup(const std::vector<std::int64_t>* values, int position) {
  if (!values || position < 0 || position >= static_cast<int>(values->size())) return std::nullopt;
  return (*values)[position];
}

std::optional<std::int64_t> evaluate_cast(const Cast& cast, const IntEnv& env) {
  const auto value = evaluate(cast.operand, env);
  if (!value) return std::nullopt;
  if (cast.to == DType::Bool) return *value != 0;
  if (!is_integer(cast.to)) return std::nullopt;
  const std::int64_t wrapped = wrap_to(cast.to, *value);
  // A bit pattern beyond int64 has no exact value here.
  if (cast.to == DType::UInt64 && wrapped < 0) return std::nullopt;
  return wrapped;
}

std::optional<std::int64_t> evaluate_builtin(const Builtin& builtin, const IntEnv& env) {
  if (builtin.args.size() != 1 || (builtin.name != "abs" && builtin.name != "relu"))
    return std::nullopt;
  const auto value = evaluate(builtin.args[0], env);
  if (!value || *value == INT64_MIN) return std::nullopt;
  if (*value >= 0) return value;
  return builtin.name == "abs" ? -*value : 0;
}

std::optional<std::int64_t> evaluate_binary(const Binary& binary, const IntEnv& env) {
  const auto left = evaluate(binary.left, env);
  if (!left) return std::nullopt;
  if (binary.op == BinaryOp::And && *left == 0) return 0;
  if (binary.op == BinaryOp::Or && *left != 0) return 1;
  const auto right = evaluate(binary.right, env);
  if (!right) return std::nullopt;
  if (*left == INT64_MIN && *right == -1 && binary.op == BinaryOp::Div) return std::nullopt;
  return apply_int(binary.op, *left, *right);
}

}  // namespace

std::optional<std::int64_t> evaluate(const ExprPtr& expr, const IntEnv& env) {
  using Result = std::optional<std::int64_t>;
  if (is_float(expr->type)) return std::nullopt;
  return std::visit(
      Overloaded{
          [&](const IntConst& constant) -> Result {
            if (expr->type == DType::UInt64 && constant.value < 0) return std::nullopt;
            return constant.value;
          },
          [](const FloatConst&) -> Result { return std::nullopt; },
          [&](const IndexRef& index) -> Result { return lookup(env.indices, index.index); },
          [&](const SizeRef& size) -> Result { return lookup(env.sizes, size.size); },
          [&](const ConstRef& constant) -> Result { return lookup(env.consts, constant.id); },
          [&](const ForRef& ref) -> Result {
            if (!env.for_vars) return std::nullopt;
            const auto found = env.for_vars->find(ref.var);
            if (found == env.for_vars->end()) return std::nullopt;
            return found->second;
          },
          [](const DimOf&) -> Result { return std::nullopt; },
          [](const Read&) -> Result { return std::nullopt; },
          [&](const Unary& unary) -> Result {
            const auto value = evaluate(unary.operand, env);
            if (!value) return std::nullopt;
            if (unary.op == UnaryOp::Not) return *value == 0;
            if (*value == INT64_MIN) return std::nullopt;
            return -*value;
          },
          [&](const Binary& binary) -> Result { return evaluate_binary(binary, env); },
          [&](const Select& select) -> Result {
            const auto condition = evaluate(select.condition, env);
            if (!condition) return std::nullopt;
            return evaluate(*condition != 0 ? select.if_true : select.if_false, env);
          },
          [&](const Cast& cast) -> Result { return evaluate_cast(cast, env); },
          [&](const Builtin& builtin) -> Result { return evaluate_builtin(builtin, env); },
      },
      expr->node);
}

namespace {

void collect(const std::vector<Node>& body, std::vector<const ForLoop*>& loops,
             std::vector<StatementInContext>& out) {
  for (const Node& node : body) {
    if (const auto* statement = std::get_if<Statement>(&node)) {
      out.push_back({statement, loops});
      continue;
    }
    const ForLoop* loop = std::get<std::shared_ptr<const ForLoop>>(node).get();
    loops.push_back(loop);
    collect(loop->body, loops, out);
    loops.pop_back();
  }
}

}  // namespace

std::vector<StatementInContext> statements(const TypedDef& def) {
  std::vector<StatementInContext> out;
  std::vector<const ForLoop*> loops;
  collect(def.body, loops, out);
  return out;
}

const char* spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add: return "+";
  case BinaryOp::Sub: return "-";
  case BinaryOp::Mul: return "*";
  case BinaryOp::Div: return "/";
  case BinaryOp::Mod: return "%";
  case BinaryOp::Min: return "min";
  case BinaryOp::Max: return "max";
  case BinaryOp::Lt: return "<";
  case BinaryOp::Le: return "<=";
  case BinaryOp::Gt: return ">";
  case BinaryOp::Ge: return ">=";
  case BinaryOp::Eq: return "==";
  case BinaryOp::Ne: return "!=";
  case BinaryOp::And: return "&&";
  case BinaryOp::Or: return "||";
  }
  unreachable("BinaryOp");
}

const char* spelling(ReduceOp op) {
  switch (op) {
  case ReduceOp::Add: return "+=";
  case ReduceOp::Mul: return "*=";
  case ReduceOp::Min: return "min=";
  case ReduceOp::Max: return "max=";
  case ReduceOp::ArgMin: return "argmin=";
  case ReduceOp::ArgMax: return "argmax=";
  }
  unreachable("ReduceOp");
}

}  // namespace tc::lang
