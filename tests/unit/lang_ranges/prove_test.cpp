// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "helpers.h"

namespace tc::lang::testing {
namespace {

struct ProofCase {
  const char* what;
  const char* text;
  Sizes sizes;
  const char* codes;    ///< of the errors; empty: proven
  const char* message;  ///< part of the diagnostics
};

std::ostream& operator<<(std::ostream& out, const ProofCase& test) {
  return out << test.what;
}

class Proofs : public ::testing::TestWithParam<ProofCase> {};

TEST_P(Proofs, DecideExactly) {
  const ProofCase& test = GetParam();
  const Analysed result = proven(test.text, test.sizes);
  EXPECT_EQ(result.errors(), test.codes) << result.text;
  EXPECT_NE(result.text.find(test.message), std::string::npos) << result.text;
}

const ProofCase kProven[] = {
    {"matmul",
     "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }",
     {{"M", 3}, {"K", 4}, {"N", 5}},
     "",
     ""},
    {"matmul of huge sizes",
     "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }",
     {{"M", 1 << 30}, {"K", 1 << 20}, {"N", 1 << 28}},
     "",
     ""},
    {"case 1: log-sum-exp of a shifted sum",
     "def f(float(X) a, float(D) k) -> (y) { m(x) max=! a(r)+k(x-r+X-1) where x in 0:X\n"
     "s(x) +=! exp(a(r)+k(x-r+X-1)-m(x))\n y(x) = m(x)+log(s(x)) }",
     {{"X", 10}, {"D", 19}},
     "",
     ""},
    {"case 4", "def f(float(N) B) -> (A) { A(i,j) = B(i) + B(j+3) }", {{"N", 5}}, "", ""},
    {"case 6: a guarded gather",
     "def f(float(N,C) I, float(C,L) S, int32(L,A) R) -> (o) { o(n,l) +=! R(l,r_a) == C ? 0 : I(n, "
     "R(l,r_a)) * S(R(l,r_a), l) }",
     {{"N", 2}, {"C", 3}, {"L", 4}, {"A", 5}},
     "",
     ""},
    {"case 7",
     "def f(float(N,C,H,W) x, float(M,C,P,Q) W4) -> (y) { y(n,m,h,w) +=! x(n,c,2*h+p,2*w+q) * "
     "W4(m,c,p,q) }",
     {{"N", 1}, {"C", 64}, {"H", 58}, {"W", 58}, {"M", 128}, {"P", 3}, {"Q", 3}},
     "",
     ""},
    {"case 8",
     "def f(float(N,C,H,W) J, float(P,Q) W2, float(N,A,H2,W3) I) -> (O, G) {\n"
     "  O(n,c,h,w) +=! J(n,c,h+p,w+q) * W2(p,q)\n  G(a,b) +=! I(n,a,h,w) * O(n,b,h,w) }",
     {{"N", 1},
      {"C", 5},
      {"H", 186},
      {"W", 186},
      {"P", 3},
      {"Q", 3},
      {"A", 5},
      {"H2", 184},
      {"W3", 184}},
     "",
     ""},
    {"case 9",
     "def f(float(N,C,H,W) x, int32(N,L) idx, float(M,C,P,Q) W4) -> (y) {\n"
     "  y(n,m,l) +=! x(n,c,idx(n,l)+p, idx(n,l)+q) * W4(m,c,p,q) }",
     {{"N", 1}, {"C", 2}, {"H", 16}, {"W", 16}, {"L", 3}, {"M", 2}, {"P", 3}, {"Q", 3}},
     "",
     ""},
    {"case 10",
     "def f(float(N,C,H,W) x, float(M,C,P,Q) K) -> (y) {\n"
     "  y(n,m,h,w) +=! pad(x(n,c,h+p-1,w+q-1), 0) * K(m,c,p,q) where h in 0:H, w in 0:W }",
     {{"N", 1}, {"C", 2}, {"H", 8}, {"W", 8}, {"M", 2}, {"P", 3}, {"Q", 3}},
     "",
     ""},
    {"case 10 by a ternary",
     "def f(float(H) x, float(P) K) -> (y) { y(h) +=! (h+p-1 >= 0 && h+p-1 < H ? x(h+p-1) : 0) * "
     "K(p) where h in 0:H }",
     {{"H", 8}, {"P", 3}},
     "",
     ""},
    {"case 10 by two ternaries and an or",
     "def f(float(H) x, float(P) K) -> (y) { y(h) +=! (h+p < 1 || h+p > H ? 0 : x(h+p-1)) * K(p) "
     "where h in 0:H }",
     {{"H", 8}, {"P", 3}},
     "",
     ""},
    {"case 11",
     "def f(float(O) dY, float(K) W) -> (dX) { dX(i) +=! pad(dY((i-k)/2),0) * W(k) where i in 0:5, "
     "(i-k)%2 == 0 }",
     {{"O", 2}, {"K", 3}},
     "",
     ""},
    {"case 12",
     "def f(float(N,3) A, float(N,M) X) -> (Y) { Y(i,j) +=! A(i,s+1) * X(i+s,j) where s in "
     "max(-1,-i):min(2,N-i) }",
     {{"N", 4}, {"M", 1}},
     "",
     ""},
    {"case 13: a name assigned twice",
     "def f(float(N,M) x) -> (y) { t(i) max=! x(i,j); y(i,j) = exp(x(i,j)-t(i)); t(i) +=! y(i,j); "
     "y(i,j) = y(i,j)/t(i) }",
     {{"N", 4}, {"M", 5}},
     "",
     ""},
    {"case 14",
     "def f(float(N,M) a, float(N) b, float(N,M) c) -> (y) { y(i) +=! a(i,j); y(i) = y(i) + b(i); "
     "y(i) += c(i,j) }",
     {{"N", 4}, {"M", 5}},
     "",
     ""},
    {"case 15",
     "def f(int32(N) im, int32(H) h) -> (h) { h(im(i)) += 1 }",
     {{"N", 4}, {"H", 5}},
     "",
     ""},
    {"case 17: recurrence",
     "def f(float(T,B) f0, float(T,B) z) -> (h) { h(0,b) = z(0,b) for t in 1:T { h(t,b) = "
     "f0(t,b)*h(t-1,b) + (1-f0(t,b))*z(t,b) } }",
     {{"T", 7}, {"B", 3}},
     "",
     ""},
    {"recurrence of one step",
     "def f(float(T) z) -> (h) { h(0) = z(0) for t in 1:T { h(t) = h(t-1) + z(t) } }",
     {{"T", 1}},
     "",
     ""},
    {"recurrent network",
     "def f(float(T,B,K) a, float(B,K) h0, float(K,K) U) -> (h) { h(0,b,k) = h0(b,k) for t in 1:T "
     "{\n"
     " g(b,k) +=! h(t-1,b,r_j) * U(k,r_j)\n h(t,b,k) = tanh(a(t,b,k) + g(b,k)) } }",
     {{"T", 7}, {"B", 3}, {"K", 5}},
     "",
     ""},
    {"case 19: no inputs", "def f() -> (b) { b(i) = 4 where i in 0:10 }", {}, "", ""},
    {"case 21: an empty contraction",
     "def f(float(M,K) A, float(K) B) -> (C) { C(m) +=! A(m,k) * B(k) }",
     {{"M", 3}, {"K", 0}},
     "",
     ""},
    {"case 21: element-wise over nothing",
     "def f(float(M,K) A) -> (C) { C(m,k) = A(m,k) + 1 }",
     {{"M", 0}, {"K", 5}},
     "",
     ""},
    {"an unrolled stencil in time",
     "def f(float(N) x) -> (u) { u(0,i) = x(i) for t in 1:4 { u(t,i) = u(t-1,i) + "
     "u(t-1,min(i+1,N-1)) where i in 0:N } }",
     {{"N", 9}},
     "",
     ""},
    {"triangle written and read",
     "def f(float(N) x) -> (y) { t(i,j) = x(j) where i in 0:N, j in 0:i+1\n y(i) +=! t(i,j) where "
     "j in 0:i+1 }",
     {{"N", 9}},
     "",
     ""},
    {"two statements fill an output",
     "def f(float(N) x) -> (y) { y(i) = x(i) where i in 0:3\n y(i) = 2*x(i) where i in 3:N }",
     {{"N", 9}},
     "",
     ""},
    {"even and odd elements",
     "def f(float(N) x) -> (y) { y(2*i) = x(i)\n y(2*i+1) = x(i) }",
     {{"N", 9}},
     "",
     ""},
    {"strided interleaving is injective",
     "def f(float(N,3) x) -> (y) { y(3*i+j) = x(i,j) }",
     {{"N", 9}},
     "",
     ""},
    {"a diagonal shift is injective",
     "def f(float(N,N) x) -> (y) { y(i,i+j) +=! x(i,j) }",
     {{"N", 1}},
     "",
     ""},
    {"cumulative sums by a triangle",
     "def f(float(N) x) -> (y) { y(i) +=! x(j) where j in 0:i+1, i in 0:N }",
     {{"N", 9}},
     "",
     ""},
    {"the guard of && counts without the data part",
     "def f(float(N) x) -> (y) { y(i) = i > 0 && x(i-1) > 0 ? 1.0 : 0.0 where i in 0:N }",
     {{"N", 9}},
     "",
     ""},
    {"in place on another slice",
     "def f(float(2,N) x) -> (x) { x(1,i) = x(0,i) }",
     {{"N", 9}},
     "",
     ""},
    {"scatter with clearing",
     "def f(int32(N) I, float(N) x) -> (float(4) y) { y(I(i)) +=! x(i) }",
     {{"N", 9}},
     "",
     ""},
    {"gather of a whole temporary",
     "def f(float(N) x, int32(M) I) -> (y) { t(i) = 2*x(i)\n y(j) = t(I(j)) }",
     {{"N", 9}, {"M", 4}},
     "",
     ""},
    {"gather from the last time step",
     "def f(float(T,N) x, int32(N) I) -> (h) { h(0,i) = x(0,i) for t in 1:T { h(t,i) = h(t-1,I(i)) "
     "+ x(t,i) } }",
     {{"T", 5}, {"N", 4}},
     "",
     ""},
    {"the same element under =", "def f(float(N) x) -> (x) { x(i) = 2*x(i) }", {{"N", 9}}, "", ""},
    {"a division in a subscript",
     "def f(float(N) x) -> (y) { y(i,p) = x(i/2+p) where i in 0:2*N-4, p in 0:3 }",
     {{"N", 9}},
     "",
     ""},
    {"minimum in a subscript",
     "def f(float(N) x) -> (y) { y(i) = x(max(0, min(i-1, N-1))) where i in 0:N+5 }",
     {{"N", 9}},
     "",
     ""},
    {"selection in a subscript",
     "def f(float(N) x) -> (y) { y(i) = x(i < N ? i : N-1) where i in 0:N+5 }",
     {{"N", 9}},
     "",
     ""},
};
INSTANTIATE_TEST_SUITE_P(Proven, Proofs, ::testing::ValuesIn(kProven));

const ProofCase kRefuted[] = {
    {"read outside",
     "def f(float(N) x) -> (y) { y(i) = x(i+3) where i in 0:N }",
     {{"N", 5}},
     "E0410",
     "'x(i + 3)' reads outside 'x': at i = 2 subscript 0 is 5, and dimension 0 of 'x' holds 0:5"},
    {"read before the beginning",
     "def f(float(N) x) -> (y) { y(i) = x(i-1) where i in 0:N }",
     {{"N", 5}},
     "E0410",
     "at i = 0 subscript 0 is -1"},
    {"a guard that is off by one",
     "def f(float(N) x) -> (y) { y(i) = i <= N-2 || i >= 7 ? x(i+1) : 0.0 where i in 0:9 }",
     {{"N", 5}},
     "E0410",
     "at i = 7"},
    {"the affine part of a gathered access",
     "def f(float(N,M) x, int32(N) I) -> (y) { y(i,j) = x(I(i),j+1) where j in 0:M }",
     {{"N", 5}, {"M", 4}},
     "E0410",
     "at i = 0, j = 3 subscript 1 is 4"},
    {"a data-dependent guard does not count",
     "def f(float(N) x) -> (y) { y(i) = x(i) > 0 ? x(i+1) : 0.0 where i in 0:N }",
     {{"N", 5}},
     "E0410",
     "subscript 0 is 5"},
    {"write outside in place",
     "def f(float(N) x, float(M) y) -> (y) { y(i+1) = x(i) where i in 0:N }",
     {{"N", 5}, {"M", 5}},
     "E0411",
     "at i = 4 subscript 0 is 5"},
    {"scatter outside in the dimension that is not gathered",
     "def f(float(N) x, int32(N) I) -> (float(4,8) y) { y(I(i),j) +=! x(i) where j in 0:19 }",
     {{"N", 5}},
     "E0411",
     "subscript 1 is 8"},
    {"scatter outside of what an earlier statement wrote",
     "def f(float(N) x, int32(N) I) -> (y) { y(i,j) = 0.0 where i in 0:N, j in 0:4\n y(I(i),j) += "
     "x(i) where j in 1:5 }",
     {{"N", 5}},
     "E0411",
     "subscript 1 is 4"},
    {"read of what is not written",
     "def f(float(N) x) -> (y) { t(i,j) = x(j) where i in 0:N, j in 0:i+1\n y(i) +=! t(i,j) where "
     "j in 0:i+2, i in 0:N-1 }",
     {{"N", 5}},
     "E0412",
     "at i = 0, j = 1 it is t(0, 1)"},
    {"read of a later time step",
     "def f(float(T) z) -> (h) { h(0) = z(0) for t in 1:T { h(t) = h(t+0) + z(t) } }",
     {{"T", 4}},
     "E0412",
     "it is h(1)"},
    {"gather of a triangle",
     "def f(float(N) x, int32(N) I) -> (y) { t(i,j) = x(j) where i in 0:N, j in 0:i+1\n y(i) = "
     "t(I(i),i) }",
     {{"N", 3}},
     "E0412",
     "it is t(0, 1)"},
    {"an output with a hole",
     "def f(float(N) x) -> (y) { y(i) = x(i) where i in 0:3\n y(i) = x(i) where i in 4:N }",
     {{"N", 9}},
     "E0413",
     "no statement writes the element y(3) of the output 'y'"},
    {"every other element",
     "def f(float(N) x) -> (y) { y(2*i) = x(i) }",
     {{"N", 9}},
     "E0413",
     "y(1)"},
    {"a triangle",
     "def f(float(N) x) -> (y) { y(i,j) = x(j) where i in 0:N, j in 0:i+1 }",
     {{"N", 3}},
     "E0413",
     "y(0, 1)"},
    {"written twice",
     "def f(float(N) x) -> (y) { y(i+j) = x(i) * x(j) }",
     {{"N", 3}},
     "E0414",
     "'=' writes the element y(1) more than once: at i = 0, j = 1 and at i = 1, j = 0"},
    {"case 32: reversed in place",
     "def f(float(N) x) -> (x) { x(i) = x(i) + x(N-1-i) }",
     {{"N", 8}},
     "E0415",
     "read at i = 0 and written at i = 7"},
    {"shift in place",
     "def f(float(N) x) -> (x) { x(i) = x(i-1) where i in 1:N }",
     {{"N", 8}},
     "E0415",
     "put the order into a 'for'"},
    {"a reduction that reads its target",
     "def f(float(N,M) x, float(N) y) -> (y) { y(i) += x(i,j) * y(i) }",
     {{"N", 3}, {"M", 2}},
     "E0416",
     "reads an element that this statement accumulates"},
    {"accumulation onto an unwritten temporary",
     "def f(float(N) x) -> (y) { t(i) = x(i) where i in 0:3\n t(i) += x(i) where i in 0:N\n y(i) = "
     "t(i) where i in 0:N }",
     {{"N", 5}},
     "E0418",
     "t(3)"},
    {"a maximum over nothing",
     "def f(float(N,M) x) -> (y) { y(i) max=! x(i,j) }",
     {{"N", 3}, {"M", 0}},
     "E0419",
     "for the element y(0)"},
    {"a maximum over an empty triangle",
     "def f(float(N) x) -> (y) { y(i) max=! x(j) where i in 0:N, j in 0:i }",
     {{"N", 3}},
     "E0419",
     "y(0)"},
    {"a product of indices",
     "def f(float(N) x) -> (y) { y(i,j) = x(i*j) where i in 0:N, j in 0:N }",
     {{"N", 5}},
     "E0420",
     "is not affine"},
    {"for runs zero times",
     "def f(float(T) z) -> (h) { for t in 0:T-3 { h(0) = z(t) } }",
     {{"T", 2}},
     "E0413",
     "h(0)"},
};
INSTANTIATE_TEST_SUITE_P(Refuted, Proofs, ::testing::ValuesIn(kRefuted));

TEST(Proofs, ProductsOfIndicesInsideByIntervals) {
  const Analysed result =
      proven("def f(float(N) x) -> (y) { y(i,j) = x(i*j) where i in 0:3, j in 0:3 }", {{"N", 5}});
  EXPECT_EQ(result.errors(), "") << result.text;
}

TEST(Proofs, AccumulationOntoPartOfAnOutputNeedsTheCaller) {
  const Analysed result = proven(
      "def f(float(N) x) -> (y) { y(i) = x(i) where i in 0:3\n y(i) += x(i) where i in 0:N }",
      {{"N", 5}});
  ASSERT_TRUE(result.def) << result.text;
  EXPECT_TRUE(result.def->tensors[static_cast<std::size_t>(result.def->outputs[0])].needs_initial);
  EXPECT_NE(result.text.find("W0301"), std::string::npos) << result.text;
}

}  // namespace

namespace {

struct NeedCase {
  const char* text;
  std::vector<std::string> needs;
  std::size_t undecided;
};

class Needs : public ::testing::TestWithParam<NeedCase> {};

TEST_P(Needs, AreDerivedFromTheText) {
  const NeedCase& test = GetParam();
  DiagnosticSink sink;
  const Analysed result = analysed(test.text);
  ASSERT_TRUE(result.def) << result.text;
  const Preconditions found = derive_preconditions(*result.def, sink);
  EXPECT_FALSE(sink.has_errors());
  EXPECT_EQ(found.needs, test.needs);
  EXPECT_EQ(found.undecided.size(), test.undecided)
      << (found.undecided.empty() ? "" : found.undecided[0]);
}

const NeedCase kNeeds[] = {
    {"def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }", {}, 0},
    {"def f(float(N) A, float(K) W) -> (O) { O(i) +=! A(i+k) * W(k) }", {"N >= K - 1"}, 0},
    {"def f(float(N) A) -> (float(M) O) { O(i) = A(i) }", {}, 0},
    {"def f(float(N) A) -> (float(3) O) { O(i) = A(i) }", {"N == 3"}, 0},
    {"def f(float(N) A) -> (O) { O(i) = A(i) where i in 0:7 }", {"N >= 7"}, 0},
    {"def f(float(N,3) A, float(L,M) X) -> (Y) { Y(i,j) +=! A(i,s+1) * X(i+s,j) where s in "
     "max(-1,-i):min(2,N-i) }",
     {"L >= N"},
     0},
    {"def f(float(N,M) x) -> (y) { y(i) max=! x(i,j) }", {}, 0},
    {"def f(float(M*N) x) -> (y) { y(i,j) = x(N*i+j) where j in 0:N }", {}, 0},
    {"def f(const int32 S, float(N) x, float(K) w) -> (y) { y(i) +=! x(S*i+k) * w(k) }",
     {"S >= 1", "(N - K) / S + 1 >= 0"},
     1},
    // What is not affine in the sizes decides nothing against them: each of these holds for some.
    {"def f(float(N) x, float(K) z) -> (z) { z(i*N) = z(i*N+1) + x(i) where i in 0:2 }",
     {"N >= 2"},
     3},
    {"def f(float(N,M) a, float(K) x) -> (y) { y(i) = i < N*M ? x(i) : 0 where i in 0:K+1 }",
     {},
     1},
    {"def f(float(N) x) -> (y) { y((i+1)%N) = x(i) }", {}, 2},
    // Extents that are a bound.
    {"def f(float(N) x) -> (y) { y(i%5) = x(i) where i in 0:3 }", {"N >= 3"}, 1},
    {"def f(float(N) x) -> (y) { y(i) = x(i) where i%7 == 3, i < 9 }", {}, 1},
};
INSTANTIATE_TEST_SUITE_P(Preconditions, Needs, ::testing::ValuesIn(kNeeds));

TEST(Preconditions, ThatNoSizesSatisfyAreErrors) {
  for (const char* text : {"def f(float(N) A) -> (O) { O(i) = A(i+5) where i in 0:N }",
                           "def f(float(N) A) -> (O) { O(i) = A(i-1) where i in 0:N }"}) {
    DiagnosticSink sink;
    const Analysed result = analysed(text);
    ASSERT_TRUE(result.def) << result.text;
    derive_preconditions(*result.def, sink);
    ASSERT_EQ(sink.all().size(), 1u);
    EXPECT_EQ(sink.all()[0].code, "E0480");
  }
}

}  // namespace
}  // namespace tc::lang::testing
