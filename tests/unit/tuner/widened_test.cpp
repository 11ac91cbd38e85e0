// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/widened.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cases/examples.h"
#include "tc/compiler/random_inputs.h"
#include "tc/compiler/verify.h"
#include "tc/tuner/bench.h"

namespace tc::tuner {
namespace {

TEST(Widened, FloatsOfTypesAlone) {
  Metadata metadata;
  metadata.inputs = {{DType::Float16, {3, 4}, {8, 2}, 2},
                     {DType::Int32, {4}, {}, 16},
                     {DType::Float32, {}, {}, 64}};
  metadata.consts["scale"] = {0, 0.5};
  const Widened wide =
      widen("# a comment\n"
            "def f(float16(N,K) x, int32(K) p, float s, const float scale) -> (float16(N) y) {\n"
            "  y(n) +=! float(x(n,p(k))) * s * scale\n}",
            metadata);
  EXPECT_EQ(
      wide.text,
      "def f(float64(N,K) x, int32(K) p, float64 s, const float64 scale) -> (float64(N) y) {\n"
      "  y(n) +=! float(x(n, p(k))) * s * scale\n}\n");
  EXPECT_EQ(wide.metadata.inputs[0], (TensorMeta{DType::Float64, {3, 4}, {8, 2}, 8}));
  EXPECT_EQ(wide.metadata.inputs[1], metadata.inputs[1]);
  EXPECT_EQ(wide.metadata.inputs[2].type, DType::Float64);
  EXPECT_EQ(wide.metadata.consts.at("scale").real, 0.5);
}

/// What the interpreter makes of the images that a search uses.
compiler::Reference interpreted(const compiler::FrontEnd& front) {
  Arguments arguments(front);
  return compiler::interpret_reference(front.specialised, *arguments.input_values(),
                                       arguments.initial_values());
}

class WidenedExamples : public ::testing::TestWithParam<cases::Example> {};

/// The same values go in, and what comes out is what the interpreter finds in float64 for the text
/// as it was.
TEST_P(WidenedExamples, ComputeInFloat64) {
  const cases::Example& example = GetParam();
  const Metadata metadata = cases::metadata_of(example, example.sizes[0]);
  const SourceBuffer source(example.file, cases::text_of(example));
  const auto front = compiler::front_end(source, example.def, metadata);
  ASSERT_TRUE(front.has_value());
  const Widened wide = widen(source.text(), metadata);
  const SourceBuffer wide_source("<wide>", wide.text);
  const auto wide_front = compiler::front_end(wide_source, example.def, wide.metadata);
  ASSERT_TRUE(wide_front.has_value()) << wide.text;
  const compiler::Reference right = interpreted(*front);
  const compiler::Reference found = interpreted(*wide_front);
  ASSERT_EQ(found.language.size(), right.precise.size());
  // A literal beside float32 is one, beside float64 another.
  constexpr double kLiteral = 4e-7;
  for (std::size_t o = 0; o < right.precise.size(); ++o) {
    EXPECT_EQ(found.language[o].integer, right.precise[o].integer);
    ASSERT_EQ(found.language[o].real.size(), right.precise[o].real.size());
    for (std::size_t i = 0; i < right.precise[o].real.size(); ++i) {
      const double expected = right.precise[o].real[i];
      EXPECT_NEAR(found.language[o].real[i], expected,
                  kLiteral * std::max(1.0, std::fabs(expected)))
          << "output " << o << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WidenedExamples, ::testing::ValuesIn(cases::examples()),
                         [](const auto& info) { return info.param.def; });

}  // namespace
}  // namespace tc::tuner
