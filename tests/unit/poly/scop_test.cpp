// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ostream>
#include <set>

#include "tests/unit/poly/fixture.h"

namespace tc::poly::testing {
namespace {

std::string scop_text(const std::string& text, const Sizes& sizes) {
  return to_string(build_scop(front_end(text, sizes)));
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  std::size_t at = 0;
  for (const std::string& line : lines) {
    const std::size_t found = text.find(line + "\n", at);
    EXPECT_NE(found, std::string::npos) << "no line '" << line << "' (in this order) in\n" << text;
    if (found != std::string::npos) at = found + line.size();
  }
}

TEST(BuildScop, InitIsAStatement) {
  expect_lines(
      scop_text("def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }",
                {{"M", 4}, {"K", 5}, {"N", 6}}),
      {"tensor C: float32 0:4 x 0:6, output 0", "S0_init: m in 0:4, n in 0:6",
       "C(m, n) = identity of +=", "S0: m in 0:4, n in 0:6, r_k in 0:5",
       "C(m, n) += A(m, r_k) * B(r_k, n)"});
}

TEST(BuildScop, NarrowAccumulationRunsOnATemporary) {
  expect_lines(
      scop_text("def f(half(N,D) x) -> (half(N) y) { y(n) +=! x(n,r_d)  y(n) += x(n,r_d) }",
                {{"N", 3}, {"D", 6}}),
      {"tensor y: float16 0:3, output 0", "tensor y.acc: float32 0:3, temporary",
       "tensor y.acc2: float32 0:3, temporary", "y.acc(n) = identity of +=",
       "y.acc(n) += x(n, r_d)", "S0_store: n in 0:3", "y(n) = y.acc(n)", "S1_read: n in 0:3",
       "y.acc2(n) = y(n)", "y.acc2(n) += x(n, r_d)", "y(n) = y.acc2(n)"});
}

TEST(BuildScop, ArgmaxIsATupleReduction) {
  expect_lines(
      scop_text("def f(float(N,D) x) -> (k) { k(i) argmax=! x(i,j) }", {{"N", 3}, {"D", 6}}),
      {"tensor k.val: float32 0:3, temporary", "S0_init: i in 0:3",
       "k.val(i) = identity of argmax=", "k(i) = identity of argmax=", "S0: i in 0:3, j in 0:6",
       "k.val(i) argmax= x(i, j)", "k(i) argmax= j"});
}

TEST(BuildScop, PositionsAreNeverNegative) {
  expect_lines(
      scop_text("def f(float(D) x) -> (k) { k argmax=! x(j+3) where j in -3:D-3 }", {{"D", 6}}),
      {"tensor k.pos: int32, temporary", "k.pos() argmax= j + 3", "S0_store:", "k() = k.pos + -3"});
}

TEST(BuildScop, ScatterInitialisesTheWholeTensor) {
  expect_lines(
      scop_text("def f(int32(N) I, half(N,R) x, half(V,R) d) -> (d) { d(I(n),r) += x(n,r) }",
                {{"N", 3}, {"R", 2}, {"V", 7}}),
      {"S0_read: d0 in 0:7, d1 in 0:2", "d.acc(d0, d1) = d(d0, d1)", "S0: n in 0:3, r in 0:2",
       "d.acc(I(n), r) += x(n, r)", "S0_store: d0 in 0:7, d1 in 0:2"});
}

TEST(BuildScop, ATriangleStaysATriangle) {
  expect_lines(
      scop_text("def f(float(N,N) a) -> (p) { p(i,j) +=! a(i,r) * a(j,r) where j in 0:i+1 }",
                {{"N", 5}}),
      {"S0_init: i in 0:5, j in 0:i + 1", "S0: i in 0:5, j in 0:i + 1, r in 0:5"});
}

TEST(BuildScop, ConditionsOnLeftIndicesCutTheInit) {
  expect_lines(
      scop_text(
          "def f(float(N) a, float(N) y) -> (y) { y(i) +=! a(r) where i in 0:N, i%2 == 0, r <= i }",
          {{"N", 6}}),
      {"S0_init: i in 0:6, i % 2 == 0", "S0: i in 0:6, r in 0:6, i % 2 == 0, r <= i"});
}

TEST(BuildScop, ASharedLeftSideIsCoveredOnce) {
  const std::string text = "def f(float(I) a, float(J) b) -> (y) { y(i+j) +=! a(i)*b(j) }";
  expect_lines(scop_text(text, {{"I", 4}, {"J", 6}}),
               {"S0_init: d0 in 0:9", "y(d0) = identity of +=", "S0: i in 0:4, j in 0:6"});
}

TEST(BuildScop, LoopsAreKept) {
  expect_lines(scop_text("def f(float(T,B) x) -> (h) { h(0,b) = x(0,b)  for t in 1:T { h(t,b) = "
                         "h(t-1,b) + x(t,b) } }",
                         {{"T", 5}, {"B", 2}}),
               {"S0: b in 0:2", "for t in 1:5", "S1: b in 0:2", "h(t, b) = h(t - 1, b) + x(t, b)"});
}

// ---- relations ----

struct RelationCase {
  const char* name;
  const char* text;
  Sizes sizes;
  const char* domain;
  const char* must_writes;
  const char* may_writes;
  const char* reads;
  const char* textual;
};

void PrintTo(const RelationCase& value, std::ostream* stream) {
  *stream << value.name;
}

class RelationsTest : public ::testing::TestWithParam<RelationCase> {};

TEST_P(RelationsTest, AreThoseOfTheText) {
  const RelationCase& c = GetParam();
  const Polyhedral poly(c.text, c.sizes);
  const isl::ctx ctx = poly.context.get();
  EXPECT_TRUE(poly.rel.domain.is_equal(isl::union_set(ctx, c.domain))) << poly.rel.domain;
  EXPECT_TRUE(poly.rel.must_writes.is_equal(isl::union_map(ctx, c.must_writes)))
      << poly.rel.must_writes;
  EXPECT_TRUE(poly.rel.may_writes.is_equal(isl::union_map(ctx, c.may_writes)))
      << poly.rel.may_writes;
  EXPECT_TRUE(poly.rel.reads.is_equal(isl::union_map(ctx, c.reads))) << poly.rel.reads;
  EXPECT_TRUE(poly.rel.textual.is_equal(isl::union_map(ctx, c.textual))) << poly.rel.textual;
}

// Their names contain dots, which isl's parser of ids stops at.
TEST(Relations, TemporariesOfACallAreDifferentTensors) {
  const Polyhedral p("def f() -> (z) { s = g()  z(i,j) = s(j,i) }\n"
                     "def g() -> (t) { y(a,b) = a + b where a in 0:4, b in 0:3  t(b,a) = y(a,b) }",
                     {});
  std::set<std::string> names;
  p.rel.may_writes.foreach_map(
      [&](const isl::map& map) { names.insert(map.range_tuple_id().name()); });
  EXPECT_EQ(names.size(), p.scop.statements.size());
}

INSTANTIATE_TEST_SUITE_P(
    All, RelationsTest,
    ::testing::Values(
        RelationCase{"basic",
                     "def f(float(N) a) -> (b) { b(i) = a(i) + a(i+1) }",
                     {{"N", 5}},
                     "{ S0[i] : 0 <= i < 4 }",
                     "{ S0[i] -> b[i] : 0 <= i < 4 }",
                     "{ S0[i] -> b[i] : 0 <= i < 4 }",
                     "{ S0[i] -> a[i] : 0 <= i < 4; S0[i] -> a[i+1] : 0 <= i < 4 }",
                     "{ S0[i] -> [0] : 0 <= i < 4 }"},
        RelationCase{"padded",
                     "def f(float(N) a) -> (b) { b(i) = pad(a(i-1), 0) where i in 0:N }",
                     {{"N", 5}},
                     "{ S0[i] : 0 <= i < 5 }",
                     "{ S0[i] -> b[i] : 0 <= i < 5 }",
                     "{ S0[i] -> b[i] : 0 <= i < 5 }",
                     "{ S0[i] -> a[i-1] : 1 <= i < 5 }",
                     "{ S0[i] -> [0] : 0 <= i < 5 }"},
        RelationCase{"scatter",
                     "def f(int32(N) I, float(V,R) y) -> (y) { y(I(i),r) += 1.0 where r in 0:R }",
                     {{"N", 2}, {"V", 3}, {"R", 4}},
                     "{ S0[i,r] : 0 <= i < 2 and 0 <= r < 4 }",
                     "{ }",
                     "{ S0[i,r] -> y[v,r] : 0 <= i < 2 and 0 <= r < 4 and 0 <= v < 3 }",
                     "{ S0[i,r] -> I[i] : 0 <= i < 2 and 0 <= r < 4; S0[i,r] -> y[v,r] : 0 <= i < "
                     "2 and 0 <= r < 4 and 0 <= v < 3 }",
                     "{ S0[i,r] -> [0] : 0 <= i < 2 and 0 <= r < 4 }"},
        RelationCase{"divided",
                     "def f(float(N) a) -> (b) { b(i) = a(i/2) where i in 0:2*N }",
                     {{"N", 2}},
                     "{ S0[i] : 0 <= i < 4 }",
                     "{ S0[i] -> b[i] : 0 <= i < 4 }",
                     "{ S0[i] -> b[i] : 0 <= i < 4 }",
                     "{ S0[i] -> a[floor(i/2)] : 0 <= i < 4 }",
                     "{ S0[i] -> [0] : 0 <= i < 4 }"},
        RelationCase{"ordered",
                     "def f(float(T) x) -> (h) { h(0) = x(0)  for t in 1:T { h(t) = h(t-1) } }",
                     {{"T", 3}},
                     "{ S0[]; S1[t] : 1 <= t < 3 }",
                     "{ S0[] -> h[0]; S1[t] -> h[t] : 1 <= t < 3 }",
                     "{ S0[] -> h[0]; S1[t] -> h[t] : 1 <= t < 3 }",
                     "{ S0[] -> x[0]; S1[t] -> h[t-1] : 1 <= t < 3 }",
                     "{ S0[] -> [0,0,0]; S1[t] -> [1,t,0] : 1 <= t < 3 }"},
        RelationCase{"empty",
                     "def f(float(N) a) -> (b) { b(i) = a(i) }",
                     {{"N", 0}},
                     "{ }",
                     "{ }",
                     "{ }",
                     "{ }",
                     "{ }"}),
    [](const auto& info) { return std::string(info.param.name); });

// ---- dependences ----

struct DependenceCase {
  const char* name;
  const char* text;
  Sizes sizes;
  const char* flow;
  const char* order;
  const char* reduction;
};

void PrintTo(const DependenceCase& value, std::ostream* stream) {
  *stream << value.name;
}

class DependencesTest : public ::testing::TestWithParam<DependenceCase> {};

TEST_P(DependencesTest, AreExact) {
  const DependenceCase& c = GetParam();
  const Polyhedral poly(c.text, c.sizes);
  const isl::ctx ctx = poly.context.get();
  EXPECT_TRUE(poly.dep.flow.is_equal(isl::union_map(ctx, c.flow))) << poly.dep.flow;
  EXPECT_TRUE(poly.dep.order.is_equal(isl::union_map(ctx, c.order))) << poly.dep.order;
  EXPECT_TRUE(poly.dep.reduction.is_equal(isl::union_map(ctx, c.reduction))) << poly.dep.reduction;
}

INSTANTIATE_TEST_SUITE_P(
    All, DependencesTest,
    ::testing::Values(
        DependenceCase{"reduction",
                       "def f(float(N,D) x) -> (y) { y(n) +=! x(n,r) }",
                       {{"N", 2}, {"D", 3}},
                       "{ S0_init[n] -> S0[n,r] : 0 <= n < 2 and 0 <= r < 3 }",
                       "{ }",
                       "{ S0[n,r] -> S0[n,q] : 0 <= n < 2 and 0 <= r < q < 3 }"},
        DependenceCase{
            "anti",
            "def f(float(N) x) -> (y, z) { y(i) = x(i)  z(i) = y(i)  y(i) = 1.0 where i in 0:N }",
            {{"N", 2}},
            "{ S0[i] -> S1[i] : 0 <= i < 2 }",
            "{ S1[i] -> S2[i] : 0 <= i < 2; S0[i] -> S2[i] : 0 <= i < 2 }",
            "{ }"},
        DependenceCase{
            "carried",
            "def f(float(T,N) x) -> (h) { h(0,i) = x(0,i)  for t in 1:T { h(t,i) = h(t-1,i) } }",
            {{"T", 3}, {"N", 2}},
            "{ S0[i] -> S1[1,i] : 0 <= i < 2; S1[1,i] -> S1[2,i] : 0 <= i < 2 }",
            "{ }",
            "{ }"},
        DependenceCase{
            "in_an_iteration",
            "def f(float(T) x) -> (y) { y(0) = 0.0  for t in 1:T { s = x(t)  y(t) = s } }",
            {{"T", 3}},
            "{ S1[t] -> S2[t] : 1 <= t < 3; S1[1] -> S2[2] }",
            "{ S1[1] -> S1[2]; S2[1] -> S1[2] }",
            "{ }"},
        DependenceCase{"scattered_assign",
                       "def f(int32(N) I, float(V) y) -> (y) { y(I(i)) = 3.0 where i in 0:N }",
                       {{"N", 3}, {"V", 2}},
                       "{ }",
                       "{ }",
                       "{ S0[i] -> S0[j] : 0 <= i < j < 3 }"},
        DependenceCase{"injective_sum",
                       "def f(float(I,J) a) -> (y) { y(2*i+j) +=! a(i,j) where j in 0:2 }",
                       {{"I", 2}, {"J", 2}},
                       "{ S0_init[d] -> S0[i,j] : d = 2i + j and 0 <= i < 2 and 0 <= j < 2 }",
                       "{ }",
                       "{ }"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tc::poly::testing
