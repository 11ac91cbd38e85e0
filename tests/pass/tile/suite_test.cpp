// SPDX-License-Identifier: Apache-2.0
//
// The operators of the suite at their sizes: well formed, quick to build, no temporary beyond the
// limits, enough tasks.
#include <gtest/gtest.h>

#include "pipeline.h"

namespace tc::tile::testing {
namespace {

struct Operator {
  const char* name;
  const char* text;
  Shapes shapes;
};

const char* const kProduct =
    "def f(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,k) * B(n,k) }";
const char* const kGroupConvolution =
    "def f(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1, float(G,F) B) -> (O) {\n"
    "  O(n,g,o,h,w) +=! I(n,g,i,h+kh,w+kw) * W1(g,o,i,kh,kw)\n  O(n,g,o,h,w) = O(n,g,o,h,w) + "
    "B(g,o)\n}";
const char* const kKronecker =
    "def f(float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2, float(M,N0,N1,N2) X) -> (Y) {\n"
    "  XW2(m,n0,n1,d2) +=! X(m,n0,n1,n2) * W2(d2,n2)\n  XW1(m,n0,d1,d2) +=! XW2(m,n0,n1,d2) * "
    "W1(d1,n1)\n"
    "  Y(m,d0,d1,d2) +=! XW1(m,n0,d1,d2) * W0(d0,n0)\n}";
const char* const kGroupNorm = "def f(float(N,G,D,H,W) I, float(G,D) gamma, float(G,D) beta) -> "
                               "(O) {\n  mean(n,g) +=! I(n,g,d,h,w)\n"
                               "  var(n,g) +=! I(n,g,d,h,w) * I(n,g,d,h,w)\n  O(n,g,d,h,w) = "
                               "gamma(g,d) * (I(n,g,d,h,w) - mean(n,g) / (D*H*W))\n"
                               "    * rsqrt(var(n,g) / (D*H*W) - (mean(n,g)/(D*H*W)) * "
                               "(mean(n,g)/(D*H*W)) + 1e-5) + beta(g,d)\n}";
const char* const kMoments =
    "def f(float(N,K) I) -> (mean, var) {\n  mean(n) +=! I(n,k)\n  mean(n) = mean(n) / K\n"
    "  var(n) +=! I(n,k) * I(n,k)\n  var(n) = var(n) / K - mean(n) * mean(n)\n}";
const char* const kHalfProduct =
    "def f(bfloat16(M,K) A, bfloat16(K,N) B) -> (bfloat16(M,N) C) { C(m,n) +=! A(m,k) * B(k,n) }";
const char* const kSoftmax = "def f(float(N,D) I) -> (O) {\n  m(n) max=! I(n,d)\n  s(n) +=! "
                             "exp(I(n,d) - m(n))\n  O(n,d) = exp(I(n,d) - m(n)) / s(n)\n}";
const char* const kAttention =
    "def f(bfloat16(B,H,S,D) Q, bfloat16(B,H,T,D) K, bfloat16(B,H,T,D) V) -> (bfloat16(B,H,S,D) O) "
    "{\n"
    "  P(b,h,i,j) +=! float(Q(b,h,i,d)) * float(K(b,h,j,d))\n  m(b,h,i) max=! P(b,h,i,j)\n"
    "  s(b,h,i) +=! exp((P(b,h,i,j) - m(b,h,i)) * 0.08838834764)\n"
    "  A(b,h,i,d) +=! exp((P(b,h,i,j) - m(b,h,i)) * 0.08838834764) * float(V(b,h,j,d))\n"
    "  O(b,h,i,d) = A(b,h,i,d) / s(b,h,i)\n}";
const char* const kCausal =
    "def f(bfloat16(B,H,S,D) Q, bfloat16(B,H,T,D) K, bfloat16(B,H,T,D) V) -> (bfloat16(B,H,S,D) O) "
    "{\n"
    "  P(b,h,i,j) +=! float(Q(b,h,i,d)) * float(K(b,h,j,d)) where j in 0:i+1\n  m(b,h,i) max=! "
    "P(b,h,i,j) where j in 0:i+1\n"
    "  s(b,h,i) +=! exp((P(b,h,i,j) - m(b,h,i)) * 0.08838834764) where j in 0:i+1\n"
    "  A(b,h,i,d) +=! exp((P(b,h,i,j) - m(b,h,i)) * 0.08838834764) * float(V(b,h,j,d)) where j in "
    "0:i+1\n"
    "  O(b,h,i,d) = A(b,h,i,d) / s(b,h,i)\n}";

const std::vector<Operator>& suite() {
  static const std::vector<Operator> kSuite = {
      {"tmm_small", kProduct, {{128, 32}, {256, 32}}},
      {"tmm_medium", kProduct, {{128, 1024}, {1024, 1024}}},
      {"tmm_large", kProduct, {{128, 4096}, {16384, 4096}}},
      {"tbmm",
       "def f(float(B,N,M) X, float(B,K,M) Y) -> (Z) { Z(b,n,k) +=! X(b,n,m) * Y(b,k,m) }",
       {{500, 26, 72}, {500, 26, 72}}},
      {"gconv_4", kGroupConvolution, {{32, 32, 4, 56, 56}, {32, 4, 4, 3, 3}, {32, 4}}},
      {"gconv_8", kGroupConvolution, {{32, 32, 8, 28, 28}, {32, 8, 8, 3, 3}, {32, 8}}},
      {"gconv_16", kGroupConvolution, {{32, 32, 16, 14, 14}, {32, 16, 16, 3, 3}, {32, 16}}},
      {"gconv_32", kGroupConvolution, {{32, 32, 32, 7, 7}, {32, 32, 32, 3, 3}, {32, 32}}},
      {"kronecker_32", kKronecker, {{16, 32}, {16, 32}, {16, 32}, {256, 32, 32, 32}}},
      {"kronecker_64", kKronecker, {{16, 64}, {16, 64}, {16, 64}, {256, 64, 64, 64}}},
      {"lut1",
       "def f(float(E1,D) LUT1, int32(B,L1) I1) -> (O1) { O1(b,d) +=! LUT1(I1(b,l), d) }",
       {{100000, 64}, {128, 50}}},
      {"lut2",
       "def f(float(E1,D) LUT1, int32(B,L1) I1, float(E2,D) LUT2, int32(B,L2) I2) -> (O1, O2) {\n"
       "  O1(b,d) +=! LUT1(I1(b,l), d)\n  O2(b,d) +=! LUT2(I2(b,l), d)\n}",
       {{100000, 64}, {128, 50}, {100000, 64}, {128, 50}}},
      {"c3", kProduct, {{128, 1000}, {1024, 1000}}},
      {"mlp1",
       "def f(float(B,M) I, float(M,N) W1, float(N) B1) -> (O1) {\n  O1(b,n) +=! I(b,m) * "
       "W1(m,n)\n  O1(b,n) = O1(b,n) + B1(n)\n"
       "  O1(b,n) = fmax(O1(b,n), 0)\n}",
       {{128, 2000}, {2000, 128}, {128}}},
      {"mlp3",
       "def f(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3, float(Q,P) W4, "
       "float(Q) B4) -> (O2,O3,O4) {\n"
       "  O2(b,o) +=! I(b,n) * W2(o,n)\n  O2(b,o) = O2(b,o) + B2(o)\n  O2(b,o) = fmax(O2(b,o), 0)\n"
       "  O3(b,p) +=! O2(b,o) * W3(p,o)\n  O3(b,p) = O3(b,p) + B3(p)\n  O3(b,p) = fmax(O3(b,p), "
       "0)\n"
       "  O4(b,q) +=! O3(b,p) * W4(q,p)\n  O4(b,q) = O4(b,q) + B4(q)\n  O4(b,q) = fmax(O4(b,q), "
       "0)\n}",
       {{128, 128}, {64, 128}, {64}, {32, 64}, {32}, {2, 32}, {2}}},
      {"group_norm_12", kGroupNorm, {{4, 32, 16, 12, 12}, {32, 16}, {32, 16}}},
      {"group_norm_48", kGroupNorm, {{32, 32, 16, 48, 48}, {32, 16}, {32, 16}}},
      {"moments_small", kMoments, {{128, 2304}}},
      {"moments_large", kMoments, {{1024, 36864}}},
      {"matmul_bf16_4096", kHalfProduct, {{4096, 4096}, {4096, 4096}}},
      {"matmul_bf16_8192", kHalfProduct, {{8192, 8192}, {8192, 8192}}},
      {"matmul_fp32",
       "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
       {{4096, 4096}, {4096, 4096}}},
      {"linear_gelu",
       "def f(bfloat16(M,K) X, bfloat16(N,K) W, bfloat16(N) b) -> (bfloat16(M,N) Y) {\n  Z(m,n) "
       "+=! float(X(m,k)) * float(W(n,k))\n"
       "  Y(m,n) = 0.5 * (Z(m,n)+b(n)) * (1.0 + erf((Z(m,n)+b(n)) * 0.70710678))\n}",
       {{8192, 4096}, {4096, 4096}, {4096}}},
      {"swiglu",
       "def f(bfloat16(M,K) X, bfloat16(N,K) Wg, bfloat16(N,K) Wu) -> (bfloat16(M,N) Y) {\n"
       "  G(m,n) +=! float(X(m,k)) * float(Wg(n,k))\n  U(m,n) +=! float(X(m,k)) * float(Wu(n,k))\n"
       "  Y(m,n) = G(m,n) / (1.0 + exp(-G(m,n))) * U(m,n)\n}",
       {{4096, 4096}, {11008, 4096}, {11008, 4096}}},
      {"gemv",
       "def f(bfloat16(N,K) W, bfloat16(K) x) -> (bfloat16(N) y) { y(n) +=! float(W(n,k)) * "
       "float(x(k)) }",
       {{8192, 8192}, {8192}}},
      {"dequantised_gemv",
       "def f(int8(N,K) W, float(N) s, bfloat16(B,K) X) -> (bfloat16(B,N) Y) {\n  Z(b,n) +=! "
       "float(W(n,k)) * float(X(b,k))\n  Y(b,n) = Z(b,n) * s(n)\n}",
       {{8192, 8192}, {8192}, {4, 8192}}},
      {"softmax_wide", kSoftmax, {{16384, 8192}}},
      {"softmax_tall", kSoftmax, {{262144, 512}}},
      {"rmsnorm",
       "def f(bfloat16(N,D) X, bfloat16(N,D) R, bfloat16(D) w) -> (bfloat16(N,D) Y, bfloat16(N,D) "
       "H) {\n  H(n,d) = X(n,d) + R(n,d)\n"
       "  s(n) +=! float(H(n,r)) * float(H(n,r))\n  Y(n,d) = float(H(n,d)) * rsqrt(s(n) / D + "
       "1e-6) * float(w(d))\n}",
       {{16384, 4096}, {16384, 4096}, {4096}}},
      {"layernorm",
       "def f(float(N,D) X, float(D) g, float(D) b) -> (Y) {\n  mu(n) +=! X(n,r)\n  v(n) +=! "
       "(X(n,r) - mu(n)/D) * (X(n,r) - mu(n)/D)\n"
       "  Y(n,d) = (X(n,d) - mu(n)/D) * rsqrt(v(n)/D + 1e-5) * g(d) + b(d)\n}",
       {{32768, 2048}, {2048}, {2048}}},
      {"column_sum", "def f(float(N,D) X) -> (s) { s(d) +=! X(n,d) }", {{65536, 2048}}},
      {"full_sum", "def f(float(N) X) -> (s) { s() +=! X(n) }", {{1 << 28}}},
      {"attention", kAttention, {{4, 16, 4096, 128}, {4, 16, 4096, 128}, {4, 16, 4096, 128}}},
      {"attention_causal", kCausal, {{4, 16, 4096, 128}, {4, 16, 4096, 128}, {4, 16, 4096, 128}}},
      {"conv2d_nchw",
       "def f(float(N,C,H,W) I, float(O,C,KH,KW) F) -> (Y) { Y(n,o,h,w) +=! I(n,c,h+kh,w+kw) * "
       "F(o,c,kh,kw) }",
       {{32, 128, 58, 58}, {128, 128, 3, 3}}},
      {"conv2d_nhwc",
       "def f(bfloat16(N,H,W,C) I, bfloat16(KH,KW,C,O) F) -> (bfloat16(N,H2,W2,O) Y) { Y(n,h,w,o) "
       "+=! float(I(n,h+kh,w+kw,c)) * float(F(kh,kw,c,o)) }",
       {{32, 58, 58, 256}, {3, 3, 256, 256}}},
      {"depthwise",
       "def f(float(N,C,H,W) I, float(C,KH,KW) F) -> (Y) { Y(n,c,h,w) +=! I(n,c,h+kh,w+kw) * "
       "F(c,kh,kw) }",
       {{32, 256, 58, 58}, {256, 3, 3}}},
      {"jacobi",
       "def f(float(H,W) A) -> (B) { B(i,j) = 0.2 * (A(i+1,j+1) + A(i,j+1) + A(i+2,j+1) + A(i+1,j) "
       "+ A(i+1,j+2)) }",
       {{8194, 8194}}},
      {"tensordot",
       "def f(float(N,C1,C2,H,W) I0, float(N,C2,C3,H,W) I1) -> (O) { O(n,c1,c3,h,w) +=! "
       "I0(n,c1,c2,h,w) * I1(n,c2,c3,h,w) }",
       {{32, 512, 8, 28, 28}, {32, 8, 2, 28, 28}}},
      {"mttkrp",
       "def f(float(I,J,K) A, float(J,R) B, float(K,R) C) -> (D) { D(i,r) +=! A(i,j,k) * B(j,r) * "
       "C(k,r) }",
       {{512, 512, 512}, {512, 64}, {512, 64}}},
      {"transpose", "def f(float(A,B,C) X) -> (Y) { Y(a,c,b) = X(a,b,c) }", {{64, 2048, 2048}}},
      {"cross_entropy",
       "def f(bfloat16(N,V) L, int64(N) T) -> (float(N) loss) {\n  m(n) max=! float(L(n,v))\n  "
       "s(n) +=! exp(float(L(n,v)) - m(n))\n"
       "  loss(n) = log(s(n)) + m(n) - float(L(n,T(n)))\n}",
       {{8192, 50304}, {8192}}},
  };
  return kSuite;
}

std::int64_t tasks(const Kernel& kernel) {
  std::int64_t count = 1;
  for (const auto& loop : kernel.grid)
    count *= (loop.end - loop.begin + loop.step - 1) / loop.step;
  return count;
}

std::int64_t local_bytes(const std::vector<Node>& nodes) {
  std::int64_t bytes = 0;
  for (const auto& node : nodes) {
    const auto* local = std::get_if<Local>(&node);
    if (!local) continue;
    std::int64_t elements = 1;
    for (const auto extent : local->buffer->extents)
      elements *= extent;
    bytes += elements * bits(local->buffer->type) / 8;
  }
  return bytes;
}

class Suite : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Suite, IsWellFormed) {
  const auto& op = suite()[GetParam()];
  const Built built = build_text(op.text, op.shapes);
  const std::string text = print(built.program);
  if (std::getenv("TC_PRINT_TILES")) std::printf("%s:\n%s", op.name, text.c_str());
  EXPECT_EQ(verify(built.program), std::vector<std::string>{}) << text;
  EXPECT_LT(built.program.scratch_bytes, std::int64_t{64} << 20) << text;
  for (const auto& kernel : built.program.kernels) {
    EXPECT_LE(local_bytes(kernel.body), machine().l2_bytes / 2) << text;
    RecordProperty(kernel.name + "_tasks", std::to_string(tasks(kernel)));
  }
  EXPECT_GE(tasks(built.program.kernels.front()), 2) << text;
  const auto parsed = parse(text);
  ASSERT_TRUE(parsed) << parsed.error().line << ": " << parsed.error().message << "\n" << text;
  EXPECT_EQ(print(*parsed), text);
}

INSTANTIATE_TEST_SUITE_P(Operators, Suite, ::testing::Range<std::size_t>(0, suite().size()),
                         [](const auto& info) { return std::string(suite()[info.param].name); });

}  // namespace
}  // namespace tc::tile::testing
