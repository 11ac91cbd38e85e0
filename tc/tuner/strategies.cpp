// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tc/tuner/strategy.h"

namespace tc::tuner {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Draws in a row that give nothing new before a strategy gives up.
constexpr int kPatience = 2000;

struct Scored {
  double us = kNever;
  Genome genome;
};

/// Best first; equal ones in the order in which they came.
void insert_sorted(std::vector<Scored>& scored, Scored entry) {
  const auto at = std::upper_bound(scored.begin(), scored.end(), entry,
                                   [](const Scored& a, const Scored& b) { return a.us < b.us; });
  scored.insert(at, std::move(entry));
}

class Random final : public Strategy {
public:
  Random(const Space& space, std::vector<Genome> seeds, std::uint64_t seed)
      : proposals_(space, std::move(seeds)), dice_(seed) {}

  std::vector<Genome> propose(std::size_t count) override {
    std::vector<Genome> round;
    for (int failed = 0; round.size() < count && failed < kPatience;) {
      if (auto seed = proposals_.next_seed()) {
        round.push_back(*seed);
        continue;
      }
      Genome genome = proposals_.random(dice_);
      if (proposals_.is_new(genome)) {
        round.push_back(std::move(genome));
        failed = 0;
      } else {
        ++failed;
      }
    }
    return round;
  }
  void report(const Genome&, std::optional<double>) override {}

private:
  Proposals proposals_;
  Dice dice_;
};

class Exhaustive final : public Strategy {
public:
  Exhaustive(const Space& space, std::vector<Genome> seeds)
      : proposals_(space, std::move(seeds)), next_(space.parameters().size(), 0) {}

  std::vector<Genome> propose(std::size_t count) override {
    std::vector<Genome> round;
    while (round.size() < count) {
      if (auto seed = proposals_.next_seed()) {
        round.push_back(*seed);
        continue;
      }
      if (done_) break;
      if (proposals_.is_new(next_)) round.push_back(next_);
      advance();
    }
    return round;
  }
  void report(const Genome&, std::optional<double>) override {}

private:
  void advance() {
    const std::vector<Parameter>& parameters = proposals_.space().parameters();
    for (std::size_t p = parameters.size(); p-- > 0;) {
      if (++next_[p] < static_cast<int>(parameters[p].values.size())) return;
      next_[p] = 0;
    }
    done_ = true;
  }

  Proposals proposals_;
  Genome next_;
  bool done_ = false;
};

class Seeds final : public Strategy {
public:
  Seeds(const Space& space, std::vector<Genome> seeds) : proposals_(space, std::move(seeds)) {}

  std::vector<Genome> propose(std::size_t count) override {
    std::vector<Genome> round;
    while (round.size() < count) {
      auto seed = proposals_.next_seed();
      if (!seed) break;
      round.push_back(std::move(*seed));
    }
    return round;
  }
  void report(const Genome&, std::optional<double>) override {}

private:
  Proposals proposals_;
};

class Evolution final : public Strategy {
public:
  Evolution(const Space& space, std::vector<Genome> seeds, std::uint64_t seed,
            const EvolutionSettings& settings)
      : proposals_(space, std::move(seeds)), dice_(seed), settings_(settings) {}

  std::vector<Genome> propose(std::size_t count) override {
    // A generation is complete before the next one begins, whatever the size of a round.
    if (born_ == settings_.population) next_generation();
    std::vector<Genome> round;
    for (int failed = 0;
         round.size() < count && born_ < settings_.population && failed < kPatience;) {
      std::optional<Genome> genome = first_ ? proposals_.next_seed() : std::nullopt;
      if (!genome) {
        genome = parents_.size() < 2 ? proposals_.random(dice_) : child();
        if (!proposals_.is_new(*genome)) {
          ++failed;
          // A population that has become alike: new blood.
          if (failed % 100 == 0 && !parents_.empty())
            parents_.push_back({kNever, proposals_.random(dice_)});
          continue;
        }
      }
      failed = 0;
      ++born_;
      round.push_back(std::move(*genome));
    }
    return round;
  }

  bool waits() const override { return born_ == settings_.population; }

  void report(const Genome& genome, std::optional<double> us) override {
    insert_sorted(generation_, {us.value_or(kNever), genome});
  }

private:
  void next_generation() {
    first_ = false;
    parents_ = std::move(generation_);
    generation_.clear();
    for (std::size_t e = 0; e < std::min(settings_.elites, parents_.size()); ++e)
      insert_sorted(generation_, parents_[e]);
    born_ = 0;
  }

  const Genome& parent() {
    std::size_t best = dice_.below(parents_.size());
    for (std::size_t i = 1; i < settings_.tournament; ++i)
      best = std::min(best, dice_.below(parents_.size()));
    return parents_[best].genome;
  }

  Genome child() {
    const Genome a = parent();
    const Genome b = parent();
    const std::vector<Parameter>& parameters = proposals_.space().parameters();
    Genome child = a;
    for (std::size_t p = 0; p < child.size(); ++p) {
      if (dice_.below(2) == 0) child[p] = b[p];
      if (dice_.unit() < settings_.mutation)
        child[p] = static_cast<int>(dice_.below(parameters[p].values.size()));
    }
    return child;
  }

  Proposals proposals_;
  Dice dice_;
  EvolutionSettings settings_;
  bool first_ = true;
  std::size_t born_ = 0;                      ///< proposed of the generation that is being measured
  std::vector<Scored> parents_, generation_;  ///< best first
};

class ModelGuided final : public Strategy {
public:
  ModelGuided(const Space& space, std::vector<Genome> seeds, std::uint64_t seed, Model model)
      : proposals_(space, std::move(seeds)), dice_(seed), model_(std::move(model)) {}

  std::vector<Genome> propose(std::size_t count) override {
    std::vector<Genome> round = next_seeds(count);
    const std::size_t near = measured_.empty() ? round.size() : (round.size() + count + 1) / 2;
    if (round.size() < near) add_neighbours(round, near);
    for (int pool = 0; round.size() < count && pool < kPools; ++pool)
      for (Genome& genome : ranked(count - round.size()))
        round.push_back(std::move(genome));
    return round;
  }

  void report(const Genome& genome, std::optional<double> us) override {
    if (us) insert_sorted(measured_, {*us, genome});
  }

private:
  static constexpr std::size_t kBest = 6;
  /// Random candidates that the model chooses one of, and neighbours.
  static constexpr std::size_t kPool = 24;
  static constexpr std::size_t kNeighbours = 6;
  /// Pools drawn for one round before it stays shorter.
  static constexpr int kPools = 4;

  /// What comes to the plan of a seed is not worth a second try.
  std::vector<Genome> next_seeds(std::size_t count) {
    std::vector<Genome> round;
    std::vector<MappingOptions> seeds;
    while (round.size() < count) {
      auto seed = proposals_.next_seed();
      if (!seed) break;
      seeds.push_back(proposals_.space().options(*seed));
      round.push_back(std::move(*seed));
    }
    if (seeds.empty()) return round;
    for (const Appraisal& appraisal : model_.appraise(seeds))
      plans_.insert(appraisal.plan);
    return round;
  }

  void add_neighbours(std::vector<Genome>& round, std::size_t until) {
    if (model_.is_fine) {
      std::vector<Genome> pool;
      for (std::size_t i = 0; i < (until - round.size()) * kNeighbours; ++i)
        pool.push_back(proposals_.neighbour(good_one(), dice_));
      for (Genome& genome : best_of(std::move(pool), until - round.size()))
        round.push_back(std::move(genome));
      return;
    }
    for (int failed = 0; round.size() < until && failed < kPatience; ++failed) {
      Genome genome = proposals_.neighbour(good_one(), dice_);
      if (proposals_.is_new(genome)) round.push_back(std::move(genome));
    }
  }

  /// Those of a pool that the model puts first, new ones only.
  std::vector<Genome> best_of(std::vector<Genome> pool, std::size_t count) {
    std::vector<MappingOptions> candidates;
    std::set<std::string> texts;
    std::erase_if(pool, [&](const Genome& genome) {
      MappingOptions some = proposals_.space().options(genome);
      if (proposals_.space().refusal(some) || proposals_.was_proposed(genome) ||
          !texts.insert(to_json(some)).second)
        return true;
      candidates.push_back(std::move(some));
      return false;
    });
    const std::vector<Appraisal> appraisals = model_.appraise(candidates);
    std::vector<std::size_t> order(pool.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return appraisals[a].us < appraisals[b].us;
    });
    std::vector<Genome> chosen;
    for (const std::size_t i : order) {
      if (chosen.size() == count) break;
      const bool is_new = proposals_.is_new(pool[i]);
      const bool is_possible = appraisals[i].us < kNever;
      const std::uint64_t plan = appraisals[i].plan;
      if (is_new && is_possible && (plan == 0 || plans_.insert(plan).second))
        chosen.push_back(std::move(pool[i]));
    }
    return chosen;
  }

  /// One of the best, the better the likelier.
  const Genome& good_one() {
    const std::size_t most = std::min(kBest, measured_.size());
    return measured_[std::min(dice_.below(most), dice_.below(most))].genome;
  }

  /// Half of the pool are random ones, half are far neighbours of good ones.
  std::vector<Genome> ranked(std::size_t count) {
    std::vector<Genome> pool;
    for (std::size_t i = 0; i < count * kPool; ++i) {
      pool.push_back(proposals_.random(dice_));
      if (measured_.empty() || i % 2 != 0) continue;
      const Genome& good = good_one();
      for (std::size_t p = 0; p < good.size(); ++p)
        if (dice_.below(3) != 0) pool.back()[p] = good[p];
    }
    return best_of(std::move(pool), count);
  }

  Proposals proposals_;
  Dice dice_;
  Model model_;
  std::vector<Scored> measured_;   ///< best first
  std::set<std::uint64_t> plans_;  ///< of what was proposed, as far as they are known
};

}  // namespace

bool Proposals::is_new(const Genome& genome) {
  const MappingOptions options = space_.options(genome);
  return !space_.refusal(options) && seen_.insert(to_json(options)).second;
}

bool Proposals::was_proposed(const Genome& genome) const {
  return seen_.contains(to_json(space_.options(genome)));
}

std::optional<Genome> Proposals::next_seed() {
  while (next_seed_ < seeds_.size()) {
    const Genome& seed = seeds_[next_seed_++];
    // What the user asks for is tried whatever the filters think.
    if (seen_.insert(to_json(space_.options(seed))).second) return seed;
  }
  return std::nullopt;
}

Genome Proposals::random(Dice& dice) const {
  Genome genome;
  for (const Parameter& parameter : space_.parameters())
    genome.push_back(static_cast<int>(dice.below(parameter.values.size())));
  return genome;
}

Genome Proposals::neighbour(const Genome& genome, Dice& dice) const {
  constexpr std::size_t kFar = 3;
  Genome result = genome;
  if (result.empty()) return result;
  const std::size_t changes = 1 + dice.below(2);
  for (std::size_t c = 0; c < changes; ++c) {
    const std::size_t p = dice.below(result.size());
    const Parameter& parameter = space_.parameters()[p];
    const int last = static_cast<int>(parameter.values.size()) - 1;
    if (parameter.enabled_by >= 0) result[static_cast<std::size_t>(parameter.enabled_by)] = 1;
    if (!parameter.is_ordered) {
      result[p] = static_cast<int>(dice.below(parameter.values.size()));
      continue;
    }
    const int step = 1 + static_cast<int>(dice.below(kFar));
    result[p] = std::clamp(result[p] + (dice.below(2) == 0 ? step : -step), 0, last);
  }
  return result;
}

std::unique_ptr<Strategy> random_search(const Space& space, std::vector<Genome> seeds,
                                        std::uint64_t seed) {
  return std::make_unique<Random>(space, std::move(seeds), seed);
}

std::unique_ptr<Strategy> exhaustive_search(const Space& space, std::vector<Genome> seeds) {
  return std::make_unique<Exhaustive>(space, std::move(seeds));
}

std::unique_ptr<Strategy> seeds_search(const Space& space, std::vector<Genome> seeds) {
  return std::make_unique<Seeds>(space, std::move(seeds));
}

std::unique_ptr<Strategy> evolutionary_search(const Space& space, std::vector<Genome> seeds,
                                              std::uint64_t seed,
                                              const EvolutionSettings& settings) {
  return std::make_unique<Evolution>(space, std::move(seeds), seed, settings);
}

std::unique_ptr<Strategy> model_search(const Space& space, std::vector<Genome> seeds,
                                       std::uint64_t seed, Model model) {
  return std::make_unique<ModelGuided>(space, std::move(seeds), seed, std::move(model));
}

}  // namespace tc::tuner
