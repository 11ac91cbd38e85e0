// SPDX-License-Identifier: Apache-2.0
//
// Random programs with random options as CUDA kernels, emulated, against the interpreter; and the
// cases that once failed (regressions/). TC_FUZZ_SEED is the first seed, TC_FUZZ_COUNT the number
// of programs: `make fuzz-cuda` runs 2,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cuda/emulated_compiler.h"
#include "cuda/random_programs.h"

namespace tc::cases {

namespace {

constexpr std::uint64_t kSeed = 91'000;
constexpr std::uint64_t kCount = 200;
constexpr std::size_t kBatch = 100;  ///< programs in one run of the host's compiler

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Named {
  std::string name;
  fuzz::Case experiment;
};

struct Totals {
  long run = 0, exact = 0, unusable = 0, option_sets = 0, refused_option_sets = 0, failed = 0;
};

void run_batch(const std::vector<Named>& cases, std::uint64_t schedule_seed, Totals& totals) {
  EmulatedCompiler compiler;
  std::vector<std::unique_ptr<RandomProgram>> programs;
  for (const Named& named : cases)
    programs.push_back(
        std::make_unique<RandomProgram>(named.experiment, compiler.collect(schedule_seed++)));
  try {
    compiler.build(kBatch);
  } catch (const std::exception& error) {
    // One text is enough to fail; alone, the others still run.
    if (cases.size() == 1) {
      ++totals.failed;
      ADD_FAILURE() << cases[0].name << ": " << error.what() << "\n"
                    << fuzz::to_text(cases[0].experiment);
      return;
    }
    const std::size_t half = cases.size() / 2;
    const auto middle = cases.begin() + static_cast<std::ptrdiff_t>(half);
    run_batch({cases.begin(), middle}, schedule_seed - cases.size(), totals);
    run_batch({middle, cases.end()}, schedule_seed - cases.size() + half, totals);
    return;
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    RandomProgram& program = *programs[i];
    const Problems problems = program.run();
    for (const std::string& problem : problems)
      ADD_FAILURE() << cases[i].name << ": " << problem;
    totals.failed += problems.empty() ? 0 : 1;
    totals.refused_option_sets += program.refused();
    totals.option_sets += program.mapped();
    if (program.has_program() && program.mapped() > 0)
      ++totals.run;
    else
      ++totals.unusable;
    totals.exact += program.is_exact() ? 1 : 0;
  }
}

TEST(CudaRandom, ProgramsEqualTheInterpreter) {
  const std::uint64_t first = from_environment("TC_FUZZ_SEED", kSeed);
  const std::uint64_t count = from_environment("TC_FUZZ_COUNT", kCount);
  Totals totals;
  std::vector<Named> batch;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Named named{fmt::format("seed {}", seed), random_cuda_case(seed)};
    if (named.experiment.text.empty())
      ++totals.unusable;
    else
      batch.push_back(std::move(named));
    if (batch.size() < kBatch && seed + 1 < first + count) continue;
    run_batch(batch, seed, totals);
    batch.clear();
    fmt::print("seeds {} to {}: {} programs run ({} compared exactly), {} unusable, {} failed; {} "
               "option sets run, {} refused\n",
               first, seed, totals.run, totals.exact, totals.unusable, totals.failed,
               totals.option_sets, totals.refused_option_sets);
    std::fflush(stdout);
  }
  // A generator or a lowering that refuses nearly everything would show nothing.
  EXPECT_GT(totals.run * 10, static_cast<long>(count) * 8);
}

TEST(CudaRandom, RegressionsStayFixed) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(TC_SOURCE_DIR "/tests/cuda/regressions"))
    if (entry.path().extension() == ".tc") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Named> cases;
  for (const auto& file : files) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    auto experiment = fuzz::parse_case(text.str());
    ASSERT_TRUE(experiment) << file << ": " << experiment.error();
    cases.push_back({file.filename().string(), std::move(experiment).value()});
  }
  Totals totals;
  if (!cases.empty()) run_batch(cases, 1, totals);
  EXPECT_EQ(totals.unusable, 0);
  EXPECT_EQ(totals.refused_option_sets, 0);
}

}  // namespace
}  // namespace tc::cases
