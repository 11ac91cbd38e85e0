// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/gpu_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "example_space.h"
#include "tc/tuner/gpu_appraiser.h"

namespace tc::tuner {
namespace {

const Target& h200() {
  static const Target target = *cuda_target("sm_90a");
  return target;
}

compiler::FrontEnd front_of(const std::string& text,
                            std::vector<std::vector<std::int64_t>> shapes) {
  Metadata metadata;
  for (std::vector<std::int64_t>& shape : shapes)
    metadata.inputs.push_back({DType::Float32, std::move(shape), {}, 256});
  const SourceBuffer source("<text>", text);
  Result<compiler::FrontEnd, Failure> front =
      compiler::front_end(source, "f", metadata, compiler::fresh_alignment(h200()));
  EXPECT_TRUE(front.has_value());
  return std::move(front).value();
}

TEST(GpuModel, StagedTilesOfAProductBeforeSingleElements) {
  const compiler::FrontEnd front = front_of(kMatmul, {{1024, 1024}, {1024, 1024}});
  const Appraisal standard = appraise_on_gpu(front, {}, h200());
  MappingOptions naive;
  naive.stage = false;
  naive.register_rows = 1;
  naive.tile = {16, 16};
  MappingOptions one_block;
  one_block.tile = {0, 0};
  EXPECT_LT(standard.us, appraise_on_gpu(front, naive, h200()).us);
  EXPECT_LT(10 * standard.us, appraise_on_gpu(front, one_block, h200()).us)
      << "131 multiprocessors have nothing to do";
}

TEST(GpuModel, AStreamTakesWhatMemoryGives) {
  const compiler::FrontEnd front = front_of(kChain, {{8192, 8192}, {8192, 8192}});
  // 3 x 256 MB at 4.2 TB/s.
  EXPECT_NEAR(appraise_on_gpu(front, {}, h200()).us, 190, 60);
}

TEST(GpuModel, ColumnsThatNeighboursDoNotShareCost) {
  const std::string text = "def f(float(M,N) A) -> (B) { B(m,n) = A(m,n) }";
  const compiler::FrontEnd front = front_of(text, {{4096, 4096}});
  MappingOptions rows, columns;
  rows.tile = {1, 256};
  columns.tile = {256, 1};
  EXPECT_LT(1.5 * appraise_on_gpu(front, rows, h200()).us,
            appraise_on_gpu(front, columns, h200()).us);
}

TEST(GpuModel, LaunchesInALoopAddUp) {
  const auto text = [](int rounds) {
    return "def f(float(N) x) -> (y) {\n  y(i) = x(i)\n  for t in 0:" + std::to_string(rounds) +
           " { y(i) = y(i) * 0.5 + x(i) }\n}";
  };
  const double few = appraise_on_gpu(front_of(text(10), {{1 << 20}}), {}, h200()).us;
  const double many = appraise_on_gpu(front_of(text(40), {{1 << 20}}), {}, h200()).us;
  EXPECT_GT(many, 3 * few);
  EXPECT_LT(many, 5 * few);
}

TEST(GpuModel, OnePlanHasOneHash) {
  const compiler::FrontEnd front = front_of(kMatmul, {{130, 300}, {300, 70}});
  MappingOptions same, other;
  same.tasks = 0;
  same.contract_block_k = 0;
  same.tile = {};
  same.vector_bits = 128;  // what is not 1 means 16 bytes
  other.threads = 64;
  const Appraisal a = appraise_on_gpu(front, {}, h200());
  const Appraisal b = appraise_on_gpu(front, same, h200());
  const Appraisal c = appraise_on_gpu(front, other, h200());
  EXPECT_NE(a.plan, 0u);
  EXPECT_EQ(a.plan, b.plan);
  EXPECT_EQ(a.us, b.us);
  EXPECT_NE(a.plan, c.plan);
}

TEST(GpuModel, WhatCannotBeMappedHasNoPlan) {
  const compiler::FrontEnd front = front_of(kMatmul, {{64, 64}, {64, 64}});
  MappingOptions impossible;
  impossible.threads = 4096;
  const Appraisal appraisal = appraise_on_gpu(front, impossible, h200());
  EXPECT_TRUE(std::isinf(appraisal.us));
  EXPECT_EQ(appraisal.plan, 0u);
}

TEST(GpuModel, EmptyAndTinyGridsAreFinite) {
  for (const std::int64_t size : {0, 1, 3}) {
    const double us =
        appraise_on_gpu(front_of(kMatmul, {{size, size}, {size, size}}), {}, h200()).us;
    EXPECT_TRUE(std::isfinite(us)) << size;
    EXPECT_GE(us, 0) << size;
  }
}

/// Workers are a shell that answers with the id of the job as estimate, and ends at job 2.
class GpuAppraiserTest : public ::testing::Test {
protected:
  static WorkerProgram program() {
    return {"/bin/sh",
            {"-c", R"(read setup; while read job; do
  id=$(expr "$job" : '.*"id":\([0-9]*\)')
  test $id = 2 && kill -SEGV $$
  printf '{"id":%d,"outcome":"measured","reason":"","detail":"","median_us":%d,"samples":0,"verification":"","code":7}\n' $id $id
done)"},
            {}};
  }
};

TEST_F(GpuAppraiserTest, AnswersInOrderAndACrashCostsOneCandidate) {
  GpuAppraiser appraiser(program(), {}, 3, 60);
  int meanwhile = 0;
  appraiser.set_meanwhile([&] { return ++meanwhile > 0; });
  std::vector<MappingOptions> candidates(5);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    candidates[i].threads = 32 * static_cast<std::int64_t>(i + 1);
  candidates.push_back(candidates[1]);
  const std::vector<Appraisal> found = appraiser.appraise(candidates);
  ASSERT_EQ(found.size(), 6u);
  for (const std::size_t i : {0, 1, 3, 4})
    EXPECT_EQ(found[i].us, static_cast<double>(i));
  EXPECT_TRUE(std::isinf(found[2].us));
  EXPECT_EQ(found[5].us, found[1].us) << "asked once";
  EXPECT_GT(meanwhile, 0);
  // Known ones cost nothing: the second call starts with job 0 for what is new.
  EXPECT_EQ(appraiser.appraise({candidates[4], candidates[3]})[0].us, 4);
}

TEST_F(GpuAppraiserTest, WithoutWorkersAllIsAlike) {
  GpuAppraiser appraiser({"/nonexistent", {}, {}}, {}, 2, 60);
  for (const Appraisal& appraisal : appraiser.appraise(std::vector<MappingOptions>(3)))
    EXPECT_EQ(appraisal.us, 0);
}

TEST_F(GpuAppraiserTest, OneThatTakesTooLongCannotBeMapped) {
  GpuAppraiser appraiser({"/bin/sh", {"-c", "read setup; read job; sleep 600"}, {}}, {}, 2, 0.2);
  EXPECT_TRUE(std::isinf(appraiser.appraise({MappingOptions()})[0].us));
}

TEST_F(GpuAppraiserTest, NobodyIsWaitedForOnceTheSearchIsOver) {
  GpuAppraiser appraiser({"/bin/sh", {"-c", "read setup; read job; sleep 600"}, {}}, {}, 2,
                         std::numeric_limits<double>::max());
  int calls = 0;
  appraiser.set_meanwhile([&] { return ++calls < 3; });
  const std::vector<Appraisal> found = appraiser.appraise(std::vector<MappingOptions>(1));
  EXPECT_EQ(found[0].us, 0) << "nothing is known of it";
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace tc::tuner
