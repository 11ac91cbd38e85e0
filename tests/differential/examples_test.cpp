// SPDX-License-Identifier: Apache-2.0
//
// Every def of examples/ at its three sizes, under every set of cases::option_sets(), against the
// interpreter; and with each size in turn set to 0.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cases/examples.h"
#include "compile_for_cpu.h"

namespace tc::cases {

/// For messages of GoogleTest.
void PrintTo(const Example& example, std::ostream* stream) {
  *stream << example.file;
}

namespace {

/// TC_TEST_SEED draws other data.
std::uint64_t base_seed() {
  const char* text = std::getenv("TC_TEST_SEED");
  return text == nullptr ? 20180213 : std::strtoull(text, nullptr, 10);
}

class Examples : public ::testing::TestWithParam<Example> {};

TEST_P(Examples, EqualTheInterpreter) {
  const Example& example = GetParam();
  ASSERT_EQ(example.sizes.size(), 3U);
  std::uint64_t seed = base_seed();
  for (const Sizes& sizes : example.sizes) {
    const ExampleOutcome outcome =
        run_example(example, sizes, seed++, option_sets(), compile_for_cpu());
    for (const std::string& problem : outcome.problems)
      ADD_FAILURE() << problem;
  }
}

/// What may refuse an empty dimension: preconditions on sizes, ranges that end before they begin,
/// reads outside, elements that nothing wrote, maxima of nothing; a negative size of an argument
/// has no code.
const std::set<std::string> kRefusalsOfEmpty = {"",      "E0316", "E0332", "E0333",
                                                "E0410", "E0412", "E0413", "E0419"};

TEST_P(Examples, TakeOrRefuseEmptyDimensions) {
  const Example& example = GetParam();
  const std::vector<NamedOptions> sets = {{"default", {}}};
  for (const auto& [name, value] : example.sizes[0]) {
    Sizes sizes = example.sizes[0];
    sizes[name] = 0;
    const ExampleOutcome outcome =
        run_example(example, sizes, base_seed(), sets, compile_for_cpu(), Preconditions::MayFail);
    for (const std::string& problem : outcome.problems)
      ADD_FAILURE() << problem;
    EXPECT_TRUE(!outcome.refused || kRefusalsOfEmpty.count(outcome.code) == 1)
        << name << ": " << outcome.code;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(examples()),
                         [](const auto& info) { return info.param.def; });

/// The comparison of bits must not vanish unnoticed.
TEST(ExamplesTogether, ManyAreExact) {
  int exact = 0;
  for (const Example& example : examples()) {
    const ExampleOutcome outcome =
        run_example(example, example.sizes[1], base_seed(), {}, compile_for_cpu());
    exact += outcome.exact ? 1 : 0;
  }
  EXPECT_GE(exact, 60);
}

}  // namespace
}  // namespace tc::cases
