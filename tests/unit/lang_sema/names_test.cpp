// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sema_testing.h"

namespace tc::lang::test {
namespace {

std::string index_names(const Statement& statement) {
  std::string out;
  for (const Index& index : statement.indices)
    out += (out.empty() ? "" : " ") + index.name + (index.on_left ? "" : "*") +
           (index.given ? "!" : "");
  return out;
}

struct Row {
  const char* stmt;
  const char* indices;  ///< in order; '*': reduction, '!': given
};
class Indices : public testing::TestWithParam<Row> {};

TEST_P(Indices, AreFoundInOrderOfAppearance) {
  const Resolved resolved =
      resolve_text(std::string("def f(float(N,M) a, float(N) v, int32(N) s, const int32 c, "
                               "float(N) h) -> (y, h) { y(n, m) = a(n, m) ") +
                   GetParam().stmt + "}");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(index_names(*statements(*resolved.def).back().statement), GetParam().indices);
}
const Row kRows[] = {
    {"y(i,j) = a(i,j)", "i j"},
    {"y(i,j) +=! a(i,k) * a(j,k)", "i j k*"},
    {"y(i,j) = a(i,j) where i in 0:4", "i! j"},
    {"y(i,j) +=! v(i) where k in 0:4", "i j k*!"},
    {"y(i,j) +=! v(i) where exists v(i+k)", "i j k*"},
    {"y(i,j) = v(i) where j <= i", "i j"},
    {"y(i,j) = p where p = v(i+j)", "i j"},
    {"y(i,j) +=! p where p = v(i+k)", "i j k*"},
    {"y(i,j) = v(i) where p = v(q)", "i j"},
    {"y(0,j) = v(j)", "j"},
    {"y(c,j) = v(j)", "j"},
    {"y(N-1,j) = v(j)", "j"},
    {"y(2*i+1,j) = v(j)", "i j"},
    {"for t in 1:4 { y(t,j) = v(j) + t }", "j"},
    {"h(s(i)) += v(i)", "i"},
    {"h(s(i+k)) += v(i)", "i k"},
    {"h(s(i)) += a(i,k)", "i k*"},
    {"y(i,i) = v(i)", "i"},
};
INSTANTIATE_TEST_SUITE_P(Table, Indices, testing::ValuesIn(kRows));

TEST(Names, TensorsComeAsParametersOutputsTemporaries) {
  const Resolved resolved = resolve_text("def f(float(N) a, const int32 k, float(N) b) -> (y, b) { "
                                         "t(i) = a(i*k)  y(i) = t(i)  b(i) = y(i) }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  const TypedDef& def = *resolved.def;
  ASSERT_EQ(def.tensors.size(), 4u);
  EXPECT_EQ(def.tensors[0].name, "a");
  EXPECT_EQ(def.tensors[1].name, "b");
  EXPECT_TRUE(def.tensors[1].is_param && def.tensors[1].is_output);
  EXPECT_EQ(def.tensors[1].param_position, 1);
  EXPECT_EQ(def.tensors[1].output_position, 1);
  EXPECT_EQ(def.tensors[2].name, "y");
  EXPECT_EQ(def.tensors[3].name, "t");
  EXPECT_EQ(def.outputs, (std::vector<TensorId>{2, 1}));
}

TEST(Names, ForVariableIsInScopeInItsBodyOnly) {
  const Resolved resolved =
      resolve_text("def f(float(N,M) a) -> (y) { for t in 0:4 { y(t,i) = a(t,i) } for t in 4:N { "
                   "y(t,i) = a(t,i) } y(t,i) = a(t,i) }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(index_names(statement_at(*resolved.def, 0)), "i");
  EXPECT_EQ(index_names(statement_at(*resolved.def, 2)), "t i");
  const auto all = statements(*resolved.def);
  EXPECT_NE(all[0].loops[0]->var, all[1].loops[0]->var);
}

TEST(Names, LetsAreSubstituted) {
  const Resolved resolved = resolve_text(
      "def f(float(N) a) -> (y) { y(i) = q + p where q = p * 2, p = a(i), i in 0:m, m = N / 2 }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(value_text(*resolved.def, 0), "a(i) * 2.0 + a(i)");
  EXPECT_EQ(to_string(*resolved.def, nullptr, statement_at(*resolved.def, 0).indices[0].hi),
            "N / 2");
}

TEST(Names, ConditionsAreSplit) {
  const Resolved resolved =
      resolve_text("def f(float(N,N) a) -> (y) { y(i,j) = a(i,j) where i <= j && j < 5, true }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(statement_at(*resolved.def, 0).conditions.size(), 2u);
}

TEST(Names, SizesOfAnnotatedOutputs) {
  const Resolved resolved =
      resolve_text("def f(float(N) a) -> (float(N-2) x, float(H) y, float(2*P) z) {"
                   " x(i) = a(i+2)  y(i) = a(i+1) / H  z(i) = a(i) * P }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  const TypedDef& def = *resolved.def;
  EXPECT_EQ(def.sizes.size(), 1u);
  EXPECT_EQ(to_string(def, nullptr, find_tensor(def, "x")->extent[0]), "N - 2");
  EXPECT_EQ(find_tensor(def, "y")->extent[0], nullptr);
  EXPECT_EQ(value_text(def, 1), "a(i + 1) / float32(y.0)");
  EXPECT_EQ(value_text(def, 2), "a(i) * float32(z.0 / 2)");
  std::vector<std::string> needs;
  for (const ExprPtr& condition : def.preconditions)
    needs.push_back(to_string(def, nullptr, condition));
  EXPECT_EQ(needs, (std::vector<std::string>{"N - 2 >= 0", "z.0 == 2 * (z.0 / 2)"}));
}

TEST(Names, DimensionReads) {
  const Resolved resolved = resolve_text(
      "def f(float(N,2*M) a) -> (y) { t(i) = a(i,0)  y(i) = a(i,0) / a.1 + t.0 where i in 0:t.0 }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_EQ(value_text(*resolved.def, 1), "a(i, 0) / float32(2 * M) + float32(t.0)");
}

TEST(Names, InitialContents) {
  const Resolved resolved = resolve_text(
      "def f(float(N) a, float(N) h) -> (x, y, h) { x += a(i)  y = 0.0  y += a(i)  h(i) += a(i) }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  EXPECT_TRUE(resolved.has("W0203"));
  EXPECT_TRUE(find_tensor(*resolved.def, "x")->needs_initial);
  EXPECT_FALSE(find_tensor(*resolved.def, "y")->needs_initial);
  EXPECT_FALSE(find_tensor(*resolved.def, "h")->needs_initial);
}

TEST(Names, PositionOfOneAxisIsTheIndex) {
  const Resolved resolved =
      resolve_text("def f(float(N,M) a) -> (k, m) { k(i) argmax=! a(i,j)  m argmin=! a(i,j) }");
  ASSERT_TRUE(resolved.def) << resolved.messages;
  const Statement& one = statement_at(*resolved.def, 0);
  EXPECT_EQ(to_string(*resolved.def, &one, one.position), "j");
  EXPECT_EQ(statement_at(*resolved.def, 1).position, nullptr);
}

TEST(Names, AllErrorsOfATextInOneRun) {
  const Resolved resolved = resolve_text("def f(float(N) a) -> (x, y) { x(i) = foo(a(i)) + bar(1) "
                                         "y(i) = x(i) + a(i,i) z(i) = y(i) % 2.0 }");
  EXPECT_FALSE(resolved.def);
  EXPECT_EQ(resolved.diagnostics.size(), 3u)
      << resolved.messages;  // what reads x or y is not blamed for them
}

TEST(Names, WhatDependsOnAFailedCallIsLeftOutSilently) {
  const std::string failed = "def bad(int32(N) a) -> (b) { b(i) = foo(a(i)) }  def f(int32(N) x) "
                             "-> (y, z, u, v, w) { t = bad(x) ";
  const Resolved resolved = resolve_text(
      failed + "y(t(i)) = x(i)  z(i) = x(i) where i in 0:t(0)  u(i) = x(i) where t(i) > 0"
               "  v(i) = x(i) where exists t(i)  for k in 0:t(0) { w(i) = x(i) } }");
  EXPECT_FALSE(resolved.def);
  ASSERT_EQ(resolved.diagnostics.size(), 1u) << resolved.messages;
  EXPECT_EQ(resolved.diagnostics[0].code, "E0206");
}

TEST(Names, AnyIdentifierNamesADef) {
  for (const char* name : {"main", "__global__", "kernel", "int", "class"}) {
    const Resolved resolved =
        resolve_text(std::string("def ") + name + "(float a) -> (b) { b = a }");
    EXPECT_TRUE(resolved.def) << resolved.messages;
  }
}

}  // namespace
}  // namespace tc::lang::test
