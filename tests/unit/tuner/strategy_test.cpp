// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/strategy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "example_space.h"

namespace tc::tuner {
namespace {

class StrategyTest : public ::testing::Test {
protected:
  /// A time that has its minimum inside the space, with a failure here and there.
  static std::optional<double> time_of(const MappingOptions& options) {
    if (options.tasks == 1) return std::nullopt;
    const double rows =
        options.tile.empty() || options.tile[0] == 0 ? 130 : static_cast<double>(options.tile[0]);
    const double columns =
        options.tile.size() < 2 || options.tile[1] == 0 ? 70 : static_cast<double>(options.tile[1]);
    return 10 + 4 * std::fabs(std::log2(rows / 32)) + 3 * std::fabs(std::log2(columns / 48)) +
           std::fabs(static_cast<double>(options.register_rows) - 12) + (options.stage ? 0 : 5) +
           (options.split_reduction > 1 ? 4 : 0);
  }

  /// The options proposed, in order.
  std::vector<std::string> run(Strategy& strategy, std::size_t trials, double* best = nullptr) {
    std::vector<std::string> sequence;
    if (best != nullptr) *best = INFINITY;
    while (sequence.size() < trials) {
      const std::vector<Genome> round =
          strategy.propose(std::min<std::size_t>(8, trials - sequence.size()));
      if (round.empty()) break;
      for (const Genome& genome : round) {
        const MappingOptions options = space_.options(genome);
        sequence.push_back(to_json(options));
        const std::optional<double> time = time_of(options);
        if (best != nullptr && time) *best = std::min(*best, *time);
        strategy.report(genome, time);
      }
    }
    return sequence;
  }

  std::vector<Genome> seeds() const { return {*space_.genome({})}; }
  static Model model_of(std::function<double(const MappingOptions&)> estimate,
                        bool is_fine = false) {
    return {[estimate](const std::vector<MappingOptions>& candidates) {
              std::vector<Appraisal> appraisals;
              for (const MappingOptions& options : candidates)
                appraisals.push_back({estimate(options), 0});
              return appraisals;
            },
            is_fine};
  }
  static Model rough() {
    return model_of([](const MappingOptions& options) { return options.stage ? 1.0 : 2.0; });
  }

  const Facts facts_ = facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}});
  const Space space_{facts_, {}, {}, {}};
};

TEST_F(StrategyTest, SeedFirstNothingTwiceAndTheSameSequence) {
  const auto make = [&](int which, std::uint64_t seed) {
    return which == 0   ? random_search(space_, seeds(), seed)
           : which == 1 ? evolutionary_search(space_, seeds(), seed)
                        : model_search(space_, seeds(), seed, rough());
  };
  for (int which = 0; which < 3; ++which) {
    const std::vector<std::string> first = run(*make(which, 3), 120);
    EXPECT_EQ(first.size(), 120u) << which;
    EXPECT_EQ(first.front(), to_json(MappingOptions())) << which;
    EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), first.size()) << which;
    EXPECT_EQ(run(*make(which, 3), 120), first) << which;
    EXPECT_NE(run(*make(which, 4), 120), first) << which;
  }
}

TEST_F(StrategyTest, ThoseThatLearnDoBetterThanChance) {
  double by_chance = 0, evolved = 0, guided = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    double best = 0;
    run(*random_search(space_, seeds(), seed), 150, &best);
    by_chance += best;
    run(*evolutionary_search(space_, seeds(), seed), 150, &best);
    evolved += best;
    run(*model_search(space_, seeds(), seed, rough()), 150, &best);
    guided += best;
  }
  EXPECT_LT(evolved, by_chance);
  EXPECT_LT(guided, by_chance);
}

TEST_F(StrategyTest, AFineModelRanksNeighboursToo) {
  const auto nearly = [](const MappingOptions& options) { return time_of(options).value_or(1e9); };
  double fine = 0, coarse = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    double best = 0;
    run(*model_search(space_, seeds(), seed, model_of(nearly, true)), 40, &best);
    fine += best;
    run(*model_search(space_, seeds(), seed, model_of(nearly, false)), 40, &best);
    coarse += best;
  }
  EXPECT_LT(fine, coarse);
}

TEST_F(StrategyTest, OnePlanIsTriedOnceAndTheImpossibleNever) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  // Options come to one plan for each number of rows; three rows cannot be mapped.
  const auto plan_of = [](const MappingOptions& options) {
    return static_cast<std::uint64_t>(options.register_rows + 1);
  };
  const Model model{[&](const std::vector<MappingOptions>& candidates) {
                      std::vector<Appraisal> appraisals;
                      for (const MappingOptions& options : candidates) {
                        const bool is_possible = options.register_rows != 3;
                        appraisals.push_back(
                            {is_possible ? 1.0 : kNever, is_possible ? plan_of(options) : 0});
                      }
                      return appraisals;
                    },
                    true};
  std::set<std::uint64_t> plans;
  std::size_t proposed = 0;
  const auto strategy = model_search(space_, seeds(), 1, model);
  for (int round = 0; round < 30; ++round) {
    for (const Genome& genome : strategy->propose(8)) {
      const MappingOptions options = space_.options(genome);
      EXPECT_NE(options.register_rows, 3);
      plans.insert(plan_of(options));
      ++proposed;
      strategy->report(genome, time_of(options));
    }
  }
  EXPECT_EQ(plans.size(), proposed);
  EXPECT_GT(proposed, 8u);
}

TEST_F(StrategyTest, ExhaustiveVisitsEverythingOnce) {
  MappingOptions base;
  const Space small(
      facts_, base,
      {"tile", "register_rows", "register_vectors", "contract_block_k", "tasks", "split_reduction"},
      {});
  const auto strategy = exhaustive_search(small, {});
  std::set<std::string> seen;
  std::size_t proposed = 0;
  for (;;) {
    const std::vector<Genome> round = strategy->propose(3);
    if (round.empty()) break;
    for (const Genome& genome : round) {
      ++proposed;
      seen.insert(to_json(small.options(genome)));
      strategy->report(genome, 1.0);
    }
  }
  EXPECT_EQ(proposed, seen.size());
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), small.size());
  EXPECT_GT(seen.size(), 4u);
}

TEST_F(StrategyTest, SmallSpacesEnd) {
  const Space one(facts_, {},
                  {"tile", "register_rows", "register_vectors", "contract_block_k", "tasks",
                   "split_reduction", "vector_bits", "stage", "fusion"},
                  {});
  EXPECT_EQ(one.size(), 1);
  const std::vector<Genome> seed = {*one.genome({})};
  for (const auto& strategy : {random_search(one, seed, 1), evolutionary_search(one, seed, 1),
                               model_search(one, seed, 1, rough()), exhaustive_search(one, seed)}) {
    ASSERT_EQ(strategy->propose(8).size(), 1u);
    strategy->report(seed.front(), 1.0);
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(strategy->propose(8).empty());
  }
}

}  // namespace
}  // namespace tc::tuner
