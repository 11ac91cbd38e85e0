// SPDX-License-Identifier: Apache-2.0
//
// The reported cases on the CUDA target, emulated, under every set of cuda_option_sets().
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "cases/reported.h"
#include "cuda/emulated_compiler.h"

namespace tc::cases {

/// For messages of GoogleTest.
void PrintTo(const ReportedCase& reported, std::ostream* stream) {
  *stream << reported.number;
}

namespace {

std::vector<ReportedCase> all_reported() {
  std::vector<ReportedCase> all = reported_operators();
  for (const ReportedCase& reported : reported_values())
    all.push_back(reported);
  return all;
}

/// Everything that any of the tests below asks for, compiled in few units.
EmulatedCompiler& compiled() {
  static EmulatedCompiler compiler = [] {
    EmulatedCompiler collected;
    for (const ReportedCase& reported : all_reported())
      for (const Case& test : reported.make())
        run_case(test, cuda_option_sets(), collected.collect());
    collected.build();
    return collected;
  }();
  return compiler;
}

class CudaReported : public ::testing::TestWithParam<ReportedCase> {};

TEST_P(CudaReported, AreRight) {
  for (const Case& test : GetParam().make())
    for (const std::string& problem : run_case(test, cuda_option_sets(), compiled().run(1)))
      ADD_FAILURE() << problem;
}

INSTANTIATE_TEST_SUITE_P(Reported, CudaReported, ::testing::ValuesIn(all_reported()),
                         [](const auto& info) {
                           const std::string number = std::to_string(info.param.number);
                           return (number.size() < 2 ? "0" : "") + number + "_" + info.param.title;
                         });

}  // namespace
}  // namespace tc::cases
