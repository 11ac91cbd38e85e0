// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/memory.h"

#include <numeric>

#include "fixture.h"
#include "tc/runtime/cuda/timing.h"

namespace tc::runtime::cuda {
namespace {

class MemoryTest : public FakeDriverTest {
protected:
  static Stream stream_of(const std::shared_ptr<const Driver>& driver, int device = 0) {
    auto stream = Stream::create(driver, device);
    EXPECT_TRUE(stream);
    return std::move(stream).value();
  }
};

TEST_F(MemoryTest, CopiesAndFills) {
  const auto driver = open();
  const Stream stream = stream_of(driver);
  auto memory = DeviceMemory::allocate(driver, 0, 64);
  ASSERT_TRUE(memory);
  std::vector<unsigned char> in(64), out(64);
  std::iota(in.begin(), in.end(), static_cast<unsigned char>(1));
  EXPECT_FALSE(copy_to_device(stream, memory->get(), in.data(), in.size()));
  EXPECT_FALSE(copy_to_host(stream, out.data(), memory->get(), out.size()));
  EXPECT_EQ(in, out);
  EXPECT_FALSE(fill(stream, memory->get(), 0xff, 32));
  EXPECT_FALSE(copy_to_host(stream, out.data(), memory->get(), out.size()));
  EXPECT_EQ(out[31], 0xff);
  EXPECT_EQ(out[32], 33);
  const auto info = memory_info(*driver, 0);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->total_bytes, 8192U);
}

TEST_F(MemoryTest, BlocksEndWithAWholeWord) {
  const auto driver = open();
  for (const std::size_t bytes : {1U, 3U, 4U, 5U, 4095U}) {
    const auto memory = DeviceMemory::allocate(driver, 0, bytes);
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->size(), bytes);
    EXPECT_EQ(fake::block_bytes(memory->get()), (bytes + 3) / 4 * 4);
  }
}

TEST_F(MemoryTest, NoBytesNeedNoDevice) {
  const auto driver = open();
  const auto memory = DeviceMemory::allocate(driver, 0, 0);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->get(), nullptr);
  EXPECT_EQ(fake::count("cuMemAlloc"), 0);
}

TEST_F(MemoryTest, OutOfMemorySaysHowMuch) {
  const auto driver = open();
  fake::fail("cuMemAlloc", result::kOutOfMemory);
  const auto memory = DeviceMemory::allocate(driver, 0, 1000000);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().used, 1000000);
  EXPECT_EQ(memory.error().limit, 4096);
  EXPECT_NE(memory.error().message.find("allocating 1000000 bytes on device 0 (Fake H200)"),
            std::string::npos)
      << memory.error().message;
  EXPECT_NE(memory.error().message.find("4096 bytes are free"), std::string::npos);
}

TEST_F(MemoryTest, EachCallMayFail) {
  const auto driver = open();
  const Stream stream = stream_of(driver);
  auto memory = DeviceMemory::allocate(driver, 0, 16);
  ASSERT_TRUE(memory);
  char host[16] = {};
  const auto fails = [&](const char* entry, auto&& act) {
    fake::fail(entry, result::kIllegalAddress, fake::count(entry), 1);
    const std::optional<Rejection> failed = act();
    ASSERT_TRUE(failed) << entry;
    EXPECT_NE(failed->message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << entry;
  };
  fails("cuMemcpyHtoDAsync", [&] { return copy_to_device(stream, memory->get(), host, 16); });
  fails("cuStreamSynchronize", [&] { return copy_to_device(stream, memory->get(), host, 16); });
  fails("cuMemcpyDtoHAsync", [&] { return copy_to_host(stream, host, memory->get(), 16); });
  fails("cuMemsetD8Async", [&] { return fill(stream, memory->get(), 0, 16); });
  fails("cuStreamSynchronize", [&] { return stream.synchronise(); });
  fake::fail("cuStreamCreate", result::kOutOfMemory);
  EXPECT_FALSE(Stream::create(driver, 0));
  fake::fail("cuEventCreate", result::kOutOfMemory);
  EXPECT_FALSE(Event::create(driver, 0));
}

TEST_F(MemoryTest, OwnersMove) {
  const auto driver = open();
  auto first = DeviceMemory::allocate(driver, 0, 16);
  auto second = DeviceMemory::allocate(driver, 1, 16);
  ASSERT_TRUE(first && second);
  void* const address = first->get();
  *second = std::move(*first);
  EXPECT_EQ(second->get(), address);
}

TEST_F(MemoryTest, KernelTimeIsTheMedianOverReplays) {
  fake::reset({.replay_ms = 2.0F});
  const auto module = create(open(), scale_table());
  const auto driver = std::shared_ptr<const Driver>(module, &module->driver());
  void* const pointers[] = {pointer(0x1000), pointer(0x2000), nullptr};
  std::vector<int> runs;
  const auto time = time_kernels(driver, 0,
                                 [&](const Stream& stream, int index) -> std::optional<Rejection> {
                                   runs.push_back(index);
                                   if (auto failed = run(*module, 0, pointers, stream.get()))
                                     return failed->rejection;
                                   return std::nullopt;
                                 },
                                 {.warmup = 2, .replays = 5, .most_runs = 50, .graph_us = 1000.0});
  ASSERT_TRUE(time) << time.error().message;
  // A probe of 10 runs takes 2000 us here, so 5 of them fill a graph.
  EXPECT_EQ(time->runs_per_graph, 5);
  EXPECT_EQ(time->samples_us.size(), 5U);
  EXPECT_DOUBLE_EQ(time->median_us, 400.0);
  EXPECT_DOUBLE_EQ(time->min_us, 400.0);
  EXPECT_EQ(fake::count("cuGraphLaunch"), 2 + 2 + 5);
  EXPECT_EQ(runs, (std::vector<int>{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4}));
}

TEST_F(MemoryTest, FailureWithinACaptureEndsIt) {
  const auto driver = open();
  const Stream stream = stream_of(driver);
  const auto graph = Graph::capture(driver, 0, stream, 3, [](const Stream&, int index) {
    return index == 1 ? std::optional(Rejection{RejectionKind::Unsupported, "no"}) : std::nullopt;
  });
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message, "no");
  EXPECT_EQ(fake::count("cuStreamEndCapture"), 1);
}

TEST_F(MemoryTest, EachFailureOfTimingIsGivenBack) {
  const auto driver = open();
  for (const char* entry : {"cuStreamCreate", "cuEventCreate", "cuStreamBeginCapture",
                            "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
                            "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime"}) {
    fake::fail(entry, result::kLaunchFailed, fake::count(entry), 1);
    const auto time =
        time_kernels(driver, 0, [](const Stream&, int) { return std::optional<Rejection>(); });
    EXPECT_FALSE(time) << entry;
  }
}

TEST_F(MemoryTest, WaitingWithinACaptureIsRefusedByTheDriver) {
  // What makes the capture tests above mean something: the fake refuses what capture forbids.
  const auto driver = open();
  const Stream stream = stream_of(driver);
  const auto graph = Graph::capture(
      driver, 0, stream, 1, [](const Stream& captured, int) { return captured.synchronise(); });
  EXPECT_FALSE(graph);
  EXPECT_EQ(fake::violations(), std::vector<std::string>{"cuStreamSynchronize during capture"});
  fake::reset();
}

}  // namespace
}  // namespace tc::runtime::cuda
