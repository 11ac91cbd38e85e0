// SPDX-License-Identifier: Apache-2.0
//
// Small forms of operators that must get through names, types and range inference.
#include <gtest/gtest.h>

#include "sema_testing.h"

namespace tc::lang::test {
namespace {

class Program : public testing::TestWithParam<const char*> {};

TEST_P(Program, IsAnalysed) {
  const SourceBuffer source("test.tc", GetParam());
  DiagnosticSink sink;
  const ast::Program program = parse(source, sink);
  const std::vector<TypedDef> defs = analyse_all(program, sink);
  EXPECT_FALSE(sink.has_errors()) << render(source, sink.sorted());
  EXPECT_EQ(defs.size(), program.defs.size());
  for (const TypedDef& def : defs)
    EXPECT_FALSE(canonical(def).empty());
}

const char* const kPrograms[] = {
    "def soft_min(float(X) a, float(Y) k) -> (y) { m(x) max=! a(r)+k(x-r+X-1) where x in 0:X"
    "  s(x) +=! exp(a(r)+k(x-r+X-1)-m(x))  y(x) = m(x)+log(s(x)) }",
    "def correlate(float(X) A, float(Y) K) -> (B) { B(x) +=! A(r) * K(X-1+x-r) where x in 0:X }",
    "def average(float(B,C,H,W) x) -> (y) { y(b,c,h,w) += x(b,c,2*h+i,2*w+j)/4 where i in 0:2, j "
    "in 0:2 }",
    "def outer(float(N) B) -> (A) { A(i,j) = B(i) + B(j+3) }",
    "def guarded(int32(L,K) R, float(N,C2) I, float(C2) S, const int32 C) -> (o) {"
    "  o(n,l) +=! R(l,r_a) == C ? 0 : I(n, R(l,r_a)) * S(R(l,r_a)) }",
    "def strided(float(N,C,H,W) x, float(M,C,KH,KW) W1) -> (y) { y(n,m,h,w) +=! x(n,c,2*h+p,2*w+q) "
    "* W1(m,c,p,q) }",
    "def two(float(N,A,H,W) I, float(N,C,H2,W2) J, float(P,Q) W1) -> (G) {"
    "  O(n,c,h,w) +=! J(n,c,h+p,w+q)*W1(p,q)  G(a,b) +=! I(n,a,h,w)*O(n,b,h,w) }",
    "def perforated(float(N,C,H,W) x, int32(N,L) idx, float(M,C,P,Q) W1) -> (y) { y(n,m,l) +=! "
    "x(n,c,idx(n,l)+p, idx(n,l)+q) * W1(m,c,p,q) }",
    "def padded(float(N,C,H,W) x, float(M,C,P,Q) K) -> (y) { y(n,m,h,w) +=! "
    "pad(x(n,c,h+p-1,w+q-1), 0) * K(m,c,p,q) where h in 0:H, w in 0:W }",
    "def backward(float(M) dY, float(K) W) -> (dX) { dX(i) +=! pad(dY((i-k)/2),0) * W(k) where i "
    "in 0:5, (i-k)%2 == 0 }",
    "def banded(float(N,3) A, float(N,J) X) -> (Y) { Y(i,j) +=! A(i,s+1) * X(i+s,j) where i in "
    "0:N, s in max(-1,-i):min(2,N-i) }",
    "def softmax(float(I,J) x) -> (y) { t(i) max=! x(i,j)  y(i,j) = exp(x(i,j)-t(i))  t(i) +=! "
    "y(i,j)  y(i,j) = y(i,j)/t(i) }",
    "def updates(float(I,J) a, float(I) b, float(I,J) c) -> (y) { y(i) +=! a(i,j)  y(i) = y(i) + "
    "b(i)  y(i) += c(i,j) }",
    "def histogram(int32(H) h, int32(N) im) -> (h) { h(im(i)) += 1 }",
    "def table(float(V,R) dM, int32(B,N) I, float(B,N,R) dO) -> (dM) { dM(I(b,n),r) += dO(b,n,r) }",
    "def position(float(I,J) x) -> (k) { k(i) argmax=! x(i,j) }",
    "def qrnn(float(T,B) z, float(T,B) f) -> (h) { h(0,b) = z(0,b)  for t in 1:T { h(t,b) = "
    "f(t,b)*h(t-1,b) + (1-f(t,b))*z(t,b) } }",
    "def rnn(float(B,K) h0, float(T,B,K) a, float(K,K) U) -> (h) { h(0,b,k) = h0(b,k)"
    "  for t in 1:T { g(b,k) +=! h(t-1,b,r_j) * U(k,r_j)  h(t,b,k) = tanh(a(t,b,k) + g(b,k)) } }",
    "def scalars(float a) -> (b) { b = a }",
    "def nothing_in() -> (b) { b(i) = 4 where i in 0:10 }",
    "def product8(int8(M,K) A, int8(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
    "def modulo(int32(N) a) -> (b) { b(i) = ((a(i)%20)/2*2)%4 + (i % 20) / 2 }",
    "def reversed(float(N,M) x) -> (y) { y(i,j) = x(i,M-1-j) where i in 0:N, j in 0:M }",
    "def concatenate(float(N) a, float(M) b) -> (c) { c(i) = i < N ? a(i) : b(i-N) where i in "
    "0:N+M }",
    "def prefix(float(N) x) -> (y) { y(i) +=! x(j) where i in 0:N, j in 0:i+1 }",
    "def conv(bfloat16(N,H,W,C) I, bfloat16(KH,KW,C,O) F) -> (bfloat16(N,H2,W2,O) Y) { Y(n,h,w,o) "
    "+=! float(I(n,h+r_kh,w+r_kw,r_c)) * float(F(r_kh,r_kw,r_c,o)) }",
    "def moments(float(N,K) I) -> (mean, var) { mean(n) +=! I(n,r_k)  mean(n) = mean(n) / K"
    "  var(n) +=! I(n,r_k) * I(n,r_k)  var(n) = var(n) / K - mean(n) * mean(n) }",
    "def kron1(float(D,N) W, float(M,N) X) -> (Y) { Y(m,d) +=! X(m,n) * W(d,n) }"
    "def chain(float(D,N) W, float(E,D) V, float(M,N) X) -> (Z) { Y = kron1(W, X)  Z = kron1(V, Y) "
    "}",
    "def shifted(float(N) I) -> (O) { O(i) = I(i-1) }"
    "def twice(float(N) I) -> (P) { O = shifted(I)  P = shifted(O) }",
    "def flat(float(N,M) x) -> (k) { k argmax=! x(i,j) }",
};
INSTANTIATE_TEST_SUITE_P(Table, Program, testing::ValuesIn(kPrograms));

TEST(Positions, AreFlatOverSeveralAxes) {
  const SourceBuffer source("test.tc", "def f(float(N,M) x) -> (k, int64 m) { k argmax=! x(i,j)  m "
                                       "argmin=! x(i+2,j) where j in 1:M }");
  DiagnosticSink sink;
  const auto def = analyse(parse(source, sink), "f", sink);
  ASSERT_TRUE(def) << render(source, sink.sorted());
  const Statement& first = statement_at(*def, 0);
  EXPECT_EQ(to_string(*def, &first, first.position), "i * M + j");
  const Statement& second = statement_at(*def, 1);
  EXPECT_EQ(second.position->type, DType::Int64);
}

}  // namespace
}  // namespace tc::lang::test
