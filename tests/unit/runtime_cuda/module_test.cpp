// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <thread>

#include "fixture.h"
#include "tc/kernel/seal.h"

namespace tc::runtime::cuda {
namespace {

class ModuleTest : public FakeDriverTest {
protected:
  static Result<std::shared_ptr<const Module>, Rejection> try_kernel(KernelLaunch kernel,
                                                                     const RunLimits& limits = {}) {
    kernel.name = "k";
    return try_create(open(), table({std::move(kernel)}, "launch 0()\n"), limits);
  }
  static std::optional<Rejection> prepare_kernel(KernelLaunch kernel) {
    auto module = try_kernel(std::move(kernel));
    EXPECT_TRUE(module) << module.error().message;
    return (*module)->prepare(0);
  }
};

TEST_F(ModuleTest, DamagedImagesAreRefused) {
  const std::string sealed = kernel::seal("scale");
  for (const std::string& image :
       {std::string(), std::string("scale"), sealed.substr(1), kernel::seal("")}) {
    const auto module = Module::create(open(), image, scale_table());
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().kind, RejectionKind::Unsupported);
  }
}

TEST_F(ModuleTest, LaunchesThatNoDeviceTakesAreRefusedWithNumbers) {
  struct Case {
    KernelLaunch kernel;
    RejectionKind kind;
    std::int64_t used, limit;
  };
  const Case cases[] = {
      {{.grid = {std::int64_t{1} << 31, 1, 1}},
       RejectionKind::Unsupported,
       std::int64_t{1} << 31,
       (std::int64_t{1} << 31) - 1},
      {{.grid = {1, 65536, 1}}, RejectionKind::Unsupported, 65536, 65535},
      {{.grid = {1, 1, 70000}}, RejectionKind::Unsupported, 70000, 65535},
      {{.block = {1025, 1, 1}}, RejectionKind::TooManyThreads, 1025, 1024},
      {{.block = {1, 1, 65}}, RejectionKind::TooManyThreads, 65, 64},
      {{.block = {64, 32, 1}}, RejectionKind::TooManyThreads, 2048, 1024},
      {{.block = {0, 1, 1}}, RejectionKind::TooManyThreads, 0, 1024},
      {{.grid = {9, 1, 1}, .cluster = {2, 1, 1}}, RejectionKind::Unsupported, 2, 9},
      {{.grid = {8, 8, 1}, .cluster = {8, 4, 1}}, RejectionKind::Unsupported, 32, 16},
      {{.dynamic_shared_bytes = std::int64_t{1} << 40},
       RejectionKind::LocalMemoryOverflow,
       std::int64_t{1} << 40,
       1 << 30},
      {{.work = 20'000'000'000'000'000},
       RejectionKind::Unsupported,
       20'000'000'000'000'000,
       RunLimits{}.work},
      {{.work = 900'000'000'000, .thread_work = 900'000'000'000},
       RejectionKind::Unsupported,
       900'000'000'000,
       RunLimits{}.thread_work},
  };
  for (const Case& c : cases) {
    const auto module = try_kernel(c.kernel);
    ASSERT_FALSE(module) << c.used;
    EXPECT_EQ(module.error().kind, c.kind) << module.error().message;
    EXPECT_EQ(module.error().used, c.used) << module.error().message;
    EXPECT_EQ(module.error().limit, c.limit) << module.error().message;
    EXPECT_NE(module.error().message.find("'k'"), std::string::npos) << module.error().message;
  }
  EXPECT_TRUE(try_kernel({.work = 20'000'000'000'000'000}, {.work = 0}));
  EXPECT_TRUE(try_kernel({.work = RunLimits{}.work, .thread_work = RunLimits{}.thread_work}));
}

TEST_F(ModuleTest, RunsOfTooManyLaunchesAreRefused) {
  const LaunchTable loop =
      table({{.name = "k"}}, "loop t in 0:2000 {\n loop u in 0:2000 {\n launch 0()\n}\n}\n");
  EXPECT_TRUE(try_create(open(), loop));
  const auto refused = try_create(open(), loop, {.steps = 100000});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().used, 100001);
  EXPECT_EQ(refused.error().limit, 100000);
}

TEST_F(ModuleTest, LaunchesOfOneRunCountTogether) {
  const LaunchTable loop = table({{.name = "short", .work = 7}, {.name = "long", .work = 100}},
                                 "launch 0()\nloop t in 0:2000 {\n launch 1()\n}\n");
  EXPECT_TRUE(try_create(open(), loop, {.work = 200'007}));
  const auto refused = try_create(open(), loop, {.work = 200'006});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, RejectionKind::Unsupported);
  EXPECT_EQ(refused.error().used, 200'007);
  EXPECT_NE(refused.error().message.find("2000 launches of kernel 'long'"), std::string::npos)
      << refused.error().message;
  const auto slow = try_create(
      open(),
      table({{.name = "k", .work = 64, .thread_work = 2}}, "loop t in 0:9 {\n launch 0()\n}\n"),
      {.thread_work = 17});
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().used, 18);
}

TEST_F(ModuleTest, WorkThatOverflowsIsRefused) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto refused = try_create(
      open(), table({{.name = "k", .work = kMost}}, "loop t in 0:9 {\n launch 0()\n}\n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().used, kMost);
}

TEST_F(ModuleTest, LoadsOnceForEachDeviceAndUnloadsWithTheLastReference) {
  auto driver = open();
  auto module = create(driver, scale_table());
  EXPECT_EQ(fake::count("cuModuleLoadDataEx"), 0);
  EXPECT_FALSE(module->prepare(0));
  EXPECT_FALSE(module->prepare(0));
  EXPECT_EQ(fake::count("cuModuleLoadDataEx"), 1);
  EXPECT_FALSE(module->prepare(1));
  EXPECT_EQ(fake::alive("module"), 2);
  auto other = module;
  module.reset();
  EXPECT_EQ(fake::alive("module"), 2);
  driver.reset();
  other.reset();
  EXPECT_EQ(fake::alive("module"), 0);
  EXPECT_EQ(fake::alive("context"), 0);
  EXPECT_EQ(fake::current_device(), -1);
}

TEST_F(ModuleTest, ManyThreadsLoadOnce) {
  const auto module = create(open(), scale_table());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] { EXPECT_FALSE(module->prepare(i % 2)); });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(fake::count("cuModuleLoadDataEx"), 2);
}

TEST_F(ModuleTest, EveryFailureOfLoadingIsNamedAndLeavesNothing) {
  const struct {
    const char* entry;
    const char* what;
  } cases[] = {
      {"cuDevicePrimaryCtxRetain", "opening device 0"},
      {"cuCtxGetCurrent", "using device 0"},
      {"cuCtxPushCurrent", "using device 0"},
      {"cuModuleLoadDataEx", "loading the code of 'k' on device 0 (Fake H200)"},
      {"cuModuleGetFunction", "loading kernel 'k' on device 0"},
      {"cuFuncLoad", "loading kernel 'k' on device 0"},
      {"cuFuncGetAttribute", "preparing kernel 'k' on device 0"},
      {"cuFuncSetAttribute", "preparing kernel 'k' on device 0"},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", "counting the blocks of kernel 'k'"},
  };
  for (const auto& c : cases) {
    fake::reset();
    auto module = try_kernel({.dynamic_shared_bytes = 100000, .cooperative = true});
    ASSERT_TRUE(module);
    fake::fail(c.entry, result::kOutOfMemory, 0, 1);
    const auto failed = (*module)->prepare(0);
    ASSERT_TRUE(failed) << c.entry;
    EXPECT_EQ(failed->kind, RejectionKind::TargetMissing);
    EXPECT_NE(failed->message.find(c.what), std::string::npos) << failed->message;
    EXPECT_NE(failed->message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos);
    EXPECT_EQ(fake::alive("module"), 0) << c.entry;
    EXPECT_EQ((*module)->loaded(0), nullptr);
    // The cause may have gone: the next call tries again.
    EXPECT_FALSE((*module)->prepare(0)) << c.entry;
  }
}

TEST_F(ModuleTest, ForeignCodeSaysSo) {
  const int codes[] = {result::kInvalidImage, result::kNoBinaryForGpu,
                       result::kUnsupportedPtxVersion, result::kInvalidPtx};
  for (const int code : codes) {
    fake::reset();
    const auto module = create(open(), scale_table());
    fake::fail("cuModuleLoadDataEx", code);
    const auto failed = module->prepare(0);
    ASSERT_TRUE(failed);
    EXPECT_NE(failed->message.find("another architecture"), std::string::npos) << failed->message;
    EXPECT_NE(failed->message.find("the image is odd"), std::string::npos) << failed->message;
  }
}

TEST_F(ModuleTest, KernelsThatTheImageLacksAreNamed) {
  auto module = Module::create(open(), kernel::seal("other"), scale_table());
  const auto failed = (*module)->prepare(0);
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->message.find("loading kernel 'scale'"), std::string::npos);
  EXPECT_EQ(fake::alive("module"), 0);
}

TEST_F(ModuleTest, LimitsOfTheDevice) {
  fake::Device old = fake::hopper();
  old.attributes[75] = 8;
  old.attributes[95] = 0;
  old.attributes[120] = 0;
  fake::reset(
      {.devices = {old}, .functions = {{"k", {.static_shared = 1000, .max_threads = 256}}}});
  auto failed = prepare_kernel({.dynamic_shared_bytes = 232000});
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, RejectionKind::LocalMemoryOverflow);
  EXPECT_EQ(failed->used, 233000);
  EXPECT_EQ(failed->limit, 232448);
  failed = prepare_kernel({.block = {512, 1, 1}});
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, RejectionKind::TooManyThreads);
  EXPECT_EQ(failed->used, 512);
  EXPECT_EQ(failed->limit, 256);
  failed = prepare_kernel({.cooperative = true});
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->message.find("cooperative launches"), std::string::npos);
  failed = prepare_kernel({.grid = {2, 1, 1}, .cluster = {2, 1, 1}});
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->message.find("clusters"), std::string::npos);
}

TEST_F(ModuleTest, CooperativeGridsFitTheDevice) {
  EXPECT_FALSE(prepare_kernel({.grid = {264, 1, 1}, .cooperative = true}));
  const auto failed = prepare_kernel({.grid = {265, 1, 1}, .cooperative = true});
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->used, 265);
  EXPECT_EQ(failed->limit, 264);
}

TEST_F(ModuleTest, SharedMemoryIsAskedForWhenItIsMoreThanTheDefault) {
  constexpr int kMaxDynamicShared = 8;
  EXPECT_FALSE(prepare_kernel({.dynamic_shared_bytes = 49152}));
  EXPECT_EQ(fake::attribute("k", kMaxDynamicShared), -1);
  EXPECT_FALSE(prepare_kernel({.dynamic_shared_bytes = 49153}));
  EXPECT_EQ(fake::attribute("k", kMaxDynamicShared), 49153);
  fake::reset({.functions = {{"k", {.static_shared = 40000}}}});
  EXPECT_FALSE(prepare_kernel({.dynamic_shared_bytes = 10000}));
  EXPECT_EQ(fake::attribute("k", kMaxDynamicShared), 10000);
}

TEST_F(ModuleTest, LargeClustersAreAskedFor) {
  constexpr int kNonPortable = 14;
  EXPECT_FALSE(prepare_kernel({.grid = {16, 1, 1}, .cluster = {8, 1, 1}}));
  EXPECT_EQ(fake::attribute("k", kNonPortable), -1);
  EXPECT_FALSE(prepare_kernel({.grid = {16, 1, 1}, .cluster = {16, 1, 1}}));
  EXPECT_EQ(fake::attribute("k", kNonPortable), 1);
}

TEST_F(ModuleTest, DriversBefore124HaveNoFunctionLoad) {
  fake::reset({.version = 12000});
  EXPECT_FALSE(prepare_kernel({}));
  EXPECT_EQ(fake::count("cuFuncLoad"), 0);
  fake::reset({.version = 12040});
  EXPECT_FALSE(prepare_kernel({}));
  EXPECT_EQ(fake::count("cuFuncLoad"), 1);
}

}  // namespace
}  // namespace tc::runtime::cuda
