// SPDX-License-Identifier: Apache-2.0
//
// tc/program.h: what texts declare, what calls would return, defs with a batch index.
#include "tc/program.h"

#include <gtest/gtest.h>

namespace tc {
namespace {

using Names = std::vector<std::string>;

TensorMeta floats(std::vector<std::int64_t> sizes) {
  return {DType::Float32, std::move(sizes), {}, 4};
}

constexpr const char* kText = R"(
def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }
def scale(const float a, half(N) x, int32(N) i, float s) -> (y, float(N) x2) {
  y(n) = a * float(x(n)) + s where exists i(n)
  x2(n) = 0 where n in 0:N
}
def update(float(N) x, float(N) y) -> (y) { y(n) = y(n) + x(n) }
def pairs(float(2*N) x) -> (y) { y(i,j) = x(2 * i + j) where i in 0:N, j in 0:2 }
)";

TEST(Describe, ListsDefsInTheirOrder) {
  const auto defs = describe(kText);
  ASSERT_TRUE(defs.has_value()) << defs.error().message;
  ASSERT_EQ(defs->size(), 4U);
  const DefInfo& matmul = (*defs)[0];
  EXPECT_EQ(matmul.name, "matmul");
  EXPECT_EQ(matmul.sizes, (Names{"M", "K", "N"}));
  ASSERT_EQ(matmul.parameters.size(), 2U);
  EXPECT_EQ(matmul.parameters[1].name, "B");
  EXPECT_EQ(matmul.parameters[1].dims, (Names{"K", "N"}));
  ASSERT_EQ(matmul.results.size(), 1U);
  EXPECT_EQ(matmul.results[0].name, "C");
  EXPECT_EQ(matmul.results[0].rank, 2);
  EXPECT_EQ(matmul.results[0].in_place_of, -1);
  EXPECT_FALSE(matmul.results[0].needs_initial);
  EXPECT_EQ(matmul.results[0].dims, (Names{"M", "N"}));
}

TEST(Describe, TellsTypesConstsScalarsAndSizes) {
  const auto defs = describe(kText);
  ASSERT_TRUE(defs.has_value());
  const DefInfo& scale = (*defs)[1];
  ASSERT_EQ(scale.parameters.size(), 4U);
  EXPECT_TRUE(scale.parameters[0].is_const);
  EXPECT_EQ(scale.parameters[1].type, DType::Float16);
  EXPECT_EQ(scale.parameters[2].type, DType::Int32);
  EXPECT_FALSE(scale.parameters[3].is_const);
  EXPECT_TRUE(scale.parameters[3].dims.empty());
  ASSERT_EQ(scale.results.size(), 2U);
  EXPECT_EQ(scale.results[0].dims, Names{"N"});
  const DefInfo& pairs = (*defs)[3];
  EXPECT_EQ(pairs.parameters[0].dims, (Names{"2 * N"}));
  EXPECT_EQ(pairs.sizes, Names{"N"});
  EXPECT_EQ(pairs.results[0].rank, 2);
}

TEST(Describe, CountsTensorParametersForUpdates) {
  const auto defs = describe(kText);
  ASSERT_TRUE(defs.has_value());
  EXPECT_EQ((*defs)[2].results[0].in_place_of, 1);
  const auto after_const = describe("def f(const float a, float(N) y) -> (y) { y(n) = a * y(n) }");
  ASSERT_TRUE(after_const.has_value());
  EXPECT_EQ((*after_const)[0].results[0].in_place_of, 0);
}

TEST(Describe, KnowsWhatTheCallerMustFill) {
  const auto defs = describe("def f(float(N,K) x) -> (s) { s(n) += x(n,r_k) }");
  ASSERT_TRUE(defs.has_value());
  EXPECT_TRUE((*defs)[0].results[0].needs_initial);
}

TEST(Describe, GivesEveryErrorOfATextWithItsPlace) {
  const std::string text = "def f(float(N) x) -> (y) { y(i) = z(i) }\n"
                           "def g(float(N) x) -> (y) { y(i) = w(i) }\n";
  const auto defs = describe(text);
  ASSERT_FALSE(defs.has_value());
  EXPECT_EQ(defs.error().kind, Failure::Kind::Program);
  ASSERT_EQ(defs.error().diagnostics.size(), 2U);
  EXPECT_NE(render(text, defs.error().diagnostics[1]).find(":2:"), std::string::npos);
  EXPECT_FALSE(describe("def f(").has_value());
}

TEST(InferOutputs, GivesTypesAndShapes) {
  const auto made = infer_outputs(kText, "matmul", {{floats({5, 7}), floats({7, 3})}, {}, {}, {}});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  ASSERT_EQ(made->size(), 1U);
  EXPECT_EQ((*made)[0].type, DType::Float32);
  EXPECT_EQ((*made)[0].sizes, (std::vector<std::int64_t>{5, 3}));
}

TEST(InferOutputs, UsesConstsAndGivenSizes) {
  const char* text = "def f(const int32 stride, float(N*M) x) -> (y) {\n"
                     "  y(i,j) = x(i * M + j) where i in 0:N/stride, j in 0:M\n}";
  Metadata metadata{{floats({12})}, {}, {}, {}};
  metadata.consts["stride"] = {2, 2};
  metadata.sizes["M"] = 3;
  const auto made = infer_outputs(text, "f", metadata);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ((*made)[0].sizes, (std::vector<std::int64_t>{2, 3}));
}

TEST(InferOutputs, ProvesNothingButChecksTheMetadata) {
  const char* shift = "def f(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:N }";
  EXPECT_TRUE(infer_outputs(shift, "f", {{floats({4})}, {}, {}, {}}).has_value());
  EXPECT_FALSE(compile(shift, "f", {{floats({4})}, {}, {}, {}}).has_value());
  const auto wrong = infer_outputs(kText, "matmul", {{floats({5, 7}), floats({6, 3})}, {}, {}, {}});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().kind, Failure::Kind::Argument);
  EXPECT_NE(wrong.error().message.find("K"), std::string::npos);
  EXPECT_FALSE(infer_outputs(kText, "nothing", {}).has_value());
}

TEST(Batch, PutsAnIndexInFront) {
  const auto made = batch(kText, "matmul", {true, false});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->results, std::vector<bool>{true});
  const auto defs = describe(made->text);
  ASSERT_TRUE(defs.has_value()) << made->text;
  ASSERT_EQ(defs->size(), 1U);
  EXPECT_EQ((*defs)[0].parameters[0].dims.size(), 3U);
  EXPECT_EQ((*defs)[0].parameters[1].dims.size(), 2U);
  const auto outputs =
      infer_outputs(made->text, "matmul", {{floats({9, 5, 7}), floats({7, 3})}, {}, {}, {}});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].sizes, (std::vector<std::int64_t>{9, 5, 3}));
}

TEST(Batch, RunsAsOneElementAfterTheOther) {
  const auto made = batch(kText, "matmul", {true, false});
  ASSERT_TRUE(made.has_value());
  constexpr std::int64_t kBatch = 3, kM = 2, kK = 4, kN = 2;
  std::vector<float> a(kBatch * kM * kK), b(kK * kN), together(kBatch * kM * kN), one(kM * kN);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i % 7);
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<float>(i % 5);
  auto run = [](std::string_view text, std::vector<std::int64_t> first, float* x, float* y,
                float* z) {
    const auto executor =
        compile(text, "matmul", {{floats(std::move(first)), floats({kK, kN})}, {}, {}, {}});
    ASSERT_TRUE(executor.has_value()) << executor.error().message;
    ASSERT_EQ(executor->scratch_bytes(), 0);
    void* const pointers[] = {x, y, z, nullptr};
    ASSERT_FALSE(executor->run_unchecked(pointers));
  };
  run(made->text, {kBatch, kM, kK}, a.data(), b.data(), together.data());
  for (std::size_t row = 0; row < kBatch; ++row) {
    run(kText, {kM, kK}, a.data() + row * kM * kK, b.data(), one.data());
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_EQ(together[row * one.size() + i], one[i]) << row << ' ' << i;
  }
}

TEST(Batch, MarksOnlyWhatDependsOnABatch) {
  const auto made =
      batch("def f(float(N) x, float(N) w) -> (y, z) { y(n) = x(n) + w(n) z(n) = w(n) }", "f",
            {true, false});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->results, (std::vector<bool>{true, false}));
}

TEST(Batch, SaysWhyADefCannotBeBatched) {
  const auto in_place = batch(kText, "update", {true, false});
  ASSERT_FALSE(in_place.has_value());
  EXPECT_EQ(in_place.error().kind, Failure::Kind::Argument);
  EXPECT_NE(in_place.error().message.find("in place"), std::string::npos);
  EXPECT_TRUE(batch(kText, "update", {true, true}).has_value());
  EXPECT_FALSE(batch(kText, "matmul", {true}).has_value());
  EXPECT_FALSE(batch(kText, "nothing", {true}).has_value());
  EXPECT_EQ(batch("def f(", "f", {}).error().kind, Failure::Kind::Program);
}

}  // namespace
}  // namespace tc
