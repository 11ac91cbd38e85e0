// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "tc/lang/parser_impl.h"

namespace tc::lang {

namespace {

struct BinaryRule {
  ast::BinaryOp op;
  int precedence;  ///< 1 is loosest; all levels associate to the left
};

std::optional<BinaryRule> binary_rule(TokenKind kind) {
  switch (kind) {
  case TokenKind::OrOr: return BinaryRule{ast::BinaryOp::Or, 1};
  case TokenKind::AndAnd: return BinaryRule{ast::BinaryOp::And, 2};
  case TokenKind::Less: return BinaryRule{ast::BinaryOp::Lt, 3};
  case TokenKind::Greater: return BinaryRule{ast::BinaryOp::Gt, 3};
  case TokenKind::LessEqual: return BinaryRule{ast::BinaryOp::Le, 3};
  case TokenKind::GreaterEqual: return BinaryRule{ast::BinaryOp::Ge, 3};
  case TokenKind::EqualEqual: return BinaryRule{ast::BinaryOp::Eq, 3};
  case TokenKind::NotEqual: return BinaryRule{ast::BinaryOp::Ne, 3};
  case TokenKind::Plus: return BinaryRule{ast::BinaryOp::Add, 4};
  case TokenKind::Minus: return BinaryRule{ast::BinaryOp::Sub, 4};
  case TokenKind::Star: return BinaryRule{ast::BinaryOp::Mul, 5};
  case TokenKind::Slash: return BinaryRule{ast::BinaryOp::Div, 5};
  case TokenKind::Percent: return BinaryRule{ast::BinaryOp::Mod, 5};
  default: return std::nullopt;
  }
}

}  // namespace

Parser::Built Parser::build(SourceRange range, int child_height, decltype(ast::Expr::node) node) {
  if (child_height >= ast::kMaxExprHeight)
    fail("E0112", range,
         fmt::format("the expression is more than {} operators high; split it over several "
                     "statements or parentheses",
                     ast::kMaxExprHeight));
  return {std::make_shared<const ast::Expr>(ast::Expr{range, std::move(node)}), child_height + 1};
}

/// The ternary level: binary [ "?" exp ":" exp ], to the right.
Parser::Built Parser::parse_expr() {
  Nested nested(*this);
  const std::uint32_t begin = token_.range.begin;
  Built condition = parse_binary(1);
  if (!is(TokenKind::Question)) return condition;
  const Token question = advance();
  Built if_true = parse_expr();
  if (!is(TokenKind::Colon)) {
    Diagnostic* diagnostic =
        report("E0110", token_.range,
               fmt::format("expected ':' and the other value, got {}", describe(source_, token_)));
    if (diagnostic != nullptr) diagnostic->notes.push_back({question.range, "of this '?'"});
    throw Abort{};
  }
  advance();
  Built if_false = parse_expr();
  const int height = std::max({condition.height, if_true.height, if_false.height});
  return build(
      since(begin), height,
      ast::Ternary{std::move(condition.expr), std::move(if_true.expr), std::move(if_false.expr)});
}

Parser::Built Parser::parse_binary(int min_precedence) {
  const std::uint32_t begin = token_.range.begin;
  Built left = parse_unary();
  while (true) {
    const std::optional<BinaryRule> rule = binary_rule(token_.kind);
    if (!rule || rule->precedence < min_precedence) return left;
    const SourceRange op_range = advance().range;
    Built right = parse_binary(rule->precedence + 1);
    const int height = std::max(left.height, right.height);
    left = build(since(begin), height,
                 ast::Binary{rule->op, std::move(left.expr), std::move(right.expr), op_range});
  }
}

Parser::Built Parser::parse_unary() {
  if (!is(TokenKind::Minus) && !is(TokenKind::Not)) return parse_primary();
  Nested nested(*this);
  const Token op = advance();
  Built operand = parse_unary();
  const ast::UnaryOp kind = op.kind == TokenKind::Minus ? ast::UnaryOp::Negate : ast::UnaryOp::Not;
  return build(since(op.range.begin), operand.height, ast::Unary{kind, std::move(operand.expr)});
}

Parser::Built Parser::parse_primary() {
  const auto literal = [&](ast::Literal::Kind kind) {
    const Token token = advance();
    return build(token.range, 0, literal_from_spelling(source_.text(token.range), kind));
  };
  switch (token_.kind) {
  case TokenKind::Integer: return literal(ast::Literal::Kind::Int);
  case TokenKind::Float: return literal(ast::Literal::Kind::Float);
  case TokenKind::KwTrue:
  case TokenKind::KwFalse: return literal(ast::Literal::Kind::Bool);
  case TokenKind::KwMin:
  case TokenKind::KwMax: return parse_min_max();
  case TokenKind::KwPad: return parse_pad();
  case TokenKind::TypeName: return parse_apply();
  case TokenKind::LeftParen: {
    const Token open = advance();
    Built inner = parse_expr();
    expect_closing(TokenKind::RightParen, open);
    return inner;
  }
  case TokenKind::Identifier: break;
  default:
    if (is_keyword(token_.kind) && !is(TokenKind::KwDef) && !is(TokenKind::KwWhere) &&
        !is(TokenKind::KwFor) && !is(TokenKind::KwIn))
      expect_name("an expression");
    fail_expected("an expression");
  }
  if (ahead_.kind == TokenKind::LeftParen) return parse_apply();
  const Token name = advance();
  if (!is(TokenKind::Dot)) return build(name.range, 0, ast::Name{ident(name).name});
  advance();
  const Token dim = expect(TokenKind::Integer, " behind '.': the dimension whose size is read");
  const ast::Literal number =
      literal_from_spelling(source_.text(dim.range), ast::Literal::Kind::Int);
  if (number.overflows) fail("E0103", dim.range, "the number of a dimension does not fit 64 bits");
  return build(since(name.range.begin), 0, ast::DimRead{ident(name), number.int_value});
}

/// ( ident | scalar ) "(" args ")"
Parser::Built Parser::parse_apply() {
  const Token callee = advance();
  ast::Apply apply{ident(callee), std::nullopt, {}};
  if (callee.kind == TokenKind::TypeName) {
    apply.cast_to = callee.dtype;
    if (!is(TokenKind::LeftParen))
      fail("E0113", callee.range,
           fmt::format("expected an expression, got {0}; a type name is used as a cast: '{1}(x)'",
                       describe(source_, callee), apply.callee.name));
  }
  int height = 0;
  apply.args = parse_args(height);
  return build(since(callee.range.begin), height, std::move(apply));
}

Parser::Built Parser::parse_min_max() {
  const Token callee = advance();
  if (!is(TokenKind::LeftParen)) fail_expected(fmt::format("'(' behind {}", describe(callee.kind)));
  int height = 0;
  ast::MinMax result{callee.kind == TokenKind::KwMax, parse_args(height)};
  const SourceRange range = since(callee.range.begin);
  if (result.args.size() < 2)
    fail("E0115", range,
         fmt::format("{} takes two or more arguments, got {}; a reduction is written '{}='",
                     describe(callee.kind), result.args.size(), source_.text(callee.range)));
  return build(range, height, std::move(result));
}

/// "pad" "(" read "," exp ")"
Parser::Built Parser::parse_pad() {
  const Token callee = advance();
  const Token open = expect(TokenKind::LeftParen, " behind 'pad'");
  const std::uint32_t read_begin = token_.range.begin;
  Built read = parse_expr();
  const auto* apply = std::get_if<ast::Apply>(&read.expr->node);
  if (apply == nullptr || apply->cast_to)
    fail("E0116", since(read_begin),
         "the first argument of 'pad' is a read of a tensor, as in 'pad(x(i-1), 0)'");
  expect(TokenKind::Comma, " and the value outside the tensor");
  Built value = parse_expr();
  expect_closing(TokenKind::RightParen, open);
  return build(since(callee.range.begin), std::max(read.height, value.height),
               ast::Pad{std::move(read.expr), std::move(value.expr)});
}

/// "(" [ exp { "," exp } ] ")"; `height` becomes that of the highest argument.
std::vector<ast::ExprPtr> Parser::parse_args(int& height) {
  const Token open = expect(TokenKind::LeftParen, "");
  std::vector<ast::ExprPtr> args;
  height = 0;
  if (accept(TokenKind::RightParen)) return args;
  do {
    Built arg = parse_expr();
    height = std::max(height, arg.height);
    args.push_back(std::move(arg.expr));
  } while (accept(TokenKind::Comma));
  expect_closing(TokenKind::RightParen, open, "an operator, ',' or ");
  return args;
}

}  // namespace tc::lang
