// SPDX-License-Identifier: Apache-2.0
//
// Every operation on every compute type, scalars and vectors, against a direct evaluation.
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jit.h"
#include "tc/support/numeric.h"

namespace tc::test {
namespace {

constexpr int kCount = 48;  // a multiple of every lane count

template <class T>
std::vector<T> edge_values() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>)
    return {0,
            T(-0.0),
            1,
            -1,
            T(1.5),
            T(-2.5),
            L::infinity(),
            -L::infinity(),
            L::quiet_NaN(),
            L::max(),
            L::lowest(),
            L::min(),
            L::denorm_min(),
            T(3e7),
            T(1) / 3};
  else
    return {0,     1,     2,      3,        7,        T(-1),           T(-2),
            T(-3), T(-7), T(-8),  L::max(), L::min(), T(L::max() - 1), T(L::min() + 1),
            10,    16,    T(-16), 1000003};
}

/// Pairs that meet every two edge values at least once over all calls: (i, i * stride + offset).
template <class T>
void fill_pairs(std::vector<T>& x, std::vector<T>& y, std::size_t round) {
  const auto values = edge_values<T>();
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::size_t pair = round * kCount + i;
    x[i] = values[pair % values.size()];
    y[i] = values[pair / values.size() % values.size()];
  }
}

template <class T>
std::size_t rounds() {
  const std::size_t n = edge_values<T>().size();
  return (n * n + kCount - 1) / kCount;
}

template <class T>
T floor_quotient(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(floor_div(a, b));
  else
    return b == 0 ? 0 : a / b;
}
template <class T>
T floor_remainder(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(floor_mod(a, b));
  else
    return b == 0 ? 0 : a % b;
}

template <class T>
T evaluate(const std::string& op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool nan = std::isnan(a) || std::isnan(b);
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "*") return a * b;
    if (op == "/") return a / b;
    if (op == "min") return nan ? std::numeric_limits<T>::quiet_NaN() : std::min(a, b);
    return nan ? std::numeric_limits<T>::quiet_NaN() : std::max(a, b);
  } else {
    using U = std::make_unsigned_t<T>;
    if (op == "+") return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    if (op == "-") return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    if (op == "*") return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    if (op == "/") return floor_quotient(a, b);
    if (op == "%") return floor_remainder(a, b);
    if (op == "min") return std::min(a, b);
    return std::max(a, b);
  }
}

template <class T>
bool compare(const std::string& op, T a, T b) {
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  return a != b;
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;
}

template <class T>
struct TypeText;
template <>
struct TypeText<std::int32_t> {
  static constexpr const char* value = "int32";
};
template <>
struct TypeText<std::int64_t> {
  static constexpr const char* value = "int64";
};
template <>
struct TypeText<std::uint32_t> {
  static constexpr const char* value = "uint32";
};
template <>
struct TypeText<std::uint64_t> {
  static constexpr const char* value = "uint64";
};
template <>
struct TypeText<float> {
  static constexpr const char* value = "float32";
};
template <>
struct TypeText<double> {
  static constexpr const char* value = "float64";
};

/// Z[i] = (X[i] op Y[i]) for all i, `lanes` at a time; `expression` uses the placeholders of the
/// operands.
std::string map_kernel(const std::string& in, const std::string& out, const std::string& expression,
                       int lanes) {
  const std::string index = lanes == 1 ? "i" : fmt::format("ramp(i, 1, {})", lanes);
  std::string body = expression;
  for (const auto& [key, text] :
       {std::pair{"{x}", "X[" + index + "]"}, std::pair{"{y}", "Y[" + index + "]"}})
    for (std::size_t at; (at = body.find(key)) != std::string::npos;)
      body.replace(at, 3, text);
  return fmt::format(R"(kernel map {{
  buffer X {in}[{n}] align 8
  buffer Y {in}[{n}] align 8
  buffer Z {out}[{n}] align 8 writable
  for i in 0:{n} step {lanes} {{
    Z[{index}] = {body}
  }}
}}
)",
                     fmt::arg("in", in), fmt::arg("out", out), fmt::arg("n", kCount),
                     fmt::arg("lanes", lanes), fmt::arg("index", index), fmt::arg("body", body));
}

template <class T>
class ArithmeticTest : public ::testing::Test {
protected:
  std::vector<T> x_ = std::vector<T>(kCount), y_ = std::vector<T>(kCount);
};
using Types =
    ::testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(ArithmeticTest, Types);

std::string infix(const std::string& op) {
  return op == "min" || op == "max" ? op + "({x}, {y})" : "{x} " + op + " {y}";
}

TYPED_TEST(ArithmeticTest, BinaryOperations) {
  std::vector<std::string> ops = {"+", "-", "*", "/", "min", "max"};
  if (!std::is_floating_point_v<TypeParam>) ops.push_back("%");
  for (const int lanes : {1, 4, 8, 16}) {
    for (const auto& op : ops) {
      const Jit jit(
          map_kernel(TypeText<TypeParam>::value, TypeText<TypeParam>::value, infix(op), lanes));
      for (std::size_t round = 0; round < rounds<TypeParam>(); ++round) {
        std::vector<TypeParam> z(kCount);
        fill_pairs(this->x_, this->y_, round);
        jit.run(this->x_.data(), this->y_.data(), z.data());
        for (int i = 0; i < kCount; ++i)
          ASSERT_TRUE(same(z[i], evaluate(op, this->x_[i], this->y_[i])))
              << +this->x_[i] << " " << op << " " << +this->y_[i] << " = " << +z[i] << " lanes "
              << lanes;
      }
    }
  }
}

TYPED_TEST(ArithmeticTest, Comparisons) {
  for (const int lanes : {1, 4, 8, 16}) {
    for (const std::string op : {"<", "<=", ">", ">=", "==", "!="}) {
      const Jit jit(map_kernel(TypeText<TypeParam>::value, "bool", "{x} " + op + " {y}", lanes));
      for (std::size_t round = 0; round < rounds<TypeParam>(); ++round) {
        std::vector<std::uint8_t> z(kCount, 77);
        fill_pairs(this->x_, this->y_, round);
        jit.run(this->x_.data(), this->y_.data(), z.data());
        for (int i = 0; i < kCount; ++i)
          ASSERT_EQ(z[i], compare(op, this->x_[i], this->y_[i]))
              << +this->x_[i] << op << +this->y_[i];
      }
    }
  }
}

TYPED_TEST(ArithmeticTest, DivisionByConstants) {
  if constexpr (std::is_integral_v<TypeParam>) {
    std::vector<TypeParam> divisors = {1,  2,  3,    7,
                                       10, 64, 1000, std::numeric_limits<TypeParam>::max()};
    if (std::is_signed_v<TypeParam>)
      for (const int negative : {-1, -2, -7})
        divisors.push_back(static_cast<TypeParam>(negative));
    const std::string suffix = std::is_same_v<TypeParam, std::int32_t>    ? "i32"
                               : std::is_same_v<TypeParam, std::uint32_t> ? "u32"
                               : std::is_same_v<TypeParam, std::uint64_t> ? "u64"
                                                                          : "";
    for (const int lanes : {1, 8}) {
      for (const TypeParam c : divisors) {
        for (const std::string op : {"/", "%"}) {
          const std::string literal = fmt::format("{}{}", c, suffix);
          const std::string text =
              lanes == 1 ? literal : fmt::format("broadcast({}, {})", literal, lanes);
          const Jit jit(map_kernel(TypeText<TypeParam>::value, TypeText<TypeParam>::value,
                                   "{x} " + op + " " + text, lanes));
          std::vector<TypeParam> z(kCount);
          fill_pairs(this->x_, this->y_, 0);
          jit.run(this->x_.data(), this->y_.data(), z.data());
          for (int i = 0; i < kCount; ++i)
            ASSERT_EQ(z[i], evaluate(op, this->x_[i], c)) << +this->x_[i] << op << +c;
        }
      }
    }
  }
}

TYPED_TEST(ArithmeticTest, UnarySelectAndLogic) {
  for (const int lanes : {1, 8}) {
    const Jit jit(map_kernel(TypeText<TypeParam>::value, TypeText<TypeParam>::value,
                             "select(({x} < {y} || {x} == {y}) && !({x} != {x}), -{x}, {y})",
                             lanes));
    std::vector<TypeParam> z(kCount);
    fill_pairs(this->x_, this->y_, 1);
    jit.run(this->x_.data(), this->y_.data(), z.data());
    for (int i = 0; i < kCount; ++i) {
      const TypeParam a = this->x_[i];
      const TypeParam b = this->y_[i];
      const TypeParam expected = a <= b ? evaluate<TypeParam>("-", TypeParam(0), a) : b;
      ASSERT_TRUE(same(z[i], expected)) << +a << " " << +b;
    }
  }
}

/// Reductions in the documented order: halves, an odd lane last.
template <class T>
T reduce(std::vector<T> v, const std::string& op) {
  while (v.size() > 1) {
    const std::size_t half = v.size() / 2;
    std::vector<T> next;
    for (std::size_t i = 0; i < half; ++i)
      next.push_back(evaluate(op, v[i], v[half + i]));
    if (v.size() % 2 != 0) {
      const T odd = v.back();
      return evaluate(op, reduce(next, op), odd);
    }
    v = next;
  }
  return v[0];
}

TYPED_TEST(ArithmeticTest, Reductions) {
  const std::pair<const char*, const char*> ops[] = {
      {"add", "+"}, {"mul", "*"}, {"min", "min"}, {"max", "max"}};
  for (const int lanes : {2, 3, 4, 6, 8, 16}) {
    for (const auto& [name, op] : ops) {
      const Jit jit(fmt::format(R"(kernel r {{
  buffer X {0}[{1}] align 8
  buffer Z {0}[{1}] align 8 writable
  for i in 0:{2} {{
    Z[i] = reduce_{3}(X[ramp(i * {4}, 1, {4})])
  }}
}}
)",
                                TypeText<TypeParam>::value, kCount, kCount / lanes, name, lanes));
      for (std::size_t round = 0; round < 2; ++round) {
        std::vector<TypeParam> z(kCount);
        fill_pairs(this->x_, this->y_, round);
        jit.run(this->x_.data(), z.data());
        for (int i = 0; i < kCount / lanes; ++i) {
          const std::vector<TypeParam> part(this->x_.begin() + i * lanes,
                                            this->x_.begin() + (i + 1) * lanes);
          ASSERT_TRUE(same(z[i], reduce(part, op))) << name << " of " << lanes;
        }
      }
    }
  }
}

template <class To>
std::int64_t cast_result(double value) {
  constexpr DType type = std::is_same_v<To, std::int8_t>     ? DType::Int8
                         : std::is_same_v<To, std::uint8_t>  ? DType::UInt8
                         : std::is_same_v<To, std::int16_t>  ? DType::Int16
                         : std::is_same_v<To, std::int32_t>  ? DType::Int32
                         : std::is_same_v<To, std::uint32_t> ? DType::UInt32
                         : std::is_same_v<To, std::int64_t>  ? DType::Int64
                                                             : DType::UInt64;
  return float_to_integer(type, value);
}

template <class From, class To>
void check_float_to_integer(const char* name, const char* compute) {
  for (const int lanes : {1, 8}) {
    const Jit jit(map_kernel(TypeText<From>::value, compute, std::string(name) + "({x})", lanes));
    const bool wide = std::string(compute).find("64") != std::string::npos;
    std::vector<From> x(kCount), y(kCount);
    fill_pairs(x, y, 0);
    const From more[] = {From(127.5),   From(-128.9),       From(255.9),        From(256),
                         From(-0.9),    From(2147483647.0), From(4294967296.0), From(9.3e18),
                         From(-9.3e18), From(1.9e19)};
    std::copy(std::begin(more), std::end(more), x.begin() + 20);
    std::vector<std::int64_t> z(kCount);
    jit.run(x.data(), y.data(), z.data());
    for (int i = 0; i < kCount; ++i) {
      std::int64_t got = z[i];
      const std::int64_t expected = cast_result<To>(x[i]);
      if (!wide) {
        std::int32_t half;
        std::memcpy(&half, reinterpret_cast<const char*>(z.data()) + 4 * i, 4);
        got = std::is_same_v<To, std::uint32_t> ? static_cast<std::uint32_t>(half)
                                                : static_cast<std::int64_t>(half);
      }
      ASSERT_EQ(got, expected) << x[i] << " to " << name;
    }
  }
}

TEST(Cast, FloatToIntegerTruncatesAndSaturates) {
  check_float_to_integer<float, std::int8_t>("int8", "int32");
  check_float_to_integer<float, std::uint8_t>("uint8", "int32");
  check_float_to_integer<float, std::int16_t>("int16", "int32");
  check_float_to_integer<float, std::int32_t>("int32", "int32");
  check_float_to_integer<float, std::uint32_t>("uint32", "uint32");
  check_float_to_integer<float, std::int64_t>("int64", "int64");
  check_float_to_integer<float, std::uint64_t>("uint64", "uint64");
  check_float_to_integer<double, std::int8_t>("int8", "int32");
  check_float_to_integer<double, std::int32_t>("int32", "int32");
  check_float_to_integer<double, std::uint32_t>("uint32", "uint32");
  check_float_to_integer<double, std::int64_t>("int64", "int64");
  check_float_to_integer<double, std::uint64_t>("uint64", "uint64");
}

TEST(Cast, IntegersWrapAndRoundOnce) {
  std::vector<std::int64_t> x(kCount), y(kCount);
  fill_pairs(x, y, 0);
  x[30] = 16777217;
  x[31] = (std::int64_t{1} << 53) + 1;
  for (const int lanes : {1, 8}) {
    std::vector<std::int32_t> z(kCount);
    Jit(map_kernel("int64", "int32", "int8({x})", lanes)).run(x.data(), y.data(), z.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(z[i], static_cast<std::int8_t>(x[i]));
    Jit(map_kernel("int64", "int32", "uint16({x})", lanes)).run(x.data(), y.data(), z.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(z[i], static_cast<std::uint16_t>(x[i]));
    std::vector<float> f(kCount);
    Jit(map_kernel("int64", "float32", "float32({x})", lanes)).run(x.data(), y.data(), f.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(f[i], static_cast<float>(x[i]));
    Jit(map_kernel("uint64", "float32", "float32({x})", lanes)).run(x.data(), y.data(), f.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(f[i], static_cast<float>(static_cast<std::uint64_t>(x[i])));
    std::vector<double> d(kCount);
    Jit(map_kernel("int64", "float64", "float64({x})", lanes)).run(x.data(), y.data(), d.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(d[i], static_cast<double>(x[i]));
    Jit(map_kernel("int64", "float32", "float16({x})", lanes)).run(x.data(), y.data(), f.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(f[i], round_to(DType::Float16, round_to_odd(x[i])));
    // Beside what is halfway between two numbers of bfloat16, where a float64 has no room for that.
    for (int i = 0; i < kCount; ++i) {
      const std::int64_t bit = std::int64_t{1} << (54 + i % 8);
      x[i] = (bit + (1 + i % 4 / 2 * 2) * (bit >> 8) + i % 3 - 1) * (i % 5 == 0 ? -1 : 1);
    }
    Jit(map_kernel("int64", "float32", "bfloat16({x})", lanes)).run(x.data(), y.data(), f.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(f[i], round_to(DType::BFloat16, round_to_odd(x[i]))) << x[i];
    Jit(map_kernel("uint64", "float32", "bfloat16({x})", lanes)).run(x.data(), y.data(), f.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(f[i], round_to(DType::BFloat16, round_to_odd(static_cast<std::uint64_t>(x[i]))))
          << x[i];
    std::vector<std::uint8_t> b(kCount);
    Jit(map_kernel("float32", "bool", "bool({x})", lanes)).run(f.data(), f.data(), b.data());
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(b[i], f[i] != 0);
  }
}

TEST(Arithmetic, LogicalReductionsAndLanes) {
  for (const int ones : {0, 1, 15, 16}) {
    std::vector<std::uint8_t> x(16, 0), z(4);
    std::fill(x.begin(), x.begin() + ones, std::uint8_t{1});
    Jit(R"(kernel r {
  buffer X bool[16] align 1
  buffer Z bool[4] align 1 writable
  let v = X[ramp(0, 1, 16)]
  Z[0] = reduce_and(v)
  Z[1] = reduce_or(v)
  Z[2] = lane(v, 0) || lane(v, 15)
  Z[3] = reduce_or(!v)
}
)")
        .run(x.data(), z.data());
    EXPECT_EQ(z, (std::vector<std::uint8_t>{ones == 16, ones > 0, ones > 0, ones < 16}));
  }
}

TEST(Arithmetic, ConstantDivisorsWithZeros) {
  auto plan = single_launch(parse_kernel(R"(kernel f {
  buffer X int32[1] align 4
  buffer Q int32[4] align 4 writable
  buffer R int32[4] align 4 writable
  Q[ramp(0, 1, 4)] = broadcast(X[0], 4) / int32(ramp(-1, 1, 4))
  R[ramp(0, 1, 4)] = broadcast(X[0], 4) % int32(ramp(-1, 1, 4))
}
)"));
  auto object = codegen::native::emit(plan, runtime::cpu::host_target(), {});
  ASSERT_TRUE(object.has_value());
  auto module = runtime::cpu::Module::load(*object, {"f"});
  ASSERT_TRUE(module.has_value());
  std::vector<std::int32_t> x = {7}, q(4), r(4);
  void* pointers[] = {x.data(), q.data(), r.data()};
  runtime::cpu::run(runtime::cpu::launch_table(plan), **module, pointers);
  EXPECT_EQ(q, (std::vector<std::int32_t>{-7, 0, 7, 3}));
  EXPECT_EQ(r, (std::vector<std::int32_t>{0, 0, 0, 1}));
}

TEST(Arithmetic, FastMathKeepsNanAndInfinity) {
  auto plan = single_launch(parse_kernel(R"(kernel f {
  buffer X float32[16] align 4
  buffer Z float32[4] align 4 writable
  let m = reduce_max(X[ramp(0, 1, 16)])
  Z[0] = m
  Z[1] = select(isinf<bool>(m), 1.0f, 2.0f)
  Z[2] = select(isnan<bool>(X[3]), 1.0f, 2.0f)
  Z[3] = reduce_add(X[ramp(0, 1, 16)])
}
)"));
  codegen::native::Request request;
  request.fast_math = true;
  auto object = codegen::native::emit(plan, runtime::cpu::host_target(), request);
  ASSERT_TRUE(object.has_value());
  auto module = runtime::cpu::Module::load(*object, {"f"});
  ASSERT_TRUE(module.has_value());
  std::vector<float> x(16, -std::numeric_limits<float>::infinity()), z(4);
  void* pointers[] = {x.data(), z.data()};
  runtime::cpu::run(runtime::cpu::launch_table(plan), **module, pointers);
  EXPECT_EQ(z[0], x[0]);
  EXPECT_EQ(z[1], 1.0f);
  EXPECT_EQ(z[2], 2.0f);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  runtime::cpu::run(runtime::cpu::launch_table(plan), **module, pointers);
  EXPECT_TRUE(std::isnan(z[0]));
  EXPECT_EQ(z[2], 1.0f);
  EXPECT_TRUE(std::isnan(z[3]));
}

TEST(Arithmetic, ProductsFuseWithSumsOnly) {
  // x*x - 1 with x = 1 + 2^-12: one rounding keeps 2^-24, two lose it.
  const float x = 1.0f + 0x1p-12f;
  std::vector<float> a(kCount, x), b(kCount, -1.0f), z(kCount);
  Jit(map_kernel("float32", "float32", "{x} * {x} + {y}", 8), *cpu_target("x86-64-v3"))
      .run(a.data(), b.data(), z.data());
  EXPECT_EQ(z[5], std::fma(x, x, -1.0f));
  // (x + y) - y stays as written.
  std::fill(b.begin(), b.end(), 1e8f);
  Jit(map_kernel("float32", "float32", "({x} + {y}) - {y}", 8)).run(a.data(), b.data(), z.data());
  EXPECT_EQ(z[5], 0.0f);
}

}  // namespace
}  // namespace tc::test
