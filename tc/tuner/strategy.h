// SPDX-License-Identifier: Apache-2.0
//
// How a search goes through a space: strategies propose candidates in rounds and hear how they did.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tc/tuner/appraisal.h"
#include "tc/tuner/space.h"

namespace tc::tuner {

/// The same seed and the same outcomes give the same candidates, on every machine.
class Strategy {
public:
  virtual ~Strategy() = default;

  /// Up to `count` genomes whose options were not proposed before; none: the space is exhausted as
  /// far as the strategy can tell.
  virtual std::vector<Genome> propose(std::size_t count) = 0;
  /// Whether the next proposal needs the reports of all candidates that were proposed.
  virtual bool waits() const { return false; }
  /// How a proposed candidate did: its time in µs, or nullopt if it has none. Each once, in the
  /// order in which they were proposed.
  virtual void report(const Genome& genome, std::optional<double> median_us) = 0;
};

/// Uniform numbers from an engine's bits; the distributions of the standard library differ between
/// implementations.
class Dice {
public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

private:
  std::mt19937_64 engine_;
};

/// What the strategies share: the space, which options were proposed, the seeds first.
class Proposals {
public:
  Proposals(const Space& space, std::vector<Genome> seeds)
      : space_(space), seeds_(std::move(seeds)) {}

  const Space& space() const { return space_; }
  /// True the first time for options that the space does not refuse.
  bool is_new(const Genome& genome);
  bool was_proposed(const Genome& genome) const;
  /// The next seed that is new.
  std::optional<Genome> next_seed();
  Genome random(Dice& dice) const;
  /// One or two parameters changed, ordered ones by a few places.
  Genome neighbour(const Genome& genome, Dice& dice) const;

private:
  const Space& space_;
  std::vector<Genome> seeds_;
  std::size_t next_seed_ = 0;
  std::set<std::string> seen_;
};

/// Uniformly at random.
std::unique_ptr<Strategy> random_search(const Space& space, std::vector<Genome> seeds,
                                        std::uint64_t seed);
/// Every combination, the seeds first.
std::unique_ptr<Strategy> exhaustive_search(const Space& space, std::vector<Genome> seeds);
/// The seeds and nothing else.
std::unique_ptr<Strategy> seeds_search(const Space& space, std::vector<Genome> seeds);

struct EvolutionSettings {
  std::size_t population = 24;
  std::size_t elites = 4;      ///< kept from one generation to the next
  std::size_t tournament = 3;  ///< parents are the best of so many
  double mutation = 0.15;      ///< of each parameter
};
/// A population evolves by crossover and mutation; the elites stay.
std::unique_ptr<Strategy> evolutionary_search(const Space& space, std::vector<Genome> seeds,
                                              std::uint64_t seed,
                                              const EvolutionSettings& settings = {});

/// What a model-guided search knows before it measures.
struct Model {
  Appraise appraise;
  /// Whether it tells neighbours apart: then they are ranked too.
  bool is_fine = false;
};
/// Half of each round are neighbours of the best ones measured; the other half are those of a
/// random pool that the model ranks first. Options that the model says cannot be mapped, or that
/// come to a plan proposed before, are left out.
std::unique_ptr<Strategy> model_search(const Space& space, std::vector<Genome> seeds,
                                       std::uint64_t seed, Model model);

}  // namespace tc::tuner
