// SPDX-License-Identifier: Apache-2.0
//
// Hostile texts: no crash, no stack overflow, a bounded number of diagnostics.
#include <random>

#include "syntax_testing.h"

namespace tc::lang {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

std::string in_body(const std::string& text) {
  return "def f() -> () { " + text + " }";
}

std::size_t count_code(const Parsed& parsed, const std::string& code) {
  std::size_t count = 0;
  for (const Diagnostic& diagnostic : parsed.diagnostics)
    count += diagnostic.code == code ? 1 : 0;
  return count;
}

TEST(Limits, NestingIsDiagnosedBehindItsLimit) {
  struct Case {
    std::string open, close;
    std::size_t levels_each;
  };
  for (const Case& c :
       {Case{"(", ")", 1}, {"f(", ")", 1}, {"-", "", 1}, {"min(a,", ")", 1}, {"a ? ", " : b", 1}}) {
    const auto nested = [&](std::size_t n) {
      return in_body("a = " + repeated(c.open, n) + "x" + repeated(c.close, n));
    };
    EXPECT_EQ(parse_text(nested(200)).rendered, "") << c.open;
    EXPECT_EQ(parse_text(nested(255)).rendered, "") << c.open;
    for (const std::size_t n : {std::size_t{257}, std::size_t{100000}}) {
      const Parsed parsed = parse_text(nested(n));
      EXPECT_EQ(count_code(parsed, "E0111"), 1u) << c.open << " " << n;
      EXPECT_LE(parsed.diagnostics.size(), 2u) << c.open << " " << n;
    }
  }
}

TEST(Limits, NestedLoops) {
  const auto nested = [](std::size_t n) {
    return in_body(repeated("for i in 0:3 { ", n) + repeated("}", n));
  };
  EXPECT_EQ(parse_text(nested(250)).rendered, "");
  EXPECT_GE(count_code(parse_text(nested(300)), "E0111"), 1u);
  EXPECT_GE(count_code(parse_text(nested(100000)), "E0111"), 1u);
}

TEST(Limits, ChainsAreDiagnosedBehindTheirLimit) {
  for (const char* op : {"+", "*", "&&", "||", "<", " - "}) {
    const auto chain = [&](std::size_t n) {
      return in_body("a = x" + repeated(std::string(op) + "x", n));
    };
    EXPECT_EQ(parse_text(chain(511)).rendered, "") << op;
    for (const std::size_t n : {std::size_t{512}, std::size_t{100000}}) {
      const Parsed parsed = parse_text(chain(n));
      EXPECT_EQ(count_code(parsed, "E0112"), 1u) << op << " " << n;
      EXPECT_EQ(parsed.diagnostics.size(), 1u) << op << " " << n;
    }
  }
}

TEST(Limits, DeepestTreesPrintCompareAndDie) {
  const std::string chain = "x" + repeated("+x", 300);
  const std::string text = in_body("a = " + repeated("f(", 200) + chain + repeated(")", 200));
  const ast::Program parsed = program(text);
  const std::string formatted = format(parsed);
  EXPECT_TRUE(equal(parsed, program(formatted)));
  EXPECT_FALSE(dump(parsed).empty());
}

TEST(Limits, WideThingsAreFine) {
  EXPECT_EQ(parse_text(in_body("a = f(x" + repeated(",x", 100000) + ")")).rendered, "");
  EXPECT_EQ(parse_text(in_body(repeated("a = b\n", 50000))).rendered, "");
  EXPECT_EQ(parse_text(in_body("a = b where i in 0:1" + repeated(", i < 3", 20000))).rendered, "");
}

TEST(Limits, TextsBeyond16MiBAreRefused) {
  const Parsed parsed = parse_text(std::string(kMaxTextBytes + 1, ' '));
  ASSERT_EQ(parsed.diagnostics.size(), 1u);
  EXPECT_EQ(parsed.diagnostics[0].code, "E0104");
  EXPECT_EQ(parse_text(std::string(kMaxTextBytes, ' ')).rendered, "");
}

TEST(Limits, TooManyErrorsEndWithOneRemark) {
  const Parsed parsed = parse_text(in_body(repeated("a = )\n", 1000)));
  EXPECT_EQ(parsed.diagnostics.size(), static_cast<std::size_t>(kMaxSyntaxErrors) + 1);
  EXPECT_EQ(count_code(parsed, "E0119"), 1u);
  EXPECT_EQ(parsed.diagnostics.back().code, "E0119");
}

TEST(Limits, MegabytesOfGarbageGiveFewMessages) {
#ifdef __OPTIMIZE__
  constexpr std::size_t kBytes = std::size_t{10} << 20;
#else
  constexpr std::size_t kBytes = std::size_t{1}
                                 << 20;  // a parser that is not optimised is ten times slower
#endif
  std::mt19937 random(7);
  std::string bytes(kBytes, ' ');
  for (char& c : bytes)
    c = static_cast<char>(random());
  const std::size_t size = bytes.size();
  const std::string texts[] = {
      bytes,
      repeated("(", size),
      in_body("a = " + repeated("(", size - 100)),
      in_body("b = ) " + repeated("a(", size / 2 - 100)),
      in_body("b = ) " + repeated("a,", size / 2 - 100)),
      in_body("b = ) " + repeated("\na(", size / 3 - 100)),
      in_body("a = " + repeated("-", size - 100)),
      in_body("a = x" + repeated("+x", size / 2 - 100)),
      repeated("def ", size / 4),
      repeated("def f(", size / 6),
      repeated("{", size),
      in_body(repeated("for i in ", size / 9 - 100)),
      in_body("a = " + repeated("1", size - 100)),
      in_body("a = 1." + repeated("1", size - 100)),
      in_body("a = " + repeated("x ? ", size / 4 - 100)),
      repeated("#\n", size / 2),
      std::string(size, 'x'),
      std::string(size, '\xff'),
      std::string(size, '\n'),
  };
  for (const std::string& text : texts) {
    SCOPED_TRACE(printable(text.substr(0, 30)));
    const Parsed parsed = parse_text(text);
    EXPECT_LE(parsed.diagnostics.size(), static_cast<std::size_t>(kMaxSyntaxErrors) + 1);
    EXPECT_LT(parsed.rendered.size(), std::size_t{1} << 20);
  }
}

}  // namespace
}  // namespace tc::lang
