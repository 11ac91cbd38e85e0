// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sema_testing.h"

namespace tc::lang::test {
namespace {

std::string canonical_of(const std::string& text) {
  const Resolved resolved = resolve_text(text);
  EXPECT_TRUE(resolved.def) << resolved.messages;
  return resolved.def ? canonical(*resolved.def) : "";
}

const char* const kProduct =
    "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }";

TEST(Canonical, NamesAndLayoutDoNotCount) {
  for (const char* same : {
           "def mm(float(X,Y) P, float32(Y,Z) Q) -> (R) {\n  R(a,b) +=! P(a,k) * Q(k,b)  # "
           "product\n}",
           "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! (A(m,r_k)) * p where p = "
           "B(r_k, n) ; }",
           "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k+0) * B(r_k,1*n) }",
       })
    EXPECT_EQ(canonical_of(same), canonical_of(kProduct)) << same;
}

TEST(Canonical, EverythingElseCounts) {
  for (const char* other : {
           "def matmul(float16(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }",
           "def matmul(float(M,K) A, float(K,N) B) -> (float16(M,N) C) { C(m,n) +=! A(m,r_k) * "
           "B(r_k,n) }",
           "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) max=! A(m,r_k) * B(r_k,n) }",
           "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! B(r_k,n) * A(m,r_k) }",
           "def matmul(float(M,K) A, float(L,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }",
           "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) where "
           "r_k in 0:4 }",
           "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) where "
           "r_k < 4 }",
           "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) * 1.5 }",
           "def matmul(float(K,N) B, float(M,K) A) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }",
       })
    EXPECT_NE(canonical_of(other), canonical_of(kProduct)) << other;
}

TEST(Canonical, LoopsAndCalls) {
  EXPECT_EQ(canonical_of("def f(float(N) a) -> (y) { for t in 0:4 { y(i) = a(i) * t } }"),
            canonical_of("def g(float(M) b) -> (z) { for s in 0:4 { z(j) = b(j) * s } }"));
  EXPECT_EQ(
      canonical_of(
          "def g(float(N) a) -> (b) { b(i) = a(i) + 1 } def f(float(N) a) -> (y) { y = g(a) }"),
      canonical_of("def g(float(M) b, float(M) c) -> (d) { d(i) = b(i) * c(i) } def f(float(N) a) "
                   "-> (y) { y(i) = a(i) + 1 }"))
      << "an inlined call is what its body says";
}

}  // namespace
}  // namespace tc::lang::test
