// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>

#include "tc/lang/lexer.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c - 'A' + 10;
}

void read_integer(std::string_view digits, unsigned base, ast::Literal& literal) {
  for (const char c : digits) {
    std::uint64_t scaled = 0;
    literal.overflows |= __builtin_mul_overflow(literal.int_value, base, &scaled);
    literal.overflows |=
        __builtin_add_overflow(scaled, static_cast<unsigned>(digit_value(c)), &literal.int_value);
  }
}

/// True if the magnitude of an out-of-range decimal is large rather than small.
bool is_large(std::string_view text) {
  const std::size_t exponent_mark = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, exponent_mark);
  std::int64_t exponent = 0;
  bool negative = false;
  if (exponent_mark != std::string_view::npos) {
    for (const char c : text.substr(exponent_mark + 1)) {
      if (c == '-') negative = true;
      // Far beyond the length of any text, so that it decides alone.
      if (c >= '0' && c <= '9')
        exponent = std::min<std::int64_t>(exponent * 10 + (c - '0'), std::int64_t{1} << 50);
    }
  }
  // Decimal position of the first nonzero digit.
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  return static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) +
             (negative ? -exponent : exponent) >
         0;
}

double read_float(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return is_large(text) ? std::numeric_limits<double>::infinity() : 0.0;
  check(error == std::errc() && end == text.data() + text.size(),
        "the lexer accepts only floats that from_chars reads");
  return value;
}

}  // namespace

ast::Literal literal_from_spelling(std::string_view spelling, ast::Literal::Kind kind) {
  ast::Literal literal{kind, std::string(spelling)};
  switch (kind) {
  case ast::Literal::Kind::Bool: literal.int_value = spelling == "true" ? 1 : 0; break;
  case ast::Literal::Kind::Float: literal.float_value = read_float(spelling); break;
  case ast::Literal::Kind::Int: {
    const bool hex = spelling.size() > 2 && (spelling[1] == 'x' || spelling[1] == 'X');
    read_integer(hex ? spelling.substr(2) : spelling, hex ? 16 : 10, literal);
    break;
  }
  }
  return literal;
}

}  // namespace tc::lang
