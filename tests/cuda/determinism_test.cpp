// SPDX-License-Identifier: Apache-2.0
//
// The same program, sizes and options give the same CUDA text byte for byte: twice in one process,
// and in processes whose memory lies elsewhere.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "cuda/emulated_compiler.h"
#include "cuda/random_programs.h"
#include "tc/emulation/host_compiler.h"

namespace tc::cases {

namespace {

/// Names the file for the texts, in the processes that the test starts.
constexpr const char* kFile = "TC_TEXTS_FILE";

/// Texts of random programs, of which each uses a little of everything.
std::string all_texts() {
  EmulatedCompiler collected;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    fuzz::Case experiment = random_cuda_case(seed);
    if (!experiment.text.empty()) RandomProgram(std::move(experiment), collected.collect());
  }
  std::string all;
  collected.for_each([&](const std::string& description, const codegen::cuda::Source& source) {
    all += description + "\n" + source.text;
  });
  return all;
}

std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

TEST(CudaTexts, AreTheSameInEveryProcess) {
  const std::string texts = all_texts();
  ASSERT_GT(texts.size(), 100'000u);
  if (const char* file = std::getenv(kFile)) {
    std::ofstream(file, std::ios::binary) << texts;
    return;
  }
  EXPECT_TRUE(all_texts() == texts) << "two translations in one process differ";
  const emulation::PrivateDirectory directory;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const char* fill : {"0", "165"}) {
    const auto file = directory.path() / fill;
    // Fresh memory is filled with a pattern of its own, so what is read by mistake shows.
    const auto outcome = emulation::run_command(
        {"env", std::string(kFile) + "=" + file.string(), std::string("MALLOC_PERTURB_=") + fill,
         self, "--gtest_filter=CudaTexts.AreTheSameInEveryProcess"},
        directory.path() / "log");
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_TRUE(contents(file) == texts) << "another process gave other texts";
  }
}

}  // namespace
}  // namespace tc::cases
