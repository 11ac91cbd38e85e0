// SPDX-License-Identifier: Apache-2.0
//
// Runs the passes that the first line of each *.kernel file beside this program names (`// RUN:
// simplify unroll`) and compares the result with its lines `// CHECK: text` (found in this order)
// and `// CHECK-NOT: text` (found nowhere).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tc/kernel/passes.h"

namespace tc::kernel {
namespace {

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(TC_SOURCE_DIR "/tests/pass/kernel"))
    if (entry.path().extension() == ".kernel") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

Kernel run(const std::string& pass, const Kernel& kernel) {
  if (pass == "simplify") return simplify(kernel);
  if (pass == "unroll") return unroll(kernel);
  ADD_FAILURE() << "unknown pass " << pass;
  return kernel;
}

class PassTest : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(PassTest, GivesTheCheckedText) {
  std::ifstream file(GetParam());
  std::stringstream content;
  content << file.rdbuf();
  auto parsed = parse(content.str());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().line << ": " << parsed.error().message;
  ASSERT_EQ(verify(*parsed), std::vector<std::string>());
  Kernel kernel = *parsed;
  std::istringstream lines(content.str());
  std::string line;
  std::vector<std::string> passes;
  std::getline(lines, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word != "//" && word != "RUN:") passes.push_back(word);
  ASSERT_FALSE(passes.empty());
  for (const auto& pass : passes)
    kernel = run(pass, kernel);
  EXPECT_EQ(verify(kernel), std::vector<std::string>());
  const std::string result = print(kernel);
  // A second time changes nothing.
  EXPECT_EQ(print(run(passes.back(), kernel)), result);
  std::size_t from = 0;
  while (std::getline(lines, line)) {
    const auto text_after = [&](const std::string& key) {
      const auto at = line.find(key);
      return at == std::string::npos ? std::string() : line.substr(at + key.size());
    };
    if (const std::string wanted = text_after("// CHECK: "); !wanted.empty()) {
      const auto at = result.find(wanted, from);
      EXPECT_NE(at, std::string::npos) << "missing: " << wanted << "\n" << result;
      if (at != std::string::npos) from = at + wanted.size();
    }
    if (const std::string banned = text_after("// CHECK-NOT: "); !banned.empty()) {
      EXPECT_EQ(result.find(banned), std::string::npos) << "present: " << banned << "\n" << result;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, PassTest, ::testing::ValuesIn(files()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace tc::kernel
