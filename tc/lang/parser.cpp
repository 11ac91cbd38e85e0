// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/parser.h"

#include <fmt/format.h>

#include "tc/lang/parser_impl.h"

namespace tc::lang {

namespace {

/// Tokens that one probe reads at most, and all probes of a text together: recovery stays linear on
/// any input.
constexpr int kProbeTokens = 200;
constexpr int kProbeBudget = 1'000'000;

}  // namespace

ast::Program parse(const SourceBuffer& source, DiagnosticSink& sink) {
  if (source.text().size() > kMaxTextBytes) {
    sink.error("E0104", {0, 0},
               fmt::format("the text has {} bytes, more than the limit of {}; split it",
                           source.text().size(), kMaxTextBytes));
    return {};
  }
  return Parser(source, sink).run();
}

Parser::Parser(const SourceBuffer& source, DiagnosticSink& sink)
    : source_(source), sink_(sink), lexer_(source, &program_.comments),
      probe_budget_(kProbeBudget) {}

ast::Program Parser::run() {
  try {
    ahead_ = fetch();
    advance();
    last_kind_ = TokenKind::End;
    last_end_ = 0;
    while (!is(TokenKind::End)) {
      if (is(TokenKind::KwDef)) {
        if (std::optional<ast::Def> def = parse_def()) program_.defs.push_back(std::move(*def));
        continue;
      }
      report("E0110", token_.range,
             fmt::format("expected 'def', got {}", describe(source_, token_)));
      while (!is(TokenKind::End) && !is(TokenKind::KwDef))
        advance();
    }
  } catch (const Stop&) {
    // Reported where it was thrown.
  }
  return std::move(program_);
}

Parser::Nested::Nested(Parser& parser) : parser_(parser) {
  if (parser.depth_ >= ast::kMaxNesting)
    parser.fail(
        "E0111", parser.token_.range,
        fmt::format(
            "nested more than {} levels deep; name a part with 'where x = ...' or a temporary",
            ast::kMaxNesting));
  ++parser.depth_;
}

// ---- tokens ----

Token Parser::fetch() {
  const Token token = lexer_.next();
  if (token.kind == TokenKind::Error)
    report(lexical_code(token), token.range, lexical_message(source_, token));
  return token;
}

Token Parser::advance() {
  const Token consumed = token_;
  last_kind_ = consumed.kind;
  last_end_ = consumed.range.end;
  token_ = ahead_;
  ahead_ = token_.kind == TokenKind::End ? token_ : fetch();
  return consumed;
}

bool Parser::accept(TokenKind kind) {
  if (!is(kind)) return false;
  advance();
  return true;
}

Token Parser::expect(TokenKind kind, const std::string& context) {
  if (!is(kind)) fail_expected(describe(kind) + context);
  return advance();
}

Token Parser::expect_closing(TokenKind kind, const Token& opened, const std::string& or_else) {
  if (is(kind)) return advance();
  Diagnostic* diagnostic = report(
      "E0110", token_.range,
      fmt::format("expected {}{}, got {}", or_else, describe(kind), describe(source_, token_)));
  if (diagnostic != nullptr)
    diagnostic->notes.push_back(
        {opened.range, fmt::format("to close this {}", describe(opened.kind))});
  throw Abort{};
}

ast::Ident Parser::ident(const Token& token) const {
  return {std::string(source_.text(token.range)), token.range};
}

ast::Ident Parser::expect_name(const std::string& what) {
  if (is_keyword(token_.kind))
    fail("E0113", token_.range,
         fmt::format("expected {}, got {}; a keyword cannot be a name", what,
                     describe(source_, token_)));
  if (!is(TokenKind::Identifier)) fail_expected(what);
  return ident(advance());
}

SourceRange Parser::since(std::uint32_t begin) const {
  return {begin, last_end_ > begin ? last_end_ : begin};
}

// ---- errors and recovery ----

Diagnostic* Parser::report(const std::string& code, SourceRange range, const std::string& message) {
  // A second complaint about one token says nothing new; an Error token was reported when it was
  // read.
  if (last_error_place_ == static_cast<std::int64_t>(range.begin)) return nullptr;
  if (is(TokenKind::Error) && range.begin == token_.range.begin) return nullptr;
  if (errors_ == kMaxSyntaxErrors) {
    sink_.error(
        "E0119", range,
        fmt::format("too many errors; what follows the first {} is not checked", kMaxSyntaxErrors));
    throw Stop{};
  }
  ++errors_;
  last_error_place_ = range.begin;
  return &sink_.error(code, range, message);
}

void Parser::fail(const std::string& code, SourceRange range, const std::string& message) {
  report(code, range, message);
  throw Abort{};
}

void Parser::fail_expected(const std::string& expected) {
  // `//`: the first slash was taken for a division, unless an expression begins with it.
  const bool behind_slash =
      last_kind_ == TokenKind::Slash && last_end_ == token_.range.begin && is(TokenKind::Slash);
  if (behind_slash || (is(TokenKind::Slash) && ahead_.kind == TokenKind::Slash))
    fail("E0110", {token_.range.begin - (behind_slash ? 1 : 0), token_.range.end},
         fmt::format("expected {}, got '//'; a comment starts with '#'", expected));
  fail("E0110", token_.range,
       fmt::format("expected {}, got {}", expected, describe(source_, token_)));
}

/// Reads on with a copy of the lexer: `ident [ "(" ... ")" ] op`, or with `call_results` `ident {
/// "," ident } "=" ident "("`.
bool Parser::probe_statement(bool call_results) {
  Lexer lexer = lexer_;
  lexer.forget_comments();
  Token token = ahead_;
  int left = kProbeTokens;
  const auto step = [&] {
    token = lexer.next();
    --left;
    --probe_budget_;
  };
  if (probe_budget_ <= 0) return false;
  if (call_results) {
    while (token.kind == TokenKind::Comma && left > 0) {
      step();
      if (token.kind != TokenKind::Identifier) return false;
      step();
    }
    if (token.kind != TokenKind::Assign || token.op != ast::AssignOp::Assign) return false;
    step();
    if (token.kind != TokenKind::Identifier) return false;
    step();
    return token.kind == TokenKind::LeftParen;
  }
  int open = 0;
  do {
    if (token.kind == TokenKind::LeftParen) ++open;
    if (token.kind == TokenKind::RightParen) --open;
    const bool leaves_statement = token.kind == TokenKind::End || token.kind == TokenKind::KwDef ||
                                  token.kind == TokenKind::LeftBrace ||
                                  token.kind == TokenKind::RightBrace;
    if (leaves_statement || left <= 0) return false;
    step();
  } while (open > 0);
  return token.kind == TokenKind::Assign;
}

bool Parser::starts_statement() {
  if (is(TokenKind::KwFor)) return ahead_.kind == TokenKind::Identifier;
  // A line that gives a keyword as a name is a statement too, to be reported.
  const bool misnamed = is_keyword(token_.kind) && token_.first_on_line;
  if (!is(TokenKind::Identifier) && !misnamed) return false;
  // `where a in 0:N, b = 3`: what follows belongs to the clause list.
  const bool in_list = last_kind_ == TokenKind::Comma || last_kind_ == TokenKind::KwWhere;
  switch (ahead_.kind) {
  case TokenKind::Assign: return !in_list || ahead_.op != ast::AssignOp::Assign;
  case TokenKind::LeftParen: return probe_statement(/*call_results=*/false);
  case TokenKind::Comma:
    return !in_list && token_.first_on_line && probe_statement(/*call_results=*/true);
  default: return false;
  }
}

/// Skips to where the statement after a broken one may start; at least one token, so that parsing
/// goes on.
void Parser::synchronise_statement(std::uint32_t statement_begin) {
  int braces = 0;
  bool progress = token_.range.begin != statement_begin;
  while (!is(TokenKind::End) && !is(TokenKind::KwDef)) {
    if (braces == 0) {
      if (is(TokenKind::RightBrace) || is(TokenKind::Semicolon)) return;
      if (progress && starts_statement()) return;
    }
    if (is(TokenKind::LeftBrace)) ++braces;
    if (is(TokenKind::RightBrace)) --braces;
    advance();
    progress = true;
  }
}

/// Skips to the `,` or `)` that ends a broken list element, or to what follows the list.
void Parser::synchronise_list() {
  int parens = 0;
  while (!is(TokenKind::End) && !is(TokenKind::KwDef) && !is(TokenKind::Arrow) &&
         !is(TokenKind::LeftBrace) && !is(TokenKind::RightBrace)) {
    if (parens == 0 && (is(TokenKind::Comma) || is(TokenKind::RightParen))) return;
    if (is(TokenKind::LeftParen)) ++parens;
    if (is(TokenKind::RightParen)) --parens;
    advance();
  }
}

/// Skips the rest of a broken header to the `{` of its body, so that the errors of the body are
/// found as well.
void Parser::synchronise_to_body() {
  while (!is(TokenKind::End) && !is(TokenKind::KwDef) && !is(TokenKind::LeftBrace) &&
         !is(TokenKind::RightBrace))
    advance();
}

}  // namespace tc::lang
