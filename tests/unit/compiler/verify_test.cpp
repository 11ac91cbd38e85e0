// SPDX-License-Identifier: Apache-2.0
//
// The comparison behind --verify: what passes, what never does.
#include "tc/compiler/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tc/compiler/pipeline.h"

namespace tc::compiler {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

HostTensor tensor(DType type, const std::vector<double>& elements) {
  lang::Value value = lang::Value::zeros(type, {static_cast<std::int64_t>(elements.size())});
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (is_float(type))
      value.real[i] = elements[i];
    else
      value.integer[i] = static_cast<std::int64_t>(elements[i]);
  }
  return from_value(value);
}

/// Compares `result` with what the interpreter makes of `input` under `text`.
Comparison compare_run(const std::string& text, const HostTensor& input, const HostTensor& result,
                       Exactness exactness = Exactness::Rounded) {
  const auto front = front_end(SourceBuffer("<text>", text), "", {{input.meta()}, {}, {}, {}});
  EXPECT_TRUE(front.has_value()) << front.error().message;
  return compare_with_interpreter(front->specialised, {input}, {}, {result}, exactness);
}

const char* const kCopy = "def f(float(N) x) -> (y) { y(i) = x(i) }";

struct Pair {
  float reference;
  float result;
  bool ok;
};

TEST(Verification, NanAndInfinityMeetOnlyThemselves) {
  const Pair pairs[] = {
      {1, kNan, false},     {kNan, 1, false},   {kNan, kNan, true},   {kInf, kNan, false},
      {kNan, kInf, false},  {kInf, kInf, true}, {kInf, -kInf, false}, {1, kInf, false},
      {kInf, 3e38F, false}, {0, kNan, false},   {kNan, 0, false},     {0, -0.0F, true},
  };
  for (const Pair& pair : pairs) {
    for (const Exactness exactness : {Exactness::Rounded, Exactness::Exact}) {
      const Comparison comparison =
          compare_run(kCopy, tensor(DType::Float32, {2, pair.reference, 3}),
                      tensor(DType::Float32, {2, pair.result, 3}), exactness);
      EXPECT_EQ(comparison.ok, pair.ok) << pair.reference << " " << pair.result;
      EXPECT_EQ(comparison.message.empty(), pair.ok);
    }
  }
}

TEST(Verification, NamesTheFirstMismatch) {
  const Comparison comparison =
      compare_run(kCopy, tensor(DType::Float32, {1, 2, 3}), tensor(DType::Float32, {1, kNan, 7}));
  EXPECT_NE(comparison.message.find("'y' at (1)"), std::string::npos) << comparison.message;
}

TEST(Verification, ElementsThatOverflowDoNotWidenTheBound) {
  // The first element is infinite in float32 and 1e60 in float64.
  const char* square = "def f(float(N) x) -> (y) { y(i) = x(i) * x(i) * x(i) * x(i) }";
  const HostTensor x = tensor(DType::Float32, {0x1p50, 2});
  EXPECT_TRUE(compare_run(square, x, tensor(DType::Float32, {kInf, 16})).ok);
  EXPECT_FALSE(compare_run(square, x, tensor(DType::Float32, {kInf, 1e20})).ok);
}

TEST(Verification, BoundsFollowTheTypes) {
  const double eps = 0x1p-23;
  EXPECT_TRUE(
      compare_run(kCopy, tensor(DType::Float32, {1}), tensor(DType::Float32, {1 + eps})).ok);
  EXPECT_FALSE(compare_run(kCopy, tensor(DType::Float32, {1}), tensor(DType::Float32, {1.001})).ok);
  EXPECT_FALSE(compare_run(kCopy, tensor(DType::Float32, {1}), tensor(DType::Float32, {1 + eps}),
                           Exactness::Exact)
                   .ok);
  const char* integers = "def f(int32(N) x) -> (y) { y(i) = x(i) }";
  EXPECT_TRUE(compare_run(integers, tensor(DType::Int32, {5}), tensor(DType::Int32, {5})).ok);
  EXPECT_FALSE(compare_run(integers, tensor(DType::Int32, {5}), tensor(DType::Int32, {6})).ok);
}

/// As compare_run(), with shifted runs.
bool is_explained(const std::string& text, const HostTensor& input, const HostTensor& result) {
  const auto front = front_end(SourceBuffer("<text>", text), "", {{input.meta()}, {}, {}, {}});
  EXPECT_TRUE(front.has_value()) << front.error().message;
  Reference reference = interpret_reference(front->specialised, {input}, {});
  reference.shifted = interpret_shifted(front->specialised, {input}, {});
  return compare(front->specialised, reference, {result}, Exactness::Rounded).ok;
}

TEST(Verification, ShiftedRunsExplainOnlyWhatIsBesideAStep) {
  // exp(log 3) is 3 but for rounding; exp(1) is far from any integer.
  const char* wide = "def f(float(N) x) -> (int32(N) y) { y(i) = int32(exp(x(i))) }";
  const HostTensor x = tensor(DType::Float32, {std::log(3.0F), 1});
  EXPECT_TRUE(is_explained(wide, x, tensor(DType::Int32, {2, 2})));
  EXPECT_TRUE(is_explained(wide, x, tensor(DType::Int32, {3, 2})));
  EXPECT_FALSE(is_explained(wide, x, tensor(DType::Int32, {4, 2})));
  EXPECT_FALSE(is_explained(wide, x, tensor(DType::Int32, {3, 3})));
  EXPECT_FALSE(compare_run(wide, x, tensor(DType::Int32, {4, 2})).ok);

  const char* narrow = "def f(float(N) x) -> (uint8(N) y) { y(i) = uint8(exp(x(i))) }";
  EXPECT_TRUE(is_explained(narrow, x, tensor(DType::UInt8, {2, 2})));
  EXPECT_FALSE(is_explained(narrow, x, tensor(DType::UInt8, {3, 3})));

  const char* floating = "def f(float(N) x) -> (y) { y(i) = floor(exp(x(i))) }";
  EXPECT_TRUE(is_explained(floating, x, tensor(DType::Float32, {2, 2})));
  EXPECT_TRUE(is_explained(floating, x, tensor(DType::Float32, {3, 2})));
  EXPECT_FALSE(is_explained(floating, x, tensor(DType::Float32, {3, 2.5})));
  EXPECT_FALSE(is_explained(floating, x, tensor(DType::Float32, {1, 2})));

  // Exactly rounded operations are not shifted.
  const char* exact = "def f(float(N) x) -> (y) { y(i) = floor(sqrt(x(i))) }";
  EXPECT_FALSE(
      is_explained(exact, tensor(DType::Float32, {9, 16}), tensor(DType::Float32, {2, 4})));
}

TEST(Verification, ShapeAndTypeBelongToTheResult) {
  EXPECT_FALSE(
      compare_run(kCopy, tensor(DType::Float32, {1, 2}), tensor(DType::Float32, {1, 2, 3})).ok);
  EXPECT_FALSE(compare_run(kCopy, tensor(DType::Float32, {1}), tensor(DType::Float64, {1})).ok);
}

}  // namespace
}  // namespace tc::compiler
