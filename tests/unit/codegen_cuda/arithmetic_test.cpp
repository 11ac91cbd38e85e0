// SPDX-License-Identifier: Apache-2.0
//
// Operations of the kernel IR: division, wrapping, minima with NaN, reductions of lanes, builtins.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "batch.h"
#include "tc/math/scalar.h"
#include "tc/support/numeric.h"

namespace tc::test {
namespace {

template <class T>
std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  std::vector<T> v = {0, 1, 2, 3, 7, 8, 100, L::max(), L::max() - 1, L::max() / 2};
  if (std::is_signed_v<T>)
    for (const int n : {-1, -2, -3, -7, -8, -100})
      v.push_back(static_cast<T>(n));
  v.push_back(L::min());
  v.push_back(L::min() + 1);
  while (v.size() % 4 != 0)
    v.push_back(5);
  return v;
}

/// All pairs of the edges.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  const auto v = edges<T>();
  std::pair<std::vector<T>, std::vector<T>> result;
  for (const T x : v)
    for (const T y : v) {
      result.first.push_back(x);
      result.second.push_back(y);
    }
  return result;
}

template <class T>
T quotient(T x, T y) {
  if (y == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
    return static_cast<T>(floor_div(x, y));
  } else {
    return x / y;
  }
}
template <class T>
T remainder_of(T x, T y) {
  if (y == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return 0;
    return static_cast<T>(floor_mod(x, y));
  } else {
    return x % y;
  }
}

template <class T>
void check_integers(DType type) {
  using U = std::make_unsigned_t<T>;
  const auto [x, y] = pairs<T>();
  const std::size_t n = x.size();
  struct Operation {
    const char* text;
    T (*reference)(T, T);
  };
  std::vector<Operation> operations = {
      {"{0} + {1}", [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }},
      {"{0} - {1}", [](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }},
      {"{0} * {1}", [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }},
      {"{0} / {1}", [](T a, T b) { return quotient(a, b); }},
      {"{0} % {1}", [](T a, T b) { return remainder_of(a, b); }},
      {"min({0}, {1})", [](T a, T b) { return std::min(a, b); }},
      {"max({0}, {1})", [](T a, T b) { return std::max(a, b); }},
      {"select({0} < {1}, {0}, {1})", [](T a, T b) { return a < b ? a : b; }},
      {"select({0} >= {1} || !({0} != {1}), {0} + {0}, {1})",
       [](T a, T b) { return a >= b ? static_cast<T>(static_cast<U>(a) + static_cast<U>(a)) : b; }},
      {"abs({0}) + relu({1})",
       [](T a, T b) {
         const U magnitude = a < 0 ? static_cast<U>(0 - static_cast<U>(a)) : static_cast<U>(a);
         return static_cast<T>(magnitude + static_cast<U>(std::max(b, T(0))));
       }},
  };
  std::vector<std::string> divisors = {"7", "8", "1", "64"};
  if (std::is_signed_v<T>) {
    operations.push_back({"-{0} - -{1}", [](T a, T b) {
                            return static_cast<T>(static_cast<U>(b) - static_cast<U>(a));
                          }});
    divisors.insert(divisors.end(), {"-1", "-3", "-8"});
  }
  const std::string suffix = type == DType::Int32    ? "i32"
                             : type == DType::UInt32 ? "u32"
                             : type == DType::UInt64 ? "u64"
                                                     : "";
  std::vector<std::string> kernels;
  const auto add = [&](const std::string& text, int lanes) {
    const std::string index = lanes == 1 ? "i" : fmt::format("ramp(i * {0}, 1, {0})", lanes);
    const std::string expr =
        fmt::format(fmt::runtime(text), "X[" + index + "]", "Y[" + index + "]");
    kernels.push_back(
        fmt::format("kernel k {{\n buffer X {0}[{1}] align 8\n buffer Y {0}[{1}] align "
                    "8\n buffer Z {0}[{1}] align 8 writable\n grid i {2}\n Z[{3}] = "
                    "{4}\n}}\n",
                    name(type), n, n / static_cast<std::size_t>(lanes), index, expr));
  };
  for (const int lanes : {1, 4})
    for (const auto& operation : operations)
      add(operation.text, lanes);
  const auto constant = [&](const std::string& divisor, int lanes) {
    return lanes == 1 ? divisor + suffix
                      : fmt::format("broadcast({}{}, {})", divisor, suffix, lanes);
  };
  for (const int lanes : {1, 4})
    for (const auto& divisor : divisors) {
      add("{0} / " + constant(divisor, lanes), lanes);
      add("{0} % " + constant(divisor, lanes), lanes);
    }
  const Batch batch(kernels);
  std::size_t k = 0;
  const auto compare = [&](const auto& reference, const std::string& what) {
    auto xs = x;
    auto ys = y;
    std::vector<T> z(n);
    expect_runs(batch, k++, {argument(xs), argument(ys), argument(z)});
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(z[i], reference(x[i], y[i]))
          << name(type) << " " << what << " of " << x[i] << ", " << y[i];
  };
  for (int way = 0; way < 2; ++way)
    for (const auto& operation : operations)
      compare(operation.reference, operation.text);
  for (int way = 0; way < 2; ++way)
    for (const auto& divisor : divisors) {
      const T c = static_cast<T>(std::stoll(divisor));
      compare([c](T a, T) { return quotient(a, c); }, "/ " + divisor);
      compare([c](T a, T) { return remainder_of(a, c); }, "% " + divisor);
    }
}

TEST(Arithmetic, Int32) {
  check_integers<std::int32_t>(DType::Int32);
}
TEST(Arithmetic, Int64) {
  check_integers<std::int64_t>(DType::Int64);
}
TEST(Arithmetic, UInt32) {
  check_integers<std::uint32_t>(DType::UInt32);
}
TEST(Arithmetic, UInt64) {
  check_integers<std::uint64_t>(DType::UInt64);
}

template <class T>
void check_floats(DType type) {
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> values = {0,
                                 T(-0.0),
                                 1,
                                 -1,
                                 T(1.5),
                                 T(-2.5),
                                 inf,
                                 -inf,
                                 nan,
                                 std::numeric_limits<T>::max(),
                                 std::numeric_limits<T>::denorm_min(),
                                 3};
  std::vector<T> x, y;
  for (const T a : values)
    for (const T b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  const auto n = x.size();
  struct Operation {
    const char* text;
    T (*reference)(T, T);
  };
  const Operation operations[] = {
      {"{0} + {1}", [](T a, T b) { return a + b; }},
      {"{0} - {1} * 2.0{2}", [](T a, T b) { return a - b * 2; }},
      {"-{0} / {1}", [](T a, T b) { return -a / b; }},
      {"min({0}, {1})", [](T a, T b) { return a != a || b != b ? a + b : std::min(a, b); }},
      {"max({0}, {1})", [](T a, T b) { return a != a || b != b ? a + b : std::max(a, b); }},
      {"select({0} < {1}, 1.0{2}, 2.0{2})", [](T a, T b) { return a < b ? T(1) : T(2); }},
      {"select({0} != {1}, 1.0{2}, 2.0{2})", [](T a, T b) { return a != b ? T(1) : T(2); }},
      {"select(!({0} >= {1}), nan{2}, -inf{2})",
       [](T a, T b) {
         return a >= b ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
       }},
  };
  const std::string suffix = type == DType::Float32 ? "f" : "";
  std::vector<std::string> kernels;
  for (const auto& operation : operations)
    kernels.push_back(fmt::format(
        "kernel k {{\n buffer X {0}[{1}]\n buffer Y {0}[{1}]\n buffer Z {0}[{1}] writable\n grid i "
        "{1}\n Z[i] = {2}\n}}\n",
        name(type), n, fmt::format(fmt::runtime(operation.text), "X[i]", "Y[i]", suffix)));
  const Batch batch(kernels);
  for (std::size_t k = 0; k < std::size(operations); ++k) {
    std::vector<T> z(n);
    expect_runs(batch, k, {argument(x), argument(y), argument(z)});
    for (std::size_t i = 0; i < n; ++i) {
      const T expected = operations[k].reference(x[i], y[i]);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(z[i])) << operations[k].text << " of " << x[i] << ", " << y[i];
      else
        EXPECT_EQ(z[i], expected) << operations[k].text << " of " << x[i] << ", " << y[i];
    }
  }
}

TEST(Arithmetic, Float32) {
  check_floats<float>(DType::Float32);
}
TEST(Arithmetic, Float64) {
  check_floats<double>(DType::Float64);
}

TEST(Arithmetic, ReductionsTakeHalvesInTurn) {
  std::vector<std::string> kernels;
  const char* operations[] = {"add", "mul", "min", "max"};
  for (const int lanes : {2, 4, 8, 16})
    for (const char* operation : operations)
      kernels.push_back(
          fmt::format("kernel k {{\n buffer X float32[16] align 16\n buffer Z float32[2] "
                      "writable\n Z[0] = reduce_{1}(X[ramp(0, 1, {0})])\n Z[1] = "
                      "lane(X[ramp(0, 1, {0})], 1)\n}}\n",
                      lanes, operation));
  kernels.push_back(
      "kernel k {\n buffer X float32[16] align 16\n buffer Z bool[2] writable\n Z[0] = "
      "reduce_and(X[ramp(0, 1, 8)] > broadcast(0.0f, 8))\n Z[1] = reduce_or(X[ramp(8, "
      "1, 8)] > broadcast(0.0f, 8))\n}\n");
  const Batch batch(kernels);
  std::vector<float> x(16);
  for (int i = 0; i < 16; ++i)
    x[static_cast<std::size_t>(i)] =
        1.0f + 0.37f * static_cast<float>((i * 7) % 16) * (i % 5 == 0 ? -1 : 1);
  std::size_t k = 0;
  for (const int lanes : {2, 4, 8, 16}) {
    for (int operation = 0; operation < 4; ++operation) {
      std::vector<float> z(2);
      expect_runs(batch, k++, {argument(x), argument(z)});
      std::vector<float> v(x.begin(), x.begin() + lanes);
      for (int half = lanes / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) {
          const auto a = static_cast<std::size_t>(i);
          const float b = v[a + static_cast<std::size_t>(half)];
          v[a] = operation == 0   ? v[a] + b
                 : operation == 1 ? v[a] * b
                 : operation == 2 ? std::min(v[a], b)
                                  : std::max(v[a], b);
        }
      EXPECT_EQ(z[0], v[0]) << operations[operation] << " of " << lanes;
      EXPECT_EQ(z[1], x[1]);
    }
  }
  std::vector<std::uint8_t> flags(2, 7);
  for (auto& value : x)
    value = -1;
  x[9] = 1;
  expect_runs(batch, k, {argument(x), argument(flags)});
  EXPECT_EQ(flags[0], 0);
  EXPECT_EQ(flags[1], 1);
}

/// On the host a builtin is the function of the CPU target, so that the results are equal.
TEST(Arithmetic, Builtins) {
  std::vector<std::string> kernels;
  for (const auto& function : math::scalar_functions()) {
    for (const char* type : {"float32", "float64"}) {
      for (const int lanes : {1, 2}) {
        const std::string index = lanes == 1 ? "i" : "ramp(2 * i, 1, 2)";
        std::string args;
        for (int a = 0; a < function.arity; ++a)
          args += fmt::format("{}X[{}, {}]", a == 0 ? "" : ", ",
                              lanes == 1 ? std::to_string(a) : fmt::format("broadcast({}, 2)", a),
                              index);
        kernels.push_back(
            fmt::format("kernel k {{\n buffer X {0}[4, 64] align 8\n buffer Z {1}[64] "
                        "align 8 writable\n grid i {2}\n Z[{3}] = {4}{5}({6})\n}}\n",
                        type, function.returns_bool ? "bool" : type, 64 / lanes, index,
                        function.name, function.returns_bool ? "<bool>" : "", args));
      }
    }
  }
  const Batch batch(kernels);
  std::size_t k = 0;
  const auto run = [&]<class T>(const math::ScalarFunction& function, T) {
    std::vector<T> x(256);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<T>(
          std::ldexp(static_cast<double>(i * 37 % 256) / 100.0 - 1.2, static_cast<int>(i % 4)));
    x[5] = std::numeric_limits<T>::infinity();
    x[6] = std::numeric_limits<T>::quiet_NaN();
    void* address = sizeof(T) == 4 ? function.f32 : function.f64;
    for (int way = 0; way < 2; ++way, ++k) {
      std::vector<T> z(64);
      std::vector<std::uint8_t> flags(64);
      expect_runs(batch, k, {argument(x), function.returns_bool ? argument(flags) : argument(z)});
      for (std::size_t i = 0; i < 64; ++i) {
        const T a = x[i], b = x[64 + i], c = x[128 + i], d = x[192 + i];
        if (function.returns_bool) {
          EXPECT_EQ(flags[i] != 0, reinterpret_cast<bool (*)(T)>(address)(a));
          continue;
        }
        const T expected = function.arity == 1   ? reinterpret_cast<T (*)(T)>(address)(a)
                           : function.arity == 2 ? reinterpret_cast<T (*)(T, T)>(address)(a, b)
                           : function.arity == 3
                               ? reinterpret_cast<T (*)(T, T, T)>(address)(a, b, c)
                               : reinterpret_cast<T (*)(T, T, T, T)>(address)(a, b, c, d);
        // The sigmoid is one formula in the type itself here, and by way of float64 there.
        if (std::isnan(expected))
          EXPECT_TRUE(std::isnan(z[i])) << function.name << " of " << a;
        else if (function.name == "sigmoid")
          EXPECT_NEAR(z[i], expected, 4 * std::numeric_limits<T>::epsilon() * std::fabs(expected));
        else
          EXPECT_EQ(z[i], expected) << function.name << " of " << a;
      }
    }
  };
  for (const auto& function : math::scalar_functions()) {
    run(function, 0.0f);
    run(function, 0.0);
  }
}

TEST(Arithmetic, UnknownBuiltinIsRefused) {
  kernel::Plan plan =
      single_launch("kernel k {\n buffer X float32[1] writable\n X[0] = frob(1.0f)\n}\n");
  const auto source = codegen::cuda::emit(plan, cuda_target(), {});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, RejectionKind::Unsupported);
  EXPECT_EQ(source.error().message, "no builtin 'frob'");
}

}  // namespace
}  // namespace tc::test
