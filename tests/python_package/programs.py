# SPDX-License-Identifier: Apache-2.0
"""Programs that several tests use."""

MATMUL = "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }"

BASICS = """
def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }
def matmul_backward(float(M,K) A, float(K,N) B, float(M,N) dC) -> (dA, dB) {
  dA(m,k) +=! dC(m,r_n) * B(k,r_n)
  dB(k,n) +=! A(r_m,k) * dC(r_m,n)
}
def scaled(float s, float(N) x) -> (y, z) {
  y(i) = s * x(i)
  z(i) = s + x(i)
}
def update(const float a, float(N) x, float(N) y) -> (y) { y(i) = y(i) + a * x(i) }
def unflatten(float(N*M) x) -> (y) { y(i,j) = x(i*M + j) where i in 0:N, j in 0:M }
def lookup(float(V,D) W, int32(N) I) -> (Y) { Y(n,d) = W(I(n), d) }
def total(float(N) x) -> (s) { s +=! x(r_i) }
"""
