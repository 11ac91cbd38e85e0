// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "syntax_testing.h"

namespace tc::lang {
namespace {

/// "2:3 E0110" per diagnostic, in order of place.
std::string places(const std::string& text) {
  const SourceBuffer source("t.tc", text);
  std::string result;
  for (const Diagnostic& diagnostic : parse_text(text).diagnostics) {
    const SourceBuffer::Position at = source.position(diagnostic.range.begin);
    result +=
        fmt::format("{}{}:{} {}", result.empty() ? "" : ", ", at.line, at.column, diagnostic.code);
  }
  return result;
}

TEST(SyntaxErrors, OneErrorWithCodePlaceAndMessage) {
  struct Case {
    const char* text;
    const char* place;
    const char* message;  ///< a part of it
  };
  const Case cases[] = {
      {"def f() -> () { a = b @ c }", "1:23 E0101", "unexpected character '@'"},
      {"def f() -> () { a = b\xff\xfe }", "1:22 E0101", "unexpected characters '\\xff\\xfe'"},
      {"def f() -> () { a = b & c }", "1:23 E0101", "logical and is '&&'"},
      {"def f() -> () { a = b | c }", "1:23 E0101", "logical or is '||'"},
      {"def f() -> () { a = 3x }", "1:21 E0102", "malformed number '3x'"},
      {"def f() -> () { a = 1.0f }", "1:21 E0102", "no suffix"},
      {"def f() -> () { a = A.99999999999999999999 }", "1:23 E0103", "does not fit 64 bits"},
      {"a = b", "1:1 E0110", "expected 'def', got name 'a'"},
      {"def f() -> () {} }", "1:18 E0110", "expected 'def', got '}'"},
      {"def", "1:4 E0110", "expected the name of the def, got end of text"},
      {"def f", "1:6 E0110", "expected '(', got end of text"},
      {"def f(float(N) A -> (B) {}", "1:18 E0110", "expected ',' or ')', got '->'"},
      {"def f(flot(N) A) -> (B) {}", "1:7 E0110",
       "expected a type such as 'float(N,M)', got name 'flot'"},
      {"def f(float(N)) -> (B) {}", "1:15 E0110", "expected a parameter name, got ')'"},
      {"def f(float(N) A) -> (3) {}", "1:23 E0110",
       "expected a result name or a type, got number '3'"},
      {"def f(float(N) A) (B) { B(i) = A(i) }", "1:19 E0117",
       "expected '->' between parameters and results, got '('"},
      {"def f(float(N) A) { B(i) = A(i) }", "1:19 E0117",
       "expected '->' between parameters and results, got '{'"},
      {"def f() -> (B) B(i) = A(i) }", "1:16 E0110",
       "expected '{' to open the body of 'f', got name 'B'"},
      {"def f() -> () { a = }", "1:21 E0110", "expected an expression, got '}'"},
      {"def f() -> () { a = b + * c }", "1:25 E0110", "expected an expression, got '*'"},
      {"def f() -> () { a(i b }", "1:21 E0110", "expected an operator, ',' or ')', got name 'b'"},
      {"def f() -> () { a = (b }", "1:24 E0110", "expected ')', got '}'"},
      {"def f() -> () { a b }", "1:19 E0110", "expected an assignment operator"},
      {"def f() -> () { 3 = b }", "1:17 E0110", "expected a statement or '}', got number '3'"},
      {"def f() -> () { a = b ? c }", "1:27 E0110", "expected ':' and the other value, got '}'"},
      {"def f() -> () { a = A.x }", "1:23 E0110", "the dimension whose size is read"},
      {"def f() -> () { a = b where i in 0 }", "1:36 E0110",
       "expected ':' between the bounds of a range"},
      {"def f() -> () { a = b <=> 3 }", "1:27 E0110", "expected the name of an operation"},
      {"def f() -> () { a = b <=> g }", "1:29 E0110", "the arguments of the operation"},
      {"def f() -> () { a, b += g(c) }", "1:22 E0110", "the call of a def"},
      {"def f() -> () { a, b = c + d }", "1:26 E0110", "the arguments of the call"},
      {"def f() -> () { for t in 0 { } }", "1:28 E0110",
       "expected ':' between the bounds of the loop"},
      {"def f() -> () { for t = 0 { } }", "1:23 E0110", "expected 'in' and the range of the loop"},
      {"def f() -> () { a = b // c\n }", "1:23 E0110", "a comment starts with '#'"},
      {"def f() -> () { min(i) = b }", "1:17 E0113",
       "got keyword 'min'; a keyword cannot be a name"},
      {"def f() -> () { a = b where for in 0:3 }", "1:29 E0113", "keyword 'for'"},
      {"def pad() -> () {}", "1:5 E0113", "keyword 'pad'"},
      {"def f() -> () { a = float + 1 }", "1:21 E0113",
       "a type name is used as a cast: 'float(x)'"},
      {"def f(float(N) in) -> () {}", "1:16 E0113", "keyword 'in'"},
      {"def f() -> () { a = argmax }", "1:21 E0113", "keyword 'argmax'"},
      {"def f() -> () { a(i) argmin= b(i) }", "1:22 E0114", "write 'argmin=!'"},
      {"def f() -> () { a = max(b) }", "1:21 E0115", "two or more arguments, got 1"},
      {"def f() -> () { a = min() }", "1:21 E0115", "got 0"},
      {"def f() -> () { a = pad(b, 0) }", "1:25 E0116", "a read of a tensor"},
      {"def f() -> () { a = pad(float(b), 0) }", "1:25 E0116", "a read of a tensor"},
      {"def f() -> () { a = pad(b(i)) }", "1:29 E0110",
       "expected ',' and the value outside the tensor"},
      {"def f() -> () { a = b", "1:22 E0118",
       "expected '}' to close the body of 'f', got end of text"},
      {"def f() -> () { for t in 0:3 { a = b }", "1:39 E0118",
       "expected '}' to close the body of 'f'"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(places(c.text), c.place) << c.text;
    EXPECT_NE(parse_text(c.text).rendered.find(c.message), std::string::npos)
        << c.text << "\n"
        << parse_text(c.text).rendered;
  }
}

TEST(SyntaxErrors, AllErrorsOfATextComeInOneRun) {
  struct Case {
    const char* text;
    const char* places;
  };
  const Case cases[] = {
      // Statements on one line and on several.
      {"def f() -> () { B(i) = A(i+) C(i) = ) D(i) = A(i) E(i) = * }",
       "1:28 E0110, 1:37 E0110, 1:58 E0110"},
      {"def f() -> () {\n B(i) = A(i+\n C(i) = A(i)\n D(i) = (A(i)\n}", "3:7 E0110, 5:1 E0110"},
      {"def f() -> () {\n min(i) = 3\n max = 4\n a(i) = 3x\n}", "2:2 E0113, 3:2 E0113, 4:9 E0102"},
      // Parameters, arrow, results and body.
      {"def f(flot A, float 3) (half) { B = }",
       "1:7 E0110, 1:21 E0110, 1:24 E0117, 1:29 E0110, 1:37 E0110"},
      // Defs.
      {"def f( -> () { a = }\ndef g() -> () { b = }\nx\ndef h() -> () { c = }",
       "1:8 E0110, 1:20 E0110, 2:21 E0110, 3:1 E0110, 4:21 E0110"},
      {"def f() -> () { a = b\ndef g() -> () { c = }", "2:1 E0118, 2:21 E0110"},
      // Loops: header and body.
      {"def f() -> () { for t in 0 { a = } b = ) }", "1:28 E0110, 1:34 E0110, 1:40 E0110"},
      {"def f() -> () { for t in 0:3 { a = ) b = c } d = ) }", "1:36 E0110, 1:50 E0110"},
      // A where list does not look like statements.
      {"def f() -> () { a(i) = b where i in 0, x = 3, y = 4 c = ) }", "1:38 E0110, 1:57 E0110"},
      // Braces of another language are skipped as a whole.
      {"def f() -> () { while (x) { a = ) } b = ) }", "1:27 E0110, 1:41 E0110"},
      // Calls with several results.
      {"def f() -> () {\n a = )\n x, y = g(3\n z = )\n}", "2:6 E0110, 4:2 E0110, 4:6 E0110"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(places(c.text), c.places) << c.text << "\n" << parse_text(c.text).rendered;
}

TEST(SyntaxErrors, WhatCouldBeParsedIsReturned) {
  const Parsed parsed =
      parse_text("def f() -> () { a = b c = ) d = e }\ndef ( \ndef g() -> () { a = b }");
  ASSERT_EQ(parsed.program.defs.size(), 2u);
  EXPECT_EQ(parsed.program.defs[0].body.size(), 2u);
  EXPECT_EQ(parsed.program.defs[1].name.name, "g");
}

TEST(SyntaxErrors, NotesPointAtWhatWasOpened) {
  EXPECT_EQ(parse_text("def f() -> (B) {\n  B(i) = A(i + 3\n}\n").rendered,
            "t.tc:3:1: error: expected an operator, ',' or ')', got '}' [E0110]\n}\n^\n"
            "t.tc:2:11: note: to close this '('\n  B(i) = A(i + 3\n          ^\n");
  EXPECT_EQ(parse_text("def f() -> (B) {\n  B = a ? b\n}\n").rendered,
            "t.tc:3:1: error: expected ':' and the other value, got '}' [E0110]\n}\n^\n"
            "t.tc:2:9: note: of this '?'\n  B = a ? b\n        ^\n");
}

TEST(SyntaxErrors, MissingArrowNamesExpectedAndGiven) {
  EXPECT_EQ(parse_text("def f(float(N) A) (B) { B(i) = A(i) }").rendered,
            "t.tc:1:19: error: expected '->' between parameters and results, got '(' [E0117]\n"
            "def f(float(N) A) (B) { B(i) = A(i) }\n"
            "                  ^\n");
}

}  // namespace
}  // namespace tc::lang
