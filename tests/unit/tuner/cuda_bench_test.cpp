// SPDX-License-Identifier: Apache-2.0
//
// Measuring on CUDA over a driver that records what is called. Its kernels compute nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "../runtime_cuda/fake_driver.h"
#include "tc/compiler/backend.h"
#include "tc/compiler/cuda_platform.h"
#include "tc/compiler/executor_impl.h"
#include "tc/kernel/plan.h"
#include "tc/kernel/seal.h"
#include "tc/runtime/cuda/launch_table.h"
#include "tc/tuner/bench.h"

namespace tc::tuner {
namespace {

class CudaBenchTest : public ::testing::Test {
protected:
  /// All memory is that of device 1.
  void SetUp() override {
    fake::reset({.free_bytes = std::size_t{1} << 30, .memory = {{1, UINTPTR_MAX, 1}}});
  }
  void TearDown() override {
    EXPECT_EQ(fake::violations(), std::vector<std::string>{});
    bench_.reset();
    EXPECT_EQ(fake::alive("memory"), 0);
    EXPECT_EQ(fake::alive("host memory"), 0);
  }

  static CompileContext make_context() {
    CompileContext context;
    context.cuda = find_cuda({.path = "/nonexistent", .driver = TC_FAKE_CUDA});
    return context;
  }
  static compiler::FrontEnd make_front() {
    Metadata metadata;
    metadata.inputs = {{DType::Float32, {8}, {}, 16}};
    metadata.output_alignment = 16;
    const SourceBuffer source("<text>", "def scale(float(N) x) -> (y) { y(i) = x(i) * 2.0 }");
    return *compiler::front_end(source, "scale", metadata, 16);
  }

  Executor executor() const {
    runtime::cuda::LaunchTable table;
    table.arguments = {{.kind = kernel::Argument::Kind::Input, .name = "x", .position = 0},
                       {.kind = kernel::Argument::Kind::Output, .name = "y", .position = 0},
                       {.kind = kernel::Argument::Kind::Scratch,
                        .name = "s",
                        .offset_bytes = 32,
                        .size_bytes = 32}};
    table.kernels = {{.name = "scale", .grid = {7, 1, 1}, .block = {128, 1, 1}, .buffers = 3}};
    table.scratch_bytes = 64;
    table.steps = kernel::parse_steps("launch 0(0, 1, 2)\n").value();
    const compiler::StoredKernel stored{"scale 40 16 4 8 128\nlaunches\n" +
                                            runtime::cuda::to_text(table),
                                        kernel::seal("scale "), "scale"};
    auto impl = std::make_shared<Executor::Impl>();
    impl->name = "scale";
    impl->input_names = {"x"};
    impl->inputs = front_.inputs;
    impl->outputs = front_.outputs;
    impl->output_roles = {{"y", -1}};
    impl->target = *cuda_target("sm_90a");
    impl->code = *compiler::cuda_backend(context_.cuda)->load(stored);
    return Executor(std::move(impl));
  }

  Bench& bench() {
    if (!bench_) {
      auto made = cuda_bench(arguments_, 1, *cuda_target("sm_90a"), context_);
      EXPECT_TRUE(made.has_value());
      bench_ = std::move(made).value();
    }
    return *bench_;
  }

  const compiler::FrontEnd front_ = make_front();
  Arguments arguments_{front_};
  const CompileContext context_ = make_context();
  std::unique_ptr<Bench> bench_;
};

TEST_F(CudaBenchTest, RunsOnceOnPoisonedMemoryOfItsOwn) {
  const auto results = bench().run_checked(executor());
  ASSERT_TRUE(results.has_value()) << results.error().message;
  ASSERT_EQ(results->size(), 1u);
  const unsigned char* bytes = results->front().data;
  EXPECT_TRUE(std::all_of(bytes, bytes + results->front().bytes, [](unsigned char byte) {
    return byte == kPoison;
  })) << "what no kernel wrote";
  const auto launches = fake::launches();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].device, 1);
  EXPECT_NE(launches[0].stream, nullptr);
  ASSERT_EQ(launches[0].parameters.size(), 3u);
  for (std::size_t p = 0; p < 3; ++p)
    EXPECT_EQ(launches[0].parameters[p] % 16, 0u) << p;
}

TEST_F(CudaBenchTest, InputsTakeTurns) {
  const Result<Timing, BenchProblem> timing = bench().time(executor(), 0);
  ASSERT_TRUE(timing.has_value()) << timing.error().message;
  EXPECT_GT(timing->samples, 3);
  EXPECT_GT(timing->median_us, 0);
  EXPECT_FALSE(timing->is_stopped);
  std::vector<std::uint64_t> inputs;
  for (const fake::Launch& launch : fake::launches())
    inputs.push_back(launch.parameters.at(0));
  std::sort(inputs.begin(), inputs.end());
  EXPECT_GT(std::unique(inputs.begin(), inputs.end()) - inputs.begin(), 1);
}

TEST_F(CudaBenchTest, SlowOnesAreGivenUp) {
  const Result<Timing, BenchProblem> timing = bench().time(executor(), 1e-6);
  ASSERT_TRUE(timing.has_value()) << timing.error().message;
  EXPECT_TRUE(timing->is_stopped);
}

TEST_F(CudaBenchTest, OneSetStaysOnTheDevice) {
  const Executor scale = executor();
  ASSERT_TRUE(bench().run_checked(scale).has_value());
  const int blocks = fake::count("cuMemAlloc");
  ASSERT_TRUE(bench().run_checked(scale).has_value());
  EXPECT_EQ(fake::count("cuMemAlloc"), blocks);
  const auto launches = fake::launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].parameters, launches[1].parameters);
}

TEST_F(CudaBenchTest, PoisonIsMadeOnTheDevice) {
  const Executor scale = executor();
  ASSERT_TRUE(bench().run_checked(scale).has_value());
  const int copies = fake::count("cuMemcpyHtoDAsync");
  const auto results = bench().run_checked(scale);
  ASSERT_TRUE(results.has_value());
  EXPECT_EQ(fake::count("cuMemcpyHtoDAsync"), copies) << "nothing that the device had not";
  results->front().data[0] ^= 1;
  const auto again = bench().run_checked(scale);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->front().data[0], kPoison);
}

TEST_F(CudaBenchTest, MemoryOfTheHostThatTheDriverDoesNotGiveIsOrdinary) {
  bench();
  constexpr int kOutOfMemory = 2;
  fake::fail("cuMemHostAlloc", kOutOfMemory);
  const auto results = bench().run_checked(executor());
  ASSERT_TRUE(results.has_value()) << results.error().message;
  EXPECT_EQ(results->front().data[0], kPoison);
}

TEST_F(CudaBenchTest, TurnsAreMadeOnce) {
  const Executor scale = executor();
  ASSERT_TRUE(bench().time(scale, 0).has_value());
  const int blocks = fake::count("cuMemAlloc");
  EXPECT_GT(blocks, 100)
      << "small arguments: enough sets to fill the L2 cache, up to a graph's runs";
  ASSERT_TRUE(bench().time(scale, 0).has_value());
  EXPECT_EQ(fake::count("cuMemAlloc"), blocks);
}

TEST_F(CudaBenchTest, FaultsOfTheDeviceLoseIt) {
  const Executor scale = executor();
  bench();
  constexpr int kIllegalAddress = 700;
  fake::fail("cuStreamSynchronize", kIllegalAddress);
  const auto results = bench().run_checked(scale);
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().kind, BenchProblem::Kind::Lost) << results.error().message;
}

TEST_F(CudaBenchTest, CodeThatTheDeviceDoesNotLoadIsRefused) {
  const Executor scale = executor();
  bench();
  constexpr int kOutOfMemory = 2;
  fake::fail("cuModuleLoadDataEx", kOutOfMemory, 0, 1);
  const auto results = bench().run_checked(scale);
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().kind, BenchProblem::Kind::Refused) << results.error().message;
  EXPECT_FALSE(results.error().reason.empty());
  EXPECT_TRUE(bench().run_checked(scale).has_value()) << "the next one is not affected";
}

TEST_F(CudaBenchTest, NothingIsRefusedByALostDevice) {
  const Executor scale = executor();
  bench();
  constexpr int kIllegalAddress = 700;
  fake::fail("cuModuleLoadDataEx", kIllegalAddress);
  fake::fail("cuStreamSynchronize", kIllegalAddress);
  const auto results = bench().run_checked(scale);
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().kind, BenchProblem::Kind::Lost) << results.error().message;
}

}  // namespace
}  // namespace tc::tuner
