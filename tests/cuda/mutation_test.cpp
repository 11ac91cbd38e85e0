// SPDX-License-Identifier: Apache-2.0
//
// Kernels of programs with one defect each: one barrier or await less, one guard or mask weaker.
// The emulator, or the comparison of the results, has to notice every defect that makes a
// difference.
//
// What goes unnoticed is explained, or the test fails:
//   agrees     the weaker condition holds nowhere at these sizes where the original does not; shown
//              by a kernel that would read far out of bounds there
//   unused     a masked load reads more, inside the tensor, that reaches no result; shown by a
//   kernel
//              in which it is poison
//   cancelled  likewise, but the results hold a product of it with a zero; shown by a finite number
//   implied    conditions inside say the same (MutationProgram::implied): the guard saves work
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cuda/emulated_compiler.h"
#include "cuda/mutation_programs.h"
#include "cuda/random_programs.h"
#include "tc/emulation/mutate.h"
#include "tc/kernel/text.h"

namespace tc::cases {

namespace {

using emulation::Mutant;

/// A mutant between translation and run.
struct Candidate {
  const Mutant* mutant;
  std::vector<std::unique_ptr<RandomProgram>> runs;  ///< under several orders of threads
  std::unique_ptr<RandomProgram> probe, poisoned, finite;
};

struct Counts {
  int made = 0, found_by_emulator = 0, found_by_results = 0, agreeing = 0, unused = 0,
      cancelled = 0, implied = 0;
};

const char* name_of(Mutant::Kind kind) {
  switch (kind) {
  case Mutant::Kind::BarrierRemoved: return "barrier removed";
  case Mutant::Kind::AwaitRemoved: return "await removed";
  case Mutant::Kind::AwaitWeakened: return "await weakened";
  case Mutant::Kind::GuardWeakened: return "guard weakened";
  case Mutant::Kind::MaskWeakened: return "mask weakened";
  }
  return "";
}

class Mutants : public ::testing::TestWithParam<MutationProgram> {};

TEST_P(Mutants, AreNoticed) {
  const auto experiment = fuzz::parse_case(GetParam().text);
  ASSERT_TRUE(experiment) << experiment.error();
  EmulatedCompiler compiler;
  std::optional<kernel::Plan> plan;
  RandomProgram original(*experiment, compiler.collect(1, [&](const kernel::Plan& made) {
    plan = made;
    return made;
  }));
  ASSERT_TRUE(plan) << "the program is refused";
  const std::vector<Mutant> list = emulation::mutants(*plan);
  const auto program = [&](const kernel::Plan& changed, std::uint64_t seed) {
    return std::make_unique<RandomProgram>(
        *experiment, compiler.collect(seed, [&](const kernel::Plan&) { return changed; }));
  };
  std::vector<Candidate> candidates;
  for (const Mutant& mutant : list) {
    candidates.push_back({&mutant, {}, nullptr, nullptr, nullptr});
    for (const std::uint64_t seed : {1, 101, 201})
      candidates.back().runs.push_back(program(mutant.plan, seed));
    if (mutant.probe) candidates.back().probe = program(*mutant.probe, 1);
    if (mutant.poisoned) candidates.back().poisoned = program(*mutant.poisoned, 1);
    if (mutant.finite) candidates.back().finite = program(*mutant.finite, 1);
  }
  compiler.build();
  for (const std::string& problem : original.run())
    ADD_FAILURE() << problem;
  Counts counts;
  for (Candidate& candidate : candidates) {
    ++counts.made;
    std::string problem;
    for (const auto& run : candidate.runs) {
      const Problems problems = run->run();
      if (problem.empty() && !problems.empty()) problem = problems.front();
    }
    if (!problem.empty()) {
      ++(problem.starts_with("the run was refused") ? counts.found_by_emulator
                                                    : counts.found_by_results);
      continue;
    }
    if (candidate.probe && candidate.probe->run().empty()) {
      ++counts.agreeing;
      continue;
    }
    if (candidate.poisoned && candidate.poisoned->run().empty()) {
      ++counts.unused;
      continue;
    }
    if (candidate.finite && candidate.finite->run().empty()) {
      ++counts.cancelled;
      continue;
    }
    if (std::find(GetParam().implied.begin(), GetParam().implied.end(),
                  candidate.mutant->description) != GetParam().implied.end()) {
      ++counts.implied;
      continue;
    }
    ADD_FAILURE() << "not noticed in " << candidate.mutant->kernel << ": "
                  << name_of(candidate.mutant->kind) << ": " << candidate.mutant->description
                  << "\n"
                  << kernel::print(plan->kernels[0]);
  }
  fmt::print("{}: {} mutants, {} found by the emulator, {} by wrong results; {} agree at these "
             "sizes, {} read what is not used, {} what a zero cancels, {} are "
             "implied\n",
             GetParam().name, counts.made, counts.found_by_emulator, counts.found_by_results,
             counts.agreeing, counts.unused, counts.cancelled, counts.implied);
  EXPECT_GT(counts.found_by_emulator, 0);
}

/// Products of warp groups read shared memory on a way of their own. Kernels without the fences
/// that lead there.
TEST(Mutation, MissingFencesAreNoticed) {
  int programs = 0;
  for (const MutationProgram& mutated : mutation_programs()) {
    const auto experiment = fuzz::parse_case(mutated.text);
    ASSERT_TRUE(experiment) << experiment.error();
    EmulatedCompiler compiler("sm_90a");
    bool has_fences = false;
    RandomProgram program(*experiment, compiler.collect(1, {}, [&](std::string text) {
      const std::string fence = "tc::publish_panels();";
      for (auto at = text.find(fence); at != std::string::npos; at = text.find(fence, at)) {
        text.erase(at, fence.size());
        has_fences = true;
      }
      return text;
    }));
    if (!has_fences) continue;
    ++programs;
    compiler.build();
    const Problems problems = program.run();
    ASSERT_FALSE(problems.empty()) << mutated.name;
    EXPECT_NE(problems.front().find("unpublished panel"), std::string::npos) << problems.front();
  }
  EXPECT_GE(programs, 2);
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, ::testing::ValuesIn(mutation_programs()),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name)
                             if (c == ' ') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace tc::cases
