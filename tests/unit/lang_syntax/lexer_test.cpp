// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/lexer.h"

#include <cmath>
#include <limits>

#include "syntax_testing.h"

namespace tc::lang {
namespace {

char class_of(TokenKind kind) {
  switch (kind) {
  case TokenKind::Identifier: return 'n';
  case TokenKind::Integer: return 'i';
  case TokenKind::Float: return 'f';
  case TokenKind::TypeName: return 't';
  case TokenKind::Assign: return '=';
  case TokenKind::Error: return '!';
  default: return is_keyword(kind) ? 'k' : 's';
  }
}

/// "n:A s:. i:1" for `A.1`.
std::string tokens(const std::string& text) {
  const SourceBuffer source("t", text);
  std::string result;
  for (const Token& token : tokenize(source)) {
    if (token.kind == TokenKind::End) break;
    if (!result.empty()) result += ' ';
    result += class_of(token.kind);
    result += ':';
    result += source.text(token.range);
  }
  return result;
}

TEST(Lexer, LongestTokenWins) {
  struct Case {
    const char* text;
    const char* tokens;
  };
  const Case cases[] = {
      {"", ""},
      {" \t\r\n\f\v# comment", ""},
      {"a+=!b", "n:a =:+=! n:b"},
      {"a+= !b", "n:a =:+= s:! n:b"},
      {"a + =b", "n:a s:+ =:= n:b"},
      {"a=!b", "n:a =:= s:! n:b"},
      {"a*=!b*=c", "n:a =:*=! n:b =:*= n:c"},
      {"min=!min=min (", "=:min=! =:min= k:min s:("},
      {"max=argmin=!argmax=!argmax=", "=:max= =:argmin=! =:argmax=! =:argmax="},
      {"xmin=3", "n:xmin =:= i:3"},
      {"min =", "k:min =:="},
      {"a<=>b<=c<d->e>=f>g", "n:a s:<=> n:b s:<= n:c s:< n:d s:-> n:e s:>= n:f s:> n:g"},
      {"a==b!=c=d", "n:a s:== n:b s:!= n:c =:= n:d"},
      {"===", "s:== =:="},
      {"!==", "s:!= =:="},
      {"a&&b||!c", "n:a s:&& n:b s:|| s:! n:c"},
      {"a--b", "n:a s:- s:- n:b"},
      {"?:,;(){}%/", "s:? s:: s:, s:; s:( s:) s:{ s:} s:% s:/"},
      {"def where in exists for pad min max argmin argmax true false const",
       "k:def k:where k:in k:exists k:for k:pad k:min k:max k:argmin k:argmax k:true k:false "
       "k:const"},
      {"Def define int inner _ _1 x'", "n:Def n:define n:int n:inner n:_ n:_1 n:x !:'"},
      {"inf nan info nano Inf inf_", "f:inf f:nan n:info n:nano n:Inf n:inf_"},
      {"float half double int4 uint4 float8_e4m3fn float32 float3",
       "t:float t:half t:double t:int4 t:uint4 t:float8_e4m3fn t:float32 n:float3"},
      {"a#b\nc", "n:a n:c"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(tokens(c.text), c.tokens) << c.text;
}

TEST(Lexer, Numbers) {
  struct Case {
    const char* text;
    const char* tokens;
  };
  const Case cases[] = {
      {"0 12 007", "i:0 i:12 i:007"},
      {"0x1F 0XaB 0x", "i:0x1F i:0XaB !:0x"},
      {"1. .5 1.5 1.e5 1e5 1E-5 1.5e+10", "f:1. f:.5 f:1.5 f:1.e5 f:1e5 f:1E-5 f:1.5e+10"},
      {"A.1", "n:A s:. i:1"},
      {"A.1.5", "n:A s:. i:1 f:.5"},
      {"A .1", "n:A f:.1"},
      {"A. 1", "n:A s:. i:1"},
      {"A.x", "n:A s:. n:x"},
      {"A.0x1", "n:A s:. !:0x1"},
      {"A.1e5", "n:A s:. !:1e5"},
      {"float.5 in.5 inf.5 ).5", "t:float f:.5 k:in f:.5 f:inf f:.5 s:) f:.5"},
      {"i+.5 0:1.", "n:i s:+ f:.5 i:0 s:: f:1."},
      {"1..5", "f:1. f:.5"},
      {"12x 1.5f 1e 1e+ 0x1G 1_000", "!:12x !:1.5f !:1e !:1e s:+ !:0x1G !:1_000"},
      {"1.x", "!:1.x"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(tokens(c.text), c.tokens) << c.text;
}

TEST(Lexer, UnexpectedBytesAreOneTokenPerRun) {
  EXPECT_EQ(tokens("a @@$ b"), "n:a !:@@$ n:b");
  EXPECT_EQ(tokens("a\xc3\xa9\xff"
                   "b"),
            "n:a !:\xc3\xa9\xff n:b");
  EXPECT_EQ(tokens("a & b | c"), "n:a !:& n:b !:| n:c");
  EXPECT_EQ(tokens(std::string("a\0b", 3)), std::string("n:a !:\0 n:b", 11));
  EXPECT_EQ(tokens("\xef\xbb\xbf"
                   "def"),
            "k:def");
  EXPECT_EQ(tokens("a \xef\xbb\xbf"
                   "b"),
            "n:a !:\xef\xbb\xbf n:b");
}

TEST(Lexer, CommentsKnowTheirPlace) {
  const SourceBuffer source("t", "# one\na # two \t\r\n\n\n  # three\nb");
  std::vector<ast::Comment> comments;
  Lexer lexer(source, &comments);
  std::vector<Token> tokens;
  do
    tokens.push_back(lexer.next());
  while (tokens.back().kind != TokenKind::End);
  ASSERT_EQ(comments.size(), 3u);
  EXPECT_EQ(comments[0].text, "# one");
  EXPECT_TRUE(comments[0].own_line);
  EXPECT_EQ(comments[1].text, "# two");
  EXPECT_FALSE(comments[1].own_line);
  EXPECT_EQ(comments[2].text, "# three");
  EXPECT_TRUE(comments[2].own_line);
  EXPECT_TRUE(comments[2].blank_before);
  EXPECT_TRUE(tokens[1].first_on_line);
  EXPECT_FALSE(tokens[1].blank_before);
}

TEST(Literal, Values) {
  using Kind = ast::Literal::Kind;
  const auto integer = [](const char* text) { return literal_from_spelling(text, Kind::Int); };
  EXPECT_EQ(integer("0").int_value, 0u);
  EXPECT_EQ(integer("007").int_value, 7u);
  EXPECT_EQ(integer("0xFf").int_value, 255u);
  EXPECT_EQ(integer("18446744073709551615").int_value, UINT64_MAX);
  EXPECT_FALSE(integer("18446744073709551615").overflows);
  EXPECT_TRUE(integer("18446744073709551616").overflows);
  EXPECT_FALSE(integer("0xFFFFFFFFFFFFFFFF").overflows);
  EXPECT_TRUE(integer("0x10000000000000000").overflows);
  const auto real = [](const std::string& text) {
    return literal_from_spelling(text, Kind::Float).float_value;
  };
  EXPECT_EQ(real(".5"), 0.5);
  EXPECT_EQ(real("1."), 1.0);
  EXPECT_EQ(real("1.e2"), 100.0);
  EXPECT_EQ(real("1E+2"), 100.0);
  EXPECT_EQ(real("0.1"), 0.1);
  EXPECT_EQ(real("inf"), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(real("nan")));
  EXPECT_EQ(real("1e400"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("1e-400"), 0.0);
  EXPECT_EQ(real("1e99999999999999999999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(real("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(real("1" + std::string(400, '0') + "."), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real("0e99999"), 0.0);
  EXPECT_EQ(real("4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(literal_from_spelling("true", Kind::Bool).int_value, 1u);
  EXPECT_EQ(literal_from_spelling("false", Kind::Bool).int_value, 0u);
}

TEST(Lexer, DescribesEveryKind) {
  for (int kind = 0; kind <= static_cast<int>(TokenKind::Semicolon); ++kind)
    EXPECT_FALSE(describe(static_cast<TokenKind>(kind)).empty());
}

}  // namespace
}  // namespace tc::lang
