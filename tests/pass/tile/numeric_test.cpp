// SPDX-License-Identifier: Apache-2.0
//
// Programs through the whole front end and this room, executed as tile programs and compared with
// the interpreter of the language. Values are small integers, so that every order of summation
// gives the same.
#include <gtest/gtest.h>

#include <cmath>

#include "run_program.h"

namespace tc::tile::testing {
namespace {

using lang::Value;

Value numbers(DType type, const std::vector<std::int64_t>& shape, std::int64_t seed,
              std::int64_t lo = -3, std::int64_t hi = 4) {
  Value value = Value::zeros(type, shape);
  if (is_unsigned_integer(type) || type == DType::Bool) lo = std::max<std::int64_t>(lo, 0);
  if (type == DType::Bool) hi = 1;
  std::uint64_t state = static_cast<std::uint64_t>(seed) * 7919 + 17;
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto number =
        lo + static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(hi - lo + 1));
    if (is_float(type))
      value.real[static_cast<std::size_t>(i)] = static_cast<double>(number);
    else
      value.integer[static_cast<std::size_t>(i)] = number;
  }
  return value;
}

void expect_equal(const Value& expected, const Value& actual, const std::string& what,
                  double tolerance) {
  ASSERT_EQ(expected.shape, actual.shape) << what;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!is_float(expected.type)) {
      ASSERT_EQ(expected.integer[at], actual.integer[at]) << what << " element " << i;
      continue;
    }
    const double a = expected.real[at];
    const double b = actual.real[at];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    ASSERT_LE(std::abs(a - b), tolerance * std::max(1.0, std::abs(a)))
        << what << " element " << i << ": " << a << " " << b;
  }
}

struct Program {
  std::string name;
  std::string text;
  Shapes shapes;
  std::int64_t lo = -3, hi = 4;
  std::map<int, std::pair<std::int64_t, std::int64_t>> ranges = {};  ///< of inputs by position
  double tolerance = 0;
};

/// Runs with several tilings and checks every result against the interpreter.
void check_program(const Program& p, MappingOptions base = {}) {
  const std::vector<std::vector<std::int64_t>> tilings = {{},           {0},    {1, 1, 1, 1},
                                                          {3, 2, 4, 3}, {0, 3}, {5}};
  for (const Fusion fusion : {Fusion::Max, Fusion::Min}) {
    for (const auto& tile : tilings) {
      for (const std::int64_t local : {0, 16}) {
        if (local != 0 && !tile.empty() && tile != tilings[3]) continue;
        MappingOptions options = base;
        options.fusion = fusion;
        options.tile = tile;
        options.local_bytes = local;
        Built built;
        try {
          built = build_text(p.text, p.shapes, options);
        } catch (const std::exception& error) {
          FAIL() << p.name << ": " << error.what();
        }
        const std::string what = p.name + "\n" + print(built.program);
        ASSERT_EQ(verify(built.program), std::vector<std::string>{}) << what;
        std::vector<Value> inputs;
        std::map<int, Value> initial;
        for (const auto& tensor : built.def.tensors) {
          const auto& shape =
              built.scop.tensors[static_cast<std::size_t>(&tensor - built.def.tensors.data())]
                  .extent;
          if (tensor.is_param) {
            const auto given = p.ranges.find(tensor.param_position);
            const auto [lo, hi] = given == p.ranges.end() ? std::pair(p.lo, p.hi) : given->second;
            inputs.push_back(numbers(tensor.type, shape, tensor.param_position + 1, lo, hi));
          }
          if (tensor.needs_initial)
            initial[tensor.output_position] = numbers(tensor.type, shape, 99);
        }
        const auto expected = lang::interpret(built.def, inputs, initial);
        RunOptions run_options;
        run_options.reverse_tasks = tile.size() % 2 == 1;
        run_options.through_text = tile.size() == 4;
        std::vector<Value> actual;
        try {
          actual = run(built, inputs, initial, run_options);
        } catch (const std::exception& error) {
          FAIL() << what << error.what();
        }
        ASSERT_EQ(expected.size(), actual.size());
        for (std::size_t o = 0; o < expected.size(); ++o)
          expect_equal(expected[o], actual[o], what, p.tolerance);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

const std::vector<Program>& programs() {
  static const std::vector<Program> kPrograms = {
      {"matmul",
       "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
       {{7, 5}, {5, 6}}},
      {"matmul_half",
       "def f(half(M,K) A, half(K,N) B) -> (half(M,N) C) { C(m,n) +=! A(m,k) * B(k,n) }",
       {{7, 5}, {5, 6}}},
      {"int8_product",
       "def f(int8(M,K) A, int8(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
       {{3, 4}, {4, 5}},
       -128,
       127},
      {"accumulate", "def f(float(M,K) A, float(M) C) -> (C) { C(m) += A(m,k) }", {{5, 4}, {5}}},
      {"chain",
       "def f(float(B,N) I, float(O,N) W, float(O) b, float(P,O) V) -> (R, Q) {\n"
       "  R(i,o) +=! I(i,n) * W(o,n)\n R(i,o) = R(i,o) + b(o)\n R(i,o) = fmax(R(i,o), 0)\n"
       "  Q(i,p) +=! R(i,o) * V(p,o)\n}",
       {{6, 5}, {4, 5}, {4}, {3, 4}}},
      {"softmax",
       "def f(float(N,D) I) -> (O) { m(n) max=! I(n,d)\n s(n) +=! exp(I(n,d) - m(n))\n"
       "O(n,d) = exp(I(n,d) - m(n)) / s(n) }",
       {{6, 9}},
       -3,
       4,
       {},
       1e-6},
      {"softmax_reused_name",
       "def f(float(N,D) x) -> (y) { t(i) max=! x(i,j); y(i,j) = exp(x(i,j)-t(i)); t(i) +=! "
       "y(i,j); y(i,j) = y(i,j)/t(i) }",
       {{4, 5}},
       -3,
       4,
       {},
       1e-6},
      {"updates",
       "def f(float(N,D) a, float(N) b, float(N,D) c) -> (y) { y(i) +=! a(i,j); y(i) = y(i) + "
       "b(i); y(i) += c(i,j) }",
       {{5, 3}, {5}, {5, 3}}},
      {"valid_convolution",
       "def f(float(N,C,H,W) I, float(O,C,KH,KW) F) -> (Y) { Y(n,o,h,w) +=! I(n,c,h+kh,w+kw) * "
       "F(o,c,kh,kw) }",
       {{2, 3, 6, 7}, {2, 3, 3, 2}}},
      {"padded_convolution",
       "def f(float(N,C,H,W) x, float(M,C,3,3) K) -> (y) { y(n,m,h,w) +=! pad(x(n,c,h+p-1,w+q-1), "
       "0) * K(m,c,p,q) where h in 0:H, w in 0:W }",
       {{2, 2, 4, 5}, {3, 2, 3, 3}}},
      {"ternary_padding",
       "def f(float(W) x, float(3) K) -> (y) { y(i) +=! (i+p-1 >= 0 && i+p-1 < W ? x(i+p-1) : 0) * "
       "K(p) where i in 0:W }",
       {{7}, {3}}},
      {"backward_stride",
       "def f(float(M) dY, float(K) W) -> (dX) { dX(i) +=! pad(dY((i-k)/2),0) * W(k) where i in "
       "0:7, (i-k)%2 == 0 }",
       {{3}, {3}}},
      {"reversed",
       "def f(float(X) A, float(Y) K) -> (B) { B(x) +=! A(r) * K(X-1+x-r) where x in 0:X }",
       {{9}, {17}}},
      {"gather",
       "def f(float(E,D) L, int32(B,S) I) -> (O) { O(b,d) +=! L(I(b,s), d) }",
       {{5, 4}, {6, 3}},
       -3,
       4,
       {{1, {0, 4}}}},
      {"gather_out_of_range",
       "def f(float(E,D) L, int32(B,S) I) -> (O) { O(b,d) +=! L(I(b,s), d) }",
       {{5, 4}, {6, 3}},
       -3,
       6},
      {"padded_gather",
       "def f(float(E) L, int32(B) I) -> (O) { O(b) = pad(L(I(b)), 7) }",
       {{5}, {9}},
       -3,
       7},
      {"guarded_gather",
       "def f(float(N,C) I, int32(L,A) R, float(L,A) S) -> (o) { o(n,l) +=! R(l,r_a) == C ? 0 : "
       "I(n, R(l,r_a)) * S(l,r_a) where n in 0:N }",
       {{3, 4}, {5, 3}, {5, 3}},
       -3,
       4,
       {{1, {0, 4}}}},
      {"gathered_int",
       "def f(int32(E) L, int32(B) I) -> (O) { O(b) = L(I(b)) }",
       {{5}, {9}},
       -3,
       7},
      {"histogram", "def f(int32(H) h, int32(N) im) -> (h) { h(im(i)) += 1 }", {{6}, {20}}, -2, 7},
      {"table_gradient",
       "def f(int32(B,S) I, float(B,S,R) dO, float(E,R) M) -> (M) { M(I(b,n),r) += dO(b,n,r) }",
       {{4, 3}, {4, 3, 2}, {5, 2}},
       -3,
       4,
       {{0, {0, 4}}}},
      {"triangle", "def f(float(N) x) -> (y) { y(i) +=! x(j) where i in 0:N, j in 0:i+1 }", {{11}}},
      {"triangle_copy",
       "def f(float(N,N) x) -> (y) { y(i,j) = 0 where i in 0:N, j in 0:N\n y(i,j) = x(i,j) where j "
       "in 0:i+1 }",
       {{8, 8}}},
      {"banded",
       "def f(float(N,3) A, float(N,M) X) -> (Y) { Y(i,j) +=! A(i,s+1) * X(i+s,j) where s in "
       "max(-1,-i):min(2,N-i) }",
       {{6, 3}, {6, 4}}},
      {"argmax", "def f(float(N,D) x) -> (k) { k(i) argmax=! x(i,j) }", {{5, 7}}},
      {"argmin_two_axes", "def f(int32(N,D,E) x) -> (k) { k(i) argmin=! x(i,j,l) }", {{3, 4, 5}}},
      {"argmax_to_scalar", "def f(float(N) x) -> (k) { k() argmax=! x(i) }", {{40}}},
      {"shared_left_side",
       "def f(float(N) a, float(M) b) -> (y) { y(i+j) +=! a(i) * b(j) }",
       {{5}, {4}}},
      {"kronecker",
       "def f(float(D0,N0) A, float(D1,N1) B, float(D2,N2) C, float(M,N0,N1,N2) X) -> (Y) {\n"
       "  U(m,n0,n1,d2) +=! X(m,n0,n1,n2) * C(d2,n2)\n  V(m,n0,d1,d2) +=! U(m,n0,n1,d2) * "
       "B(d1,n1)\n"
       "  Y(m,d0,d1,d2) +=! V(m,n0,d1,d2) * A(d0,n0)\n}",
       {{2, 3}, {3, 2}, {2, 2}, {4, 3, 2, 2}}},
      {"transposes", "def f(float(A,B,C) X) -> (Y) { Y(a,c,b) = X(a,b,c) }", {{3, 5, 4}}},
      {"concatenation",
       "def f(float(N) a, float(M) b) -> (y) { y(i) = i < N ? a(i) : b(i-N) where i in 0:N+M }",
       {{5}, {4}}},
      {"casts",
       "def f(float(N) x) -> (int8(N) y, uint8(N) z, bool(N) b, half(N) h) { y(i) = x(i) * 100\n "
       "z(i) = x(i)\n b(i) = x(i)\n h(i) = x(i) / 4 }",
       {{12}}},
      {"four_bit",
       "def f(int32(N,M) x) -> (int4(N,M) y, uint4(M) z) { y(i,j) = x(i,j)\n z(j) +=! x(i,j) }",
       {{4, 5}},
       0,
       3},
      {"float8", "def f(float(N) x) -> (float8_e4m3fn(N) y) { y(i) = x(i) * 200 }", {{9}}},
      {"indices_as_values",
       "def f(float(N,M) x) -> (y) { y(i,j) = x(i,j) + i * 2 - j % 3 + (i > j ? 1 : 0) }",
       {{5, 6}}},
      {"shifted_output", "def f(float(N) I) -> (O) { O(i) = I(i-1) }", {{6}}},
      {"scalar",
       "def f(float a, float(N) x) -> (s, y) { y(i) = a * x(i)\n s() +=! y(i) }",
       {{}, {7}}},
      {"bool_sum", "def f(bool(N) x) -> (s, bool b) { s() +=! x(i)\n b() +=! x(i) }", {{30}}},
      {"prefix_sum",
       "def f(float(N) x) -> (y) { y(0) = x(0)\n for t in 1:N { y(t) = y(t-1) + x(t) } }",
       {{9}}},
      {"qrnn",
       "def f(float(T,B) z, float(T,B) g) -> (h) { h(0,b) = z(0,b)\n for t in 1:T { h(t,b) = "
       "g(t,b)*h(t-1,b) + (1-g(t,b))*z(t,b) } }",
       {{5, 6}, {5, 6}},
       -2,
       2},
      {"rnn",
       "def f(float(T,B,K) a, float(K,K) U, float(B,K) h0) -> (h) { h(0,b,k) = h0(b,k)\n for t in "
       "1:T {\n"
       " g(b,k) +=! h(t-1,b,j) * U(k,j)\n h(t,b,k) = tanh(a(t,b,k) + g(b,k)) } }",
       {{4, 3, 5}, {5, 5}, {3, 5}},
       -2,
       2,
       {},
       1e-5},
      {"stencil_steps",
       "def f(float(H,W) A) -> (C) { u(0,i,j) = A(i,j)\n for t in 1:4 { u(t,i,j) = "
       "pad(u(t-1,i-1,j),0) + u(t-1,i,j) + pad(u(t-1,i+1,j),0) where i in 0:H, j in 0:W }\n"
       " C(i,j) = u(3,i,j) }",
       {{5, 6}}},
      {"carried_temporary",
       "def f(float(T,B) x) -> (y) { c(b) = x(0,b)\n for t in 1:T { c(b) = c(b) * 2 + x(t,b)\n "
       "y(t,b) = c(b) } }",
       {{5, 4}}},
      {"empty_reduction",
       "def f(float(M,K) A, float(K) x) -> (y) { y(m) +=! A(m,k) * x(k) }",
       {{3, 0}, {0}}},
      {"empty_output", "def f(float(M,K) A) -> (y) { y(m,k) = A(m,k) + 1 }", {{0, 4}}},
      {"moments",
       "def f(float(N,K) I) -> (mean, var) { mean(n) +=! I(n,k)\n mean(n) = mean(n) / K\n var(n) "
       "+=! I(n,k) * I(n,k)\n var(n) = var(n) / K - mean(n) * mean(n) }",
       {{6, 4}},
       -3,
       4,
       {},
       1e-6},
      {"attention",
       "def f(float(S,D) Q, float(S,D) K, float(S,D) V) -> (O) {\n P(i,j) +=! Q(i,d) * K(j,d) "
       "where j in 0:i+1\n"
       " m(i) max=! P(i,j) where j in 0:i+1\n s(i) +=! exp(P(i,j) - m(i)) where j in 0:i+1\n"
       " A(i,d) +=! exp(P(i,j) - m(i)) * V(j,d) where j in 0:i+1\n O(i,d) = A(i,d) / s(i) }",
       {{7, 3}, {7, 3}, {7, 3}},
       -2,
       2,
       {},
       1e-5},
      {"conditions",
       "def f(float(N,M) x) -> (y) { y(i) +=! x(i,j) where (i+j)%2 == 0, j < i + 3 }",
       {{6, 8}}},
      {"left_conditions",
       "def f(float(N,M) x, float(N) y) -> (y) { y(i) +=! x(i,j) where i % 2 == 0, j >= i }",
       {{6, 8}, {6}}},
      {"mttkrp",
       "def f(float(I,J,K) A, float(J,R) B, float(K,R) C) -> (D) { D(i,r) +=! A(i,j,k) * B(j,r) * "
       "C(k,r) }",
       {{3, 4, 2}, {4, 5}, {2, 5}}},
      {"min_distance",
       "def f(float(N,D) x, float(M,D) c) -> (k) { d(n,m) +=! (x(n,i)-c(m,i))*(x(n,i)-c(m,i))\n "
       "k(n) argmin=! d(n,m) }",
       {{5, 3}, {4, 3}}},
      {"logical",
       "def f(float(N) x, int32(N) p) -> (y) { y(i) = p(i) >= 0 && x(p(i)) > 0 ? 1 : 0 where i in "
       "0:N }",
       {{8}, {8}},
       -3,
       7},
  };
  return kPrograms;
}

class Numeric : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Numeric, EqualsTheInterpreter) {
  check_program(programs()[GetParam()]);
}

INSTANTIATE_TEST_SUITE_P(Programs, Numeric, ::testing::Range<std::size_t>(0, programs().size()),
                         [](const auto& info) { return programs()[info.param].name; });

TEST(Numeric, SplitReductions) {
  MappingOptions options;
  options.split_reduction = 3;
  check_program({"sum", "def f(float(N) x) -> (s) { s() +=! x(i) }", {{50}}}, options);
  check_program({"argmax", "def f(float(N) x) -> (k) { k() argmax=! x(i) }", {{50}}}, options);
}

TEST(Status, RecordsTheFirstOffender) {
  MappingOptions options;
  options.bounds = Bounds::Error;
  const std::string text = "def f(float(E,D) L, int32(B,S) I) -> (O) { O(b,d) +=! L(I(b,s), d) }";
  const auto built = build_text(text, {{5, 4}, {3, 2}}, options);
  EXPECT_EQ(verify(built.program), std::vector<std::string>{});
  Value index = Value::zeros(DType::Int32, {3, 2});
  index.integer = {0, 4, 1, 9, -2, 3};
  const Value table = numbers(DType::Float32, {5, 4}, 1);
  const int statement = built.scop.statements.back().source;
  EXPECT_EQ(status_after(built, {table, index}), (std::vector<std::int64_t>{1, statement, 0, 9}));
  index.integer = {0, 4, 1, 2, 2, 3};
  EXPECT_EQ(status_after(built, {table, index}), (std::vector<std::int64_t>{0, 0, 0, 0}));
}

TEST(Status, ChecksSubscriptsThatTheGroupComputes) {
  MappingOptions options;
  options.bounds = Bounds::Error;
  const std::string text =
      "def f(float(E) L, int32(B) I) -> (O) { J(b) = I(b) * 2\n O(b) = L(J(b)) }";
  const auto built = build_text(text, {{5}, {3}}, options);
  EXPECT_EQ(verify(built.program), std::vector<std::string>{}) << print(built.program);
  Value index = Value::zeros(DType::Int32, {3});
  index.integer = {0, 2, 3};
  const Value table = numbers(DType::Float32, {5}, 1);
  EXPECT_EQ(status_after(built, {table, index}), (std::vector<std::int64_t>{1, 1, 0, 6}))
      << print(built.program);
}

TEST(Status, GuardedAndScattered) {
  MappingOptions options;
  options.bounds = Bounds::Error;
  const auto guarded = build_text(
      "def f(float(N) x, int32(N) p) -> (y) { y(i) = p(i) < 8 ? x(p(i)) : 0 where i in 0:N }",
      {{8}, {8}}, options);
  Value index = Value::zeros(DType::Int32, {8});
  index.integer = {0, 9, 3, 100, 7, 8, 1, 2};
  const Value x = numbers(DType::Float32, {8}, 3);
  EXPECT_EQ(status_after(guarded, {x, index})[0], 0);
  index.integer[6] = -1;
  EXPECT_EQ(status_after(guarded, {x, index}), (std::vector<std::int64_t>{1, 0, 0, -1}));
  const auto scattered =
      build_text("def f(int32(H) h, int32(N) im) -> (h) { h(im(i)) += 1 }", {{8}, {8}}, options);
  EXPECT_EQ(status_after(scattered, {numbers(DType::Int32, {8}, 1), index}),
            (std::vector<std::int64_t>{1, 0, 0, 9}));
}

}  // namespace
}  // namespace tc::tile::testing
