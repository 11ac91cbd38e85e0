// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "syntax_testing.h"

namespace tc::lang {
namespace {

/// Formats and checks that the result parses to the same tree and is a fixed point.
std::string formatted(const std::string& text) {
  const ast::Program parsed = program(text);
  const std::string result = format(parsed);
  const ast::Program again = program(result);
  EXPECT_TRUE(equal(parsed, again)) << result;
  EXPECT_EQ(format(again), result);
  EXPECT_EQ(again.comments.size(), parsed.comments.size());
  return result;
}

std::string formatted_body(const std::string& body) {
  const std::string text = formatted("def f() -> () {" + body + "}");
  const std::string head = "def f() -> () {";
  EXPECT_EQ(text.substr(0, head.size()), head);
  return text.substr(head.size());
}

TEST(Format, Expressions) {
  struct Case {
    const char* text;
    const char* formatted;
  };
  const Case cases[] = {
      {"a+b*c", "a + b * c"},
      {"(a+b)*c", "(a + b) * c"},
      {"(a*b)+c", "a * b + c"},
      {"a-(b-c)", "a - (b - c)"},
      {"(a-b)-c", "a - b - c"},
      {"a/(b*c)", "a / (b * c)"},
      {"a- -b", "a - -b"},
      {"a-(-b)", "a - -b"},
      {"-(-a)", "--a"},
      {"-(a+b)", "-(a + b)"},
      {"-(a*b)", "-(a * b)"},
      {"!(!a)", "!!a"},
      {"!(a==b)", "!(a == b)"},
      {"(a<b)<c", "a < b < c"},
      {"a<(b<c)", "a < (b < c)"},
      {"(a&&b)||c", "a && b || c"},
      {"a&&(b||c)", "a && (b || c)"},
      {"a?b:(c?d:e)", "a ? b : c ? d : e"},
      {"(a?b:c)?d:e", "(a ? b : c) ? d : e"},
      {"a?(b?c:d):e", "a ? b ? c : d : e"},
      {"(a?b:c)+1", "(a ? b : c) + 1"},
      {"f( a , b )", "f(a,b)"},
      {"f(a, g(b))", "f(a, g(b))"},
      {"A( i+1 ,2 * j - 1)", "A(i+1,2*j-1)"},
      {"A(i- -1)", "A(i - -1)"},
      {"A((i+1)*2)", "A((i+1)*2)"},
      {"A(i<j)", "A(i < j)"},
      {"exp(a(i)+1)", "exp(a(i) + 1)"},
      {"min(a,b)", "min(a,b)"},
      {"min(a, 1.0)", "min(a, 1.0)"},
      {"pad(x(i-1),0)", "pad(x(i-1), 0)"},
      {"float (  a )", "float(a)"},
      {"A.1+ .5", "A.1 + .5"},
      {"0x1F", "0x1F"},
      {"inf", "inf"},
      {"true", "true"},
      {"f()", "f()"},
      {"((a))", "a"},
  };
  for (const Case& c : cases) {
    const ast::ExprPtr expr = expression(c.text);
    ASSERT_NE(expr, nullptr) << c.text;
    EXPECT_EQ(format(*expr), c.formatted) << c.text;
    EXPECT_EQ(formatted_body("a = " + std::string(c.text)),
              "\n  a = " + std::string(c.formatted) + "\n}\n");
  }
}

TEST(Format, Statements) {
  struct Case {
    const char* text;
    const char* formatted;
  };
  const Case cases[] = {
      {"a = b ; c=d;;", "\n  a = b\n  c = d\n}\n"},
      {"a+=!b", "\n  a +=! b\n}\n"},
      {"a+= !b", "\n  a += !b\n}\n"},
      {"a=!b", "\n  a = !b\n}\n"},
      {"a argmin=! b", "\n  a argmin=! b\n}\n"},
      {"s()=1", "\n  s() = 1\n}\n"},
      {"a(i)=b where i in 0:n-1,x=i+1,exists b(i),i<=j",
       "\n  a(i) = b where i in 0:n-1, x = i + 1, exists b(i), i <= j\n}\n"},
      {"a(i)=b where i in (p?q:r):n", "\n  a(i) = b where i in (p ? q : r):n\n}\n"},
      {"a(i)=b where i in max(-1,-i):min(2,n-i)",
       "\n  a(i) = b where i in max(-1,-i):min(2,n-i)\n}\n"},
      {"a(i)=b<=>f(a,b)where i in 0:.5", "\n  a(i) = b <=> f(a,b) where i in 0:.5\n}\n"},
      {"a,b=f(x,1.5)", "\n  a, b = f(x, 1.5)\n}\n"},
      {"for t in 0:T{a=b}", "\n  for t in 0:T {\n    a = b\n  }\n}\n"},
      {"for t in 0:T{}", "\n  for t in 0:T {\n  }\n}\n"},
      {"\n\n\na=b\n\n\n\nc=d\n\n\n", "\n  a = b\n\n  c = d\n}\n"},
      {"", "\n}\n"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(formatted_body(c.text), c.formatted) << c.text;
}

TEST(Format, OneStatementOnOneLine) {
  const ast::Program parsed = in_def("for t in 0:T { a = b c,d = f(x) for s in 0:2 {} }");
  EXPECT_EQ(format(parsed.defs[0].body[0]),
            "for t in 0:T { a = b; c, d = f(x); for s in 0:2 { } }");
  EXPECT_EQ(format(in_def("a(i) +=! b(i)\n * c where i in 0:3").defs[0].body[0]),
            "a(i) +=! b(i) * c where i in 0:3");
}

TEST(Format, Headers) {
  EXPECT_EQ(formatted("def f(const  float c,half( N,2 * N )A)->(B,int32(N)C){}def g()->(){}"),
            "def f(const float c, half(N,2*N) A) -> (B, int32(N) C) {\n}\n\ndef g() -> () {\n}\n");
}

TEST(Format, CommentsStayInPlace) {
  EXPECT_EQ(formatted("# file\n\n\n# about f\ndef f(float(N) A,  # the input\n   # more\n      "
                      "float B) -> (C) {#body\n"
                      "#own\n   a = b# behind\n\n   # before c\n c = d + # inner\n e # after\n # "
                      "last\n}# end\n#eof"),
            R"(# file

# about f
# the input
# more
def f(float(N) A, float B) -> (C) {  #body
  #own
  a = b  # behind

  # before c
  # inner
  c = d + e  # after
  # last
}  # end

#eof
)");
}

TEST(Format, CommentsAroundLoopsAndSemicolons) {
  EXPECT_EQ(formatted_body(
                "\nfor t in 0:T { # loop\n a = b; # one\n ; # two\n # three\n} # done\n;# four\n"),
            "\n  for t in 0:T {  # loop\n    a = b  # one\n    # two\n    # three\n  }  # done\n  "
            "# four\n}\n");
  EXPECT_EQ(formatted("# only"), "# only\n");
  EXPECT_EQ(formatted("def f() -> () { # a\n # b\n }"), "def f() -> () {  # a\n  # b\n}\n");
}

TEST(Format, LongLinesBreakAtTheOutermostPlaces) {
  EXPECT_EQ(formatted_body("output(n,m,h,w) +=! input(n,c,h+p,w+q) * weights(m,c,p,q) * scale(n,m) "
                           "where h in 0:H, w in 0:W, p in 0:P, q in 0:Q"),
            R"(
  output(n,m,h,w) +=! input(n,c,h+p,w+q) * weights(m,c,p,q) * scale(n,m)
      where h in 0:H, w in 0:W, p in 0:P, q in 0:Q
}
)");
  EXPECT_EQ(formatted_body("output(n,m,h,w) = first_input(n,c,h+p,w+q) * first_weights(m,c,p,q) + "
                           "second_input(n,c,h,w) * (third(n) + "
                           "fourth(m)) - fifth(n,m,h,w)"),
            R"(
  output(n,m,h,w) = first_input(n,c,h+p,w+q) * first_weights(m,c,p,q)
      + second_input(n,c,h,w) * (third(n) + fourth(m)) - fifth(n,m,h,w)
}
)");
}

TEST(Format, LinesFitWhereBreaksAllowIt) {
  const std::string text = formatted_body("a = " + [] {
    std::string sum = "x0";
    for (int i = 1; i < 400; ++i)
      sum += (i % 3 == 0 ? " * f(y, z(" : " + f(y, z(") + std::to_string(i) + "))";
    return sum;
  }());
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    EXPECT_LE(line.size(), 100u) << line;
}

TEST(Format, ProgramsRoundTrip) {
  for (const char* file : {"suite.tc", "language.tc"}) {
    const std::string text =
        formatted(read_file(std::string("tests/unit/lang_syntax/programs/") + file));
    EXPECT_FALSE(text.empty()) << file;
  }
}

/// Every prefix and every text with one token removed: never a crash, and a round trip where there
/// is no error.
TEST(Format, DamagedProgramsRoundTripOrAreDiagnosed) {
  const std::string text = read_file("tests/unit/lang_syntax/programs/language.tc");
  const auto try_text = [](const std::string& damaged) {
    const Parsed parsed = parse_text(damaged);
    if (parsed.diagnostics.empty()) formatted(damaged);
  };
  for (std::size_t i = 0; i < text.size(); i += 3) {
    try_text(text.substr(0, i));
    try_text(text.substr(0, i) + text.substr(std::min(i + 2, text.size())));
  }
}

}  // namespace
}  // namespace tc::lang
