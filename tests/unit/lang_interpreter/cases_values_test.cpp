// SPDX-License-Identifier: Apache-2.0
//
// Reported cases about names, types, empty tensors, special values and refusals; cases_test.cpp has
// the operators.
#include "case_support.h"

namespace tc::lang::test {
namespace {

TEST(ReportedCases, C19_ScalarsNamesAndNoInputs) {
  EXPECT_EQ(run("def copy(float a) -> (b) { b = a }", {f32({}, Reals{3.5})})[0].real, (Reals{3.5}));
  for (const char* name : {"main", "__global__", "kernel", "int", "auto"}) {
    const std::string text = std::string("def ") + name + "(float(N) a) -> (b) { b(i) = a(i) }";
    EXPECT_EQ(run(text, {f32({2}, Reals{1, 2})})[0].real, (Reals{1, 2})) << name;
  }
  const auto four = run("def four() -> (b) { b(i) = 4 where i in 0:10 }", {});
  EXPECT_EQ(four[0].type, DType::Int32);
  EXPECT_EQ(four[0].integer, Integers(10, 4));
}

TEST(ReportedCases, C20_LocatedErrors) {
  const std::pair<const char*, Shape> wrong[] = {
      {"def f(float(N) a) -> (b) { b(i) = a(i+.5) }", {3}},
      {"def f(float(N) a) -> (b) { b(i) = exp(a(i), a(i)) }", {3}},
      {"def f(float(N) a) -> (b) { b(i) = a(i,i) }", {3}},
      {"def f(float(N) a) -> (b) { b(i) += a(j) where j in 0:a(0), i in 0:3 }", {3}},
      {"def f(float(N) a) (b) { b(i) = a(i) }", {3}},
  };
  for (const auto& [text, shape] : wrong) {
    const auto compiled = compile(text, {shape});
    EXPECT_FALSE(compiled.specialised) << text;
    ASSERT_FALSE(compiled.diagnostics.empty()) << text;
    EXPECT_FALSE(compiled.diagnostics[0].range.empty()) << text << "\n" << compiled.text;
  }
  const auto rank = compile("def f(float(N,M) a) -> (b) { b(i,j) = a(i,j) }", {{3}});
  EXPECT_FALSE(rank.binding_errors.empty());
}

TEST(ReportedCases, C21_EmptyTensors) {
  const auto elementwise = run("def f(float(N,K) a) -> (b) { b(i,j) = a(i,j) + 1 }",
                               {Value::zeros(DType::Float32, {0, 4})});
  EXPECT_EQ(elementwise[0].shape, (Shape{0, 4}));
  const auto sum =
      run("def f(float(N,K) a) -> (b) { b(i) +=! a(i,j) }", {Value::zeros(DType::Float32, {2, 0})});
  expect_equal(sum[0], {2}, {0, 0});
  const auto product =
      run("def f(float(N,K) a) -> (b) { b(i) *=! a(i,j) }", {Value::zeros(DType::Float32, {2, 0})});
  expect_equal(product[0], {2}, {1, 1});
  const auto contraction =
      run("def f(float(N,K) a, float(K) x) -> (b) { b(i) +=! a(i,j) * x(j) }",
          {Value::zeros(DType::Float32, {3, 0}), Value::zeros(DType::Float32, {0})});
  expect_equal(contraction[0], {3}, {0, 0, 0});
  const auto maximum = compile("def f(float(N,K) a) -> (b) { b(i) max=! a(i,j) }", {{2, 0}});
  EXPECT_FALSE(maximum.specialised) << "a maximum of nothing";
  EXPECT_TRUE(maximum.has("E")) << maximum.text;
  EXPECT_TRUE(compile("def f(float(N,K) a) -> (b) { b(i) max=! a(i,j) }", {{0, 0}}).specialised);
}

TEST(ReportedCases, C22_SizesAroundEveryBoundary) {
  for (const std::int64_t n : {1, 2, 31, 32, 33, 127, 257, 1000, 65537}) {
    const Value x = numbers(DType::Float32, {n}, 7);
    double sum = 0;
    double best = -kInf;
    for (const double v : x.real) {
      sum += v;
      best = std::max(best, v);
    }
    const auto out = run(R"(
      def reductions(float(N) x) -> (s, m, y) {
        s() +=! x(i)
        m() max=! x(i)
        y(i) = 2 * x(i)
      })",
                         {x});
    EXPECT_EQ(out[0].real, (Reals{sum})) << n;
    EXPECT_EQ(out[1].real, (Reals{best})) << n;
    EXPECT_EQ(out[2].real.back(), 2 * x.real.back()) << n;
  }
  const auto ones = run("def f(float(N,K) a) -> (b) { b(i) +=! a(i,j) }", {f32({3, 1}, 2)});
  expect_equal(ones[0], {3}, f32({3, 1}, 2).real);
}

const char* const kLogSumExp = R"(
  def log_sum_exp(float(N,D) x) -> (y) {
    m(n) max=! x(n,d)
    s(n) +=! exp(x(n,d) - m(n))
    y(n) = m(n) + log(s(n))
  })";
const char* const kGuardedLogSumExp = R"(
  def log_sum_exp(float(N,D) x) -> (y) {
    m(n) max=! x(n,d)
    s(n) +=! m(n) == -inf ? 0 : exp(x(n,d) - m(n))
    y(n) = m(n) == -inf ? m(n) : m(n) + log(s(n))
  })";

TEST(ReportedCases, C23_NanAndInfinity) {
  const char* maximum = "def f(float(N,D) x) -> (y) { y(n) max=! x(n,d) }";
  const auto out = run(maximum, {f32({2, 2}, Reals{kNan, kInf, 1, kNan})});
  EXPECT_TRUE(std::isnan(out[0].real[0]) && std::isnan(out[0].real[1]));
  for (std::int64_t where = 0; where < 70; ++where) {
    Value row = numbers(DType::Float32, {1, 70}, 1);
    row.real[static_cast<std::size_t>(where)] = kNan;
    EXPECT_TRUE(std::isnan(run(maximum, {row})[0].real[0])) << where;
  }
  Value x = filled(DType::Float32, {2, 96}, [](std::int64_t) { return -kInf; });
  for (std::size_t d = 32; d < 96; ++d)
    x.real[d] = 0;
  expect_near(run(kLogSumExp, {x})[0], {2}, {std::log(64.0), kNan}, 1e-6);
  expect_near(run(kGuardedLogSumExp, {x})[0], {2}, {std::log(64.0), -kInf}, 1e-6);
}

TEST(ReportedCases, C24_NarrowAccumulation) {
  const Value ones = filled(DType::Float16, {4096}, [](std::int64_t) { return 1; });
  const auto half = run("def f(half(N) x) -> (s) { s() +=! x(i) }", {ones});
  EXPECT_EQ(half[0].type, DType::Float16);
  EXPECT_EQ(half[0].real, (Reals{4096}));
  const auto product =
      run("def f(int8(M,K) A, int8(K,N) B) -> (int32(M,N) C) { C(m,n) +=! A(m,k) * B(k,n) }",
          {{DType::Int8, {2, 2}, {}, {-44, -20, -126, 6}},
           {DType::Int8, {2, 2}, {}, {24, -75, 127, -101}}});
  EXPECT_EQ(product[0].integer, (Integers{-3596, 5320, -2262, 8844}));
}

TEST(ReportedCases, C25_SumsOfBool) {
  const Value ones = filled(DType::Bool, {256}, [](std::int64_t) { return 1; });
  const auto inferred = run("def f(bool(N) x) -> (s) { s() +=! x(i) }", {ones});
  EXPECT_EQ(inferred[0].type, DType::Int32);
  EXPECT_EQ(inferred[0].integer, (Integers{256}));
  const auto any = run("def f(bool(N) x) -> (bool s) { s() +=! x(i) }", {ones});
  EXPECT_EQ(any[0].integer, (Integers{1}));
}

TEST(ReportedCases, C26_FloorDivision) {
  const auto values = run(R"(
    def divisions(int32 a, int32 b) -> (p, q, r, s, t) {
      p = a / b
      q = a % b
      r = -a / -b
      s = -7 / 2
      t = 7 / (-2) + -7 % 2
    })",
                          {i32({}, {-7}), i32({}, {2})});
  EXPECT_EQ(values[0].integer, (Integers{-4}));
  EXPECT_EQ(values[1].integer, (Integers{1}));
  EXPECT_EQ(values[2].integer, (Integers{-4}));
  EXPECT_EQ(values[3].integer, (Integers{-4}));
  EXPECT_EQ(values[4].integer, (Integers{-3}));
  // In indices: (i-7)/2 + 4 for i = 0, 1, 2 is 0, 1, 1.
  const auto indices = run("def f(int32(N) x) -> (y) { y(i) = x((i-7)/2 + 4) where i in 0:3 }",
                           {i32({2}, {10, 20})});
  EXPECT_EQ(indices[0].integer, (Integers{10, 20, 20}));
}

TEST(ReportedCases, C27_NestedModulo) {
  const auto out = run("def f() -> (y) { y(i) = ((i%20)/2*2)%4 where i in 0:6 }", {});
  EXPECT_EQ(out[0].integer, (Integers{0, 0, 2, 2, 0, 0}));
}

TEST(ReportedCases, C29_TwoReductionsTogether) {
  for (const std::int64_t n : {1, 33, 100}) {
    const Value x = f32({2, n}, 3);
    const auto out = run(R"(
      def moments(float(N,K) I) -> (mean, var) {
        mean(n) +=! I(n,r_k)
        mean(n) = mean(n) / K
        var(n) +=! I(n,r_k) * I(n,r_k)
        var(n) = var(n) / K - mean(n) * mean(n)
      })",
                         {x});
    Reals mean;
    Reals var;
    for (std::int64_t r = 0; r < 2; ++r) {
      double sum = 0;
      double squares = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        sum += at(x, {r, k});
        squares += at(x, {r, k}) * at(x, {r, k});
      }
      const auto count = static_cast<double>(n);
      mean.push_back(sum / count);
      var.push_back(squares / count - mean.back() * mean.back());
    }
    expect_near(out[0], {2}, mean, 1e-6);
    expect_near(out[1], {2}, var, 1e-5);
  }
}

TEST(ReportedCases, C30_ConsumerWithSmallerExtent) {
  const Value a = f32({6, 4}, 1);
  const auto out = run(R"(
    def rows(float(I,J) a) -> (s, y) {
      s(i) +=! a(i,j)
      y(i) = s(i) + s(i+2)
    })",
                       {a});
  const auto row = [&](std::int64_t i) {
    double sum = 0;
    for (int j = 0; j < 4; ++j)
      sum += at(a, {i, j});
    return sum;
  };
  expect_equal(out[0], {6}, reference({6}, [&](const Shape& s) { return row(s[0]); }));
  expect_equal(out[1], {4},
               reference({4}, [&](const Shape& s) { return row(s[0]) + row(s[0] + 2); }));
}

TEST(ReportedCases, C32_ReversedInPlaceIsRefused) {
  for (const char* op : {"=", "+="}) {
    const std::string value = std::string(op) == "=" ? "x(i,j) + x(i,N-1-j)" : "x(i,N-1-j)";
    const std::string text =
        std::string("def f(float(M,N) x) -> (x) { x(i,j) ") + op + " " + value + " }";
    const auto compiled = compile(text, {{8, 8}});
    EXPECT_FALSE(compiled.specialised) << text;
    EXPECT_TRUE(compiled.has("E04")) << compiled.text;
  }
}

TEST(ReportedCases, C33_PoisonedOutputDoesNotShow) {
  const char* text = R"(
    def f(float(N) x) -> (y, m) {
      y(i) = x(i) + 1
      m() max=! x(i)
    })";
  const Value x = f32({9}, 2);
  const auto first = run(text, {x});
  const auto second = run(text, {x}, {},
                          {{0, filled(DType::Float32, {9}, [](std::int64_t) { return kNan; })},
                           {1, filled(DType::Float32, {}, [](std::int64_t) { return 1e30; })}});
  EXPECT_EQ(first[0].real, second[0].real);
  EXPECT_EQ(first[1].real, second[1].real);
}

}  // namespace
}  // namespace tc::lang::test
