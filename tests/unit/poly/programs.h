// SPDX-License-Identifier: Apache-2.0
//
// Programs of every kind that the schedule must cope with, at sizes small enough to run.
#pragma once

#include <ostream>
#include <vector>

#include "tests/unit/poly/fixture.h"

namespace tc::poly::testing {

struct Program {
  const char* name;
  const char* text;
  Sizes sizes;
};

inline void PrintTo(const Program& value, std::ostream* stream) {
  *stream << value.name;
}

inline const std::vector<Program>& programs() {
  static const std::vector<Program> list = {
      {"matmul",
       "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }",
       {{"M", 5}, {"K", 7}, {"N", 3}}},
      {"softmax",
       "def f(float(N,D) I) -> (O) { m(n) max=! I(n,r_d)  s(n) +=! exp(I(n,r_d) - m(n))  O(n,d) = "
       "exp(I(n,d) - m(n)) / s(n) }",
       {{"N", 4}, {"D", 9}}},
      {"softmax_in_place_names",
       "def f(float(N,D) x) -> (y) { t(i) max=! x(i,j)  y(i,j) = exp(x(i,j)-t(i))  t(i) +=! y(i,j) "
       " y(i,j) = y(i,j)/t(i) }",
       {{"N", 3}, {"D", 5}}},
      {"half_sum",
       "def f(half(N,D) x) -> (half(N) y) { y(n) +=! x(n,r_d)  y(n) += x(n,r_d) * x(n,r_d) }",
       {{"N", 3}, {"D", 6}}},
      {"bool_sum",
       "def f(bool(N) x) -> (bool any, int32 count) { any +=! x(r_n)  count +=! x(r_n) }",
       {{"N", 6}}},
      {"argmax", "def f(float(N,D) x) -> (k) { k(i) argmax=! x(i,j) }", {{"N", 4}, {"D", 7}}},
      {"argmin_negative_index",
       "def f(float(N,D) x) -> (k) { k(i) argmin=! x(i,j+3) where j in -3:D-3 }",
       {{"N", 4}, {"D", 7}}},
      {"argmax_of_all",
       "def f(float(N,D) x) -> (k) { k argmax=! x(i,j) where i in 0:N, j in 0:D }",
       {{"N", 4}, {"D", 7}}},
      {"histogram",
       "def f(int32(N) im, int32(B) h) -> (h) { h(im(i)) += 1 }",
       {{"N", 12}, {"B", 5}}},
      {"half_table",
       "def f(int32(B,N) I, half(B,N,R) dO, half(V,R) dM) -> (dM) { dM(I(b,n),r) += dO(b,n,r) }",
       {{"B", 3}, {"N", 4}, {"R", 2}, {"V", 5}}},
      {"scatter_assign",
       "def f(int32(N) I, float(V) y) -> (y) { y(I(i)) = 3.0 where i in 0:N }",
       {{"N", 6}, {"V", 5}}},
      {"gather",
       "def f(float(V,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,r_l), d) }",
       {{"V", 5}, {"D", 3}, {"B", 2}, {"L", 4}}},
      {"shared_left_side",
       "def f(float(I) a, float(J) b) -> (y) { y(i+j) +=! a(i)*b(j) }",
       {{"I", 4}, {"J", 6}}},
      {"transposed_convolution",
       "def f(float(I) a, float(J) b) -> (y) { y(2*i+j) +=! a(i)*b(j) }",
       {{"I", 4}, {"J", 2}}},
      {"triangle",
       "def f(float(N) a) -> (s) { s(i) +=! a(r) where r in 0:i+1, i in 0:N }",
       {{"N", 7}}},
      {"triangular_left_side",
       "def f(float(N,N) a) -> (o) { p(i,j) +=! a(i,r) * a(j,r) where j in 0:i+1  o(i) +=! p(i,r) "
       "where r in 0:i+1 }",
       {{"N", 5}}},
      {"cut_domain",
       "def f(float(N) a) -> (y) { y(i) = 0.0 where i in 0:N  y(i) +=! a(r) where i in 0:N, i%2 == "
       "0, r <= i }",
       {{"N", 6}}},
      {"padded",
       "def f(float(N) x, float(K) w) -> (y) { y(i) +=! pad(x(i+k-1), 0) * w(k) where i in 0:N }",
       {{"N", 7}, {"K", 3}}},
      {"reversed",
       "def f(float(N,M) a) -> (c) { b(N-1-i,j) = a(i,j) where i in 0:N  c(i,j) = 2*b(i,j) }",
       {{"N", 5}, {"M", 3}}},
      {"shifted",
       "def f(float(N) a) -> (c) { b(i+2) = a(i) where i in 0:N  c(i) = b(i+2) + a(i) where i in "
       "0:N }",
       {{"N", 6}}},
      {"transposed_use",
       "def f(float(N,M) a) -> (c) { b(i,j) = a(i,j)*2  c(j,i) = b(i,j) + 1 }",
       {{"N", 4}, {"M", 5}}},
      {"stencil",
       "def f(float(N) a) -> (c) { b(i) = a(i)+a(i+1)  c(i) = b(i)+b(i+1) }",
       {{"N", 9}}},
      {"updates",
       "def f(float(N,D) a, float(N) b) -> (y) { y(i) +=! a(i,j)  y(i) = y(i) + b(i)  y(i) += "
       "a(i,j) }",
       {{"N", 4}, {"D", 3}}},
      {"chain",
       "def f(float(M,K) A, float(K,N) B, float(N,P) C) -> (D) { T(m,n) +=! A(m,r_k)*B(r_k,n)  "
       "D(m,p) +=! T(m,r_n)*C(r_n,p) }",
       {{"M", 4}, {"K", 3}, {"N", 5}, {"P", 2}}},
      {"scalar_then_map", "def f(float(N) x) -> (y) { s +=! x(r_n)  y(n) = x(n) - s }", {{"N", 8}}},
      {"two_readers",
       "def f(float(N,D) x) -> (a, b) { a(n,d) = x(n,d) + 1  b(n,d) = x(n,d) * 2 }",
       {{"N", 3}, {"D", 4}}},
      {"rnn",
       "def f(float(T,B,K) a, float(K,K) U, float(B,K) h0) -> (h) {\n  h(0,b,k) = h0(b,k)\n  for t "
       "in 1:T {\n"
       "    g(b,k) +=! h(t-1,b,r_j) * U(k,r_j)\n    h(t,b,k) = tanh(a(t,b,k) + g(b,k))\n  }\n}",
       {{"T", 4}, {"B", 3}, {"K", 2}}},
      {"qrnn",
       "def f(float(T,B) f, float(T,B) z) -> (h) { h(0,b) = z(0,b)  for t in 1:T { h(t,b) = "
       "f(t,b)*h(t-1,b) + (1-f(t,b))*z(t,b) } }",
       {{"T", 5}, {"B", 3}}},
      {"heat",
       "def f(float(N) x) -> (u) { u(0,i) = x(i)\n for t in 1:4 { u(t,i) = pad(u(t-1,i-1),0) + "
       "pad(u(t-1,i+1),0) where i in 0:N } }",
       {{"N", 6}}},
      {"two_recurrences",
       "def f(float(T,B) x, float(T,N) z) -> (h, g) { h(0,b) = x(0,b)  g(0,n) = z(0,n)\n"
       "  for t in 1:T { h(t,b) = x(t,b)+2*h(t-1,b)  g(t,n) = g(t-1,n) + z(t,n) } }",
       {{"T", 4}, {"B", 3}, {"N", 2}}},
      {"nested_loops",
       "def f(float(N,M) a) -> (c) { c(i,j) = a(i,j)\n for t in 0:3 { for u in 0:t { c(i,j) = "
       "c(i,j) + a(i,j) }\n"
       "    d(i) +=! c(i,r_j)  c(i,j) = c(i,j) - d(i) } }",
       {{"N", 3}, {"M", 4}}},
      {"empty", "def f(float(N,D) x) -> (y) { y(n) +=! x(n,r_d) }", {{"N", 0}, {"D", 4}}},
      {"empty_reduction", "def f(float(N,D) x) -> (y) { y(n) +=! x(n,r_d) }", {{"N", 4}, {"D", 0}}},
  };
  return list;
}

}  // namespace tc::poly::testing
