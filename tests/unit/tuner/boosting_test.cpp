// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/boosting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "example_space.h"
#include "tc/tuner/model.h"

namespace tc::tuner {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class BoostingTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::vector<std::string> packages;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(environment("TC_TEST_VENV") + "/lib", error))
      packages.push_back((entry.path() / "site-packages").string());
    auto opened = open_lightgbm(environment("TC_LIGHTGBM"), packages);
    if (!opened) GTEST_SKIP() << opened.error();
    regressor_ = *opened;
    for (int i = 0; i < 60; ++i) {
      const double x = i % 10, y = i / 10;
      samples_.push_back({x, y, 1});
      values_.push_back(std::fabs(x - 6) + 2 * y);
    }
  }

  std::shared_ptr<const Regressor> regressor_;
  std::vector<std::vector<double>> samples_;
  std::vector<double> values_;
};

TEST_F(BoostingTest, RanksWhatItHasSeen) {
  const std::vector<double> predicted = regressor_->predict(samples_, values_, samples_);
  ASSERT_EQ(predicted.size(), samples_.size());
  int right = 0, pairs = 0;
  for (std::size_t a = 0; a < samples_.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (std::fabs(values_[a] - values_[b]) < 2) continue;
      ++pairs;
      right += (predicted[a] < predicted[b]) == (values_[a] < values_[b]);
    }
  }
  EXPECT_GT(right, pairs * 9 / 10);
}

TEST_F(BoostingTest, TheSameSamplesGiveTheSamePredictions) {
  EXPECT_EQ(regressor_->predict(samples_, values_, samples_),
            regressor_->predict(samples_, values_, samples_));
}

TEST_F(BoostingTest, FewOrConstantSamplesArePredictedWithoutFailure) {
  EXPECT_EQ(regressor_->predict({{1, 2, 3}}, {5}, {{1, 2, 3}}).size(), 1u);
  EXPECT_EQ(regressor_->predict({{1, 2}, {1, 2}}, {5, 5}, {{1, 2}, {3, 4}}).size(), 2u);
  EXPECT_TRUE(regressor_->predict({}, {}, {{1, 2, 3}}).empty());
}

TEST(OpenLightgbm, WhatIsNotThereIsNamed) {
  const auto missing = open_lightgbm("/nonexistent/lib_lightgbm.so", {});
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().find("/nonexistent"), std::string::npos);
  const auto other = open_lightgbm("libm.so.6", {});
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().find("not the C interface"), std::string::npos);
}

TEST(Features, OfOneProgramHaveOneLength) {
  const Facts facts = facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}});
  MappingOptions some;
  some.tile = {16, 32};
  some.register_rows = 6;
  const std::vector<double> a = appraise(facts, {}).features, b = appraise(facts, some).features;
  EXPECT_EQ(a.size(), b.size());
  EXPECT_NE(a, b);
  for (const double value : b)
    EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace tc::tuner
