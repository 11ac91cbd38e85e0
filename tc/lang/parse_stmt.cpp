// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/lang/parser_impl.h"

namespace tc::lang {

ast::Stmt Parser::parse_stmt() {
  const Token first = token_;
  ast::Stmt stmt;
  stmt.blank_before = first.blank_before;
  if (is(TokenKind::KwFor)) {
    stmt.node = parse_for();
  } else if (is(TokenKind::Identifier) && ahead_.kind == TokenKind::Comma) {
    stmt.node = parse_call();
  } else if (is(TokenKind::Identifier) || is_keyword(token_.kind)) {
    stmt.node = parse_comprehension();
  } else {
    fail_expected("a statement or '}'");
  }
  stmt.range = since(first.range.begin);
  return stmt;
}

/// lhs op exp [ "<=>" ident "(" exps ")" ] [ "where" clauses ]
ast::Comprehension Parser::parse_comprehension() {
  ast::Comprehension result{};
  result.lhs = parse_lhs();
  const Token op = parse_assign_op();
  result.op = op.op;
  result.init = op.init;
  result.op_range = op.range;
  result.value = expression();
  if (is(TokenKind::Equivalent)) result.equivalent = parse_equivalent();
  if (is(TokenKind::KwWhere)) result.where = parse_where();
  return result;
}

ast::Lhs Parser::parse_lhs() {
  const std::uint32_t begin = token_.range.begin;
  ast::Lhs lhs;
  lhs.tensor = expect_name("the name of a tensor");
  lhs.has_parentheses = is(TokenKind::LeftParen);
  if (lhs.has_parentheses) {
    int height = 0;
    lhs.subscripts = parse_args(height);
  }
  lhs.range = since(begin);
  return lhs;
}

Token Parser::parse_assign_op() {
  if (!is(TokenKind::Assign))
    fail_expected("an assignment operator such as '=' or '+=!' (in one piece)");
  const bool is_arg = token_.op == ast::AssignOp::ArgMin || token_.op == ast::AssignOp::ArgMax;
  // Reported, and then read as it was meant: the rest of the statement may hold other errors.
  if (is_arg && !token_.init)
    report("E0114", token_.range,
           fmt::format("'{0}' needs a '!' since an index found earlier has no value to compare "
                       "with; write '{0}!'",
                       spelling(token_.op)));
  return advance();
}

ast::Equivalent Parser::parse_equivalent() {
  advance();
  ast::Equivalent result;
  result.callee = expect_name("the name of an operation behind '<=>'");
  if (!is(TokenKind::LeftParen)) fail_expected("'(' and the arguments of the operation");
  int height = 0;
  result.args = parse_args(height);
  return result;
}

std::vector<ast::Clause> Parser::parse_where() {
  advance();
  std::vector<ast::Clause> clauses;
  do
    clauses.push_back(parse_clause());
  while (accept(TokenKind::Comma));
  return clauses;
}

/// ident "in" exp ":" exp | ident "=" exp | "exists" exp | exp
ast::Clause Parser::parse_clause() {
  const std::uint32_t begin = token_.range.begin;
  ast::Clause clause;
  if (ahead_.kind == TokenKind::KwIn) {
    ast::RangeClause range;
    range.var = expect_name("an index variable");
    advance();
    range.begin = expression();
    expect(TokenKind::Colon, " between the bounds of a range");
    range.end = expression();
    clause.node = std::move(range);
  } else if (ahead_.kind == TokenKind::Assign && ahead_.op == ast::AssignOp::Assign) {
    ast::LetClause let;
    let.name = expect_name("a name");
    advance();
    let.value = expression();
    clause.node = std::move(let);
  } else if (accept(TokenKind::KwExists)) {
    clause.node = ast::ExistsClause{expression()};
  } else {
    clause.node = ast::ConditionClause{expression()};
  }
  clause.range = since(begin);
  return clause;
}

/// ident { "," ident } "=" ident "(" arguments ")"
ast::CallStmt Parser::parse_call() {
  ast::CallStmt call;
  do
    call.results.push_back(expect_name("the name of a result"));
  while (accept(TokenKind::Comma));
  if (!is(TokenKind::Assign) || token_.op != ast::AssignOp::Assign)
    fail_expected("'=' and the call of a def that gives several results");
  advance();
  call.callee = expect_name("the name of the def to call");
  if (!is(TokenKind::LeftParen)) fail_expected("'(' and the arguments of the call");
  int height = 0;
  call.args = parse_args(height);
  return call;
}

/// "for" ident "in" exp ":" exp block. If its header is broken, the body is still searched for
/// errors.
ast::ForStmt Parser::parse_for() {
  advance();
  Nested nested(*this);
  ast::ForStmt loop;
  bool broken = false;
  try {
    loop.var = expect_name("a loop variable");
    expect(TokenKind::KwIn, " and the range of the loop");
    loop.begin = expression();
    expect(TokenKind::Colon, " between the bounds of the loop");
    loop.end = expression();
  } catch (const Abort&) {
    broken = true;
    while (!is(TokenKind::LeftBrace) && !is(TokenKind::RightBrace) && !is(TokenKind::Semicolon) &&
           !is(TokenKind::End) && !is(TokenKind::KwDef) && !starts_statement())
      advance();
    if (!is(TokenKind::LeftBrace)) throw;
  }
  loop.body = parse_block("the body of the loop");
  if (broken) throw Abort{};
  return loop;
}

}  // namespace tc::lang
