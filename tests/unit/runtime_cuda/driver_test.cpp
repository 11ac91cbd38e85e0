// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "fixture.h"

namespace tc::runtime::cuda {
namespace {

using DriverTest = FakeDriverTest;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(DriverTest, MissingLibraryNamesThePlaces) {
  const auto driver = Driver::open({.library = "/nowhere/libcuda.so.1"});
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, RejectionKind::TargetMissing);
  EXPECT_TRUE(contains(driver.error().message, "no NVIDIA driver was found"));
  EXPECT_TRUE(contains(driver.error().message, "/nowhere/libcuda.so.1")) << driver.error().message;
}

TEST_F(DriverTest, ForeignLibraryIsNoDriver) {
  const auto driver = Driver::open({.library = "libm.so.6"});
  ASSERT_FALSE(driver);
  EXPECT_TRUE(contains(driver.error().message, "'libm.so.6' is no CUDA driver"));
}

TEST_F(DriverTest, OldDriverSaysBothVersions) {
  fake::reset({.version = 11080});
  const auto driver = try_open();
  ASSERT_FALSE(driver);
  EXPECT_TRUE(contains(driver.error().message, "supports CUDA 11.8, 12.0 or newer is needed"))
      << driver.error().message;
  EXPECT_EQ(driver.error().used, 11080);
  EXPECT_EQ(driver.error().limit, kMinimumDriverVersion);
}

TEST_F(DriverTest, StubLibraryIsTold) {
  fake::reset({.version = 0, .version_result = result::kStubLibrary});
  const auto driver = try_open();
  ASSERT_FALSE(driver);
  EXPECT_TRUE(contains(driver.error().message, "stub")) << driver.error().message;
}

TEST_F(DriverTest, EachMissingEntryPointIsNamed) {
  for (const char* name : {"cuInit", "cuLaunchKernelEx", "cuGraphDestroy", "cuMemAlloc"}) {
    fake::reset({.lacking = {name}});
    const auto driver = try_open();
    ASSERT_FALSE(driver);
    EXPECT_TRUE(contains(driver.error().message, std::string("has no ") + name));
  }
}

TEST_F(DriverTest, EachFailureOfInitHasItsOwnMessage) {
  std::set<std::string> advices;
  const int codes[] = {result::kOutOfMemory,        result::kNotInitialized,
                       result::kNeedsNewerDriver,   result::kNoDevice,
                       result::kSystemNotReady,     result::kSystemDriverMismatch,
                       result::kCompatNotSupported, result::kUnknown};
  for (const int code : codes) {
    fake::reset();
    fake::fail("cuInit", code);
    const auto driver = try_open();
    ASSERT_FALSE(driver);
    const std::string& message = driver.error().message;
    EXPECT_EQ(driver.error().kind, RejectionKind::TargetMissing);
    EXPECT_TRUE(contains(message, "starting CUDA failed with")) << message;
    EXPECT_TRUE(contains(message, "(" + std::to_string(code) + ")")) << message;
    ASSERT_TRUE(contains(message, "; ")) << message;
    advices.insert(message.substr(message.rfind("; ")));
  }
  EXPECT_EQ(advices.size(), std::size(codes));
}

TEST_F(DriverTest, ReadingADeviceMayFail) {
  for (const char* entry :
       {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem"}) {
    fake::reset();
    fake::fail(entry, result::kInvalidDevice);
    EXPECT_FALSE(try_open()) << entry;
  }
}

TEST_F(DriverTest, NoDeviceAtAll) {
  fake::reset({.devices = {}});
  const auto driver = try_open();
  ASSERT_FALSE(driver);
  EXPECT_TRUE(contains(driver.error().message, "no CUDA device is visible"));
}

TEST_F(DriverTest, FactsOfDevices) {
  fake::Device ampere = fake::hopper();
  ampere.name = "Fake A10";
  ampere.attributes[75] = 8;
  ampere.attributes[76] = 6;
  ampere.attributes.erase(120);
  fake::reset({.version = 12040, .devices = {fake::hopper(), ampere}});
  const auto driver = open();
  EXPECT_EQ(driver->version(), 12040);
  ASSERT_EQ(driver->devices().size(), 2U);
  const Device& first = driver->devices()[0];
  EXPECT_EQ(first.arch(), "sm_90a");
  EXPECT_EQ(first.multiprocessors, 132);
  EXPECT_EQ(first.shared_per_block, 232448);
  EXPECT_EQ(first.shared_per_multiprocessor, 233472);
  EXPECT_EQ(first.registers_per_multiprocessor, 65536);
  EXPECT_EQ(first.l2_bytes, 62914560);
  EXPECT_EQ(first.memory_bytes, 1 << 30);
  EXPECT_EQ(first.clock_khz, 1980000);
  EXPECT_TRUE(first.cluster_launch);
  EXPECT_EQ(driver->devices()[1].arch(), "sm_86");
  EXPECT_FALSE(driver->devices()[1].cluster_launch);
  EXPECT_EQ(driver->device_text(1), "device 1 (Fake A10)");
}

TEST_F(DriverTest, NoContextForADeviceThatIsNotThere) {
  const auto driver = open();
  for (const int device : {-1, 2}) {
    const auto context = driver->context(device);
    ASSERT_FALSE(context);
    EXPECT_TRUE(contains(context.error().message, "the last one is 1"));
  }
}

TEST_F(DriverTest, BusyDevices) {
  fake::Device exclusive = fake::hopper();
  exclusive.attributes[20] = kComputeModeExclusive;
  fake::Device prohibited = fake::hopper();
  prohibited.attributes[20] = kComputeModeProhibited;
  fake::reset({.devices = {exclusive, prohibited, fake::hopper()}});
  const auto driver = open();
  fake::fail("cuDevicePrimaryCtxRetain", result::kDeviceUnavailable);
  EXPECT_TRUE(contains(driver->context(0).error().message,
                       "device 0 (Fake H200) is busy: it is in exclusive mode"));
  EXPECT_TRUE(contains(driver->context(1).error().message, "prohibited mode"));
  EXPECT_TRUE(contains(driver->context(2).error().message, "another process holds the device"));
  fake::fail("cuDevicePrimaryCtxRetain", result::kOutOfMemory);
  EXPECT_TRUE(contains(driver->context(0).error().message, "out of memory"));
}

TEST_F(DriverTest, ContextIsTriedAgainAfterAFailure) {
  const auto driver = open();
  fake::fail("cuDevicePrimaryCtxRetain", result::kOutOfMemory, 0, 1);
  EXPECT_FALSE(driver->context(0));
  EXPECT_TRUE(driver->context(0));
}

TEST_F(DriverTest, ContextIsRetainedOnceByManyThreads) {
  const auto driver = open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { EXPECT_TRUE(driver->context(1)); });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(fake::count("cuDevicePrimaryCtxRetain"), 1);
}

TEST_F(DriverTest, ErrorsAsText) {
  const auto driver = open();
  EXPECT_FALSE(driver->error(result::kSuccess, "anything"));
  const auto memory = driver->error(result::kOutOfMemory, "allocating 5 bytes");
  EXPECT_EQ(
      memory->to_string(),
      "allocating 5 bytes failed with CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; the device "
      "is out of memory; free some or use smaller sizes");
  EXPECT_FALSE(memory->is_sticky());
  EXPECT_EQ(driver->error(4321, "it")->to_string(), "it failed with an unknown result (4321)");
  EXPECT_TRUE(driver->error(result::kIllegalAddress, "it")->is_sticky());
}

TEST_F(DriverTest, ForkedProcessLeavesTheDriverAlone) {
  auto driver = open();
  ASSERT_TRUE(driver->context(0));
  auto module = create(driver, scale_table());
  ASSERT_FALSE(module->prepare(0));
  const pid_t child = fork();
  if (child == 0) {
    const std::size_t before = fake::calls().size();
    module.reset();
    driver.reset();
    _exit(fake::calls().size() == before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// As a program would that keeps its modules in static storage.
void exit_with_static_module(const std::shared_ptr<const Module>& module) {
  static std::shared_ptr<const Module> kept;
  kept = module;
  fake::fail_all(result::kDeinitialized);
  std::exit(7);
}

TEST_F(DriverTest, EndOfProcessIsQuiet) {
  const auto module = create(open(), scale_table());
  ASSERT_FALSE(module->prepare(0));
  EXPECT_EXIT(exit_with_static_module(module), ::testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace tc::runtime::cuda
