// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <thread>

#include "fixture.h"

namespace tc::runtime::cuda {
namespace {

using RunTest = FakeDriverTest;

TEST_F(RunTest, PassesParametersAndConfiguration) {
  const auto module = create(open(), table({{.name = "first",
                                             .grid = {7, 3, 2},
                                             .block = {32, 4, 2},
                                             .dynamic_shared_bytes = 1000,
                                             .buffers = 3,
                                             .ints = 2},
                                            {.name = "second",
                                             .grid = {4, 2, 1},
                                             .block = {64, 1, 1},
                                             .cluster = {2, 1, 1},
                                             .buffers = 1,
                                             .cooperative = true}},
                                           "loop t in 2:4 {\n"
                                           "  launch 0(2, 0, 1; (t * 5), -1)\n"
                                           "}\n"
                                           "launch 1(1)\n"));
  void* const pointers[] = {pointer(0x1000), pointer(0x2000), pointer(0x3000)};
  EXPECT_FALSE(run(*module, 1, pointers, pointer(0x77)));
  const auto launches = fake::launches();
  ASSERT_EQ(launches.size(), 3U);
  const std::uint64_t minus_one = ~std::uint64_t{0};
  EXPECT_EQ(launches[0].parameters,
            (std::vector<std::uint64_t>{0x3000, 0x1000, 0x2000, 10, minus_one}));
  EXPECT_EQ(launches[1].parameters,
            (std::vector<std::uint64_t>{0x3000, 0x1000, 0x2000, 15, minus_one}));
  EXPECT_EQ(launches[2].parameters, (std::vector<std::uint64_t>{0x2000}));
  EXPECT_EQ(launches[0].kernel, "first");
  EXPECT_EQ(launches[0].grid, (std::array<unsigned, 3>{7, 3, 2}));
  EXPECT_EQ(launches[0].block, (std::array<unsigned, 3>{32, 4, 2}));
  EXPECT_EQ(launches[0].dynamic_shared, 1000U);
  EXPECT_FALSE(launches[0].cooperative);
  EXPECT_EQ(launches[0].cluster[0], 0U);
  EXPECT_EQ(launches[2].kernel, "second");
  EXPECT_TRUE(launches[2].cooperative);
  EXPECT_EQ(launches[2].cluster, (std::array<unsigned, 3>{2, 1, 1}));
  for (const auto& launch : launches) {
    EXPECT_EQ(launch.device, 1);
    EXPECT_EQ(launch.stream, pointer(0x77));
  }
}

TEST_F(RunTest, PreparedRunCallsNothingButLaunches) {
  const auto module = create(open(), scale_table());
  ASSERT_FALSE(module->prepare(0));
  void* const pointers[] = {pointer(0x1000), pointer(0x2000), nullptr};
  fake::set_current_device(0);
  const std::size_t before = fake::calls().size();
  EXPECT_FALSE(run(*module, 0, pointers, nullptr));
  const auto calls = fake::calls();
  EXPECT_EQ(
      std::vector<std::string>(calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end()),
      (std::vector<std::string>{"cuCtxGetCurrent", "cuLaunchKernelEx"}));
}

TEST_F(RunTest, ContextIsSwitchedOnlyWhenItIsAnother) {
  const auto module = create(open(), scale_table());
  ASSERT_FALSE(module->prepare(0));
  ASSERT_FALSE(module->prepare(1));
  void* const pointers[] = {pointer(0x1000), pointer(0x2000), nullptr};
  fake::set_current_device(1);
  const int pushed = fake::count("cuCtxPushCurrent");
  EXPECT_FALSE(run(*module, 1, pointers, nullptr));
  EXPECT_EQ(fake::count("cuCtxPushCurrent"), pushed);
  EXPECT_FALSE(run(*module, 0, pointers, nullptr));
  EXPECT_EQ(fake::count("cuCtxPushCurrent"), pushed + 1);
  EXPECT_EQ(fake::current_device(), 1);
  EXPECT_EQ(fake::launches().back().device, 0);
}

TEST_F(RunTest, FirstRunPrepares) {
  const auto module = create(open(), scale_table());
  void* const pointers[] = {pointer(0x1000), pointer(0x2000), nullptr};
  EXPECT_FALSE(run(*module, 0, pointers, nullptr));
  EXPECT_NE(module->loaded(0), nullptr);
  const auto failed = run(*module, 5, pointers, nullptr);
  ASSERT_TRUE(failed);
  EXPECT_TRUE(failed->kernel.empty());
  EXPECT_EQ(failed->rejection.kind, RejectionKind::TargetMissing);
  EXPECT_FALSE(failed->driver);
}

TEST_F(RunTest, GridsWithoutBlocksLaunchNothing) {
  const auto module = create(open(), table({{.name = "none", .grid = {0, 4, 1}}, {.name = "some"}},
                                           "launch 0()\nlaunch 1()\n"));
  EXPECT_FALSE(run(*module, 0, nullptr, nullptr));
  ASSERT_EQ(fake::launches().size(), 1U);
  EXPECT_EQ(fake::launches()[0].kernel, "some");
}

TEST_F(RunTest, FailureNamesTheKernelAndStops) {
  const int codes[] = {result::kInvalidValue,
                       result::kOutOfMemory,
                       result::kInvalidHandle,
                       result::kIllegalAddress,
                       result::kLaunchOutOfResources,
                       result::kLaunchTimeout,
                       result::kCooperativeTooLarge,
                       result::kLaunchFailed,
                       result::kDeinitialized,
                       result::kCaptureFirst,
                       result::kUnknown};
  for (const int code : codes) {
    fake::reset();
    const auto module = create(open(), table({{.name = "first"}, {.name = "second"}},
                                             "launch 0()\nloop t in 0:9 {\n launch 1()\n}\n"));
    ASSERT_FALSE(module->prepare(0));
    fake::fail("cuLaunchKernelEx", code, 3, 1);
    const auto failed = run(*module, 0, nullptr, nullptr);
    ASSERT_TRUE(failed) << code;
    EXPECT_EQ(failed->kernel, "second");
    ASSERT_TRUE(failed->driver);
    EXPECT_EQ(failed->driver->code, code);
    EXPECT_NE(failed->rejection.message.find("launching kernel 'second' on device 0 (Fake H200)"),
              std::string::npos)
        << failed->rejection.message;
    EXPECT_EQ(fake::launches().size(), 3U);
    EXPECT_EQ(fake::current_device(), -1);
    // Not sticky here: the fake's next launch works again.
    EXPECT_FALSE(run(*module, 0, nullptr, nullptr));
  }
}

TEST_F(RunTest, LostContextIsAFailure) {
  const auto module = create(open(), scale_table());
  ASSERT_FALSE(module->prepare(0));
  void* const pointers[] = {nullptr, nullptr, nullptr};
  for (const char* entry : {"cuCtxGetCurrent", "cuCtxPushCurrent"}) {
    fake::fail(entry, result::kDeinitialized, fake::count(entry), 1);
    const auto failed = run(*module, 0, pointers, nullptr);
    ASSERT_TRUE(failed) << entry;
    EXPECT_TRUE(failed->kernel.empty());
    EXPECT_EQ(failed->driver->code, result::kDeinitialized);
  }
  EXPECT_TRUE(fake::launches().empty());
}

TEST_F(RunTest, ThreadsRunAtOnceOnBothDevices) {
  const auto module = create(open(), table({{.name = "k", .buffers = 1, .ints = 1}},
                                           "loop t in 0:50 {\n launch 0(0; t)\n}\n"));
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      void* const pointers[] = {pointer(0x1000 + static_cast<std::uintptr_t>(i))};
      EXPECT_FALSE(run(*module, i % 2, pointers, pointer(0x10 + static_cast<std::uintptr_t>(i))));
    });
  for (auto& thread : threads)
    thread.join();
  // Each thread's launches are its own and in order.
  std::vector<std::uint64_t> next(kThreads, 0);
  for (const auto& launch : fake::launches()) {
    const std::size_t thread = launch.parameters[0] - 0x1000;
    ASSERT_LT(thread, next.size());
    EXPECT_EQ(launch.parameters[1], next[thread]++);
    EXPECT_EQ(launch.device, static_cast<int>(thread % 2));
    EXPECT_EQ(launch.stream, pointer(0x10 + thread));
  }
  EXPECT_EQ(next, std::vector<std::uint64_t>(kThreads, 50));
}

}  // namespace
}  // namespace tc::runtime::cuda
