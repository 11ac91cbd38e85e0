# SPDX-License-Identifier: Apache-2.0
"""The operators that are measured: comprehension, tensors, and the same computation in PyTorch.

Groups: paper - the operators and sizes of the Tensor Comprehensions paper; modern - what transformers and CNNs need today.
`work` counts floating-point operations, `moved` the fewest bytes: every input read once, every output written once.
Shapes are those of the tensor parameters in order; a tensor of kind ("index", n) holds integers below n.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F


@dataclasses.dataclass(frozen=True)
class Tensor:
    dtype: str
    shape: tuple[int, ...]
    kind: tuple = ("normal", 1.0)

    def make(self, generator: torch.Generator) -> torch.Tensor:
        dtype = getattr(torch, self.dtype)
        if self.kind[0] == "index":
            return torch.randint(0, self.kind[1], self.shape, generator=generator, dtype=dtype, device=generator.device)
        if self.kind[0] == "integer":
            return torch.randint(self.kind[1], self.kind[2], self.shape, generator=generator, dtype=dtype, device=generator.device)
        return (torch.randn(self.shape, generator=generator, device=generator.device) * self.kind[1]).to(dtype)

    def bytes(self) -> int:
        return math.prod(self.shape) * getattr(torch, self.dtype).itemsize


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    group: str
    text: str
    tensors: tuple[Tensor, ...]
    peer: Callable
    work: float
    tolerance: float = 1e-5


def f32(*shape, scale=1.0):
    return Tensor("float32", shape, ("normal", scale))


def bf16(*shape, scale=1.0):
    return Tensor("bfloat16", shape, ("normal", scale))


def index(limit, *shape, dtype="int32"):
    return Tensor(dtype, shape, ("index", limit))


def products() -> list[Case]:
    text = "def tmm(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,r_k) * B(n,r_k) }"
    cases = [
        Case(f"tmm_{m}_{k}_{n}", "paper", text, (f32(m, k), f32(n, k)), lambda a, b: a @ b.t(), 2.0 * m * n * k)
        for m, k, n in ((128, 32, 256), (128, 1024, 1024), (128, 4096, 16384))
    ]
    text = "def tbmm(float(B,N,M) X, float(B,K,M) Y) -> (Z) { Z(b,n,k) +=! X(b,n,r_m) * Y(b,k,r_m) }"
    cases.append(
        Case("tbmm_500_26_72_26", "paper", text, (f32(500, 26, 72), f32(500, 26, 72)), lambda x, y: torch.bmm(x, y.mT), 2.0 * 500 * 26 * 72 * 26)
    )
    text = "def c3(float(B,WX) I, float(WY,WX) W) -> (C3) { C3(b,wy) +=! I(b,r_wx) * W(wy,r_wx) }"
    cases.append(Case("c3", "paper", text, (f32(128, 1000), f32(1024, 1000)), lambda i, w: i @ w.t(), 2.0 * 128 * 1000 * 1024))
    text = "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }"
    cases += [
        Case(f"matmul_fp32_{n}", "modern", text, (f32(n, n), f32(n, n)), lambda a, b: a @ b, 2.0 * n**3) for n in (1024, 4096)
    ]
    text = "def matmul(bfloat16(M,K) A, bfloat16(K,N) B) -> (bfloat16(M,N) C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }"
    cases.append(Case("matmul_bf16_4096", "modern", text, (bf16(4096, 4096), bf16(4096, 4096)), lambda a, b: a @ b, 2.0 * 4096**3, 1e-2))
    text = """def linear_gelu(bfloat16(M,K) X, bfloat16(N,K) W, bfloat16(N) b) -> (bfloat16(M,N) Y) {
  Z(m,n) +=! float(X(m,r_k)) * float(W(n,r_k))
  Y(m,n) = 0.5 * (Z(m,n) + b(n)) * (1.0 + erf((Z(m,n) + b(n)) * 0.70710678))
}"""
    cases.append(
        Case("linear_gelu_bf16", "modern", text, (bf16(8192, 4096), bf16(4096, 4096, scale=0.02), bf16(4096)),
             lambda x, w, b: F.gelu(F.linear(x, w, b)), 2.0 * 8192 * 4096 * 4096, 1e-2)
    )
    text = """def swiglu(bfloat16(M,K) X, bfloat16(N,K) Wg, bfloat16(N,K) Wu) -> (bfloat16(M,N) Y) {
  G(m,n) +=! float(X(m,r_k)) * float(Wg(n,r_k))
  U(m,n) +=! float(X(m,r_k)) * float(Wu(n,r_k))
  Y(m,n) = G(m,n) / (1.0 + exp(-G(m,n))) * U(m,n)
}"""
    cases.append(
        Case("swiglu_bf16", "modern", text, (bf16(4096, 4096), bf16(11008, 4096, scale=0.02), bf16(11008, 4096, scale=0.02)),
             lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u), 4.0 * 4096 * 4096 * 11008, 1e-2)
    )
    text = "def gemv(bfloat16(N,K) W, bfloat16(K) x) -> (bfloat16(N) y) { y(n) +=! float(W(n,r_k)) * float(x(r_k)) }"
    cases.append(Case("gemv_bf16_8192", "modern", text, (bf16(8192, 8192), bf16(8192)), lambda w, x: w @ x, 2.0 * 8192**2, 1e-2))
    text = """def dqgemv(int8(N,K) W, float(N) s, bfloat16(B,K) X) -> (bfloat16(B,N) Y) {
  Z(b,n) +=! float(W(n,r_k)) * float(X(b,r_k))
  Y(b,n) = Z(b,n) * s(n)
}"""
    cases.append(
        Case("dequant_int8_gemv", "modern", text, (Tensor("int8", (8192, 8192), ("integer", -128, 128)), f32(8192, scale=1e-3), bf16(4, 8192)),
             lambda w, s, x: ((x @ w.to(x.dtype).t()).float() * s).to(x.dtype), 2.0 * 4 * 8192**2, 2e-2)
    )
    return cases


def group_convolution_peer(i, w, b):
    groups, outputs, _, kh, kw = w.shape
    y = F.conv2d(i.flatten(1, 2), w.flatten(0, 1), b.flatten(), groups=groups)
    return y.reshape(i.shape[0], groups, outputs, y.shape[2], y.shape[3])


def convolutions() -> list[Case]:
    text = """def group_convolution(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1, float(G,F) B) -> (O) {
  O(n,g,o,h,w) +=! I(n,g,r_i,h+r_kh,w+r_kw) * W1(g,o,r_i,r_kh,r_kw)
  O(n,g,o,h,w) = O(n,g,o,h,w) + B(g,o)
}"""
    cases = [
        Case(f"gconv_{c}_{h}", "paper", text, (f32(32, 32, c, h, h), f32(32, c, c, 3, 3), f32(32, c)), group_convolution_peer,
             2.0 * 32 * 32 * c * c * 9 * (h - 2) ** 2)
        for c, h in ((4, 56), (8, 28), (16, 14), (32, 7))
    ]
    text = "def conv(float(N,C,H,W) I, float(O,C,KH,KW) F) -> (Y) { Y(n,o,h,w) +=! I(n,r_c,h+r_kh,w+r_kw) * F(o,r_c,r_kh,r_kw) }"
    cases.append(
        Case("conv2d_nchw_fp32", "modern", text, (f32(32, 128, 58, 58), f32(128, 128, 3, 3)), lambda i, w: F.conv2d(i, w),
             2.0 * 32 * 128 * 128 * 56 * 56 * 9, 1e-4)
    )
    text = """def conv(bfloat16(N,H,W,C) I, bfloat16(KH,KW,C,O) F) -> (bfloat16(N,H2,W2,O) Y) {
  Y(n,h,w,o) +=! float(I(n,h+r_kh,w+r_kw,r_c)) * float(F(r_kh,r_kw,r_c,o))
}"""
    cases.append(
        Case("conv2d_nhwc_bf16", "modern", text, (bf16(32, 58, 58, 256), bf16(3, 3, 256, 256, scale=0.05)),
             lambda i, w: F.conv2d(i.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)).permute(0, 2, 3, 1), 2.0 * 32 * 56 * 56 * 256 * 256 * 9, 2e-2)
    )
    text = "def dw(float(N,C,H,W) I, float(C,KH,KW) F) -> (Y) { Y(n,c,h,w) +=! I(n,c,h+r_kh,w+r_kw) * F(c,r_kh,r_kw) }"
    cases.append(
        Case("depthwise3x3_fp32", "modern", text, (f32(32, 256, 58, 58), f32(256, 3, 3)), lambda i, w: F.conv2d(i, w.unsqueeze(1), groups=256),
             2.0 * 32 * 256 * 56 * 56 * 9)
    )
    text = "def jacobi(float(H,W) A) -> (B) { B(i,j) = 0.2 * (A(i+1,j+1) + A(i,j+1) + A(i+2,j+1) + A(i+1,j) + A(i+1,j+2)) }"
    cases.append(
        Case("jacobi2d", "modern", text, (f32(8194, 8194),),
             lambda a: 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]), 5.0 * 8192**2)
    )
    return cases


def chains() -> list[Case]:
    text = """def kronecker3(float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2, float(M,N0,N1,N2) X) -> (Y) {
  XW2(m,n0,n1,d2) +=! X(m,n0,n1,r_n2) * W2(d2,r_n2)
  XW1(m,n0,d1,d2) +=! XW2(m,n0,r_n1,d2) * W1(d1,r_n1)
  Y(m,d0,d1,d2) +=! XW1(m,r_n0,d1,d2) * W0(d0,r_n0)
}"""
    cases = [
        Case(f"kronecker3_{d}_{n}", "paper", text, (f32(d, n), f32(d, n), f32(d, n), f32(256, n, n, n)),
             lambda a, b, c, x: torch.einsum("an,bo,cp,mnop->mabc", a, b, c, x), 2.0 * 256 * (n**3 * d + n**2 * d * d + n * d**3))
        for d, n in ((16, 32), (16, 64))
    ]
    text = """def mlp1(float(B,M) I, float(M,N) W1, float(N) B1) -> (O1) {
  O1(b,n) +=! I(b,r_m) * W1(r_m,n)
  O1(b,n) = O1(b,n) + B1(n)
  O1(b,n) = fmax(O1(b,n), 0)
}"""
    cases.append(Case("mlp1", "paper", text, (f32(128, 2000), f32(2000, 128), f32(128)), lambda i, w, b: torch.relu(i @ w + b), 2.0 * 128 * 2000 * 128))
    text = """def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3, float(Q,P) W4, float(Q) B4) -> (O2, O3, O4) {
  O2(b,o) +=! I(b,r_n) * W2(o,r_n)
  O2(b,o) = O2(b,o) + B2(o)
  O2(b,o) = fmax(O2(b,o), 0)
  O3(b,p) +=! O2(b,r_o) * W3(p,r_o)
  O3(b,p) = O3(b,p) + B3(p)
  O3(b,p) = fmax(O3(b,p), 0)
  O4(b,q) +=! O3(b,r_p) * W4(q,r_p)
  O4(b,q) = O4(b,q) + B4(q)
  O4(b,q) = fmax(O4(b,q), 0)
}"""

    def mlp3_peer(i, w2, b2, w3, b3, w4, b4):
        h2 = torch.relu(F.linear(i, w2, b2))
        h3 = torch.relu(F.linear(h2, w3, b3))
        return h2, h3, torch.relu(F.linear(h3, w4, b4))

    cases.append(
        Case("mlp3", "paper", text, (f32(128, 128), f32(64, 128), f32(64), f32(32, 64), f32(32), f32(2, 32), f32(2)), mlp3_peer,
             2.0 * 128 * (128 * 64 + 64 * 32 + 32 * 2))
    )
    text = """def tensordot(float(N,C1,C2,H,W) I0, float(N,C2,C3,H,W) I1) -> (O) {
  O(n,c1,c3,h,w) +=! I0(n,c1,r_c2,h,w) * I1(n,r_c2,c3,h,w)
}"""
    cases.append(
        Case("tensordot_readme", "modern", text, (f32(32, 512, 8, 28, 28), f32(32, 8, 2, 28, 28)),
             lambda a, b: torch.einsum("ncdhw,ndehw->ncehw", a, b), 2.0 * 32 * 512 * 8 * 2 * 28 * 28)
    )
    text = "def mttkrp(float(I,J,K) A, float(J,R) B, float(K,R) C) -> (D) { D(i,r) +=! A(i,r_j,r_k) * B(r_j,r) * C(r_k,r) }"
    cases.append(
        Case("mttkrp", "modern", text, (f32(512, 512, 512), f32(512, 64), f32(512, 64)), lambda a, b, c: torch.einsum("ijk,jr,kr->ir", a, b, c),
             2.0 * 512**3 * 64, 1e-4)
    )
    return cases


def rows() -> list[Case]:
    cases = []
    for batch, height in ((4, 12), (32, 48)):
        text = """def group_normalization(float(N,G,D,H,W) I, float(G,D) gamma, float(G,D) beta) -> (O) {
  mean(n,g) +=! I(n,g,r_d,r_h,r_w)
  var(n,g) +=! I(n,g,r_d,r_h,r_w) * I(n,g,r_d,r_h,r_w)
  O(n,g,d,h,w) = gamma(g,d) * (I(n,g,d,h,w) - mean(n,g) / (D*H*W))
    * rsqrt(var(n,g) / (D*H*W) - (mean(n,g) / (D*H*W)) * (mean(n,g) / (D*H*W)) + 1e-5) + beta(g,d)
}"""
        cases.append(
            Case(f"group_norm_{batch}_{height}", "paper", text, (f32(batch, 32, 16, height, height), f32(32, 16), f32(32, 16)),
                 lambda i, g, b: F.group_norm(i.flatten(1, 2), i.shape[1], g.flatten(), b.flatten()).reshape(i.shape),
                 8.0 * batch * 512 * height * height, 1e-4)
        )
    text = """def moments(float(N,K) I) -> (mean, var) {
  mean(n) +=! I(n,r_k)
  mean(n) = mean(n) / K
  var(n) +=! I(n,r_k) * I(n,r_k)
  var(n) = var(n) / K - mean(n) * mean(n)
}"""
    cases += [
        Case(f"moments_{n}", "paper", text, (f32(n, k),), lambda i: (i.mean(1), i.var(1, unbiased=False)), 3.0 * n * k, 1e-4)
        for n, k in ((128, 2304), (1024, 36864))
    ]
    text = """def softmax(float(N,D) I) -> (O) {
  m(n) max=! I(n,r_d)
  s(n) +=! exp(I(n,r_d) - m(n))
  O(n,d) = exp(I(n,d) - m(n)) / s(n)
}"""
    cases += [
        Case(f"softmax_fp32_{name}", "modern", text, (f32(m, n),), lambda i: torch.softmax(i, 1), 5.0 * m * n)
        for m, n, name in ((16384, 8192, "wide"), (262144, 512, "tall"))
    ]
    text = """def rmsnorm(bfloat16(N,D) X, bfloat16(N,D) R, bfloat16(D) w) -> (bfloat16(N,D) Y, bfloat16(N,D) H) {
  H(n,d) = X(n,d) + R(n,d)
  s(n) +=! float(H(n,r_d)) * float(H(n,r_d))
  Y(n,d) = float(H(n,d)) * rsqrt(s(n) / D + 1e-6) * float(w(d))
}"""

    def rmsnorm_peer(x, r, w):
        h = x + r
        return F.rms_norm(h, (h.shape[1],), w, 1e-6), h

    cases.append(Case("rmsnorm_bf16", "modern", text, (bf16(16384, 4096), bf16(16384, 4096), bf16(4096)), rmsnorm_peer, 6.0 * 16384 * 4096, 2e-2))
    text = """def layernorm(float(N,D) X, float(D) g, float(D) b) -> (Y) {
  mu(n) +=! X(n,r_d)
  v(n) +=! (X(n,r_d) - mu(n)/D) * (X(n,r_d) - mu(n)/D)
  Y(n,d) = (X(n,d) - mu(n)/D) * rsqrt(v(n)/D + 1e-5) * g(d) + b(d)
}"""
    cases.append(
        Case("layernorm_fp32", "modern", text, (f32(32768, 2048), f32(2048), f32(2048)), lambda x, g, b: F.layer_norm(x, (x.shape[1],), g, b),
             8.0 * 32768 * 2048, 1e-4)
    )
    text = "def colsum(float(N,D) X) -> (s) { s(d) +=! X(r_n,d) }"
    cases.append(Case("column_sum", "modern", text, (f32(65536, 2048),), lambda x: x.sum(0), 65536.0 * 2048, 1e-3))
    text = "def fullsum(float(N) X) -> (s) { s() +=! X(r_n) }"
    cases.append(Case("full_sum", "modern", text, (f32(1 << 28),), lambda x: x.sum(), float(1 << 28), 1e-3))
    text = "def tr(float(A,B,C) X) -> (Y) { Y(a,c,b) = X(a,b,c) }"
    cases.append(Case("transpose021_fp32", "modern", text, (f32(64, 2048, 2048),), lambda x: x.transpose(1, 2).contiguous(), 0.0))
    text = """def xent(bfloat16(N,V) L, int64(N) T) -> (float(N) loss) {
  m(n) max=! float(L(n,r_v))
  s(n) +=! exp(float(L(n,r_v)) - m(n))
  loss(n) = log(s(n)) + m(n) - float(L(n,T(n)))
}"""
    cases.append(
        Case("cross_entropy_bf16", "modern", text, (bf16(8192, 50304), index(50304, 8192, dtype="int64")),
             lambda logits, target: F.cross_entropy(logits.float(), target, reduction="none"), 4.0 * 8192 * 50304, 1e-3)
    )
    return cases


def lookups_and_attention() -> list[Case]:
    text = "def lut1(float(E1,D) LUT1, int32(B,L1) I1) -> (O1) { O1(b,d) +=! LUT1(I1(b,r_l), d) }"
    rows_, batch, length, width = 100_000, 128, 50, 64
    table, which = f32(rows_, width), index(rows_, batch, length)
    cases = [Case("lut1", "paper", text, (table, which), lambda t, i: F.embedding_bag(i, t, mode="sum"), float(batch * length * width))]
    text = """def lut2(float(E1,D) LUT1, int32(B,L1) I1, float(E2,D) LUT2, int32(B,L2) I2) -> (O1, O2) {
  O1(b,d) +=! LUT1(I1(b,r_l), d)
  O2(b,d) +=! LUT2(I2(b,r_l), d)
}"""
    cases.append(
        Case("lut2", "paper", text, (table, which, table, which),
             lambda t, i, t2, i2: (F.embedding_bag(i, t, mode="sum"), F.embedding_bag(i2, t2, mode="sum")), 2.0 * batch * length * width)
    )
    for causal in (False, True):
        row = " where j in 0:i+1" if causal else ""
        inner = " where r_j in 0:i+1" if causal else ""
        text = f"""def attention(bfloat16(B,H,S,D) Q, bfloat16(B,H,T,D) K, bfloat16(B,H,T,D) V) -> (bfloat16(B,H,S,D) O) {{
  P(b,h,i,j) +=! float(Q(b,h,i,r_d)) * float(K(b,h,j,r_d)){row}
  m(b,h,i) max=! P(b,h,i,r_j){inner}
  s(b,h,i) +=! exp((P(b,h,i,r_j) - m(b,h,i)) * 0.08838834764){inner}
  A(b,h,i,d) +=! exp((P(b,h,i,r_j) - m(b,h,i)) * 0.08838834764) * float(V(b,h,r_j,d)){inner}
  O(b,h,i,d) = A(b,h,i,d) / s(b,h,i)
}}"""
        tensors = tuple(bf16(4, 16, 4096, 128) for _ in range(3))
        cases.append(
            Case("attention_bf16" + ("_causal" if causal else ""), "modern", text, tensors,
                 (lambda c: lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=c))(causal),
                 4.0 * 64 * 4096 * 4096 * 128 / (2 if causal else 1), 2e-2)
        )
    return cases


CASES = products() + convolutions() + chains() + rows() + lookups_and_attention()
BY_NAME = {case.name: case for case in CASES}


def main():
    """Prints the cases as JSON lines for programs that do not speak Python."""
    for case in CASES:
        tensors = [{"dtype": tensor.dtype, "shape": tensor.shape} for tensor in case.tensors]
        print(json.dumps({"name": case.name, "text": case.text, "tensors": tensors}))


if __name__ == "__main__":
    main()
