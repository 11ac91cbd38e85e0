// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/lang/parser_impl.h"

namespace tc::lang {

/// "def" ident "(" params ")" "->" "(" returns ")" block. A header with errors still has its body
/// parsed.
std::optional<ast::Def> Parser::parse_def() {
  const Token keyword = advance();
  ast::Def def;
  def.blank_before = keyword.blank_before;
  try {
    parse_header(def);
  } catch (const Abort&) {
    synchronise_to_body();
    if (!is(TokenKind::LeftBrace)) return std::nullopt;
  }
  try {
    def.body = parse_block(fmt::format("the body of '{}'", def.name.name));
  } catch (const Abort&) {
    return std::nullopt;
  }
  def.range = since(keyword.range.begin);
  return def;
}

void Parser::parse_header(ast::Def& def) {
  def.name = expect_name("the name of the def");
  parse_list(def.params, [this] { return parse_param(); });
  parse_arrow();
  parse_list(def.returns, [this] { return parse_return(); });
}

/// A missing arrow is reported once; what stands where it should be is then read as if it were
/// there.
void Parser::parse_arrow() {
  if (accept(TokenKind::Arrow)) return;
  report("E0117", token_.range,
         fmt::format("expected '->' between parameters and results, got {}",
                     describe(source_, token_)));
  if (!is(TokenKind::LeftParen)) throw Abort{};
}

/// "(" [ item { "," item } ] ")". Each broken element is reported.
template <class T, class F>
void Parser::parse_list(std::vector<T>& items, F&& parse_item) {
  const Token open = expect(TokenKind::LeftParen, "");
  if (accept(TokenKind::RightParen)) return;
  while (true) {
    try {
      items.push_back(parse_item());
      if (!is(TokenKind::Comma) && !is(TokenKind::RightParen))
        expect_closing(TokenKind::RightParen, open, "',' or ");
    } catch (const Abort&) {
      synchronise_list();
    }
    if (accept(TokenKind::RightParen)) return;
    if (accept(TokenKind::Comma)) continue;
    // Already reported; what follows the list goes on if it can be recognised.
    if (is(TokenKind::Arrow) || is(TokenKind::LeftBrace)) return;
    throw Abort{};
  }
}

ast::Param Parser::parse_param() {
  const std::uint32_t begin = token_.range.begin;
  const bool is_const = accept(TokenKind::KwConst);
  ast::Type type = parse_type();
  ast::Ident name = expect_name("a parameter name");
  return {is_const, std::move(type), std::move(name), since(begin)};
}

ast::Return Parser::parse_return() {
  const std::uint32_t begin = token_.range.begin;
  std::optional<ast::Type> type;
  if (is(TokenKind::TypeName)) type = parse_type();
  ast::Ident name = expect_name(type ? "a result name" : "a result name or a type");
  return {std::move(type), std::move(name), since(begin)};
}

ast::Type Parser::parse_type() {
  if (!is(TokenKind::TypeName)) fail_expected("a type such as 'float(N,M)'");
  const Token element = advance();
  ast::Type type{element.dtype, {}, {}, std::string(source_.text(element.range))};
  if (is(TokenKind::LeftParen)) {
    int height = 0;
    type.dims = parse_args(height);
  }
  type.range = since(element.range.begin);
  return type;
}

/// "{" { stmt } "}" with optional ";" anywhere between. Broken statements are left out.
std::vector<ast::Stmt> Parser::parse_block(const std::string& owner) {
  const Token open = token_;
  if (!accept(TokenKind::LeftBrace)) {
    report("E0110", token_.range,
           fmt::format("expected '{{' to open {}, got {}", owner, describe(source_, token_)));
    if (!starts_statement()) throw Abort{};
  }
  std::vector<ast::Stmt> body;
  while (true) {
    while (accept(TokenKind::Semicolon)) {
    }
    if (accept(TokenKind::RightBrace)) return body;
    if (is(TokenKind::End) || is(TokenKind::KwDef)) {
      Diagnostic* diagnostic = report(
          "E0118", token_.range,
          fmt::format("expected '}}' to close {}, got {}", owner, describe(source_, token_)));
      if (diagnostic != nullptr) diagnostic->notes.push_back({open.range, "opened here"});
      return body;
    }
    const std::uint32_t begin = token_.range.begin;
    try {
      body.push_back(parse_stmt());
    } catch (const Abort&) {
      synchronise_statement(begin);
    }
  }
}

}  // namespace tc::lang
