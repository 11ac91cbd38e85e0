// SPDX-License-Identifier: Apache-2.0
//
// The measured maximal error of every builtin, in ulp, against 50-digit references; the test prints
// the table.
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "reference.h"
#include "tc/math/scalar.h"

namespace tc::math::test {
namespace {

/// Where one argument is sampled: uniformly, or uniformly in the exponent (then both ends have one
/// sign).
struct Domain {
  double lo;
  double hi;
  bool logarithmic = false;
};

struct Case {
  const char* name;
  std::vector<std::vector<Domain>> regions;  ///< each: a domain per argument
  double f32_limit;                          ///< ulp
  double f64_limit;
  double floor = 0;  ///< see ulp_error
};

// Float results round a double once: half an ulp, plus the little that the double is wrong.
constexpr double kRounded = 0.501;
constexpr double kExact = 0;
constexpr double kHalf = 0.5;

const std::vector<Domain> kAll{{-50, 50}};
const std::vector<Domain> kTiny{{1e-30, 1e-3, true}};
const std::vector<Domain> kUnit{{-1, 1}};
const std::vector<Domain> kPositive{{1e-30, 1e30, true}};

const std::vector<Case>& cases() {
  static const std::vector<Case> table{
      {"abs", {kAll}, kExact, kExact},
      {"acos", {kUnit, kTiny}, kRounded, 1},
      {"acosh", {{{1, 2}}, {{1, 1e30, true}}}, kRounded, 3},
      {"asin", {kUnit, kTiny}, kRounded, 1},
      {"asinh", {kAll, kPositive}, kRounded, 3},
      {"atan", {kAll, kPositive}, kRounded, 1},
      {"atanh", {kUnit, kTiny}, kRounded, 3},
      {"cbrt", {kAll, kPositive}, kRounded, kRounded},
      {"ceil", {kAll}, kExact, kExact},
      {"cos", {kAll, kPositive}, kRounded, 1},
      {"cosh", {{{-80, 80}}, kTiny}, kRounded, 2},
      {"cospi", {kAll, {{1e-6, 1e6, true}}}, kRounded, 1.5},
      {"cyl_bessel_i0", {{{-80, 80}}, kTiny}, kRounded, 5},
      {"cyl_bessel_i1", {{{-80, 80}}, kTiny}, kRounded, 5},
      {"erf", {{{-6, 6}}, kTiny}, kRounded, 1.5},
      {"erfc", {{{-6, 9}}, {{-6, 26}}}, kRounded, 5},
      {"erfcinv", {{{1e-30, 1, true}}, {{0.01, 1.99}}}, kRounded, 5},
      {"erfcx", {{{-9, 20}}, {{1e-3, 1e4, true}}}, kRounded, 7},
      {"erfinv", {kUnit, kTiny, {{0.9, 1}}}, kRounded, 5},
      {"exp", {{{-80, 80}}, kTiny}, kRounded, 1},
      {"exp10", {{{-35, 35}}, kTiny}, kRounded, 1},
      {"exp2", {{{-120, 120}}, kTiny}, kRounded, 1},
      {"expm1", {{{-80, 80}}, kUnit, kTiny}, kRounded, 2},
      {"fabs", {kAll}, kExact, kExact},
      {"floor", {kAll}, kExact, kExact},
      {"j0", {{{-8, 8}}, {{-100, 100}}}, kRounded, 8, 0.125},
      {"j1", {{{-8, 8}}, {{-100, 100}}}, kRounded, 8, 0.125},
      {"lgamma", {{{0.1, 100}}, {{-10, -0.1}}, {{3, 1e30, true}}}, kRounded, 5},
      {"log", {kPositive, {{0.5, 2}}}, kRounded, 1},
      {"log10", {kPositive, {{0.5, 2}}}, kRounded, 2},
      {"log1p", {{{-0.99, 10}}, kPositive}, kRounded, 2},
      {"log2", {kPositive, {{0.5, 2}}}, kRounded, 2},
      {"logb", {kPositive}, kExact, kExact},
      {"normcdf", {{{-8, 8}}, {{-37, 0}}}, kRounded, 8},
      {"normcdfinv", {{{1e-30, 0.5, true}}, {{0.01, 0.99}}}, kRounded, 5},
      {"rcbrt", {kAll, kPositive}, kRounded, kRounded},
      {"relu", {kAll}, kExact, kExact},
      {"rint", {kAll}, kExact, kExact},
      {"round", {kAll}, kExact, kExact},
      {"rsqrt", {kPositive}, kRounded, 1.5},
      {"sigmoid", {{{-80, 80}}}, kRounded, 2.5},
      {"sin", {kAll, kPositive}, kRounded, 1},
      {"sinh", {{{-80, 80}}, kTiny}, kRounded, 3},
      {"sinpi", {kAll, {{1e-6, 1e6, true}}}, kRounded, 1.5},
      {"sqrt", {kPositive}, kHalf, kHalf},
      {"tan", {kAll, kPositive}, kRounded, 1},
      {"tanh", {{{-10, 10}}, kTiny}, kRounded, 3},
      {"tgamma", {{{0.1, 30}}, {{-5, -0.1}}}, kRounded, 10},
      {"trunc", {kAll}, kExact, kExact},
      {"y0", {{{0.1, 8}}, {{0.1, 100}}, {{1e-20, 1, true}}}, kRounded, 8, 0.125},
      {"y1", {{{0.1, 8}}, {{0.1, 100}}, {{1e-20, 1, true}}}, kRounded, 8, 0.125},
      {"atan2", {{{-5, 5}, {-5, 5}}}, kRounded, 1},
      {"copysign", {{{-5, 5}, {-5, 5}}}, kExact, kExact},
      {"fdim", {{{-5, 5}, {-5, 5}}}, kHalf, kHalf},
      {"fdivide", {{{-5, 5}, {-5, 5}}}, kHalf, kHalf},
      {"fmax", {{{-5, 5}, {-5, 5}}}, kExact, kExact},
      {"fmin", {{{-5, 5}, {-5, 5}}}, kExact, kExact},
      {"fmod", {{{-1000, 1000}, {-5, 5}}}, kExact, kExact},
      {"hypot", {{{-5, 5}, {-5, 5}}, {{1e-30, 1e30, true}, {1e-30, 1e30, true}}}, kRounded, 1},
      {"pow", {{{0, 10}, {-20, 20}}, {{1e-3, 1e3, true}, {-10, 10}}}, kRounded, 1},
      {"remainder", {{{-1000, 1000}, {-5, 5}}}, kExact, kExact},
      {"rhypot",
       {{{-5, 5}, {-5, 5}}, {{1e-30, 1e30, true}, {1e-30, 1e30, true}}},
       kRounded,
       kRounded},
      {"fma", {{{-5, 5}, {-5, 5}, {-5, 5}}}, kHalf, kHalf},
      {"norm3d", {{{-5, 5}, {-5, 5}, {-5, 5}}}, kRounded, kRounded},
      {"rnorm3d", {{{-5, 5}, {-5, 5}, {-5, 5}}}, kRounded, kRounded},
      {"norm4d", {{{-5, 5}, {-5, 5}, {-5, 5}, {-5, 5}}}, kRounded, kRounded},
      {"rnorm4d", {{{-5, 5}, {-5, 5}, {-5, 5}, {-5, 5}}}, kRounded, kRounded},
  };
  return table;
}

double sample(const Domain& domain, std::mt19937_64& random) {
  const double u = static_cast<double>(random() >> 11) * 0x1p-53;
  if (!domain.logarithmic) return domain.lo + u * (domain.hi - domain.lo);
  return domain.lo * std::pow(domain.hi / domain.lo, u);
}

template <class T>
T call(const ScalarFunction& f, const std::vector<T>& x) {
  void* address = std::is_same_v<T, float> ? f.f32 : f.f64;
  switch (f.arity) {
  case 1: return reinterpret_cast<T (*)(T)>(address)(x[0]);
  case 2: return reinterpret_cast<T (*)(T, T)>(address)(x[0], x[1]);
  case 3: return reinterpret_cast<T (*)(T, T, T)>(address)(x[0], x[1], x[2]);
  default: return reinterpret_cast<T (*)(T, T, T, T)>(address)(x[0], x[1], x[2], x[3]);
  }
}

template <class T>
double largest_error(const Case& c, const ScalarFunction& f) {
  std::mt19937_64 random(20180213);
  double largest = 0;
  for (const auto& region : c.regions) {
    for (int i = 0; i < 200; ++i) {
      std::vector<T> x;
      for (const Domain& domain : region)
        x.push_back(static_cast<T>(sample(domain, random)));
      const T y = call(f, x);
      const double error = ulp_error(c.name, std::vector<double>(x.begin(), x.end()),
                                     static_cast<double>(y), std::numeric_limits<T>::digits,
                                     std::numeric_limits<T>::min_exponent - 1, c.floor);
      // Negated so that a NaN is an error too.
      if (!(error <= largest)) largest = error;
    }
  }
  return largest;
}

TEST(MathAccuracy, EveryBuiltinAgainstFiftyDigits) {
  std::printf("%-14s %12s %12s\n", "builtin", "float32 ulp", "float64 ulp");
  for (const Case& c : cases()) {
    const ScalarFunction* f = find_scalar_function(c.name);
    ASSERT_NE(f, nullptr) << c.name;
    ASSERT_EQ(static_cast<std::size_t>(f->arity), c.regions[0].size()) << c.name;
    const double f32 = largest_error<float>(c, *f);
    const double f64 = largest_error<double>(c, *f);
    std::printf("%-14s %12.4f %12.4f\n", c.name, f32, f64);
    EXPECT_LE(f32, c.f32_limit) << c.name;
    EXPECT_LE(f64, c.f64_limit) << c.name;
  }
}

TEST(MathAccuracy, EveryBuiltinIsMeasured) {
  std::set<std::string_view> measured;
  for (const Case& c : cases())
    measured.insert(c.name);
  // nextafter and the predicates have exact answers, which special_values_test.cpp pins.
  for (const char* exact : {"nextafter", "isnan", "isinf"})
    measured.insert(exact);
  for (const ScalarFunction& f : scalar_functions())
    EXPECT_TRUE(measured.count(f.name)) << f.name;
  EXPECT_EQ(measured.size(), scalar_functions().size());
}

}  // namespace
}  // namespace tc::math::test
