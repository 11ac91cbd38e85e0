// SPDX-License-Identifier: Apache-2.0
//
// The recursive-descent parser behind parse(). Private to the room.
//
// Errors inside a statement throw Abort, which the enclosing block catches; it then skips to the
// next place where a statement can start. Stop ends the parse once too many errors were reported.
// Neither leaves parse().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tc/lang/lexer.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

class Parser {
public:
  Parser(const SourceBuffer& source, DiagnosticSink& sink);
  ast::Program run();

private:
  struct Abort {};
  struct Stop {};

  /// An expression and the height of its tree.
  struct Built {
    ast::ExprPtr expr;
    int height;
  };
  /// One level of nesting for the lifetime of the object.
  class Nested {
  public:
    explicit Nested(Parser& parser);
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

  private:
    Parser& parser_;
  };

  // ---- tokens (parser.cpp) ----
  bool is(TokenKind kind) const { return token_.kind == kind; }
  Token advance();
  Token fetch();
  bool accept(TokenKind kind);
  /// The token, or an error "expected A, got B"; `opened` places a note at what the missing token
  /// would close.
  Token expect(TokenKind kind, const std::string& context);
  Token expect_closing(TokenKind kind, const Token& opened, const std::string& or_else = "");
  ast::Ident expect_name(const std::string& what);
  ast::Ident ident(const Token& token) const;
  SourceRange since(std::uint32_t begin) const;

  // ---- errors and recovery (parser.cpp) ----
  Diagnostic* report(const std::string& code, SourceRange range, const std::string& message);
  [[noreturn]] void fail(const std::string& code, SourceRange range, const std::string& message);
  [[noreturn]] void fail_expected(const std::string& expected);
  bool starts_statement();
  bool probe_statement(bool call_results);
  void synchronise_statement(std::uint32_t statement_begin);
  void synchronise_list();
  void synchronise_to_body();

  // ---- defs (parse_def.cpp) ----
  std::optional<ast::Def> parse_def();
  void parse_header(ast::Def& def);
  void parse_arrow();
  template <class T, class F>
  void parse_list(std::vector<T>& items, F&& parse_item);
  ast::Param parse_param();
  ast::Return parse_return();
  ast::Type parse_type();
  std::vector<ast::Stmt> parse_block(const std::string& owner);

  // ---- statements (parse_stmt.cpp) ----
  ast::Stmt parse_stmt();
  ast::Comprehension parse_comprehension();
  ast::Lhs parse_lhs();
  Token parse_assign_op();
  ast::Equivalent parse_equivalent();
  std::vector<ast::Clause> parse_where();
  ast::Clause parse_clause();
  ast::CallStmt parse_call();
  ast::ForStmt parse_for();

  // ---- expressions (parse_expr.cpp) ----
  ast::ExprPtr expression() { return parse_expr().expr; }
  Built parse_expr();
  Built parse_binary(int min_precedence);
  Built parse_unary();
  Built parse_primary();
  Built parse_apply();
  Built parse_min_max();
  Built parse_pad();
  std::vector<ast::ExprPtr> parse_args(int& height);
  Built build(SourceRange range, int child_height, decltype(ast::Expr::node) node);

  const SourceBuffer& source_;
  DiagnosticSink& sink_;
  ast::Program program_;
  Lexer lexer_;
  Token token_;                           ///< the next token to consume
  Token ahead_;                           ///< the one behind it
  TokenKind last_kind_ = TokenKind::End;  ///< of the token consumed last
  std::uint32_t last_end_ = 0;
  int depth_ = 0;
  int errors_ = 0;
  std::int64_t last_error_place_ = -1;
  int probe_budget_;  ///< tokens that probes may still read, over the whole text
};

}  // namespace tc::lang
