// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/lang/lexer.h"
#include "tc/lang/print_ast.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

const char* node_name(ast::BinaryOp op) {
  switch (op) {
  case ast::BinaryOp::Add: return "Add";
  case ast::BinaryOp::Sub: return "Sub";
  case ast::BinaryOp::Mul: return "Mul";
  case ast::BinaryOp::Div: return "Div";
  case ast::BinaryOp::Mod: return "Mod";
  case ast::BinaryOp::Lt: return "Lt";
  case ast::BinaryOp::Gt: return "Gt";
  case ast::BinaryOp::Le: return "Le";
  case ast::BinaryOp::Ge: return "Ge";
  case ast::BinaryOp::Eq: return "Eq";
  case ast::BinaryOp::Ne: return "Ne";
  case ast::BinaryOp::And: return "And";
  case ast::BinaryOp::Or: return "Or";
  }
  unreachable("a BinaryOp holds one of its enumerators");
}

class Dumper {
public:
  std::string run(const ast::Program& program) {
    node("Program", [&] {
      for (const ast::Def& d : program.defs)
        def(d);
    });
    return std::move(out_);
  }

private:
  template <class F>
  void node(const std::string& text, F&& children) {
    leaf(text);
    ++depth_;
    children();
    --depth_;
  }
  void leaf(const std::string& text) {
    out_.append(static_cast<std::size_t>(depth_) * 2, ' ');
    out_ += text + "\n";
  }

  void exprs(const std::vector<ast::ExprPtr>& list) {
    for (const ast::ExprPtr& e : list)
      expr(*e);
  }

  void expr(const ast::Expr& e) {
    std::visit(
        Overloaded{
            [&](const ast::Literal& n) { leaf("Literal " + n.spelling); },
            [&](const ast::Name& n) { leaf("Name " + n.name); },
            [&](const ast::DimRead& n) {
              leaf(fmt::format("DimRead {} {}", n.tensor.name, n.dim));
            },
            [&](const ast::Apply& n) {
              node(n.cast_to ? fmt::format("Cast {}", name(*n.cast_to)) : "Apply " + n.callee.name,
                   [&] { exprs(n.args); });
            },
            [&](const ast::Unary& n) {
              node(n.op == ast::UnaryOp::Negate ? "Negate" : "Not", [&] { expr(*n.operand); });
            },
            [&](const ast::Binary& n) {
              node(node_name(n.op), [&] {
                expr(*n.left);
                expr(*n.right);
              });
            },
            [&](const ast::Ternary& n) {
              node("Ternary", [&] { exprs({n.condition, n.if_true, n.if_false}); });
            },
            [&](const ast::MinMax& n) { node(n.is_max ? "Max" : "Min", [&] { exprs(n.args); }); },
            [&](const ast::Pad& n) { node("Pad", [&] { exprs({n.read, n.value}); }); },
        },
        e.node);
  }

  void type(const ast::Type& t) {
    node(fmt::format("Type {}", name(t.element)), [&] { exprs(t.dims); });
  }

  void clause(const ast::Clause& c) {
    std::visit(
        Overloaded{
            [&](const ast::RangeClause& n) {
              node("Range " + n.var.name, [&] { exprs({n.begin, n.end}); });
            },
            [&](const ast::LetClause& n) { node("Let " + n.name.name, [&] { expr(*n.value); }); },
            [&](const ast::ExistsClause& n) { node("Exists", [&] { expr(*n.value); }); },
            [&](const ast::ConditionClause& n) { node("Condition", [&] { expr(*n.condition); }); },
        },
        c.node);
  }

  void stmt(const ast::Stmt& s) {
    std::visit(Overloaded{
                   [&](const ast::Comprehension& n) { comprehension(n); },
                   [&](const ast::CallStmt& n) {
                     node("Call " + n.callee.name, [&] {
                       for (const ast::Ident& result : n.results)
                         leaf("Result " + result.name);
                       exprs(n.args);
                     });
                   },
                   [&](const ast::ForStmt& n) {
                     node("For " + n.var.name, [&] {
                       exprs({n.begin, n.end});
                       for (const ast::Stmt& inner : n.body)
                         stmt(inner);
                     });
                   },
               },
               s.node);
  }

  void comprehension(const ast::Comprehension& n) {
    node(fmt::format("Comprehension {}{}", spelling(n.op), n.init ? "!" : ""), [&] {
      node(fmt::format("Lhs {}{}", n.lhs.tensor.name, n.lhs.has_parentheses ? " ()" : ""),
           [&] { exprs(n.lhs.subscripts); });
      expr(*n.value);
      if (n.equivalent)
        node("Equivalent " + n.equivalent->callee.name, [&] { exprs(n.equivalent->args); });
      for (const ast::Clause& c : n.where)
        clause(c);
    });
  }

  void def(const ast::Def& d) {
    node("Def " + d.name.name, [&] {
      for (const ast::Param& param : d.params)
        node(fmt::format("Param {}{}", param.is_const ? "const " : "", param.name.name),
             [&] { type(param.type); });
      for (const ast::Return& result : d.returns)
        node("Return " + result.name.name, [&] {
          if (result.type) type(*result.type);
        });
      for (const ast::Stmt& s : d.body)
        stmt(s);
    });
  }

  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string dump(const ast::Program& program) {
  return Dumper().run(program);
}

}  // namespace tc::lang
