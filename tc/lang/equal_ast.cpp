// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/lang/print_ast.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// Static members of one class, so that each overload sees every other.
struct Equality {
  template <class T>
  static bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const T& x, const T& y) { return same(x, y); });
  }

  static bool same(const ast::Ident& a, const ast::Ident& b) { return a.name == b.name; }

  /// Integers by value; other literals by spelling, from which they are rounded.
  static bool same(const ast::Literal& a, const ast::Literal& b) {
    if (a.kind != b.kind || a.overflows != b.overflows) return false;
    if (a.kind == ast::Literal::Kind::Float || a.overflows) return a.spelling == b.spelling;
    return a.int_value == b.int_value;
  }
  static bool same(const ast::Name& a, const ast::Name& b) { return a.name == b.name; }
  static bool same(const ast::DimRead& a, const ast::DimRead& b) {
    return same(a.tensor, b.tensor) && a.dim == b.dim;
  }
  /// A cast is known by its type, however that was spelled.
  static bool same(const ast::Apply& a, const ast::Apply& b) {
    if (a.cast_to != b.cast_to || (!a.cast_to && !same(a.callee, b.callee))) return false;
    return same(a.args, b.args);
  }
  static bool same(const ast::Unary& a, const ast::Unary& b) {
    return a.op == b.op && same(a.operand, b.operand);
  }
  static bool same(const ast::Binary& a, const ast::Binary& b) {
    return a.op == b.op && same(a.left, b.left) && same(a.right, b.right);
  }
  static bool same(const ast::Ternary& a, const ast::Ternary& b) {
    return same(a.condition, b.condition) && same(a.if_true, b.if_true) &&
           same(a.if_false, b.if_false);
  }
  static bool same(const ast::MinMax& a, const ast::MinMax& b) {
    return a.is_max == b.is_max && same(a.args, b.args);
  }
  static bool same(const ast::Pad& a, const ast::Pad& b) {
    return same(a.read, b.read) && same(a.value, b.value);
  }

  template <class... Ts>
  static bool same(const std::variant<Ts...>& a, const std::variant<Ts...>& b) {
    if (a.index() != b.index()) return false;
    return std::visit(
        [&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
  }

  static bool same(const ast::ExprPtr& a, const ast::ExprPtr& b) {
    return a == b || (a != nullptr && b != nullptr && same(a->node, b->node));
  }

  static bool same(const ast::Type& a, const ast::Type& b) {
    return a.element == b.element && same(a.dims, b.dims);
  }
  static bool same(const ast::Param& a, const ast::Param& b) {
    return a.is_const == b.is_const && same(a.type, b.type) && same(a.name, b.name);
  }
  static bool same(const ast::Return& a, const ast::Return& b) {
    if (a.type.has_value() != b.type.has_value()) return false;
    return (!a.type || same(*a.type, *b.type)) && same(a.name, b.name);
  }
  static bool same(const ast::RangeClause& a, const ast::RangeClause& b) {
    return same(a.var, b.var) && same(a.begin, b.begin) && same(a.end, b.end);
  }
  static bool same(const ast::LetClause& a, const ast::LetClause& b) {
    return same(a.name, b.name) && same(a.value, b.value);
  }
  static bool same(const ast::ExistsClause& a, const ast::ExistsClause& b) {
    return same(a.value, b.value);
  }
  static bool same(const ast::ConditionClause& a, const ast::ConditionClause& b) {
    return same(a.condition, b.condition);
  }
  static bool same(const ast::Clause& a, const ast::Clause& b) { return same(a.node, b.node); }
  static bool same(const ast::Lhs& a, const ast::Lhs& b) {
    return same(a.tensor, b.tensor) && a.has_parentheses == b.has_parentheses &&
           same(a.subscripts, b.subscripts);
  }
  static bool same(const ast::Equivalent& a, const ast::Equivalent& b) {
    return same(a.callee, b.callee) && same(a.args, b.args);
  }
  static bool same(const ast::Comprehension& a, const ast::Comprehension& b) {
    if (a.op != b.op || a.init != b.init || a.equivalent.has_value() != b.equivalent.has_value())
      return false;
    return same(a.lhs, b.lhs) && same(a.value, b.value) &&
           (!a.equivalent || same(*a.equivalent, *b.equivalent)) && same(a.where, b.where);
  }
  static bool same(const ast::CallStmt& a, const ast::CallStmt& b) {
    return same(a.results, b.results) && same(a.callee, b.callee) && same(a.args, b.args);
  }
  static bool same(const ast::ForStmt& a, const ast::ForStmt& b) {
    return same(a.var, b.var) && same(a.begin, b.begin) && same(a.end, b.end) &&
           same(a.body, b.body);
  }
  static bool same(const ast::Stmt& a, const ast::Stmt& b) { return same(a.node, b.node); }
  static bool same(const ast::Def& a, const ast::Def& b) {
    return same(a.name, b.name) && same(a.params, b.params) && same(a.returns, b.returns) &&
           same(a.body, b.body);
  }
};

}  // namespace

bool equal(const ast::Program& a, const ast::Program& b) {
  return Equality::same(a.defs, b.defs);
}

}  // namespace tc::lang
