// SPDX-License-Identifier: Apache-2.0
//
// Every builtin on vectors and scalars, in both precisions, against the scalar library; with
// special values and over wide ranges.
#include <cmath>
#include <cstdio>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jit.h"
#include "tc/math/scalar.h"

namespace tc::test {
namespace {

template <class T>
std::vector<T> samples(const std::string& name) {
  using L = std::numeric_limits<T>;
  std::vector<T> v = {0,
                      T(-0.0),
                      1,
                      -1,
                      T(0.5),
                      T(-0.5),
                      2,
                      -2,
                      10,
                      -10,
                      L::infinity(),
                      -L::infinity(),
                      L::quiet_NaN(),
                      L::max(),
                      L::lowest(),
                      L::min(),
                      -L::min(),
                      L::denorm_min(),
                      -L::denorm_min(),
                      L::min() / 4,
                      T(1e-30),
                      T(88.5),
                      T(-87.5),
                      T(-95),
                      T(-103),
                      T(89),
                      T(100),
                      T(-150),
                      T(709.5),
                      T(-740),
                      T(-745),
                      T(1e5),
                      T(1e10),
                      T(1e20),
                      T(-1e30),
                      T(0.999999),
                      T(1.000001),
                      T(3.14159265),
                      T(1.5707963),
                      T(1e-5),
                      T(20),
                      T(9.01),
                      T(-9.1),
                      T(37),
                      T(38.6),
                      T(-37.6)};
  const bool unit = name == "acos" || name == "asin" || name == "atanh" || name == "erfinv" ||
                    name == "normcdfinv" || name == "erfcinv";
  for (int i = 0; i < 4000; ++i) {
    const double t = (i + 0.5) / 4000;
    v.push_back(static_cast<T>(unit ? 2 * t - 1 : 40 * (2 * t - 1)));
    // Every binade of float32.
    v.push_back(
        static_cast<T>(std::ldexp(1 + std::fmod(t * 997, 1.0), static_cast<int>(i % 250) - 126) *
                       (i % 2 ? -1 : 1)));
  }
  v.resize((v.size() + 31) / 32 * 32, T(1));
  return v;
}

template <class T>
double ulps(T got, T expected) {
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got) ? 0 : 1e9;
  if (got == expected) return 0;
  if (std::isinf(expected) || std::isinf(got)) return 1e9;
  const T magnitude = std::max(std::fabs(expected), std::numeric_limits<T>::min());
  const double ulp = std::nextafter(static_cast<double>(magnitude), 1e308) - magnitude;
  const double unit = std::is_same_v<T, float> ? std::ldexp(1.0, std::ilogb(magnitude) - 23) : ulp;
  return std::fabs(static_cast<double>(got) - static_cast<double>(expected)) / unit;
}

std::string call_kernel(const std::string& name, const std::string& type, int arity, std::size_t n,
                        int lanes, const char* out = nullptr) {
  const std::string index = lanes == 1 ? "i" : fmt::format("ramp(i, 1, {})", lanes);
  std::string args, buffers;
  for (int a = 0; a < arity; ++a) {
    buffers += fmt::format("  buffer {}{} {}[{}] align 4\n", "X", a, type, n);
    args += fmt::format("{}X{}[{}]", a ? ", " : "", a, index);
  }
  const std::string result = out ? out : type;
  return fmt::format("kernel m {{\n{}  buffer Z {}[{}] align 4 writable\n  for i in 0:{} step {} "
                     "{{\n    Z[{}] = {}{}({})\n  }}\n}}\n",
                     buffers, result, n, n, lanes, index, name, out ? fmt::format("<{}>", out) : "",
                     args);
}

/// Largest error of `name` against tc/math over all samples; with `lanes` lanes.
template <class T>
double largest_error(const math::ScalarFunction& f, int lanes, const Target& target,
                     std::string& worst) {
  const auto x = samples<T>(std::string(f.name));
  const std::size_t n = x.size();
  // Further arguments: the samples in another order.
  std::vector<std::vector<T>> args(4, std::vector<T>(n));
  for (std::size_t i = 0; i < n; ++i) {
    args[0][i] = x[i];
    args[1][i] = x[(i * 7 + 3) % n];
    args[2][i] = x[(i * 11 + 5) % n];
    args[3][i] = x[(i * 13 + 8) % n];
  }
  std::vector<T> z(n);
  const Jit jit(call_kernel(std::string(f.name), std::is_same_v<T, float> ? "float32" : "float64",
                            f.arity, n, lanes),
                target);
  void* address = std::is_same_v<T, float> ? f.f32 : f.f64;
  double largest = 0;
  const auto reference = [&](std::size_t i) -> T {
    switch (f.arity) {
    case 1: return reinterpret_cast<T (*)(T)>(address)(args[0][i]);
    case 2: return reinterpret_cast<T (*)(T, T)>(address)(args[0][i], args[1][i]);
    case 3: return reinterpret_cast<T (*)(T, T, T)>(address)(args[0][i], args[1][i], args[2][i]);
    default:
      return reinterpret_cast<T (*)(T, T, T, T)>(address)(args[0][i], args[1][i], args[2][i],
                                                          args[3][i]);
    }
  };
  switch (f.arity) {
  case 1: jit.run(args[0].data(), z.data()); break;
  case 2: jit.run(args[0].data(), args[1].data(), z.data()); break;
  case 3: jit.run(args[0].data(), args[1].data(), args[2].data(), z.data()); break;
  default: jit.run(args[0].data(), args[1].data(), args[2].data(), args[3].data(), z.data()); break;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double error = ulps(z[i], reference(i));
    if (error <= largest) continue;
    largest = error;
    worst =
        fmt::format("{}({}, {}) = {} not {}", f.name, args[0][i], args[1][i], z[i], reference(i));
  }
  return largest;
}

TEST(Math, EveryBuiltinIsWithinFourUlpsOfTheScalarLibrary) {
  for (const auto& target : runnable_targets()) {
    const bool host = target == runtime::cpu::host_target();
    const std::vector<int> lane_counts =
        host ? std::vector<int>{1, 4, 16, 32} : std::vector<int>{16};
    for (const auto& f : math::scalar_functions()) {
      if (f.returns_bool) continue;
      for (const int lanes : lane_counts) {
        std::string worst;
        const double single = largest_error<float>(f, lanes, target, worst);
        EXPECT_LE(single, 4.0) << "float32 x " << lanes << " " << target.arch << ": " << worst;
        worst.clear();
        const double twice = largest_error<double>(f, lanes, target, worst);
        EXPECT_LE(twice, 4.0) << "float64 x " << lanes << " " << target.arch << ": " << worst;
      }
    }
  }
}

TEST(Math, Predicates) {
  const auto x = samples<float>("isnan");
  for (const int lanes : {1, 16}) {
    for (const std::string name : {"isnan", "isinf"}) {
      std::vector<std::uint8_t> z(x.size());
      Jit(call_kernel(name, "float32", 1, x.size(), lanes, "bool")).run(x.data(), z.data());
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(z[i], name == "isnan" ? std::isnan(x[i]) : std::isinf(x[i]));
    }
  }
}

TEST(Math, IntegersKeepOrConvert) {
  const std::int32_t x[8] = {0, 1, -1, -2147483647 - 1, 2147483647, -5, 5, 9};
  std::int32_t z[8];
  Jit(call_kernel("abs", "int32", 1, 8, 8)).run(x, z);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(z[i], x[i] == -2147483647 - 1 ? x[i] : std::abs(x[i]));
  Jit(call_kernel("relu", "int32", 1, 8, 8)).run(x, z);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(z[i], std::max(x[i], 0));
  float f[8];
  Jit(call_kernel("exp", "int32", 1, 8, 1, "float32")).run(x, f);
  EXPECT_FLOAT_EQ(f[1], std::exp(1.0f));
}

/// Z<n>[...] = T(f(float32(X[...]), constant...)) for every builtin, with `lanes` lanes.
std::string storage_kernel(const std::string& type, int lanes) {
  const std::string index = lanes == 1 ? "i" : fmt::format("ramp(i, 1, {})", lanes);
  const std::string wide = type == "float64" ? "float64" : "float32";
  std::string buffers = fmt::format("  buffer X {}[64] align 8\n", type), body;
  int n = 0;
  for (const auto& f : math::scalar_functions()) {
    for (const char* other : {"0.0", "1.0", "X"}) {
      if (f.arity == 1 && other[0] != 'X') continue;
      const std::string read = fmt::format("X[{}]", index);
      std::string literal = wide == "float64" ? other : std::string(other) + "f";
      if (lanes > 1) literal = fmt::format("broadcast({}, {})", literal, lanes);
      std::string args = read;
      for (int a = 1; a < f.arity; ++a)
        args += ", " + (other[0] == 'X' ? read : literal);
      const char* result = f.returns_bool ? "bool" : type.c_str();
      buffers += fmt::format("  buffer Z{} {}[64] align 8 writable\n", n, result);
      body += fmt::format("    Z{}[{}] = {}{}({})\n", n++, index, f.name,
                          f.returns_bool ? "<bool>" : "", args);
    }
  }
  return fmt::format("kernel m {{\n{}  for i in 0:64 step {} {{\n{}  }}\n}}\n", buffers, lanes,
                     body);
}

TEST(Math, NoBuiltinOfAnyStorageTypeLeavesAnUnknownSymbol) {
  for (const auto& target : runnable_targets()) {
    for (const char* type :
         {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float32", "float64"}) {
      for (const int lanes : {1, 8}) {
        const auto object = codegen::native::emit(
            single_launch(parse_kernel(storage_kernel(type, lanes))), target, {});
        ASSERT_TRUE(object.has_value()) << type;
        const auto module = runtime::cpu::Module::load(*object, {"m"});
        EXPECT_TRUE(module.has_value()) << type << " x " << lanes << " " << target.arch << ": "
                                        << (module ? "" : module.error().to_string());
      }
    }
  }
}

TEST(Math, SelectionsOfFloat16StayVectors) {
  const std::string text =
      "kernel m {\n  buffer X float16[64] align 64\n  buffer Z float16[64] align 64 writable\n"
      "  for i in 0:64 step 8 {\n    Z[ramp(i, 1, 8)] = fmax(X[ramp(i, 1, 8)], broadcast(0.0f, "
      "8))\n"
      "  }\n}\n";
  const std::string ir = emit_text(text, codegen::native::Output::LlvmText);
  EXPECT_NE(ir.find("fpext <8 x half>"), std::string::npos) << ir;
  EXPECT_EQ(ir.find("fcmp ogt <8 x half>"), std::string::npos) << ir;
  EXPECT_EQ(ir.find("tc.extend_half"), std::string::npos) << ir;
  const std::uint16_t x[64] = {0xbc00, 0x3c00, 0x7e00, 0xfc00, 0x7c00, 0x0001, 0x8001, 0x0000};
  std::uint16_t z[64];
  Jit(text).run(x, z);
  const std::uint16_t expected[8] = {0, 0x3c00, 0, 0, 0x7c00, 0x0001, 0, 0};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(z[i], expected[i]) << i;
}

TEST(Math, UnknownBuiltinIsRejected) {
  auto plan = single_launch(parse_kernel(call_kernel("frobnicate", "float32", 1, 8, 8)));
  auto result = codegen::native::emit(plan, runtime::cpu::host_target(), {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, RejectionKind::Unsupported);
}

}  // namespace
}  // namespace tc::test
