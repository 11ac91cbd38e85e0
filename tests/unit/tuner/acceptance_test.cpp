// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/acceptance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tc/compiler/pipeline.h"
#include "tc/tuner/bulk.h"

namespace tc::tuner {
namespace {

using compiler::Exactness;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

compiler::FrontEnd copy_of(DType type, std::int64_t elements) {
  const std::string text = "def f(" + std::string(name(type)) + "(N) x) -> (y) { y(i) = x(i) }";
  const SourceBuffer source("<text>", text);
  Metadata metadata;
  metadata.inputs = {{type, {elements}, {}, 8}};
  return *compiler::front_end(source, "f", metadata);
}

/// The results that `values` would be, with a given error of the language's precision in the last.
compiler::Reference reference_of(DType type, const std::vector<double>& values, double error) {
  compiler::Reference reference;
  reference.scale = 4;
  lang::Value precise = lang::Value::zeros(type, {static_cast<std::int64_t>(values.size())});
  precise.real = values;
  reference.precise = {precise};
  precise.real.back() += error;
  reference.language = {precise};
  return reference;
}

OutputView view_of(compiler::HostTensor& tensor) {
  return {tensor.meta().type, tensor.meta().sizes, tensor.data(), tensor.bytes()};
}

/// All bits that one element may have, where these are few; else those next to its neighbours.
std::vector<std::uint64_t> patterns(DType type, const unsigned char* element) {
  std::vector<std::uint64_t> result;
  const int width = bits(type);
  if (width == 8) {
    for (std::uint64_t p = 0; p < std::uint64_t{1} << width; ++p)
      result.push_back(p);
    return result;
  }
  std::uint64_t own = 0;
  std::memcpy(&own, element, static_cast<std::size_t>(width / 8));
  const std::uint64_t mask = width == 64 ? UINT64_MAX : (std::uint64_t{1} << width) - 1;
  for (int shift = 0; shift < width; ++shift) {
    for (const int near : {-2, -1, 0, 1, 2}) {
      const auto step = (std::uint64_t{1} << shift) + static_cast<std::uint64_t>(near);
      for (const std::uint64_t p : {own + step, own - step, own ^ step, step})
        result.push_back(p & mask);
    }
  }
  return result;
}

class AcceptanceTest : public ::testing::TestWithParam<DType> {};

TEST_P(AcceptanceTest, AgreesWithCompare) {
  const DType type = GetParam();
  std::vector<double> values = {0, -0.0, 1, -1, 1.25, -3.5, 0x1p-6, 96, -448};
  // Stores to 8 bits saturate.
  if (bits(type) > 8) values.insert(values.end(), {kInfinity, -kInfinity});
  values.push_back(2);
  const compiler::FrontEnd front = copy_of(type, static_cast<std::int64_t>(values.size()));
  for (const double error : {0.0, 0.01}) {
    const compiler::Reference reference = reference_of(type, values, error);
    for (const Exactness exactness : {Exactness::Exact, Exactness::Rounded}) {
      if (error != 0 && exactness == Exactness::Exact) continue;
      const Acceptance acceptance(front.specialised, reference, exactness);
      compiler::HostTensor result = compiler::from_value(reference.precise[0]);
      ASSERT_TRUE(acceptance.accepts({view_of(result)}));
      const std::size_t width = static_cast<std::size_t>(bits(type) / 8);
      int right = 0, wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        unsigned char* const element = result.data() + i * width;
        std::uint64_t own = 0;
        std::memcpy(&own, element, width);
        for (const std::uint64_t pattern : patterns(type, element)) {
          std::memcpy(element, &pattern, width);
          const bool is_ok =
              compiler::compare(front.specialised, reference, {result}, exactness).ok;
          const bool is_accepted = acceptance.accepts({view_of(result)});
          // Beside the precise results compare() takes what is near those of the language.
          const bool has_two_results = error != 0 && i + 1 == values.size();
          EXPECT_TRUE(is_accepted == is_ok || (has_two_results && is_ok))
              << values[i] << " " << std::hex << pattern;
          ++(is_ok ? right : wrong);
        }
        std::memcpy(element, &own, width);
      }
      EXPECT_GT(right, 0);
      EXPECT_GT(wrong, 100);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, AcceptanceTest,
                         ::testing::Values(DType::Float64, DType::Float32, DType::Float16,
                                           DType::BFloat16, DType::Float8E4M3FN, DType::Float8E5M2),
                         [](const auto& parameter) { return std::string(name(parameter.param)); });

TEST(Acceptance, NaNIsLeftToCompare) {
  const double nan = std::nan("");
  const compiler::FrontEnd front = copy_of(DType::Float32, 2);
  const compiler::Reference reference = reference_of(DType::Float32, {nan, 1}, 0);
  const Acceptance acceptance(front.specialised, reference, Exactness::Rounded);
  compiler::HostTensor result = compiler::from_value(reference.precise[0]);
  EXPECT_FALSE(acceptance.accepts({view_of(result)}));
  EXPECT_TRUE(compiler::compare(front.specialised, reference, {result}, Exactness::Rounded).ok);
}

TEST(Acceptance, IntegersAndShapes) {
  const compiler::FrontEnd front = copy_of(DType::Int32, 3);
  compiler::Reference reference;
  lang::Value value = lang::Value::zeros(DType::Int32, {3});
  value.integer = {5, -7, 1 << 30};
  reference.language = reference.precise = {value};
  const Acceptance acceptance(front.specialised, reference, Exactness::Rounded);
  compiler::HostTensor result = compiler::from_value(value);
  EXPECT_TRUE(acceptance.accepts({view_of(result)}));
  EXPECT_FALSE(acceptance.accepts({}));
  OutputView other = view_of(result);
  other.type = DType::UInt32;
  EXPECT_FALSE(acceptance.accepts({other}));
  result.data()[4] ^= 1;
  EXPECT_FALSE(acceptance.accepts({view_of(result)}));
}

TEST(Bulk, EveryPartIsLookedAt) {
  constexpr std::size_t kCount = 100'003;
  std::vector<unsigned char> first(kCount), second(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    first[i] = static_cast<unsigned char>(i * 7);
  for (const std::size_t least : {std::size_t{1}, std::size_t{1000}, kCount, 2 * kCount}) {
    std::fill(second.begin(), second.end(), 0);
    EXPECT_TRUE(holds_for_all(kCount, least, [&](std::size_t begin, std::size_t end) {
      for (; begin < end; ++begin)
        second[begin] = static_cast<unsigned char>(second[begin] + first[begin]);
      return true;
    }));
    EXPECT_EQ(first, second);
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{50'000}, kCount - 1}) {
    EXPECT_FALSE(holds_for_all(kCount, 1, [&](std::size_t begin, std::size_t end) {
      return at < begin || at >= end;
    })) << at;
  }
}

TEST(Bulk, LargeBlocks) {
  constexpr std::size_t kBytes = (std::size_t{1} << 24) + 5;
  std::vector<unsigned char> from(kBytes, 3), to(kBytes);
  from.back() = 9;
  copy_bytes(to.data(), from.data(), kBytes);
  EXPECT_EQ(from, to);
  EXPECT_TRUE(is_same_bytes(from.data(), to.data(), kBytes));
  to[kBytes / 2] ^= 1;
  EXPECT_FALSE(is_same_bytes(from.data(), to.data(), kBytes));
  EXPECT_TRUE(is_same_bytes(nullptr, nullptr, 0));
}

}  // namespace
}  // namespace tc::tuner
