// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "tc/kernel/text.h"

namespace tc::kernel {
namespace {

class Lexer {
public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      skip_space();
      Token token = scan();
      const bool last = token.kind == Token::Kind::End;
      tokens.push_back(std::move(token));
      if (last) return tokens;
    }
  }

private:
  char at(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  void advance() {
    if (at() == '\n') {
      ++line_;
      line_start_ = position_ + 1;
    }
    ++position_;
  }

  void skip_space() {
    while (position_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(at()))) {
        advance();
      } else if (at() == '/' && at(1) == '/') {
        while (position_ < text_.size() && at() != '\n')
          advance();
      } else {
        return;
      }
    }
  }

  Token scan() {
    Token token;
    token.line = line_;
    token.column = static_cast<int>(position_ - line_start_) + 1;
    const std::size_t begin = position_;
    token.kind = scan_kind();
    token.text = std::string(text_.substr(begin, position_ - begin));
    return token;
  }

  Token::Kind scan_kind() {
    if (position_ >= text_.size()) return Token::Kind::End;
    if (is_digit(at())) return number();
    if (is_word(at())) {
      while (is_word(at()))
        advance();
      // The number that tells equal names apart.
      if (at() == '.' && is_digit(at(1))) {
        advance();
        while (is_digit(at()))
          advance();
      }
      return Token::Kind::Name;
    }
    if (at() == '#') {
      while (position_ < text_.size() && at() != '\n')
        advance();
      return Token::Kind::Comment;
    }
    static constexpr std::string_view kTwo[] = {"<=", ">=", "==", "!=", "&&", "||"};
    for (const auto two : kTwo) {
      if (text_.substr(position_, 2) == two) {
        advance();
        advance();
        return Token::Kind::Punct;
      }
    }
    if (std::string_view("+-*/%<>=!()[]{}:,;?$").find(at()) == std::string_view::npos)
      throw ParseFailure{{line_, static_cast<int>(position_ - line_start_) + 1,
                          fmt::format("unexpected character '{}'", at())}};
    advance();
    return Token::Kind::Punct;
  }

  /// Digits, then a fraction, an exponent and a type suffix.
  Token::Kind number() {
    bool floating = false;
    while (is_digit(at()))
      advance();
    if (at() == '.' && is_digit(at(1))) {
      floating = true;
      advance();
      while (is_digit(at()))
        advance();
    }
    const bool exponent =
        at() == 'e' && (is_digit(at(1)) || ((at(1) == '-' || at(1) == '+') && is_digit(at(2))));
    if (exponent) {
      floating = true;
      advance();
      advance();
      while (is_digit(at()))
        advance();
    }
    if (at() == 'f') floating = true;
    while (is_word(at()))
      advance();
    return floating ? Token::Kind::Float : Token::Kind::Int;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  return Lexer(text).run();
}

}  // namespace tc::kernel
