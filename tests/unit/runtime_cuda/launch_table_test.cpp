// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

namespace tc::runtime::cuda {
namespace {

using LaunchTableTest = FakeDriverTest;

LaunchTable example() {
  LaunchTable table;
  table.arguments = {{.kind = kernel::Argument::Kind::Input, .name = "x", .position = 0},
                     {.kind = kernel::Argument::Kind::Output, .name = "y", .position = 1},
                     {.kind = kernel::Argument::Kind::Scratch,
                      .name = "t",
                      .offset_bytes = 64,
                      .size_bytes = 256}};
  table.kernels = {{.name = "first", .grid = {3, 2, 1}, .block = {64, 2, 1}, .buffers = 2},
                   {.name = "second",
                    .grid = {132, 4, 2},
                    .block = {384, 1, 1},
                    .cluster = {2, 1, 1},
                    .dynamic_shared_bytes = 200000,
                    .buffers = 3,
                    .ints = 1,
                    .cooperative = true,
                    .work = 123456789012,
                    .thread_work = 34567}};
  table.steps =
      *kernel::parse_steps("launch 0(0, 2)\nloop t in 0:4 {\n  launch 1(0, 1, 2; (t * 2))\n}\n");
  table.scratch_bytes = 320;
  return table;
}

TEST(LaunchTable, TextReadsBack) {
  const LaunchTable table = example();
  const std::string text = to_text(table);
  const auto back = launch_table_from_text(text);
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(to_text(*back), text);
  EXPECT_EQ(back->scratch_bytes, 320);
  ASSERT_EQ(back->kernels.size(), 2U);
  const KernelLaunch& second = back->kernels[1];
  EXPECT_EQ(second.name, "second");
  EXPECT_EQ(second.grid, (std::array<std::int64_t, 3>{132, 4, 2}));
  EXPECT_EQ(second.block, (std::array<std::int64_t, 3>{384, 1, 1}));
  EXPECT_EQ(second.cluster, (std::array<std::int64_t, 3>{2, 1, 1}));
  EXPECT_EQ(second.dynamic_shared_bytes, 200000);
  EXPECT_EQ(second.buffers, 3);
  EXPECT_EQ(second.ints, 1);
  EXPECT_TRUE(second.cooperative);
  EXPECT_EQ(second.work, 123456789012);
  EXPECT_EQ(second.thread_work, 34567);
  EXPECT_FALSE(back->kernels[0].cooperative);
}

TEST(LaunchTable, ShortTextIsNeverWhole) {
  const std::string text = to_text(example());
  const std::size_t steps = text.find("steps\n") + 6;
  for (std::size_t size = 0; size < steps; ++size)
    EXPECT_FALSE(launch_table_from_text(text.substr(0, size))) << size;
}

TEST(LaunchTable, WrongTextIsRefused) {
  const std::string text = to_text(example());
  const std::pair<const char*, const char*> edits[] = {{"grid 3", "grid -3"},
                                                       {"grid 3 2 1", "grid 3 2"},
                                                       {"block 64", "blocks 64"},
                                                       {"thread_work 0", "thread_work 0 more"},
                                                       {"work 0", "work x"},
                                                       {"thread_work 0", "thread_work -1"},
                                                       {"cooperative 1", "cooperative 2"},
                                                       {"buffers 2", "buffers 99999999999"},
                                                       {"kernels 2", "kernels 3"},
                                                       {"launch 1(", "launch 2("},
                                                       {"launch 0(0, 2)", "launch 0(0, 3)"},
                                                       {"kernels 2", "kernels two"}};
  for (const auto& [from, to] : edits) {
    std::string wrong = text;
    const std::size_t at = wrong.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    wrong.replace(at, std::string(from).size(), to);
    EXPECT_FALSE(launch_table_from_text(wrong)) << from << " -> " << to;
  }
}

TEST(LaunchTable, NamesAndCountsComeFromThePlan) {
  const auto plan = kernel::parse_plan(R"(plan demo
scratch 0
argument input x 0
argument output y 0
kernel scale {
  buffer x float32[8] align 4
  buffer y float32[8] align 4 writable
  y[0] = x[0]
}
launch 0(0, 1)
)");
  if (!plan) GTEST_FAIL() << plan.error().line << ": " << plan.error().message;
  const LaunchTable table = launch_table(*plan, {{.block = {32, 1, 1}}});
  EXPECT_EQ(table.kernels[0].name, "scale");
  EXPECT_EQ(table.kernels[0].buffers, 2);
  EXPECT_EQ(table.kernels[0].ints, 0);
  EXPECT_EQ(table.kernels[0].block[0], 32);
  EXPECT_EQ(table.arguments.size(), 2U);
  EXPECT_THROW(launch_table(*plan, {}), InternalError);
}

}  // namespace
}  // namespace tc::runtime::cuda
