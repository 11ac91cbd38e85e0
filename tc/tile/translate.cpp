// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/translate.h"

#include <algorithm>
#include <limits>

#include "tc/support/check.h"

namespace tc::tile {
namespace {

using kernel::ExprPtr;

ExprPtr negated(const ExprPtr& condition) {
  return kernel::unary(kernel::UnaryOp::Not, condition);
}

bool is_comparison(lang::BinaryOp op) {
  return op >= lang::BinaryOp::Lt && op <= lang::BinaryOp::Ne;
}

kernel::BinaryOp operation(lang::BinaryOp op, DType operand_type) {
  switch (op) {
  case lang::BinaryOp::Add: return kernel::BinaryOp::Add;
  case lang::BinaryOp::Sub: return kernel::BinaryOp::Sub;
  case lang::BinaryOp::Mul: return kernel::BinaryOp::Mul;
  case lang::BinaryOp::Div:
    return is_float(operand_type) ? kernel::BinaryOp::Div : kernel::BinaryOp::FloorDiv;
  case lang::BinaryOp::Mod: return kernel::BinaryOp::FloorMod;
  case lang::BinaryOp::Min: return kernel::BinaryOp::Min;
  case lang::BinaryOp::Max: return kernel::BinaryOp::Max;
  case lang::BinaryOp::Lt: return kernel::BinaryOp::Lt;
  case lang::BinaryOp::Le: return kernel::BinaryOp::Le;
  case lang::BinaryOp::Gt: return kernel::BinaryOp::Gt;
  case lang::BinaryOp::Ge: return kernel::BinaryOp::Ge;
  case lang::BinaryOp::Eq: return kernel::BinaryOp::Eq;
  case lang::BinaryOp::Ne: return kernel::BinaryOp::Ne;
  case lang::BinaryOp::And: return kernel::BinaryOp::And;
  case lang::BinaryOp::Or: return kernel::BinaryOp::Or;
  }
  unreachable("binary operation");
}

}  // namespace

ExprPtr both(const ExprPtr& a, const ExprPtr& b) {
  if (!a) return b;
  if (!b) return a;
  return kernel::binary(kernel::BinaryOp::And, a, b);
}

ExprPtr Translator::variable(const lang::Expr& expr) const {
  if (const auto* index = std::get_if<lang::IndexRef>(&expr.node)) {
    check(index->index >= 0 && index->index < static_cast<int>(names_.indices.size()),
          "an index of the statement");
    return names_.indices[static_cast<std::size_t>(index->index)];
  }
  if (const auto* ref = std::get_if<lang::ForRef>(&expr.node)) {
    const auto found = names_.for_vars.find(ref->var);
    check(found != names_.for_vars.end(), "a for variable in scope");
    return found->second;
  }
  return nullptr;
}

bool Translator::fits(const ExprPtr& address, DType type) const {
  if (type != DType::Int32 && type != DType::Int64) return false;
  const auto lo = lower_bound(address, scope_);
  const auto hi = upper_bound(address, scope_);
  return lo && hi && *lo >= min_value(type) && *hi <= static_cast<std::int64_t>(max_value(type));
}

/// Integer arithmetic over index and for variables whose every intermediate value fits its type, so
/// that int64 gives the same result.
bool Translator::is_index_arithmetic(const lang::ExprPtr& expr) const {
  if (!is_integer(expr->type)) return false;
  if (const auto* imm = std::get_if<lang::IntConst>(&expr->node)) {
    return expr->type != DType::UInt64 || imm->value >= 0;
  }
  const auto leaf = [&] {
    return std::holds_alternative<lang::IndexRef>(expr->node) ||
           std::holds_alternative<lang::ForRef>(expr->node);
  };
  bool arithmetic = leaf();
  if (const auto* unary = std::get_if<lang::Unary>(&expr->node))
    arithmetic = is_index_arithmetic(unary->operand);
  if (const auto* binary = std::get_if<lang::Binary>(&expr->node))
    arithmetic = is_index_arithmetic(binary->left) && is_index_arithmetic(binary->right);
  if (const auto* cast = std::get_if<lang::Cast>(&expr->node))
    arithmetic = (cast->to == DType::Int32 || cast->to == DType::Int64) &&
                 is_index_arithmetic(cast->operand);
  return arithmetic && fits(address(expr), expr->type);
}

ExprPtr Translator::address(const lang::ExprPtr& expr, const ExprPtr& guard) const {
  const auto widened = [&] { return kernel::cast(DType::Int64, value(expr, guard)); };
  return std::visit(Overloaded{
                        [&](const lang::IntConst& n) { return kernel::int_imm(n.value); },
                        [&](const lang::IndexRef&) { return variable(*expr); },
                        [&](const lang::ForRef&) { return variable(*expr); },
                        [&](const lang::Unary& n) {
                          if (n.op == lang::UnaryOp::Not) return widened();
                          return kernel::unary(kernel::UnaryOp::Negate, address(n.operand, guard));
                        },
                        [&](const lang::Binary& n) {
                          if (!is_integer(expr->type)) return widened();
                          return kernel::binary(operation(n.op, expr->type), address(n.left, guard),
                                                address(n.right, guard));
                        },
                        [&](const lang::Select& n) {
                          const ExprPtr condition = value(n.condition, guard);
                          return kernel::select(
                              condition, address(n.if_true, both(guard, condition)),
                              address(n.if_false, both(guard, negated(condition))));
                        },
                        [&](const lang::Cast& n) {
                          // A cast that changes nothing is transparent; any other wraps, saturates
                          // or truncates as a value does.
                          if ((n.to == DType::Int32 || n.to == DType::Int64) &&
                              is_integer(n.operand->type) && !lang::contains_read(n.operand)) {
                            const ExprPtr operand = address(n.operand, guard);
                            if (n.to == DType::Int64 || fits(operand, n.to)) return operand;
                          }
                          return widened();
                        },
                        [&](const auto&) { return widened(); },
                    },
                    expr->node);
}

ExprPtr Translator::value(const lang::ExprPtr& expr, const ExprPtr& guard) const {
  if (is_index_arithmetic(expr) && !std::holds_alternative<lang::IntConst>(expr->node))
    return kernel::cast(expr->type, address(expr));
  return std::visit(
      Overloaded{
          [&](const lang::IntConst& n) { return kernel::int_imm(n.value, expr->type); },
          [&](const lang::FloatConst& n) { return kernel::float_imm(n.value, expr->type); },
          [&](const lang::IndexRef&) { return kernel::cast(expr->type, variable(*expr)); },
          [&](const lang::ForRef&) { return kernel::cast(expr->type, variable(*expr)); },
          [&](const lang::Read& n) { return read(*expr, n, guard); },
          [&](const lang::Unary& n) {
            const auto op =
                n.op == lang::UnaryOp::Not ? kernel::UnaryOp::Not : kernel::UnaryOp::Negate;
            return kernel::unary(op, value(n.operand, guard));
          },
          [&](const lang::Binary& n) { return binary(*expr, n, guard); },
          [&](const lang::Select& n) {
            const ExprPtr condition = value(n.condition, guard);
            return kernel::select(condition, value(n.if_true, both(guard, condition)),
                                  value(n.if_false, both(guard, negated(condition))));
          },
          [&](const lang::Cast& n) { return kernel::cast(n.to, value(n.operand, guard)); },
          [&](const lang::Builtin& n) {
            std::vector<ExprPtr> args;
            for (const auto& arg : n.args)
              args.push_back(value(arg, guard));
            return kernel::call(n.name, std::move(args), expr->type);
          },
          [&](const auto&) -> ExprPtr { unreachable("a specialised def has no sizes and consts"); },
      },
      expr->node);
}

ExprPtr Translator::binary(const lang::Expr& expr, const lang::Binary& binary,
                           const ExprPtr& guard) const {
  if (is_comparison(binary.op) && is_index_arithmetic(binary.left) &&
      is_index_arithmetic(binary.right))
    return kernel::binary(operation(binary.op, DType::Int64), address(binary.left),
                          address(binary.right));
  const ExprPtr left = value(binary.left, guard);
  ExprPtr right_guard = guard;
  if (binary.op == lang::BinaryOp::And) right_guard = both(guard, left);
  if (binary.op == lang::BinaryOp::Or) right_guard = both(guard, negated(left));
  return kernel::binary(operation(binary.op, expr.type), left, value(binary.right, right_guard));
}

/// Test that an index lies in the tensor's index space, less the halves that are proved; null if
/// all is.
ExprPtr Translator::in_range(const ExprPtr& index, const poly::Tensor& tensor,
                             std::size_t dim) const {
  const std::int64_t begin = tensor.begin[dim];
  const std::int64_t end = begin + tensor.extent[dim];
  ExprPtr test;
  const auto lo = lower_bound(index, scope_);
  const auto hi = upper_bound(index, scope_);
  if (!lo || *lo < begin)
    test = kernel::binary(kernel::BinaryOp::Ge, index, kernel::int_imm(begin));
  if (!hi || *hi >= end)
    test = both(test, kernel::binary(kernel::BinaryOp::Lt, index, kernel::int_imm(end)));
  return test;
}

ExprPtr Translator::read(const lang::Expr& expr, const lang::Read& read,
                         const ExprPtr& guard) const {
  const auto& tensor = scop_.tensors[static_cast<std::size_t>(read.tensor)];
  const auto& place = places_[static_cast<std::size_t>(read.tensor)];
  check(place.buffer != nullptr, "a tensor that the kernel was given");
  std::vector<ExprPtr> positions;
  ExprPtr mask;
  bool guarded = false;  // some subscript is in range only because of the guard
  bool gathered = false;
  for (std::size_t d = 0; d < read.subscripts.size(); ++d) {
    const ExprPtr index = address(read.subscripts[d], guard);
    positions.push_back(kernel::sub(index, place.base[d]));
    const ExprPtr test = in_range(index, tensor, d);
    if (!test) continue;
    const bool is_gather = lang::contains_read(read.subscripts[d]);
    if (read.pad || (is_gather && bounds_ != Bounds::Trust)) {
      mask = both(mask, test);
      gathered = gathered || is_gather;
    } else {
      guarded = true;
    }
  }
  ExprPtr otherwise =
      is_float(expr.type) ? kernel::float_imm(0, expr.type) : kernel::int_imm(0, expr.type);
  if (gathered && is_float(expr.type))
    otherwise = kernel::float_imm(std::numeric_limits<double>::quiet_NaN(), expr.type);
  if (read.pad) otherwise = value(read.pad, mask ? both(guard, negated(mask)) : guard);
  if (guarded) mask = both(guard, mask);
  if (!mask) return kernel::load(place.buffer, std::move(positions));
  return kernel::load(place.buffer, std::move(positions), mask, otherwise);
}

std::vector<ExprPtr> Translator::target(const poly::Target& target) const {
  const auto& place = places_[static_cast<std::size_t>(target.tensor)];
  check(place.buffer != nullptr, "a tensor that the kernel was given");
  std::vector<ExprPtr> positions;
  for (std::size_t d = 0; d < target.subscripts.size(); ++d)
    positions.push_back(kernel::sub(address(target.subscripts[d]), place.base[d]));
  return positions;
}

ExprPtr Translator::target_in_range(const poly::Target& target) const {
  ExprPtr test;
  if (bounds_ == Bounds::Trust) return test;
  for (std::size_t d = 0; d < target.subscripts.size(); ++d)
    if (lang::contains_read(target.subscripts[d]))
      test = both(test, in_range(address(target.subscripts[d]),
                                 scop_.tensors[static_cast<std::size_t>(target.tensor)], d));
  return test;
}

ExprPtr Translator::stored(int tensor, ExprPtr value) const {
  const DType type = scop_.tensors[static_cast<std::size_t>(tensor)].type;
  // The store converts from the compute type; from any other type the conversion is the language's
  // cast.
  return value->type.elem == compute_type(type) ? value : kernel::cast(type, value);
}

void Translator::gather_tests(const lang::ExprPtr& expr, const ExprPtr& guard,
                              std::vector<GatherTest>& tests) const {
  if (!expr) return;
  if (const auto* n = std::get_if<lang::Select>(&expr->node)) {
    const ExprPtr condition = value(n->condition, guard);
    gather_tests(n->condition, guard, tests);
    gather_tests(n->if_true, both(guard, condition), tests);
    gather_tests(n->if_false, both(guard, negated(condition)), tests);
    return;
  }
  if (const auto* n = std::get_if<lang::Binary>(&expr->node)) {
    gather_tests(n->left, guard, tests);
    ExprPtr right = guard;
    if (n->op == lang::BinaryOp::And) right = both(guard, value(n->left, guard));
    if (n->op == lang::BinaryOp::Or) right = both(guard, negated(value(n->left, guard)));
    gather_tests(n->right, right, tests);
    return;
  }
  const auto* n = std::get_if<lang::Read>(&expr->node);
  if (!n) {
    lang::map_children(expr, [&](const lang::ExprPtr& child) {
      gather_tests(child, guard, tests);
      return child;
    });
    return;
  }
  ExprPtr inside;
  const auto& tensor = scop_.tensors[static_cast<std::size_t>(n->tensor)];
  for (std::size_t d = 0; d < n->subscripts.size(); ++d) {
    gather_tests(n->subscripts[d], guard, tests);
    const ExprPtr index = address(n->subscripts[d], guard);
    const ExprPtr test = in_range(index, tensor, d);
    if (!test) continue;
    inside = both(inside, test);
    if (n->pad || !lang::contains_read(n->subscripts[d])) continue;
    tests.push_back(
        {index, tensor.begin[d], tensor.begin[d] + tensor.extent[d], static_cast<int>(d), guard});
  }
  if (n->pad && inside) gather_tests(n->pad, both(guard, negated(inside)), tests);
}

void Translator::gather_tests(const poly::Target& target, std::vector<GatherTest>& tests) const {
  const auto& tensor = scop_.tensors[static_cast<std::size_t>(target.tensor)];
  for (std::size_t d = 0; d < target.subscripts.size(); ++d) {
    gather_tests(target.subscripts[d], nullptr, tests);
    if (!lang::contains_read(target.subscripts[d])) continue;
    tests.push_back({address(target.subscripts[d]), tensor.begin[d],
                     tensor.begin[d] + tensor.extent[d], static_cast<int>(d), nullptr});
  }
}

}  // namespace tc::tile
