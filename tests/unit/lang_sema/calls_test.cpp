// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sema_testing.h"

namespace tc::lang::test {
namespace {

std::string body_of(const std::string& text) {
  const Resolved resolved = resolve_text(text);
  if (!resolved.def) return resolved.messages;
  std::string out;
  for (const StatementInContext& entry : statements(*resolved.def)) {
    const Statement& s = *entry.statement;
    out += resolved.def->tensors[s.tensor].name + "(";
    for (std::size_t d = 0; d < s.subscripts.size(); ++d)
      out += (d ? ", " : "") + to_string(*resolved.def, &s, s.subscripts[d]);
    out += ") " + std::string(s.op ? spelling(*s.op) : "=") + (s.init ? "! " : " ") +
           to_string(*resolved.def, &s, s.value);
    for (const Index& index : s.indices)
      if (index.lo)
        out += ", " + index.name + " in " + to_string(*resolved.def, nullptr, index.lo) + ":" +
               to_string(*resolved.def, nullptr, index.hi);
    out += "\n";
  }
  return out;
}

TEST(Calls, TheResultIsTheCallersTensor) {
  EXPECT_EQ(body_of("def scale(float(N) a, float s) -> (b) { b(i) = a(i) * s }"
                    "def f(float(K) x) -> (y) { y = scale(x, 2) }"),
            "y(i) = x(i) * 2.0\n");
}

TEST(Calls, ResultsCountFromZeroInTheCaller) {
  EXPECT_EQ(body_of("def f(float(K) x) -> (z) { y = shift(x)  z(j) = y(j) }"
                    "def shift(float(N) a) -> (b) { b(i) = a(i-1) }")
                .find("no def"),
            std::string::npos);
  const Resolved resolved = resolve_text("def f(float(K) x) -> (z) { y = shift(x)  z(j) = y(j) }"
                                         "def shift(float(N) a) -> (b) { b(i) = a(i-1) }",
                                         "f");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(value_text(*resolved.def, 0), "x(i - 1)");
  EXPECT_EQ(value_text(*resolved.def, 1), "y(j + begin(y.0))");
}

TEST(Calls, NamesAreHygienic) {
  EXPECT_EQ(body_of("def g(float(N) x) -> (y) { t(i) = x(i)  y(i) = t(i) + N }"
                    "def f(float(M) t, float(N) x) -> (y, u) { y = g(t)  u(i) = x(i) + y(i) }"),
            "g.1.t(i) = t(i)\ny(i) = g.1.t(i) + float32(M)\nu(i) = x(i) + y(i + begin(y.0))\n");
}

TEST(Calls, TemporariesAsArgumentsAreShifted) {
  EXPECT_EQ(body_of("def g(float(N) a) -> (b) { b(i) = a(i) where i in 0:N }"
                    "def f(float(K) x) -> (y) { t(i) = x(i-1)  y = g(t) }"),
            "t(i) = x(i - 1)\ny(i) = t(i + begin(t.0)), i in 0:t.0\n");
}

TEST(Calls, ConstantsAndSizesFold) {
  EXPECT_EQ(body_of("def g(float(N*S) a, const int32 S, const float c) -> (b) { b(i) = a(S*i+1) * "
                    "c where i in 0:N }"
                    "def f(float(K) x) -> (y) { y = g(x, 2, 0.5) }"),
            "y(i) = x(2 * i + 1) * 0.5, i in 0:K / 2\n");
  const Resolved resolved =
      resolve_text("def g(float(N*S) a, const int32 S) -> (b) { b(i) = a(S*i) }"
                   "def f(float(K) x) -> (y) { y = g(x, 2) }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  ASSERT_EQ(resolved.def->preconditions.size(), 2u);
  EXPECT_EQ(to_string(*resolved.def, nullptr, resolved.def->preconditions[0]), "K == K / 2 * 2");
}

TEST(Calls, InPlaceParametersAreCopied) {
  EXPECT_EQ(body_of("def inc(float(N) a) -> (a) { a(i) = a(i) + 1 }"
                    "def f(float(K) x) -> (y) { y = inc(x) }"),
            "y(i0) = x(i0), i0 in 0:K\ny(i) = y(i) + 1.0\n");
  EXPECT_EQ(body_of("def inc(float(N) a) -> (a) { a(i) = a(i) + 1 }"
                    "def f(float(K) x) -> (x) { x = inc(x) }"),
            "inc.1.a(i0) = x(i0), i0 in 0:K\ninc.1.a(i) = inc.1.a(i) + 1.0\n"
            "x(i0) = inc.1.a(i0 + begin(inc.1.a.0)), i0 in 0:inc.1.a.0\n");
}

TEST(Calls, AResultWrittenElsewhereIsCopied) {
  EXPECT_EQ(
      body_of("def g(float(N) a) -> (b) { b(i) = a(i) }"
              "def f(float(K) x) -> (y) { y = g(x)  y(i) = y(i) + 1 }"),
      "g.1.b(i) = x(i)\ny(i0) = g.1.b(i0 + begin(g.1.b.0)), i0 in 0:g.1.b.0\ny(i) = y(i) + 1.0\n");
}

TEST(Calls, ScalarsInSubscriptsStayData) {
  EXPECT_EQ(body_of("def g(float(N) a, int32 k) -> (b) { b(i) = a(i + k) + k where i in 0:4 }"
                    "def f(float(K) x) -> (y) { y = g(x, 3) }"),
            "g.1.k() = 3\ny(i) = x(i + g.1.k) + float32(g.1.k), i in 0:4\n");
}

TEST(Calls, ScalarArgumentsHaveTheParametersType) {
  EXPECT_EQ(body_of("def g(float(N) a, float16 s) -> (b) { b(i) = a(i) * s }"
                    "def f(float(K) x, float16 p) -> (y, z) { y = g(x, p * p)  z = g(x, 0.1) }"),
            "y(i) = x(i) * float16(p * p)\nz(i) = x(i) * 0.099975586\n");
}

TEST(Calls, NestedAndSeveralResults) {
  EXPECT_EQ(body_of("def f(float(K) x) -> (p, q) { p, q = two(x) }"
                    "def two(float(N) a) -> (u, v) { u = one(a)  v(i) = u(i) * 2 }"
                    "def one(float(N) a) -> (b) { for t in 0:3 { b(i) = a(i) + t } }"
                    "def last(float(K) x) -> (p, q) { p, q = two(x) }"),
            "p(i) = x(i) + float32(t)\nq(i) = p(i + begin(p.0)) * 2.0\n");
}

TEST(Calls, TypeAndRankComeFromTheCallee) {
  const Resolved resolved =
      resolve_text("def g(float16(N) a) -> (s, double(N,2) t) { s +=! a(i)  t(i,j) = a(i) }"
                   "def f(float16(K) x) -> (y) { y, u = g(x) }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(find_tensor(*resolved.def, "y")->type, DType::Float16);
  EXPECT_EQ(find_tensor(*resolved.def, "y")->rank, 0);
  EXPECT_EQ(find_tensor(*resolved.def, "u")->type, DType::Float64);
  EXPECT_EQ(to_string(*resolved.def, nullptr, find_tensor(*resolved.def, "u")->extent[0]), "K");
}

TEST(Calls, AnnotationConvertsTheResult) {
  EXPECT_EQ(body_of("def g(float(N) a) -> (b) { b(i) = a(i) }"
                    "def f(float(K) x) -> (float16(K) y) { y = g(x) }"),
            "g.1.b(i) = x(i)\ny(i0) = g.1.b(i0 + begin(g.1.b.0)), i0 in 0:g.1.b.0\n");
}

TEST(Calls, ATensorOrBuiltinOfThatNameWins) {
  EXPECT_EQ(body_of("def exp(float a) -> (b) { b = a }"
                    "def f(float x) -> (y) { y = exp(x) }"),
            "y() = exp(x)\n");
}

TEST(Calls, ExponentialInliningIsRefused) {
  std::string text = "def f0(float(N) a) -> (b) { b(i) = a(i) }";
  for (int i = 1; i <= 40; ++i) {
    const std::string callee = "f" + std::to_string(i - 1);
    text += "def f" + std::to_string(i) + "(float(N) a) -> (b) { t = " + callee +
            "(a)  b = " + callee + "(t) }";
  }
  const Resolved resolved = resolve_text(text);
  EXPECT_FALSE(resolved.def);
  EXPECT_TRUE(resolved.has("E0236")) << resolved.messages;
}

TEST(Calls, DeepChainsAreRefused) {
  std::string text = "def f0(float(N) a) -> (b) { b(i) = a(i) }";
  for (int i = 1; i <= 2000; ++i)
    text = "def f" + std::to_string(i) + "(float(N) a) -> (b) { b = f" + std::to_string(i - 1) +
           "(a) }" + text;
  const Resolved resolved = resolve_text(text, "f2000");
  EXPECT_FALSE(resolved.def);
  EXPECT_TRUE(resolved.has("E0237")) << resolved.messages;
}

TEST(Calls, ManyStatementsAndDefsAreRefused) {
  std::string body;
  for (int i = 0; i <= 4000; ++i)
    body += "b(i) = a(i) ";
  const Resolved statements = resolve_text("def f(float(N) a) -> (b) { " + body + "}");
  EXPECT_TRUE(statements.has("E0236")) << statements.messages;
  EXPECT_NE(statements.messages.find("has 4001 statements, more than 4000"), std::string::npos);
  std::string defs;
  for (int i = 0; i <= 4096; ++i)
    defs += "def f" + std::to_string(i) + "() -> (b) { b = 1 } ";
  const Resolved many = resolve_text(defs, "f0");
  EXPECT_TRUE(many.has("E0238")) << many.messages;
}

}  // namespace
}  // namespace tc::lang::test
