// SPDX-License-Identifier: Apache-2.0
//
// Every *.sched file beside this program: a line `# fusion: max|preserve3|min`, a line `# sizes:
// N=4 D=5`, the program, a line `---`, and the schedule tree that it must get. Trees are compared
// by the order that they give to the instances and by their kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/poly/fixture.h"

namespace tc::poly::testing {
namespace {

struct ScheduleFile {
  std::string program, tree;
  Sizes sizes;
  MappingOptions options;
};

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(TC_SOURCE_DIR "/tests/pass/poly")) {
    if (entry.path().extension() == ".sched") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

ScheduleFile read(const std::filesystem::path& path) {
  ScheduleFile result;
  std::ifstream file(path);
  std::string line;
  bool in_tree = false;
  while (std::getline(file, line)) {
    if (line == "---") {
      in_tree = true;
      continue;
    }
    std::istringstream words(line);
    std::string hash, key, word;
    words >> hash >> key;
    if (!in_tree && key == "fusion:") {
      words >> word;
      result.options.fusion = word == "max"   ? Fusion::Max
                              : word == "min" ? Fusion::Min
                                              : Fusion::Preserve3Coincident;
    } else if (!in_tree && key == "sizes:") {
      while (words >> word) {
        const std::size_t equal = word.find('=');
        result.sizes[word.substr(0, equal)] = std::stoll(word.substr(equal + 1));
      }
    } else {
      (in_tree ? result.tree : result.program) += line + "\n";
    }
  }
  return result;
}

class SchedulePass : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(SchedulePass, GivesTheTree) {
  const ScheduleFile file = read(GetParam());
  const Polyhedral poly(file.program, file.sizes);
  const Schedule schedule = poly.schedule(file.options);
  EXPECT_EQ(poly.violations(schedule), std::vector<std::string>());
  const auto expected = parse_schedule(poly.scop, file.tree, poly.context);
  ASSERT_TRUE(expected.has_value()) << expected.error();
  EXPECT_EQ(shape(poly.scop, schedule), shape(poly.scop, *expected));
  const isl::union_map got = to_schedule_tree(poly.scop, schedule, poly.context).map();
  const isl::union_map wanted = isl::schedule(poly.context.get(), file.tree).map();
  EXPECT_TRUE(got.is_equal(wanted)) << poly.text(schedule);
  // What the text says is all there is to it.
  EXPECT_EQ(poly.text(*expected), poly.text(schedule));
}

INSTANTIATE_TEST_SUITE_P(Files, SchedulePass, ::testing::ValuesIn(files()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace tc::poly::testing
