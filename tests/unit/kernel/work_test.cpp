// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gtest/gtest.h>

#include "tc/kernel/passes.h"
#include "tc/kernel/work.h"

namespace tc::kernel {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Work work_of(const std::string& head, const std::string& body,
             const std::vector<Interval>& parameters = {}) {
  const std::string text =
      "kernel k {\n  buffer y float32[1073741824] align 4 writable\n" + head + body + "}\n";
  const auto kernel = parse(text);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().line << ": " << kernel.error().message << "\n" << text;
    return {};
  }
  EXPECT_TRUE(verify(*kernel).empty());
  return estimate_work(*kernel, parameters);
}

TEST(Work, CountsStatementsOfEveryThreadAndTask) {
  EXPECT_EQ(work_of("", "  y[0] = 1.0f\n"), (Work{1, 1}));
  EXPECT_EQ(work_of("  grid b 5\n  thread t 32\n", "  y[0] = 1.0f\n  y[t] = 2.0f\n"),
            (Work{5 * 32 * 2, 2}));
  EXPECT_EQ(work_of("  grid b 0\n", "  y[0] = 1.0f\n"), (Work{0, 0}));
}

TEST(Work, LoopsMultiplyAndBranchesTakeTheLongerSide) {
  EXPECT_EQ(
      work_of("",
              "  for i in 0:10 {\n    for j in 0:100 step 7 {\n      y[j] = 1.0f\n    }\n  }\n"),
      (Work{150, 150}));
  EXPECT_EQ(work_of("  grid b 4\n",
                    "  if (b < 2) {\n    y[0] = 1.0f\n  } else {\n    for i in 0:9 {\n      y[i] = "
                    "1.0f\n    }\n  }\n"),
            (Work{36, 9}));
  EXPECT_EQ(work_of("", "  for i in 8:3 {\n    y[i] = 1.0f\n  }\n"), (Work{0, 0}));
}

TEST(Work, LoopsMayCountInOtherTypes) {
  EXPECT_EQ(work_of("", "  for i: int32 in 2i32:9i32 {\n    y[0] = 1.0f\n  }\n").thread, 7);
}

TEST(Work, LanesCountEach) {
  EXPECT_EQ(work_of("", "  y[ramp(0, 1, 8)] = broadcast(1.0f, 8)\n"), (Work{8, 8}));
}

TEST(Work, PartialTilesCountAsWholeOnes) {
  // What two bounds share cancels, also below names, minima and divisions.
  const char* tile =
      "  for k in 0:1000 step 32 {\n    for i in k:min((k + 32), 1000) {\n      y[i] = "
      "1.0f\n    }\n  }\n";
  EXPECT_EQ(work_of("", tile).thread, 32 * 32);
  const char* named =
      "  for k in 0:1000 step 32 {\n    let end = min((k + 32), 1000)\n    let count = "
      "(((end - k) + 3) / 4)\n    for i in 0:count {\n      y[i] = 1.0f\n    }\n  }\n";
  EXPECT_EQ(work_of("", named).thread, 32 * (2 + 8));
  const char* clamped =
      "  for k in 0:1000 step 32 {\n    for i in max(0, (k - 3)):(k + 4) {\n      y[i] = "
      "1.0f\n    }\n  }\n";
  EXPECT_EQ(work_of("", clamped).thread, 32 * 7);
}

TEST(Work, ThreadsShareALoop) {
  const Work work =
      work_of("  thread t 256\n", "  for i in t:100000 step 256 {\n    y[i] = 1.0f\n  }\n");
  EXPECT_EQ(work.thread, 391);
  EXPECT_EQ(work.total, 391 * 256);
}

TEST(Work, ParametersHaveTheirRange) {
  const std::string loop = "  for i in 0:(n + 1) {\n    y[i] = 1.0f\n  }\n";
  EXPECT_EQ(work_of("  int n\n", loop, {{0, 99}}), (Work{100, 100}));
}

TEST(Work, NumbersThatDoNotFitStayTheLargest) {
  std::string loops = "y[0] = 1.0f\n";
  for (int i = 0; i < 3; ++i)
    loops = "for i" + std::to_string(i) + " in 0:10000000000 {\n" + loops + "}\n";
  EXPECT_EQ(work_of("  grid b 1000\n", loops), (Work{kMost, kMost}));
  EXPECT_EQ(work_of("  int n\n", "  for i in n:(n * n) {\n    y[0] = 1.0f\n  }\n",
                    {full_interval(DType::Int64)}),
            (Work{kMost, kMost}));
  EXPECT_EQ(saturating_add(kMost, 1), kMost);
  EXPECT_EQ(saturating_mul(kMost / 2, 3), kMost);
  EXPECT_EQ(saturating_mul(0, kMost), 0);
}

}  // namespace
}  // namespace tc::kernel
