// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/lexer.h"

#include <array>

#include <fmt/format.h>

#include "tc/support/check.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_word(char c) {
  return is_word_start(c) || is_digit(c);
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

struct Spelling {
  std::string_view text;
  TokenKind kind;
};

constexpr std::array<Spelling, 13> kKeywords = {{
    {"argmax", TokenKind::KwArgMax},
    {"argmin", TokenKind::KwArgMin},
    {"const", TokenKind::KwConst},
    {"def", TokenKind::KwDef},
    {"exists", TokenKind::KwExists},
    {"false", TokenKind::KwFalse},
    {"for", TokenKind::KwFor},
    {"in", TokenKind::KwIn},
    {"max", TokenKind::KwMax},
    {"min", TokenKind::KwMin},
    {"pad", TokenKind::KwPad},
    {"true", TokenKind::KwTrue},
    {"where", TokenKind::KwWhere},
}};

constexpr std::array<Spelling, 25> kSymbols = {{
    {"<=>", TokenKind::Equivalent},  {"->", TokenKind::Arrow},      {"<=", TokenKind::LessEqual},
    {">=", TokenKind::GreaterEqual}, {"==", TokenKind::EqualEqual}, {"!=", TokenKind::NotEqual},
    {"&&", TokenKind::AndAnd},       {"||", TokenKind::OrOr},       {"<", TokenKind::Less},
    {">", TokenKind::Greater},       {"!", TokenKind::Not},         {"?", TokenKind::Question},
    {":", TokenKind::Colon},         {",", TokenKind::Comma},       {".", TokenKind::Dot},
    {"+", TokenKind::Plus},          {"-", TokenKind::Minus},       {"*", TokenKind::Star},
    {"/", TokenKind::Slash},         {"%", TokenKind::Percent},     {"(", TokenKind::LeftParen},
    {")", TokenKind::RightParen},    {"{", TokenKind::LeftBrace},   {"}", TokenKind::RightBrace},
    {";", TokenKind::Semicolon},
}};

/// The reduction that a keyword begins; Assign: none.
ast::AssignOp reduction_of(TokenKind keyword) {
  switch (keyword) {
  case TokenKind::KwMin: return ast::AssignOp::Min;
  case TokenKind::KwMax: return ast::AssignOp::Max;
  case TokenKind::KwArgMin: return ast::AssignOp::ArgMin;
  case TokenKind::KwArgMax: return ast::AssignOp::ArgMax;
  default: return ast::AssignOp::Assign;
  }
}

/// Longest keyword or type name; longer words are identifiers without a look at the tables.
constexpr std::size_t kLongestWord = std::string_view("float8_e4m3fn").size();

/// True if some token, white space or a comment begins with `c`. `&` and `|` are no tokens alone.
bool begins_something(char c) {
  return is_word(c) || is_blank(c) ||
         std::string_view("<>!?:,.+-*/%(){};=#").find(c) != std::string_view::npos;
}

/// The symbol of one character; Error: none.
TokenKind single_symbol(char c) {
  switch (c) {
  case '<': return TokenKind::Less;
  case '>': return TokenKind::Greater;
  case '!': return TokenKind::Not;
  case '?': return TokenKind::Question;
  case ':': return TokenKind::Colon;
  case ',': return TokenKind::Comma;
  case '.': return TokenKind::Dot;
  case '+': return TokenKind::Plus;
  case '-': return TokenKind::Minus;
  case '*': return TokenKind::Star;
  case '/': return TokenKind::Slash;
  case '%': return TokenKind::Percent;
  case '(': return TokenKind::LeftParen;
  case ')': return TokenKind::RightParen;
  case '{': return TokenKind::LeftBrace;
  case '}': return TokenKind::RightBrace;
  case ';': return TokenKind::Semicolon;
  case '=': return TokenKind::Assign;
  default: return TokenKind::Error;
  }
}

/// The symbol of two characters; Error: none.
TokenKind double_symbol(char first, char second) {
  if (second == '=') {
    switch (first) {
    case '<': return TokenKind::LessEqual;
    case '>': return TokenKind::GreaterEqual;
    case '=': return TokenKind::EqualEqual;
    case '!': return TokenKind::NotEqual;
    default: return TokenKind::Error;
    }
  }
  if (first == '-' && second == '>') return TokenKind::Arrow;
  if (first == '&' && second == '&') return TokenKind::AndAnd;
  if (first == '|' && second == '|') return TokenKind::OrOr;
  return TokenKind::Error;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (text.size() <= kLongest) return printable(text);
  return printable(text.substr(0, kLongest)) + "...";
}

}  // namespace

Lexer::Lexer(const SourceBuffer& source, std::vector<ast::Comment>* comments)
    : text_(source.text()), comments_(comments) {
  // A byte order mark at the very start carries no meaning.
  if (text_.substr(0, 3) == "\xef\xbb\xbf") start_ = 3;
  position_ = start_;
}

char Lexer::at(std::uint32_t offset) const {
  return offset < text_.size() ? text_[offset] : '\0';
}

Token Lexer::token(TokenKind kind, std::uint32_t begin) const {
  Token result;
  result.kind = kind;
  result.range = {begin, position_};
  return result;
}

Lexer::Gap Lexer::skip_white_space() {
  Gap gap;
  int line_ends = 0;
  const auto at_line_start = [&] { return gap.line_end || position_ == start_; };
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\n') {
      gap.line_end = true;
      ++line_ends;
      ++position_;
    } else if (is_blank(c)) {
      ++position_;
    } else if (c == '#') {
      const std::uint32_t begin = position_;
      const bool own_line = at_line_start();
      position_ = static_cast<std::uint32_t>(std::min(text_.find('\n', begin), text_.size()));
      std::uint32_t end = position_;
      while (end > begin && is_blank(text_[end - 1]))
        --end;
      if (comments_ != nullptr)
        comments_->push_back(
            {{begin, end}, std::string(text_.substr(begin, end - begin)), own_line, line_ends > 1});
      line_ends = 0;
    } else {
      break;
    }
  }
  gap.blank = line_ends > 1;
  return gap;
}

Token Lexer::next() {
  const std::uint32_t before = position_;
  const Gap gap = skip_white_space();
  const bool directly = position_ == before;
  const char c = at(position_);
  Token result;
  if (position_ >= text_.size()) {
    result = token(TokenKind::End, position_);
  } else if (in_dimension_ && directly) {
    result = number(/*is_dimension=*/true);
  } else if (c == '.' && is_digit(at(position_ + 1)) && after_identifier_ && directly) {
    ++position_;
    result = token(TokenKind::Dot, position_ - 1);
    in_dimension_ = true;
    after_identifier_ = false;
    return result;
  } else if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) {
    result = number(/*is_dimension=*/false);
  } else if (is_word_start(c)) {
    result = word();
  } else {
    result = symbol();
  }
  in_dimension_ = false;
  after_identifier_ = result.kind == TokenKind::Identifier;
  result.first_on_line = gap.line_end || before == start_;
  result.blank_before = gap.blank;
  return result;
}

Token Lexer::word() {
  const std::uint32_t begin = position_;
  while (is_word(at(position_)))
    ++position_;
  const std::string_view text = text_.substr(begin, position_ - begin);
  if (text.size() > kLongestWord) return token(TokenKind::Identifier, begin);
  if (text == "inf" || text == "nan") return token(TokenKind::Float, begin);
  for (const Spelling& keyword : kKeywords) {
    if (keyword.text != text) continue;
    const ast::AssignOp reduction = reduction_of(keyword.kind);
    if (reduction == ast::AssignOp::Assign || at(position_) != '=')
      return token(keyword.kind, begin);
    ++position_;
    const bool init = at(position_) == '!';
    if (init) ++position_;
    Token result = token(TokenKind::Assign, begin);
    result.op = reduction;
    result.init = init;
    return result;
  }
  if (const std::optional<DType> type = dtype_from_name(text)) {
    Token result = token(TokenKind::TypeName, begin);
    result.dtype = *type;
    return result;
  }
  return token(TokenKind::Identifier, begin);
}

Token Lexer::number(bool is_dimension) {
  const std::uint32_t begin = position_;
  TokenKind kind = TokenKind::Integer;
  bool well_formed = true;
  if (at(position_) == '0' && (at(position_ + 1) == 'x' || at(position_ + 1) == 'X') &&
      !is_dimension) {
    position_ += 2;
    well_formed = is_hex_digit(at(position_));
    while (is_hex_digit(at(position_)))
      ++position_;
  } else {
    while (is_digit(at(position_)))
      ++position_;
    if (!is_dimension) {
      if (at(position_) == '.') {
        kind = TokenKind::Float;
        ++position_;
        while (is_digit(at(position_)))
          ++position_;
      }
      if (at(position_) == 'e' || at(position_) == 'E') {
        const char sign = at(position_ + 1);
        const std::uint32_t digits = position_ + (sign == '+' || sign == '-' ? 2 : 1);
        if (is_digit(at(digits))) {
          kind = TokenKind::Float;
          position_ = digits;
          while (is_digit(at(position_)))
            ++position_;
        }
      }
    }
  }
  if (is_word(at(position_))) {
    well_formed = false;
    while (is_word(at(position_)))
      ++position_;
  }
  if (well_formed) return token(kind, begin);
  Token result = token(TokenKind::Error, begin);
  result.error = LexicalError::MalformedNumber;
  return result;
}

Token Lexer::symbol() {
  const std::uint32_t begin = position_;
  const char first = at(position_);
  const char second = at(position_ + 1);
  if ((first == '+' || first == '*') && second == '=') {
    const bool init = at(position_ + 2) == '!';
    position_ += init ? 3 : 2;
    Token result = token(TokenKind::Assign, begin);
    result.op = first == '+' ? ast::AssignOp::Add : ast::AssignOp::Mul;
    result.init = init;
    return result;
  }
  if (first == '<' && second == '=' && at(position_ + 2) == '>') {
    position_ += 3;
    return token(TokenKind::Equivalent, begin);
  }
  if (const TokenKind kind = double_symbol(first, second); kind != TokenKind::Error) {
    position_ += 2;
    return token(kind, begin);
  }
  if (const TokenKind kind = single_symbol(first); kind != TokenKind::Error) {
    ++position_;
    return token(kind, begin);
  }
  return unexpected();
}

Token Lexer::unexpected() {
  const std::uint32_t begin = position_;
  ++position_;
  // One message for a run of such bytes.
  while (position_ < text_.size() && !begins_something(text_[position_]))
    ++position_;
  return token(TokenKind::Error, begin);
}

std::vector<Token> tokenize(const SourceBuffer& source) {
  Lexer lexer(source, nullptr);
  std::vector<Token> tokens;
  do
    tokens.push_back(lexer.next());
  while (tokens.back().kind != TokenKind::End);
  return tokens;
}

std::string lexical_code(const Token& token) {
  return token.error == LexicalError::MalformedNumber ? "E0102" : "E0101";
}

std::string lexical_message(const SourceBuffer& source, const Token& token) {
  const std::string_view text = source.text(token.range);
  if (token.error == LexicalError::MalformedNumber)
    return fmt::format(
        "malformed number '{}'; a name needs an operator before it, a number has no suffix",
        shown(text));
  if (text[0] == '[' || text[0] == ']')
    return fmt::format("unexpected character '{}'; subscripts stand in parentheses: 'A(i,j)'",
                       text[0]);
  if (text[0] == '&') return "unexpected character '&'; logical and is '&&'";
  if (text[0] == '|') return "unexpected character '|'; logical or is '||'";
  return fmt::format("unexpected character{} '{}'; remove it", text.size() > 1 ? "s" : "",
                     shown(text));
}

bool is_keyword(TokenKind kind) {
  if (kind == TokenKind::TypeName) return true;
  for (const Spelling& keyword : kKeywords)
    if (keyword.kind == kind) return true;
  return false;
}

std::string describe(TokenKind kind) {
  switch (kind) {
  case TokenKind::End: return "end of text";
  case TokenKind::Error: return "an unexpected character";
  case TokenKind::Identifier: return "a name";
  case TokenKind::Integer: return "an integer";
  case TokenKind::Float: return "a number";
  case TokenKind::TypeName: return "a type";
  case TokenKind::Assign: return "an assignment operator";
  default: break;
  }
  for (const Spelling& keyword : kKeywords)
    if (keyword.kind == kind) return fmt::format("'{}'", keyword.text);
  for (const Spelling& symbol : kSymbols)
    if (symbol.kind == kind) return fmt::format("'{}'", symbol.text);
  unreachable("every kind of token has a spelling");
}

std::string describe(const SourceBuffer& source, const Token& token) {
  const std::string text = shown(source.text(token.range));
  switch (token.kind) {
  case TokenKind::End: return "end of text";
  case TokenKind::Identifier: return fmt::format("name '{}'", text);
  case TokenKind::Integer:
  case TokenKind::Float: return fmt::format("number '{}'", text);
  case TokenKind::TypeName: return fmt::format("type name '{}'", text);
  default: break;
  }
  if (is_keyword(token.kind)) return fmt::format("keyword '{}'", text);
  return fmt::format("'{}'", text);
}

const char* spelling(ast::AssignOp op) {
  switch (op) {
  case ast::AssignOp::Assign: return "=";
  case ast::AssignOp::Add: return "+=";
  case ast::AssignOp::Mul: return "*=";
  case ast::AssignOp::Min: return "min=";
  case ast::AssignOp::Max: return "max=";
  case ast::AssignOp::ArgMin: return "argmin=";
  case ast::AssignOp::ArgMax: return "argmax=";
  }
  unreachable("an AssignOp holds one of its enumerators");
}

}  // namespace tc::lang
