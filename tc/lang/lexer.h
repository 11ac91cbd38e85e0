// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tc/lang/ast.h"
#include "tc/support/source.h"

namespace tc::lang {

// clang-format off
enum class TokenKind {
  End, Error,
  Identifier, Integer, Float, TypeName,
  KwDef, KwWhere, KwIn, KwExists, KwFor, KwPad, KwMin, KwMax, KwArgMin, KwArgMax, KwTrue, KwFalse, KwConst,
  Assign,  ///< `=` and every reduction, see Token::op and Token::init
  Arrow, Equivalent,
  Less, Greater, LessEqual, GreaterEqual, EqualEqual, NotEqual, AndAnd, OrOr,
  Not, Question, Colon, Comma, Dot, Plus, Minus, Star, Slash, Percent,
  LeftParen, RightParen, LeftBrace, RightBrace, Semicolon,
};
// clang-format on

enum class LexicalError { UnexpectedCharacter, MalformedNumber };

struct Token {
  TokenKind kind = TokenKind::End;
  SourceRange range;
  ast::AssignOp op = ast::AssignOp::Assign;                ///< Assign
  bool init = false;                                       ///< Assign: with `!`
  DType dtype = DType::Float32;                            ///< TypeName
  LexicalError error = LexicalError::UnexpectedCharacter;  ///< Error
  bool first_on_line = false;
  bool blank_before = false;  ///< a blank line stands before it
};

/// Splits a text into tokens, one at a time, longest token first (language.md section 2). A copy is
/// a cheap bookmark. Bytes that begin no token and malformed numbers give Error tokens; the caller
/// reports them (see lexical_message).
class Lexer {
public:
  /// `source` must outlive the lexer. Comments are appended to `comments` unless it is null.
  Lexer(const SourceBuffer& source, std::vector<ast::Comment>* comments);

  /// The next token; End again and again at the end of the text.
  Token next();
  /// From here on comments are not recorded: for looking ahead with a copy.
  void forget_comments() { comments_ = nullptr; }

private:
  struct Gap {
    bool line_end = false;
    bool blank = false;
  };
  Gap skip_white_space();
  Token word();
  Token number(bool is_dimension);
  Token symbol();
  Token unexpected();
  Token token(TokenKind kind, std::uint32_t begin) const;
  char at(std::uint32_t offset) const;

  std::string_view text_;
  std::uint32_t start_ = 0;
  std::uint32_t position_ = 0;
  bool after_identifier_ = false;  ///< the last token was an identifier and nothing stands between
  bool in_dimension_ = false;      ///< the last token was the `.` of a dimension read
  std::vector<ast::Comment>* comments_;
};

/// All tokens up to and including End.
std::vector<Token> tokenize(const SourceBuffer& source);

/// Code (E01xx) and message of an Error token.
std::string lexical_code(const Token& token);
std::string lexical_message(const SourceBuffer& source, const Token& token);

/// For messages: "'->'", "a name", "a number"; of a token "name 'x'", "keyword 'where'", "end of
/// text".
std::string describe(TokenKind kind);
std::string describe(const SourceBuffer& source, const Token& token);
bool is_keyword(TokenKind kind);
const char* spelling(ast::AssignOp op);

/// Value of a spelled number as the lexer accepts it: Integer (decimal, hex) or Float (also `inf`,
/// `nan`).
ast::Literal literal_from_spelling(std::string_view spelling, ast::Literal::Kind kind);

}  // namespace tc::lang
