// SPDX-License-Identifier: Apache-2.0
//
// Every def of examples/ at its three sizes on the CUDA target, emulated, under every set of
// cuda_option_sets(), against the interpreter.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "cases/examples.h"
#include "cuda/emulated_compiler.h"

namespace tc::cases {

/// For messages of GoogleTest.
void PrintTo(const Example& example, std::ostream* stream) {
  *stream << example.file;
}

namespace {

constexpr std::uint64_t kSeed = 20180213;

Problems run_all(const Example& example, const Compile& compile) {
  Problems problems;
  std::uint64_t seed = kSeed;
  for (const Sizes& sizes : example.sizes)
    for (std::string& problem :
         run_example(example, sizes, seed++, cuda_option_sets(), compile).problems)
      problems.push_back(std::move(problem));
  return problems;
}

/// Everything that any of the tests below asks for, compiled in few units.
EmulatedCompiler& compiled() {
  static EmulatedCompiler compiler = [] {
    EmulatedCompiler collected;
    for (const Example& example : examples())
      run_all(example, collected.collect());
    collected.build();
    return collected;
  }();
  return compiler;
}

class CudaExamples : public ::testing::TestWithParam<Example> {};

TEST_P(CudaExamples, EqualTheInterpreter) {
  for (const std::string& problem : run_all(GetParam(), compiled().run(1)))
    ADD_FAILURE() << problem;
}

INSTANTIATE_TEST_SUITE_P(All, CudaExamples, ::testing::ValuesIn(examples()),
                         [](const auto& info) { return info.param.def; });

}  // namespace
}  // namespace tc::cases
