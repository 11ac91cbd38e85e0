// SPDX-License-Identifier: Apache-2.0
//
// Small programs that users of tensor compilers met trouble with, each with its right value. Where
// a value is not literal, plain loops in the test compute it. The numbers are those of the list of
// reported cases.
#include "case_support.h"

namespace tc::lang::test {
namespace {

TEST(ReportedCases, C01_LogConvolution) {
  Reals a(10, -kInf);
  a[3] = 0;
  Reals k;
  for (int d = 0; d < 19; ++d)
    k.push_back(-(d - 9.0) * (d - 9.0) / 4);
  const auto out = run(R"(
    def log_convolution(float(X) a, float(2*X-1) k) -> (y) {
      m(x) max=! a(r) + k(x-r+X-1) where x in 0:X
      s(x) +=! exp(a(r) + k(x-r+X-1) - m(x))
      y(x) = m(x) + log(s(x))
    })",
                       {f32({10}, a), f32({19}, k)});
  expect_near(out[0], {10}, {-2.25, -1, -.25, 0, -.25, -1, -2.25, -4, -6.25, -9}, 1e-6);
}

TEST(ReportedCases, C02_CompoundIndexUnderMinus) {
  for (const std::int64_t n : {30, 31, 32, 33, 34, 63, 64, 65, 127, 128, 129}) {
    Value a = Value::zeros(DType::Float32, {n});
    a.real[10] = 1;
    Value k = Value::zeros(DType::Float32, {2 * n - 1});
    k.real[static_cast<std::size_t>(n - 1)] = 1;
    const auto out = run(R"(
      def convolution(float(X) A, float(2*X-1) K) -> (B) {
        B(x) +=! A(r) * K(X-1+x-r) where x in 0:X
      })",
                         {a, k});
    expect_equal(out[0], {n}, a.real);
  }
}

const char* const kPooling = R"(
  def average_pooling(float(B,C,H,W) x) -> (y) {
    y(b,c,h,w) +=! x(b,c,2*h+i,2*w+j)/4 where i in 0:2, j in 0:2
  })";

TEST(ReportedCases, C03_AveragePooling) {
  for (const auto& [h, w] : {std::pair<std::int64_t, std::int64_t>(20, 20), {70, 90}, {7, 7}}) {
    const Value x = f32({1, 2, h, w}, 3);
    const Shape shape{1, 2, h / 2, w / 2};
    const Reals expected = reference(shape, [&](const Shape& s) {
      double sum = 0;
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j)
          sum += at(x, {s[0], s[1], 2 * s[2] + i, 2 * s[3] + j}) / 4;
      }
      return sum;
    });
    expect_equal(run(kPooling, {x})[0], shape, expected);
    // Whatever the buffer held before.
    const Value poison = filled(DType::Float32, shape, [](std::int64_t) { return 1e30; });
    expect_equal(run(kPooling, {x}, {}, {{0, poison}})[0], shape, expected);
  }
}

TEST(ReportedCases, C03_AccumulationOntoAnOutputWarns) {
  std::string text = kPooling;
  text.replace(text.find("+=!"), 3, "+=");
  const auto compiled = compile(text, {{1, 1, 4, 4}});
  ASSERT_TRUE(compiled.specialised) << compiled.text;
  EXPECT_TRUE(compiled.has("W")) << compiled.text;
  EXPECT_NE(compiled.text.find("+=!"), std::string::npos) << compiled.text;
  const Value ones = filled(DType::Float32, {1, 1, 4, 4}, [](std::int64_t) { return 1; });
  const Value before = filled(DType::Float32, {1, 1, 2, 2}, [](std::int64_t i) { return i; });
  EXPECT_EQ(run(text, {ones}, {}, {{0, before}})[0].real, (Reals{1, 2, 3, 4}));
}

TEST(ReportedCases, C04_InferredOffsets) {
  const auto out = run("def add(float(N) B) -> (A) { A(i,j) = B(i) + B(j+3) }",
                       {f32({5}, Reals{0, 1, 2, 3, 4})});
  expect_equal(out[0], {5, 2}, {3, 4, 4, 5, 5, 6, 6, 7, 7, 8});
}

TEST(ReportedCases, C05_MaxPoolingOfNegativeData) {
  const Value x =
      filled(DType::Float32, {2, 6, 5}, [](std::int64_t i) { return -1 - (i * 7) % 11; });
  const Shape shape{2, 3, 2};
  const auto out = run(R"(
    def max_pooling(float(C,H,W) x) -> (y) {
      y(c,h,w) max=! x(c, 2*h + i, 2*w + j) where i in 0:2, j in 0:2
    })",
                       {x});
  expect_equal(out[0], shape, reference(shape, [&](const Shape& s) {
                 double best = -kInf;
                 for (int i = 0; i < 2; ++i) {
                   for (int j = 0; j < 2; ++j)
                     best = std::max(best, at(x, {s[0], 2 * s[1] + i, 2 * s[2] + j}));
                 }
                 return best;
               }));
}

TEST(ReportedCases, C06_GuardedGather) {
  const Value image = f32({2, 4}, 1);
  const Value scale = f32({4}, 2);
  const Value rows = i32({3, 3}, {0, 4, 3, 4, 4, 4, 2, 1, 4});
  const auto out = run(R"(
    def guarded(float(N,C) I, float(C) S, int32(L,A) R) -> (o) {
      o(n,l) +=! R(l,r_a) == C ? 0 : I(n, R(l,r_a)) * S(R(l,r_a))
    })",
                       {image, scale, rows});
  expect_equal(out[0], {2, 3}, reference({2, 3}, [&](const Shape& s) {
                 double sum = 0;
                 for (int a = 0; a < 3; ++a) {
                   const auto r = rows.integer[static_cast<std::size_t>(s[1] * 3 + a)];
                   if (r != 4) sum += at(image, {s[0], r}) * at(scale, {r});
                 }
                 return sum;
               }));
}

Reals strided_convolution(const Value& x, const Value& w, const Shape& shape, int stride) {
  return reference(shape, [&](const Shape& s) {
    double sum = 0;
    for (std::int64_t c = 0; c < w.shape[1]; ++c) {
      for (std::int64_t p = 0; p < w.shape[2]; ++p) {
        for (std::int64_t q = 0; q < w.shape[3]; ++q) {
          sum += at(x, {s[0], c, stride * s[2] + p, stride * s[3] + q}) * at(w, {s[1], c, p, q});
        }
      }
    }
    return sum;
  });
}

TEST(ReportedCases, C07_StridedConvolution) {
  const char* text = R"(
    def strided(float(N,C,H,W) x, float(M,C,KH,KW) W1) -> (y) {
      y(n,m,h,w) +=! x(n,c,2*h+p,2*w+q) * W1(m,c,p,q)
    })";
  // The shape of the report, by inference alone.
  const auto compiled = compile(text, {{1, 64, 58, 58}, {128, 64, 3, 3}});
  ASSERT_TRUE(compiled.specialised) << compiled.text;
  const Tensor& y =
      compiled.specialised->tensors[static_cast<std::size_t>(compiled.specialised->outputs[0])];
  Shape shape;
  for (const auto& extent : y.extent)
    shape.push_back(*evaluate(extent, {}));
  EXPECT_EQ(shape, (Shape{1, 128, 28, 28}));
  // The values, smaller.
  const Value x = f32({1, 4, 18, 18}, 1);
  const Value w = f32({8, 4, 3, 3}, 2);
  const auto out = run(text, {x, w});
  expect_equal(out[0], {1, 8, 8, 8}, strided_convolution(x, w, {1, 8, 8, 8}, 2));
}

TEST(ReportedCases, C08_BoundThatIsAMinimum) {
  const Value I = f32({1, 2, 9, 9}, 1);
  const Value J = f32({1, 2, 11, 11}, 2);
  const Value W = f32({3, 3}, 3);
  const auto out = run(R"(
    def gram(float(N,A,H,W) I, float(N,C,H2,W2) J, float(P,Q) K) -> (O, G) {
      O(n,c,h,w) +=! J(n,c,h+p,w+q) * K(p,q)
      G(a,b) +=! I(n,a,h,w) * O(n,b,h,w)
    })",
                       {I, J, W});
  const Shape shape{1, 2, 9, 9};
  const Value O = f32(shape, reference(shape, [&](const Shape& s) {
                        double sum = 0;
                        for (int p = 0; p < 3; ++p) {
                          for (int q = 0; q < 3; ++q)
                            sum += at(J, {s[0], s[1], s[2] + p, s[3] + q}) * at(W, {p, q});
                        }
                        return sum;
                      }));
  expect_equal(out[0], shape, O.real);
  expect_near(out[1], {2, 2},
              reference({2, 2},
                        [&](const Shape& s) {
                          double sum = 0;
                          for (int h = 0; h < 9; ++h) {
                            for (int w = 0; w < 9; ++w)
                              sum += at(I, {0, s[0], h, w}) * at(O, {0, s[1], h, w});
                          }
                          return sum;
                        }),
              1e-5);
}

TEST(ReportedCases, C09_IndexedConvolution) {
  const Value x = f32({2, 3, 16, 16}, 1);
  const Value w = f32({4, 3, 3, 3}, 2);
  const Value positions = i32({2, 3}, {10, 12, 10, 12, 12, 10});
  const auto out = run(R"(
    def perforated(float(N,C,H,W) x, float(M,C,P,Q) K, int32(N,L) idx) -> (y) {
      y(n,m,l) +=! x(n,c,idx(n,l)+p, idx(n,l)+q) * K(m,c,p,q)
    })",
                       {x, w, positions});
  const Shape shape{2, 4, 3};
  expect_equal(out[0], shape, reference(shape, [&](const Shape& s) {
                 const auto o = positions.integer[static_cast<std::size_t>(s[0] * 3 + s[2])];
                 double sum = 0;
                 for (int c = 0; c < 3; ++c) {
                   for (int p = 0; p < 3; ++p) {
                     for (int q = 0; q < 3; ++q)
                       sum += at(x, {s[0], c, o + p, o + q}) * at(w, {s[1], c, p, q});
                   }
                 }
                 return sum;
               }));
}

TEST(ReportedCases, C10_Padding) {
  const Value x = f32({1, 2, 5, 6}, 1);
  const Value k = f32({3, 2, 3, 3}, 2);
  const Shape shape{1, 3, 5, 6};
  const Reals expected = reference(shape, [&](const Shape& s) {
    double sum = 0;
    for (int c = 0; c < 2; ++c) {
      for (int p = 0; p < 3; ++p) {
        for (int q = 0; q < 3; ++q) {
          const std::int64_t h = s[2] + p - 1;
          const std::int64_t w = s[3] + q - 1;
          if (h < 0 || h >= 5 || w < 0 || w >= 6) continue;
          sum += at(x, {s[0], c, h, w}) * at(k, {s[1], c, p, q});
        }
      }
    }
    return sum;
  });
  const auto padded = run(R"(
    def padded(float(N,C,H,W) x, float(M,C,P,Q) K) -> (y) {
      y(n,m,h,w) +=! pad(x(n,c,h+p-1,w+q-1), 0) * K(m,c,p,q) where h in 0:H, w in 0:W
    })",
                          {x, k});
  expect_equal(padded[0], shape, expected);
  const auto guarded = run(R"(
    def guarded(float(N,C,H,W) x, float(M,C,P,Q) K) -> (y) {
      y(n,m,h,w) +=! (h+p >= 1 && h+p <= H && w+q >= 1 && w+q <= W ? x(n,c,h+p-1,w+q-1) : 0)
                     * K(m,c,p,q) where h in 0:H, w in 0:W
    })",
                           {x, k});
  expect_equal(guarded[0], shape, expected);
}

TEST(ReportedCases, C11_ConvolutionBackward) {
  const auto dx = run(R"(
    def data_gradient(float(N) dY, float(K) W) -> (dX) {
      dX(i) +=! pad(dY(i-k), 0) * W(k) where i in 0:5
    })",
                      {f32({3}, Reals{1, 1, 1}), f32({3}, Reals{1, 2, 3})});
  expect_equal(dx[0], {5}, {1, 3, 6, 5, 3});
  const auto dw =
      run("def weight_gradient(float(N) X, float(M) dY) -> (dW) { dW(k) +=! X(i+k) * dY(i) }",
          {f32({5}, Reals{1, 2, 3, 4, 5}), f32({3}, Reals{1, 1, 1})});
  expect_equal(dw[0], {3}, {6, 9, 12});
  const auto strided = run(R"(
    def strided_gradient(float(N) dY, float(K) W) -> (dX) {
      dX(i) +=! pad(dY((i-k)/2), 0) * W(k) where i in 0:5, (i-k)%2 == 0
    })",
                           {f32({2}, Reals{1, 1}), f32({3}, Reals{1, 2, 3})});
  expect_equal(strided[0], {5}, {1, 2, 4, 2, 3});
}

TEST(ReportedCases, C12_BoundsFromAnotherIndex) {
  Reals a;
  for (int i = 1; i <= 12; ++i)
    a.push_back(i);
  const auto out = run(R"(
    def banded(float(n,3) A, float(n,m) X) -> (Y) {
      Y(i,j) +=! A(i,s+1) * X(i+s,j) where s in max(-1,-i):min(2,n-i)
    })",
                       {f32({4, 3}, a), f32({4, 1}, Reals{1, 1, 1, 1})});
  expect_equal(out[0], {4, 1}, {5, 15, 24, 21});
}

TEST(ReportedCases, C13_NameAssignedTwice) {
  const Value x = f32({3, 4}, 5);
  const auto out = run(R"(
    def softmax(float(I,J) x) -> (y) {
      t(i) max=! x(i,j)
      y(i,j) = exp(x(i,j) - t(i))
      t(i) +=! y(i,j)
      y(i,j) = y(i,j) / t(i)
    })",
                       {x});
  expect_near(out[0], {3, 4},
              reference({3, 4},
                        [&](const Shape& s) {
                          double sum = 0;
                          for (int j = 0; j < 4; ++j)
                            sum += std::exp(at(x, {s[0], j}));
                          return std::exp(at(x, {s[0], s[1]})) / sum;
                        }),
              1e-6);
}

TEST(ReportedCases, C14_UpdatesInOrder) {
  const Value a = f32({3, 5}, 1);
  const Value b = f32({3}, 2);
  const Value c = f32({3, 2}, 3);
  const auto out = run(R"(
    def updates(float(I,J) a, float(I) b, float(I,K) c) -> (y) {
      y(i) +=! a(i,j)
      y(i) = y(i) + b(i)
      y(i) += c(i,j)
    })",
                       {a, b, c});
  expect_equal(out[0], {3}, reference({3}, [&](const Shape& s) {
                 double sum = at(b, {s[0]});
                 for (int j = 0; j < 5; ++j)
                   sum += at(a, {s[0], j});
                 for (int j = 0; j < 2; ++j)
                   sum += at(c, {s[0], j});
                 return sum;
               }));
}

TEST(ReportedCases, C15_ScatterAccumulatesDuplicates) {
  const auto counts = run("def histogram(int32(N) im, int32(B) h) -> (h) { h(im(i)) += 1 }",
                          {i32({7}, {0, 3, 3, 1, 3, 0, 3}), i32({4}, {1, 1, 1, 1})});
  EXPECT_EQ(counts[0].integer, (Integers{3, 2, 1, 5}));
  const Value rows = i32({2, 2}, {2, 0, 2, 2});
  const Value grad = f32({2, 2, 3}, 4);
  const auto table = run(R"(
    def table_gradient(int32(B,N) I, float(B,N,R) dO, float(E,R) dM) -> (dM) {
      dM(I(b,n),r) += dO(b,n,r)
    })",
                         {rows, grad, Value::zeros(DType::Float32, {4, 3})});
  expect_equal(table[0], {4, 3}, reference({4, 3}, [&](const Shape& s) {
                 double sum = 0;
                 for (int b = 0; b < 2; ++b) {
                   for (int n = 0; n < 2; ++n) {
                     if (rows.integer[static_cast<std::size_t>(b * 2 + n)] == s[0])
                       sum += at(grad, {b, n, s[1]});
                   }
                 }
                 return sum;
               }));
}

TEST(ReportedCases, C16_ArgMax) {
  const char* text = "def best(float(I,J) x) -> (k) { k(i) argmax=! x(i,j) }";
  const auto out = run(text, {f32({3, 3}, Reals{-3, -1, -1, kNan, 9, kNan, 5, kNan, 7})});
  EXPECT_EQ(out[0].type, DType::Int32);
  EXPECT_EQ(out[0].integer, (Integers{1, 0, 1}));
  const auto flat = run("def best(float(I,J) x) -> (k) { k() argmin=! x(i,j) }",
                        {f32({2, 3}, Reals{4, 2, 3, 1, 1, 5})});
  EXPECT_EQ(flat[0].integer, (Integers{3}));
}

TEST(ReportedCases, C17_Recurrences) {
  const std::int64_t T = 5;
  const std::int64_t B = 3;
  const Value z = f32({T, B}, 1);
  const Value f = filled(DType::Float32, {T, B}, [](std::int64_t i) { return (i % 5) / 4.0; });
  const auto qrnn = run(R"(
    def qrnn(float(T,B) z, float(T,B) f) -> (h) {
      h(0,b) = z(0,b)
      for t in 1:T {
        h(t,b) = f(t,b) * h(t-1,b) + (1 - f(t,b)) * z(t,b)
      }
    })",
                        {z, f});
  Value h = Value::zeros(DType::Float32, {T, B});
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t b = 0; b < B; ++b) {
      const double zt = at(z, {t, b});
      h.real[static_cast<std::size_t>(t * B + b)] =
          t == 0 ? zt : at(f, {t, b}) * at(h, {t - 1, b}) + (1 - at(f, {t, b})) * zt;
    }
  }
  expect_near(qrnn[0], {T, B}, h.real, 1e-6);

  const std::int64_t K = 4;
  const Value h0 = filled(DType::Float32, {B, K}, [](std::int64_t i) { return 0.1 * i - 0.5; });
  const Value a =
      filled(DType::Float32, {T, B, K}, [](std::int64_t i) { return (i % 7) * 0.2 - 0.6; });
  const Value U =
      filled(DType::Float32, {K, K}, [](std::int64_t i) { return (i % 5) * 0.1 - 0.2; });
  const auto rnn = run(R"(
    def rnn(float(B,K) h0, float(T,B,K) a, float(K,K) U) -> (h) {
      h(0,b,k) = h0(b,k)
      for t in 1:T {
        g(b,k) +=! h(t-1,b,r_j) * U(k,r_j)
        h(t,b,k) = tanh(a(t,b,k) + g(b,k))
      }
    })",
                       {h0, a, U});
  Value s = Value::zeros(DType::Float32, {T, B, K});
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t k = 0; k < K; ++k) {
        double g = 0;
        for (std::int64_t j = 0; t > 0 && j < K; ++j)
          g += at(s, {t - 1, b, j}) * at(U, {k, j});
        s.real[static_cast<std::size_t>((t * B + b) * K + k)] =
            t == 0 ? at(h0, {b, k}) : std::tanh(at(a, {t, b, k}) + g);
      }
    }
  }
  expect_near(rnn[0], {T, B, K}, s.real, 1e-5);
}

}  // namespace
}  // namespace tc::lang::test
