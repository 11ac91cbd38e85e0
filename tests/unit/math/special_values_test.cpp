// SPDX-License-Identifier: Apache-2.0
//
// Poles, domain errors, infinities, NaN, signed zeros and the far ends of the ranges.
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tc/math/scalar.h"

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

struct Pinned {
  const char* name;
  std::vector<double> x;
  double y;
};

double call64(const tc::math::ScalarFunction& f, const std::vector<double>& x) {
  switch (f.arity) {
  case 1: return reinterpret_cast<double (*)(double)>(f.f64)(x[0]);
  case 2: return reinterpret_cast<double (*)(double, double)>(f.f64)(x[0], x[1]);
  case 3: return reinterpret_cast<double (*)(double, double, double)>(f.f64)(x[0], x[1], x[2]);
  default:
    return reinterpret_cast<double (*)(double, double, double, double)>(f.f64)(x[0], x[1], x[2],
                                                                               x[3]);
  }
}
float call32(const tc::math::ScalarFunction& f, const std::vector<double>& x) {
  const auto at = [&](std::size_t i) { return static_cast<float>(x[i]); };
  switch (f.arity) {
  case 1: return reinterpret_cast<float (*)(float)>(f.f32)(at(0));
  case 2: return reinterpret_cast<float (*)(float, float)>(f.f32)(at(0), at(1));
  case 3: return reinterpret_cast<float (*)(float, float, float)>(f.f32)(at(0), at(1), at(2));
  default:
    return reinterpret_cast<float (*)(float, float, float, float)>(f.f32)(at(0), at(1), at(2),
                                                                          at(3));
  }
}

void expect_same(double actual, double expected, const Pinned& c) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << c.name << "(" << c.x[0] << ", ...) = " << actual;
    return;
  }
  EXPECT_EQ(actual, expected) << c.name << "(" << c.x[0] << ", ...)";
  EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << c.name << "(" << c.x[0] << ", ...)";
}

TEST(MathSpecialValues, SameInBothTypes) {
  const std::vector<Pinned> cases{
      {"acos", {2}, kNan},
      {"acosh", {0.5}, kNan},
      {"asin", {-1.5}, kNan},
      {"atanh", {1}, kInf},
      {"atanh", {2}, kNan},
      {"cbrt", {-27}, -3},
      {"cospi", {0.5}, 0},
      {"cospi", {1}, -1},
      {"cospi", {kInf}, kNan},
      {"cyl_bessel_i0", {0}, 1},
      {"cyl_bessel_i0", {-kInf}, kInf},
      {"cyl_bessel_i0", {1000}, kInf},
      {"cyl_bessel_i1", {0}, 0},
      {"cyl_bessel_i1", {-0.0}, -0.0},
      {"cyl_bessel_i1", {-kInf}, -kInf},
      {"cyl_bessel_i1", {-1000}, -kInf},
      {"erfcinv", {0}, kInf},
      {"erfcinv", {1}, 0},
      {"erfcinv", {2}, -kInf},
      {"erfcinv", {2.5}, kNan},
      {"erfcinv", {-0.5}, kNan},
      {"erfcx", {kInf}, 0},
      {"erfcx", {-kInf}, kInf},
      {"erfcx", {0}, 1},
      {"erfcx", {-30}, kInf},
      {"erfinv", {0}, 0},
      {"erfinv", {-0.0}, -0.0},
      {"erfinv", {1}, kInf},
      {"erfinv", {-1}, -kInf},
      {"erfinv", {1.5}, kNan},
      {"exp", {-kInf}, 0},
      {"exp", {1e9}, kInf},
      {"exp10", {2}, 100},
      {"exp10", {-kInf}, 0},
      {"fdim", {1, 2}, 0},
      {"fmax", {kNan, 1}, 1},
      {"fmin", {1, kNan}, 1},
      {"fmax", {kNan, kNan}, kNan},
      {"fdivide", {1, 0}, kInf},
      {"fdivide", {0, 0}, kNan},
      {"fmod", {7, 0}, kNan},
      {"fmod", {-7, 4}, -3},
      {"remainder", {7, 4}, -1},
      {"remainder", {6, 4}, -2},
      {"hypot", {kInf, kNan}, kInf},
      {"rhypot", {kInf, kNan}, 0},
      {"rhypot", {0, 0}, kInf},
      {"rhypot", {3, 4}, 0.2},
      {"norm3d", {kInf, kNan, 0}, kInf},
      {"norm3d", {2, 3, 6}, 7},
      {"rnorm3d", {0, 0, 0}, kInf},
      {"norm4d", {1, 1, 1, 1}, 2},
      {"rnorm4d", {1, 1, 1, 1}, 0.5},
      {"rnorm4d", {kNan, 1, 1, 1}, kNan},
      {"j0", {0}, 1},
      {"j0", {kInf}, 0},
      {"j1", {0}, 0},
      {"y0", {0}, -kInf},
      {"y0", {-1}, kNan},
      {"y1", {0}, -kInf},
      {"lgamma", {0}, kInf},
      {"lgamma", {1}, 0},
      {"lgamma", {-2}, kInf},
      {"lgamma", {-kInf}, kInf},
      {"tgamma", {0}, kInf},
      {"tgamma", {-0.0}, -kInf},
      {"tgamma", {-1}, kNan},
      {"tgamma", {5}, 24},
      {"log", {0}, -kInf},
      {"log", {-1}, kNan},
      {"log1p", {-1}, -kInf},
      {"logb", {0}, -kInf},
      {"logb", {8}, 3},
      {"normcdf", {-kInf}, 0},
      {"normcdf", {kInf}, 1},
      {"normcdf", {0}, 0.5},
      {"normcdfinv", {0}, -kInf},
      {"normcdfinv", {1}, kInf},
      {"normcdfinv", {2}, kNan},
      {"pow", {1, kNan}, 1},
      {"pow", {0, -1}, kInf},
      {"pow", {-8, 1.0 / 3}, kNan},
      {"rcbrt", {-8}, -0.5},
      {"rcbrt", {0}, kInf},
      {"relu", {-3}, 0},
      {"relu", {3}, 3},
      {"relu", {kNan}, kNan},
      {"rint", {2.5}, 2},
      {"rint", {-0.5}, -0.0},
      {"round", {2.5}, 3},
      {"round", {-2.5}, -3},
      {"trunc", {-2.7}, -2},
      {"floor", {-2.5}, -3},
      {"ceil", {-2.5}, -2},
      {"rsqrt", {0}, kInf},
      {"rsqrt", {kInf}, 0},
      {"rsqrt", {-1}, kNan},
      {"sigmoid", {0}, 0.5},
      {"sigmoid", {-1e9}, 0},
      {"sigmoid", {1e9}, 1},
      {"sinpi", {-0.0}, -0.0},
      {"sinpi", {3}, 0},
      {"sinpi", {0.5}, 1},
      {"sinpi", {-1.5}, 1},
      {"sinpi", {kInf}, kNan},
      {"copysign", {3, -0.0}, -3},
      {"atan2", {0, -1}, std::nan("")},
      {"fma", {2, 3, 4}, 10},
  };
  for (const Pinned& c : cases) {
    const auto* f = tc::math::find_scalar_function(c.name);
    ASSERT_NE(f, nullptr) << c.name;
    if (std::string_view(c.name) == "atan2") {
      EXPECT_EQ(call64(*f, c.x), std::acos(-1.0));
      EXPECT_EQ(call32(*f, c.x), std::acos(-1.0f));
      continue;
    }
    expect_same(call64(*f, c.x), c.y, c);
    expect_same(static_cast<double>(call32(*f, c.x)), static_cast<double>(static_cast<float>(c.y)),
                c);
  }
}

TEST(MathSpecialValues, NanStaysNan) {
  // Where IEEE defines a number for a NaN argument, the other argument here does not lead there.
  for (const auto& f : tc::math::scalar_functions()) {
    if (f.returns_bool || f.name == "fmax" || f.name == "fmin") continue;
    for (int position = 0; position < f.arity; ++position) {
      std::vector<double> x(static_cast<std::size_t>(f.arity), 1.5);
      x[static_cast<std::size_t>(position)] = kNan;
      if (f.name == "copysign" && position == 1) continue;
      EXPECT_TRUE(std::isnan(call64(f, x))) << f.name << " argument " << position;
      EXPECT_TRUE(std::isnan(call32(f, x))) << f.name << " argument " << position;
    }
  }
}

TEST(MathSpecialValues, Predicates) {
  EXPECT_TRUE(tc_math_isnan_f32(std::nanf("")));
  EXPECT_FALSE(tc_math_isnan_f32(1));
  EXPECT_TRUE(tc_math_isinf_f64(-kInf));
  EXPECT_FALSE(tc_math_isinf_f64(kNan));
  EXPECT_TRUE(tc_math_isnan_f64(kNan));
  EXPECT_TRUE(tc_math_isinf_f32(std::numeric_limits<float>::infinity()));
}

TEST(MathSpecialValues, FarEndsWithoutUndueOverflow) {
  EXPECT_EQ(tc_math_nextafter_f32(1.0f, 2.0f), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(tc_math_nextafter_f64(0.0, -1.0), -std::numeric_limits<double>::denorm_min());
  EXPECT_DOUBLE_EQ(tc_math_norm3d_f64(1e200, 1e200, 1e200), 1e200 * std::sqrt(3.0));
  EXPECT_FLOAT_EQ(tc_math_norm4d_f32(1e30f, 1e30f, 1e30f, 1e30f), 2e30f);
  EXPECT_NEAR(tc_math_rhypot_f64(1.5e308, 1.5e308) / 4.714045207910317e-309, 1, 1e-12);
  EXPECT_NEAR(tc_math_rnorm3d_f64(3e-305, 0, 4e-305) * 5e-305, 1, 1e-12);
  EXPECT_DOUBLE_EQ(tc_math_erfcx_f64(1e8), 5.6418958354775625e-9);
  EXPECT_DOUBLE_EQ(tc_math_erfcx_f64(1e300) * 1e300, 0.56418958354775629);
  EXPECT_NEAR(tc_math_normcdf_f64(-38.4) / 1.0e-322, 1.3, 1.0);
  EXPECT_GT(tc_math_normcdf_f32(-13.0f), 0.0f);
  EXPECT_NEAR(tc_math_sigmoid_f64(-700) / 9.8596765437597708e-305, 1, 1e-12);
  EXPECT_EQ(tc_math_sinpi_f64(1e15 + 0.5), 1.0);
}

TEST(MathSpecialValues, LgammaFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 1; i < 2000; ++i) {
        const double x = 0.37 * i - (t % 2 ? 400.05 : 0);
        const double first = tc_math_lgamma_f64(x);
        if (first != tc_math_lgamma_f64(x)) ++wrong[t];
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (const int w : wrong)
    EXPECT_EQ(w, 0);
}

}  // namespace
