// SPDX-License-Identifier: Apache-2.0
//
// The runner of cases finds what it is there to find: compiled code that is right but for one
// defect, of each kind.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cases/reported.h"
#include "cases/runner.h"
#include "cases/values.h"
#include "compile_for_cpu.h"

namespace tc::cases {
namespace {

/// First element of a float view.
float* elements(const DLTensor& tensor) {
  return reinterpret_cast<float*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

using Defect = std::function<void(const DLTensor& input, const DLTensor& output)>;

/// The CPU's code, followed by `defect` on the first input and output.
Compile with_defect(const Defect& defect) {
  return [defect](const Request& request) -> Result<Compiled, Failure> {
    Result<Compiled, Failure> compiled = compile_for_cpu()(request);
    if (!compiled) return compiled;
    return Compiled{[run = compiled->run, defect](std::span<const DLTensor* const> inputs,
                                                  std::span<const DLTensor* const> outputs) {
                      auto failure = run(inputs, outputs);
                      if (!failure) defect(*inputs[0], *outputs[0]);
                      return failure;
                    },
                    compiled->warnings};
  };
}

Case copy_case() {
  const lang::Value x = f32({5, 7}, 1);
  return reported_case("18_views.tc", "copy", {{x}}, {{x}});
}

std::string problems_with(const Compile& compile, const Case& test = copy_case()) {
  std::string text;
  for (const std::string& problem : run_case(test, {{"default", {}}}, compile))
    text += problem + "\n";
  return text;
}

TEST(Runner, AcceptsWhatIsRight) {
  EXPECT_EQ(problems_with(with_defect([](const DLTensor&, const DLTensor&) {})), "");
}

TEST(Runner, FindsOneWrongElement) {
  const std::string text =
      problems_with(with_defect([](const DLTensor&, const DLTensor& y) { elements(y)[34] += 1; }));
  EXPECT_NE(text.find("position 34"), std::string::npos) << text;
  EXPECT_NE(text.find("interpreter: output 'y' at (4, 6)"), std::string::npos) << text;
}

TEST(Runner, FindsNanAndOneBit) {
  EXPECT_NE(
      problems_with(with_defect([](const DLTensor&, const DLTensor& y) { elements(y)[3] = NAN; })),
      "");
  const std::string text = problems_with(with_defect([](const DLTensor&, const DLTensor& y) {
    elements(y)[0] = std::nextafter(elements(y)[0], 1000.0F);
  }));
  EXPECT_NE(text.find("interpreter: "), std::string::npos) << text;
}

TEST(Runner, FindsElementsThatAreNotWritten) {
  const Compile idle = [](const Request&) -> Result<Compiled, Failure> {
    return Compiled{
        [](std::span<const DLTensor* const>,
           std::span<const DLTensor* const>) -> std::optional<Failure> { return std::nullopt; },
        {}};
  };
  EXPECT_NE(problems_with(idle).find("nan at row-major position 0"), std::string::npos);
}

TEST(Runner, FindsASecondRunThatDiffers) {
  int runs = 0;
  const std::string text = problems_with(with_defect([&](const DLTensor&, const DLTensor& y) {
    if (++runs == 2) elements(y)[0] += 1;
  }));
  EXPECT_EQ(runs, 2);
  EXPECT_NE(text, "");
}

TEST(Runner, FindsWritesOutside) {
  for (const int where : {-1, 35, -40, 60}) {
    const std::string text = problems_with(
        with_defect([where](const DLTensor&, const DLTensor& y) { elements(y)[where] = 12345; }));
    EXPECT_NE(text.find("outside its elements"), std::string::npos) << where << ": " << text;
  }
  const std::string text = problems_with(
      with_defect([](const DLTensor& x, const DLTensor&) { elements(x)[2] = 12345; }));
  EXPECT_NE(text.find("input 0 was written"), std::string::npos) << text;
}

TEST(Runner, FindsFailuresAndWarnings) {
  const Compile refuse = [](const Request&) -> Result<Compiled, Failure> {
    Failure failure;
    failure.message = "no such unit";
    return failure;
  };
  EXPECT_NE(problems_with(refuse).find("no such unit"), std::string::npos);
  const lang::Value x = f32({1, 1, 4, 4}, 1);
  Case silent = reported_case("03_average_pooling.tc", "onto_buffer", {{x}}, {});
  silent.initial[0] = f32({1, 1, 2, 2}, 1);
  EXPECT_NE(problems_with(compile_for_cpu(), silent).find("unexpected warning"), std::string::npos);
  Case loud = copy_case();
  loud.warning = "W0203";
  EXPECT_NE(problems_with(compile_for_cpu(), loud).find("no warning W0203"), std::string::npos);
}

TEST(Runner, FindsWhatShouldHaveBeenRefused) {
  std::vector<Refusal> refusals = reported_refusals();
  const auto nothing_refused = [](const Request&) -> Result<Compiled, Failure> {
    return Compiled{};
  };
  EXPECT_FALSE(run_refusal(refusals[0], nothing_refused).empty());
  for (Refusal& refusal : refusals) {
    refusal.parts = {"words that no message has"};
    EXPECT_FALSE(run_refusal(refusal, compile_for_cpu()).empty()) << refusal.name;
  }
}

}  // namespace
}  // namespace tc::cases
