// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "helpers.h"

namespace tc::lang::testing {
namespace {

struct RangeCase {
  const char* what;
  const char* text;
  int statement;
  const char* ranges;
  const char* box;  ///< of the tensor that the statement writes
};

class InferredRanges : public ::testing::TestWithParam<RangeCase> {};

TEST_P(InferredRanges, AreExactAndPrintNicely) {
  const RangeCase& test = GetParam();
  const Analysed result = analysed(test.text);
  ASSERT_TRUE(result.def && result.errors().empty()) << result.text;
  EXPECT_EQ(ranges(*result.def, test.statement), test.ranges);
  const StatementInContext context =
      statements(*result.def).at(static_cast<std::size_t>(test.statement));
  EXPECT_EQ(box(*result.def,
                result.def->tensors[static_cast<std::size_t>(context.statement->tensor)].name),
            test.box);
}

const RangeCase kRangeCases[] = {
    {"matmul", "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }", 0,
     "m in 0:M, n in 0:N, r_k in 0:K", "C(0+M, 0+N)"},
    {"valid convolution: the kernel index first",
     "def f(float(N) A, float(KW) K) -> (O) { O(i) +=! A(i+k) * K(k) }", 0,
     "i in 0:N - KW + 1, k in 0:KW", "O(0+N - KW + 1)"},
    {"two uses intersect", "def f(float(N) A, float(M) B) -> (C) { C(i) = A(i) + B(i) }", 0,
     "i in 0:min(N, M)", "C(0+min(N, M))"},
    {"stride", "def f(float(I) A) -> (C) { C(i) = A(2*i) + A(2*i+1) }", 0, "i in 0:I / 2",
     "C(0+I / 2)"},
    {"stride alone", "def f(float(I) A) -> (C) { C(i) = A(2*i) }", 0, "i in 0:(I + 1) / 2",
     "C(0+(I + 1) / 2)"},
    {"case 4: a shift", "def f(float(N) B) -> (A) { A(i,j) = B(i) + B(j+3) }", 0,
     "i in 0:N, j in 0:N - 3", "A(0+N, 0+N - 3)"},
    {"never below zero", "def f(float(N) I) -> (O) { O(i) = I(i-1) }", 0, "i in 1:N + 1", "O(1+N)"},
    {"stencil", "def f(float(N) I) -> (O) { O(i) = I(i-1) + I(i) + I(i+1) }", 0, "i in 1:N - 1",
     "O(1+N - 2)"},
    {"reversed", "def f(float(N) I) -> (O) { O(i) = I(N-1-i) }", 0, "i in 0:N", "O(0+N)"},
    {"a quotient", "def f(float(N) I) -> (O) { O(i) = I(i/2) }", 0, "i in 0:2 * N", "O(0+2 * N)"},
    {"a shifted quotient", "def f(float(N) I) -> (O) { O(i) = I((i+1)/3) }", 0, "i in 0:3 * N - 1",
     "O(0+3 * N - 1)"},
    {"case 7",
     "def f(float(N,C,H,W) x, float(M,C,P,Q) W4) -> (y) { y(n,m,h,w) +=! x(n,c,2*h+p,2*w+q) * "
     "W4(m,c,p,q) }",
     0,
     "n in 0:N, m in 0:M, h in 0:(H - P) / 2 + 1, w in 0:(W - Q) / 2 + 1, c in 0:C, p in 0:P, q in "
     "0:Q",
     "y(0+N, 0+M, 0+(H - P) / 2 + 1, 0+(W - Q) / 2 + 1)"},
    {"case 8: a minimum is carried",
     "def f(float(N,C,H,W) J, float(P,Q) W2, float(N,A,H2,W3) I) -> (O, G) {\n"
     "  O(n,c,h,w) +=! J(n,c,h+p,w+q) * W2(p,q)\n  G(a,b) +=! I(n,a,h,w) * O(n,b,h,w) }",
     1, "a in 0:A, b in 0:C, n in 0:N, h in 0:min(H - P + 1, H2), w in 0:min(W - Q + 1, W3)",
     "G(0+A, 0+C)"},
    {"case 9: gathered subscripts solve nothing",
     "def f(float(N,C,H,W) x, int32(N,L) idx, float(M,C,P,Q) W4) -> (y) {\n"
     "  y(n,m,l) +=! x(n,c,idx(n,l)+p, idx(n,l)+q) * W4(m,c,p,q) }",
     0, "n in 0:N, m in 0:M, l in 0:L, c in 0:C, p in 0:P, q in 0:Q", "y(0+N, 0+M, 0+L)"},
    {"case 10: padding",
     "def f(float(N,C,H,W) x, float(M,C,P,Q) K) -> (y) {\n"
     "  y(n,m,h,w) +=! pad(x(n,c,h+p-1,w+q-1), 0) * K(m,c,p,q) where h in 0:H, w in 0:W }",
     0, "n in 0:N, m in 0:M, h in 0:H, w in 0:W, c in 0:C, p in 0:P, q in 0:Q",
     "y(0+N, 0+M, 0+H, 0+W)"},
    {"case 10 by a ternary",
     "def f(float(N,C,H) x, float(M,C,P) K) -> (y) {\n"
     "  y(n,m,h) +=! (h+p-1 >= 0 && h+p-1 < H ? x(n,c,h+p-1) : 0) * K(m,c,p) where h in 0:H }",
     0, "n in 0:N, m in 0:M, h in 0:H, p in 0:P, c in 0:C", "y(0+N, 0+M, 0+H)"},
    {"case 11: gradient of the input",
     "def f(float(O) dY, float(K) W) -> (dX) { dX(i) +=! pad(dY(i-k),0) * W(k) where i in 0:5 }", 0,
     "i in 0:5, k in 0:K", "dX(0+5)"},
    {"case 11: gradient of the weights",
     "def f(float(N) X, float(M) dY) -> (dW) { dW(k) +=! X(i+k) * dY(i) }", 0,
     "k in 0:N - M + 1, i in 0:M", "dW(0+N - M + 1)"},
    {"case 11: strided",
     "def f(float(O) dY, float(K) W) -> (dX) { dX(i) +=! pad(dY((i-k)/2),0) * W(k) where i in 0:5, "
     "(i-k)%2 == 0 }",
     0, "i in 0:5, k in 0:K", "dX(0+5)"},
    {"case 12: bounds from another index",
     "def f(float(N,3) A, float(N,M) X) -> (Y) { Y(i,j) +=! A(i,s+1) * X(i+s,j) where s in "
     "max(-1,-i):min(2,N-i) }",
     0, "i in 0:N, j in 0:M, s in max(-1, -i):min(2, N - i)", "Y(0+N, 0+M)"},
    {"case 12: the other size is left to the proofs",
     "def f(float(N,3) A, float(L,M) X) -> (Y) { Y(i,j) +=! A(i,s+1) * X(i+s,j) where s in "
     "max(-1,-i):min(2,N-i) }",
     0, "i in 0:N, j in 0:M, s in max(-1, -i):min(2, N - i)", "Y(0+N, 0+M)"},
    {"case 15: a read inside a left subscript",
     "def f(int32(N) im, int32(H) h) -> (h) { h(im(i)) += 1 }", 0, "i in 0:N", "h(0+H)"},
    {"in place: the left side counts", "def f(float(N) x, float(M) y) -> (y) { y(i) = x(i) }", 0,
     "i in 0:min(N, M)", "y(0+M)"},
    {"not in place: it does not", "def f(float(N) x) -> (float(M) y) { y(i) = x(i) }", 0,
     "i in 0:N", "y(0+N)"},
    {"triangle", "def f(float(N) x) -> (y) { y(i) +=! x(j) where i in 0:N, j in 0:i+1 }", 0,
     "i in 0:N, j in 0:i + 1", "y(0+N)"},
    {"triangle on the left", "def f(float(N) x) -> (y) { y(i,j) = x(i) + x(j) where j in 0:i+1 }",
     0, "i in 0:N, j in 0:i + 1", "y(0+N, 0+N)"},
    {"a triangular index solves its bound",
     "def f(float(N) x) -> (y) { y(i) +=! x(i+s) where s in 0:i }", 0,

     "i in 0:N / 2 + 1, s in 0:i", "y(0+N / 2 + 1)"},
    {"a condition cuts the written box",
     "def f(float(N,N) x) -> (y) { y(i,j) = x(i,j) where j < i }", 0, "i in 0:N, j in 0:N",
     "y(1+N - 1, 0+N - 1)"},
    {"for",
     "def f(float(T,B) a, float(B) h0) -> (h) { h(0,b) = h0(b) for t in 1:T { h(t,b) = a(t,b) + "
     "h(t-1,b) } }",
     1, "b in 0:B", "h(0+max(T, 1), 0+B)"},
    {"exists", "def f(float(N) x) -> (y) { y(i) = 1.0 where exists x(i) }", 0, "i in 0:N",
     "y(0+N)"},
    {"concatenation",
     "def f(float(N,P) a, float(N,Q) b) -> (c) { c(i,j) = j < P ? a(i,j) : b(i,j-P) where j in "
     "0:P+Q }",
     0, "i in 0:N, j in 0:P + Q", "c(0+N, 0+P + Q)"},
    {"flattened", "def f(float(M*N) x) -> (y) { y(i,j) = x(N*i+j) where j in 0:N }", 0,
     "i in 0:M, j in 0:N", "y(0+M, 0+N)"},
    {"a remainder by a size on the left", "def f(float(N) x) -> (y) { y((i+1)%N) = x(i) }", 0,
     "i in 0:N", "y(0+N)"},
    {"sums, products, extremes and order of bools guard nothing",
     "def f(bool(N) a, bool(N) b) -> (y) { y(i) = (a(i) + b(i+1)) * b(i+2) < max(a(i), b(i+3)) }",
     0, "i in 0:N - 3", "y(0+N - 3)"},
    {"const stride",
     "def f(const int32 S, float(N) x, float(K) w) -> (y) { y(i) +=! x(S*i+k) * w(k) }", 0,
     "i in 0:(N - K) / S + 1, k in 0:K", "y(0+(N - K) / S + 1)"},
};
INSTANTIATE_TEST_SUITE_P(Ranges, InferredRanges, ::testing::ValuesIn(kRangeCases));

struct ErrorCase {
  const char* text;
  const char* codes;
  const char* message;
};
class RangeErrors : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(RangeErrors, NameTheCauseAndTheWayOut) {
  const ErrorCase& test = GetParam();
  const Analysed result = analysed(test.text);
  EXPECT_EQ(result.errors(), test.codes) << result.text;
  EXPECT_NE(result.text.find(test.message), std::string::npos) << result.text;
}

const ErrorCase kErrorCases[] = {
    {"def f(float(N) A) -> (C) { C(i) +=! A(i+k) }", "E0310",
     "indices 'i' and 'k' have no range; add 'where k in 0:N'"},
    {"def f(float(N) A) -> (C) { C(i) +=! A(i) * j }", "E0310",
     "index 'j' has no range; add 'where j in 0:10'"},
    {"def f(float(N) A) -> (C) { C(h) +=! A(h/2+p) where p in 0:2 }", "E0310", "only sums"},
    {"def f(float(N) A) -> (C) { C(i) = A(i%4) }", "E0310", "a subscript with % solves nothing"},
    {"def f(float(N) A, int32(M) I) -> (C) { C(i) = A(I(0)+i) }", "E0310",
     "a gathered subscript solves nothing"},
    {"def f(float(N) A) -> (C) { C(i) +=! A(0) where j in 0:i }", "E0310",
     "the bound of another index does not constrain it"},
    {"def f(float(N) A) -> (C) { C(i,j) = A(0) where i in 0:j, j in 0:i }", "E0311",
     "'i' -> 'j' -> 'i'"},
    {"def f(float(N) A) -> (C) { C(x) = x < N ? A(x) : 0.0 }", "E0312",
     "the guard 'x < N' is always true"},
    {"def f(float(N) A) -> (C) { C(x) = pad(A(x), 0) }", "E0312",
     "this pad is never outside its tensor"},
    {"def f(float(N) x) -> (float(N+1) C) { C(i) = x(i) }", "E0317",
     "dimension 0 of 'C' is annotated as N + 1, but its statements write N"},
};
INSTANTIATE_TEST_SUITE_P(Ranges, RangeErrors, ::testing::ValuesIn(kErrorCases));

TEST(Annotations, BecomePreconditionsWhenSizesDecide) {
  const Analysed result =
      analysed("def f(float(N) x, float(M) z) -> (float(M) y) { y(i) = x(i) + 0 * z(0) }");
  ASSERT_TRUE(result.def) << result.text;
  ASSERT_EQ(result.def->preconditions.size(), 1u);
  EXPECT_EQ(to_string(*result.def, nullptr, result.def->preconditions[0]), "M == N");
}

TEST(Annotations, DefineNewSizes) {
  const Analysed result = analysed("def f(float(N) x) -> (float(M) y) { y(i) = x(2*i) * M }");
  ASSERT_TRUE(result.def) << result.text;
  const StatementInContext context = statements(*result.def).at(0);
  EXPECT_NE(to_string(*result.def, context.statement, context.statement->value).find("(N + 1) / 2"),
            std::string::npos);
}

}  // namespace
}  // namespace tc::lang::testing
