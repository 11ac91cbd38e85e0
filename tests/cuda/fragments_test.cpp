// SPDX-License-Identifier: Apache-2.0
//
// Random programs around products of 16-bit floats, emulated against the interpreter: instructions
// of warps (sm_80) and of warp groups (sm_90a). TC_FUZZ_SEED is the first seed, TC_FUZZ_COUNT the
// number of programs of each.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cuda/emulated_compiler.h"
#include "cuda/fragment_programs.h"
#include "cuda/random_programs.h"

namespace tc::cases {

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::uint64_t kCount = 100;
constexpr std::size_t kBatch = 50;  ///< programs in one run of the host's compiler

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Fragments : public ::testing::TestWithParam<const char*> {};

TEST_P(Fragments, EqualTheInterpreter) {
  const std::uint64_t first = from_environment("TC_FUZZ_SEED", kSeed);
  const std::uint64_t count = from_environment("TC_FUZZ_COUNT", kCount);
  int run = 0;
  int exact = 0;
  int texts = 0;
  int on_cores = 0;
  int in_stages = 0;
  int swizzled = 0;
  int refused = 0;
  for (std::uint64_t begin = first; begin < first + count; begin += kBatch) {
    EmulatedCompiler compiler(GetParam());
    std::vector<std::unique_ptr<RandomProgram>> programs;
    for (std::uint64_t seed = begin; seed < std::min(begin + kBatch, first + count); ++seed)
      programs.push_back(
          std::make_unique<RandomProgram>(random_fragment_case(seed), compiler.collect(seed)));
    compiler.build(kBatch);
    compiler.for_each([&](const std::string&, const codegen::cuda::Source& source) {
      ++texts;
      on_cores += source.text.find("tc::multiply_by_warp") == std::string::npos ? 0 : 1;
      swizzled += source.text.find("tc::swizzled") == std::string::npos ? 0 : 1;
      in_stages += source.text.find("tc::copy_elements") == std::string::npos ? 0 : 1;
    });
    for (std::size_t i = 0; i < programs.size(); ++i) {
      for (const std::string& problem : programs[i]->run())
        ADD_FAILURE() << "seed " << begin + i << ": " << problem;
      run += programs[i]->has_program() && programs[i]->mapped() > 0 ? 1 : 0;
      refused += programs[i]->refused();
      exact += programs[i]->is_exact() ? 1 : 0;
    }
  }
  fmt::print("{}: {} programs run, {} compared exactly; {} of {} texts use tensor cores, {} with "
             "copies in "
             "stages, {} swizzled; {} sets of options refused\n",
             GetParam(), run, exact, on_cores, texts, in_stages, swizzled, refused);
  // A generator whose programs do not run, or not on tensor cores, would show nothing.
  EXPECT_GT(run * 10, static_cast<int>(count) * 8);
  EXPECT_GT(on_cores * 5, texts);
  EXPECT_GT(in_stages * 4, on_cores);
  EXPECT_EQ(swizzled > 0, GetParam() == std::string("sm_90a"));
  EXPECT_EQ(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Fragments, ::testing::Values("sm_80", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

/// What the text of a program says about tensor cores.
bool uses_tensor_cores(const std::string& text) {
  const auto experiment = fuzz::parse_case(text);
  EXPECT_TRUE(experiment) << experiment.error();
  EmulatedCompiler compiler;
  const RandomProgram program(*experiment, compiler.collect());
  EXPECT_EQ(program.mapped(), 1) << text;
  bool uses = false;
  compiler.for_each([&](const std::string&, const codegen::cuda::Source& source) {
    uses = source.text.find("tc::multiply_by_warp") != std::string::npos;
  });
  return uses;
}

std::string matrices(const std::string& a, const std::string& b, const std::string& c,
                     const std::string& value = "A(m,r_k) * B(r_k,n)",
                     const std::string& options = R"({"version":1,"tasks":1})") {
  return fmt::format("# fuzz def f\n# fuzz sizes M=64 N=32 K=32\n# fuzz inputs 1\n"
                     "# fuzz options {}\n"
                     "def f({}(M,K) A, {}(K,N) B) -> ({}(M,N) C) {{\n  C(m,n) +=! {}\n}}\n",
                     options, a, b, c, value);
}

TEST(FragmentChoice, FollowsTypesAndOptions) {
  EXPECT_TRUE(uses_tensor_cores(matrices("half", "half", "float")));
  EXPECT_TRUE(uses_tensor_cores(matrices("bfloat16", "bfloat16", "bfloat16")));
  EXPECT_TRUE(uses_tensor_cores(
      matrices("bfloat16", "bfloat16", "float", "float(A(m,r_k)) * float(B(r_k,n))")));
  EXPECT_FALSE(uses_tensor_cores(matrices("float", "float", "float")));
  EXPECT_FALSE(uses_tensor_cores(matrices("half", "bfloat16", "float")));
  EXPECT_FALSE(uses_tensor_cores(matrices("half", "float", "float")));
  EXPECT_FALSE(uses_tensor_cores(matrices("int8", "int8", "int32")));
  EXPECT_FALSE(uses_tensor_cores(matrices("half", "half", "double")));
  // A factor that is computed in float32 is not rounded to fit.
  EXPECT_FALSE(uses_tensor_cores(matrices("half", "half", "float", "exp(A(m,r_k)) * B(r_k,n)")));
  const std::string value = "A(m,r_k) * B(r_k,n)";
  EXPECT_FALSE(uses_tensor_cores(
      matrices("half", "half", "float", value, R"({"version":1,"tasks":1,"stage":false})")));
  EXPECT_FALSE(uses_tensor_cores(
      matrices("half", "half", "float", value, R"({"version":1,"tasks":1,"vector_bits":1})")));
  EXPECT_FALSE(uses_tensor_cores(
      matrices("half", "half", "float", value, R"({"version":1,"tasks":1,"threads":96})")));
}

}  // namespace
}  // namespace tc::cases
