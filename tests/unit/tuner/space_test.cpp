// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/space.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "example_space.h"
#include "tc/tuner/model.h"

namespace tc::tuner {
namespace {

const Parameter* find(const Space& space, const std::string& field, int element = -1) {
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.field == field && parameter.element == element) return &parameter;
  }
  return nullptr;
}

bool holds(const Parameter* parameter, std::int64_t value) {
  return parameter != nullptr && std::find(parameter->values.begin(), parameter->values.end(),
                                           value) != parameter->values.end();
}

TEST(Facts, BandProductsAndReductions) {
  const Facts facts = facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}});
  ASSERT_EQ(facts.band.size(), 2u);
  EXPECT_EQ(facts.band[0].extent, 130);
  EXPECT_EQ(facts.band[1].extent, 70);
  EXPECT_TRUE(facts.has_product);
  EXPECT_TRUE(facts.has_reduction);
  EXPECT_FALSE(facts.has_temporary);
  EXPECT_EQ(facts.longest_reduction, 300);
  const Facts chain = facts_of(kChain, {{"M", 40}, {"N", 50}});
  EXPECT_TRUE(chain.has_temporary);
  EXPECT_FALSE(chain.has_product);
}

TEST(Space, EveryFieldOfTheSchemaIsSearchedOrSemantics) {
  std::vector<std::string> semantics;
  for_each_field([&](const auto& field) {
    if (!is_searched(field.name)) semantics.emplace_back(field.name);
  });
  // A new option is one or the other: decide in space.cpp.
  EXPECT_EQ(semantics, (std::vector<std::string>{"bounds", "deterministic", "fast_math"}));
}

TEST(Space, ParametersFollowFromTheProgram) {
  const Space matmul(facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}}), {}, {}, {});
  EXPECT_TRUE(holds(find(matmul, "contract_block_k"), 256));
  EXPECT_TRUE(holds(find(matmul, "split_reduction"), 8));
  EXPECT_EQ(find(matmul, "local_bytes"), nullptr);
  EXPECT_EQ(find(matmul, "threads"), nullptr) << "no option of a CPU";
  EXPECT_TRUE(holds(find(matmul, "tile", 0), 65)) << "a divisor";
  EXPECT_TRUE(holds(find(matmul, "tile", 1), 64)) << "a power of two";
  EXPECT_TRUE(holds(find(matmul, "tile", 1), 48)) << "a multiple of 16 lanes";
  EXPECT_TRUE(holds(find(matmul, "tile", 1), 0)) << "the whole";
  const Space chain(facts_of(kChain, {{"M", 40}, {"N", 50}}), {}, {}, {});
  EXPECT_EQ(find(chain, "contract_block_k"), nullptr);
  EXPECT_NE(find(chain, "local_bytes"), nullptr);
  EXPECT_NE(find(chain, "fusion"), nullptr);
}

TEST(Space, RegisterTilesWhereTheyChangeTheCode) {
  constexpr const char* kDistances =
      "def f(float(M,N) A, float(M,N) B) -> (C) { C(i,j) +=! fabs(A(i,r_k) - B(j,r_k)) }";
  constexpr const char* kRowMaximum =
      "def f(float(M,N) A, float(M,N) B) -> (C) { C(i) max=! A(i,r_k) + B(i,r_k) }";
  const Facts matmul = facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}});
  const Facts chain = facts_of(kChain, {{"M", 40}, {"N", 50}});
  const Facts distances = facts_of(kDistances, {{"M", 40}, {"N", 50}});
  const Facts maximum = facts_of(kRowMaximum, {{"M", 40}, {"N", 50}});
  // A group that is not the heaviest one has the sums that share.
  const Facts both =
      facts_of("def f(float(M,N) A, float(M,N) B) -> (S, C) { S(i) max=! A(i,r_k) + B(i,r_k)\n"
               "C(a) +=! fabs(A(r_i,a) - B(r_i,0)) }",
               {{"M", 20}, {"N", 30}});
  const auto values = [](Facts facts, TargetKind kind, const char* field) {
    facts.target.kind = kind;
    const Space space(facts, {}, {}, {});
    const Parameter* found = find(space, field);
    return found == nullptr ? std::vector<std::int64_t>{} : found->values;
  };
  const auto rows = [&](const Facts& facts) {
    return values(facts, TargetKind::Cpu, "register_rows").size();
  };
  EXPECT_EQ(rows(matmul), 16u);
  EXPECT_EQ(rows(distances), 16u) << "no product, but elements are read for several sums";
  EXPECT_EQ(rows(maximum), 0u) << "no sum shares what it reads";
  EXPECT_EQ(rows(chain), 0u);
  ASSERT_EQ(both.all_statements, 2u);
  EXPECT_EQ(rows(both), 16u);
  for (const Facts& facts : {matmul, chain, distances, maximum}) {
    EXPECT_EQ(values(facts, TargetKind::Cuda, "register_rows"), (std::vector<std::int64_t>{0, 1}));
    EXPECT_FALSE(values(facts, TargetKind::Cpu, "register_vectors").empty());
  }
  EXPECT_EQ(values(matmul, TargetKind::Cuda, "register_vectors").size(), 7u);
  EXPECT_TRUE(values(chain, TargetKind::Cuda, "register_vectors").empty());
  EXPECT_TRUE(values(distances, TargetKind::Cuda, "register_vectors").empty());
}

TEST(Space, DepthsOfPanelsOnTensorCores) {
  Facts facts = facts_of(kMatmul, {{"M", 256}, {"N", 192}, {"K", 100}});
  facts.target = *cuda_target("sm_90a");
  EXPECT_EQ(find(Space(facts, {}, {}, {}), "contract_block_k"), nullptr) << "float32";
  for (StatementFacts& statement : facts.statements)
    for (AccessFacts& access : statement.accesses)
      if (!access.is_write) access.element_bits = 16;
  const Space space(facts, {}, {}, {});
  const Parameter* depth = find(space, "contract_block_k");
  ASSERT_NE(depth, nullptr);
  EXPECT_EQ(depth->values, (std::vector<std::int64_t>{0, 16, 32, 64}));
  EXPECT_TRUE(holds(find(space, "tile", 0), 64) && holds(find(space, "tile", 0), 128)) << "blocks";
  EXPECT_TRUE(holds(find(space, "tile", 1), 64) && holds(find(space, "tile", 1), 96)) << "columns";
  EXPECT_TRUE(holds(find(space, "threads"), 128) && holds(find(space, "threads"), 384)) << "groups";
}

TEST(Space, GenomesAndOptionsAreTheSame) {
  const Space space(facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}}), {}, {}, {});
  Dice dice(7);
  Proposals proposals(space, {});
  for (int i = 0; i < 200; ++i) {
    const Genome genome = proposals.random(dice);
    const MappingOptions options = space.options(genome);
    EXPECT_EQ(validate(options), "");
    const std::optional<Genome> back = space.genome(options);
    ASSERT_TRUE(back.has_value()) << to_json(options);
    EXPECT_EQ(space.options(*back), options);
  }
}

TEST(Space, FixedFieldsStay) {
  MappingOptions base;
  base.tasks = 5;
  base.fast_math = true;
  base.tile = {16, 16};
  const Space space(facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}}), base, {"tasks", "tile"},
                    {});
  EXPECT_EQ(find(space, "tasks"), nullptr);
  EXPECT_EQ(find(space, "tile", 0), nullptr);
  Dice dice(7);
  for (int i = 0; i < 50; ++i) {
    const MappingOptions options = space.options(Proposals(space, {}).random(dice));
    EXPECT_EQ(options.tasks, 5);
    EXPECT_TRUE(options.fast_math);
    EXPECT_EQ(options.tile, base.tile);
  }
}

TEST(Space, SeedsBringTheirValues) {
  MappingOptions odd;
  odd.tile = {37, 11};
  odd.register_rows = 9;
  odd.tasks = 12345;
  odd.contract_block_k = 77;
  const Facts facts = facts_of(kMatmul, {{"M", 130}, {"N", 70}, {"K", 300}});
  EXPECT_FALSE(Space(facts, {}, {}, {}).genome(odd).has_value());
  const Space space(facts, {}, {}, {odd});
  const std::optional<Genome> genome = space.genome(odd);
  ASSERT_TRUE(genome.has_value());
  EXPECT_EQ(space.options(*genome), odd);
}

TEST(Space, NumbersBeyondTheTargetAreRefused) {
  const Space space(facts_of(kMatmul, {{"M", 4096}, {"N", 4096}, {"K", 8}}), {}, {}, {});
  const auto kind = [&](const MappingOptions& options) {
    const std::optional<Rejection> refusal = space.refusal(options);
    return refusal ? std::optional(refusal->kind) : std::nullopt;
  };
  EXPECT_EQ(kind({}), std::nullopt);
  MappingOptions registers;
  registers.register_rows = 16;
  registers.register_vectors = 8;
  EXPECT_EQ(kind(registers), RejectionKind::RegisterOverflow);
  MappingOptions threads;
  threads.threads = 4096;
  EXPECT_EQ(kind(threads), RejectionKind::TooManyThreads);
  MappingOptions tasks;
  tasks.tile = {1, 1};
  EXPECT_EQ(kind(tasks), RejectionKind::TooManyThreads);
}

TEST(Model, RanksWholeLinesAndBusyCoresFirst) {
  const Facts facts = facts_of(kChain, {{"M", 2048}, {"N", 2048}});
  const auto cost = [&](std::vector<std::int64_t> tile) {
    MappingOptions options;
    options.tile = std::move(tile);
    return estimate(facts, options);
  };
  EXPECT_LT(cost({64, 0}), cost({0, 0})) << "one task keeps one core busy";
  EXPECT_LT(cost({64, 256}), cost({256, 1})) << "columns waste lines";
  EXPECT_LT(cost({64, 256}), cost({1, 1})) << "tasks cost";
  const Facts product = facts_of(kMatmul, {{"M", 2048}, {"N", 2048}, {"K", 256}});
  MappingOptions tall, square;
  tall.tile = square.tile = {256, 256};
  tall.register_rows = 1;
  tall.register_vectors = 1;
  square.register_rows = 12;
  square.register_vectors = 2;
  EXPECT_LT(estimate(product, square), estimate(product, tall));
}

}  // namespace
}  // namespace tc::tuner
