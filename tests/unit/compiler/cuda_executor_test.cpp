// SPDX-License-Identifier: Apache-2.0
//
// Executors for CUDA over a driver that records what is called: placement of tensors, scratch,
// streams, failures, and code from the cache.
#include <gtest/gtest.h>

#include <cstring>

#include "../runtime_cuda/fake_driver.h"
#include "tc/compiler/backend.h"
#include "tc/compiler/cuda_platform.h"
#include "tc/compiler/executor_impl.h"
#include "tc/kernel/plan.h"
#include "tc/kernel/seal.h"
#include "tc/runtime/cuda/launch_table.h"

namespace tc {
namespace {

using compiler::StoredKernel;

constexpr std::int64_t kElements = 8;
constexpr int kLaunchOutOfResources = 701;

std::shared_ptr<const CudaPlatform> platform() {
  return find_cuda({.path = "/nonexistent", .driver = TC_FAKE_CUDA});
}

/// y = scale(x) with 64 bytes of scratch, of which the status is the second half.
StoredKernel stored_scale(std::int64_t scratch_bytes = 64, std::int64_t work = 0) {
  runtime::cuda::LaunchTable table;
  table.arguments = {{.kind = kernel::Argument::Kind::Input, .name = "x", .position = 0},
                     {.kind = kernel::Argument::Kind::Output, .name = "y", .position = 0},
                     {.kind = kernel::Argument::Kind::Scratch,
                      .name = "status",
                      .offset_bytes = 32,
                      .size_bytes = 32}};
  table.kernels = {
      {.name = "scale", .grid = {7, 1, 1}, .block = {128, 1, 1}, .buffers = 3, .work = work}};
  table.scratch_bytes = scratch_bytes;
  table.steps = kernel::parse_steps("launch 0(0, 1, 2)\n").value();
  return {"scale 40 16 4 8 128\nlaunches\n" + runtime::cuda::to_text(table), kernel::seal("scale "),
          "scale"};
}

Executor make(const std::shared_ptr<const compiler::Code>& code, int in_place_of = -1) {
  auto impl = std::make_shared<Executor::Impl>();
  impl->name = "scale";
  impl->input_names = {"x"};
  impl->inputs = {{DType::Float32, {kElements}, {1}, 16}};
  impl->outputs = impl->inputs;
  impl->output_roles = {{"y", in_place_of}};
  impl->target = *cuda_target("sm_90a");
  impl->code = code;
  return Executor(std::move(impl));
}

/// A tensor at an address that nobody reads.
struct Tensor {
  std::int64_t size = kElements;
  std::int64_t stride = 1;
  DLTensor view{};
  explicit Tensor(std::uintptr_t address, DLDevice device = {kDLCUDA, 1}) {
    view.data = reinterpret_cast<void*>(address);
    view.device = device;
    view.ndim = 1;
    view.dtype = {kDLFloat, 32, 1};
    view.shape = &size;
    view.strides = &stride;
  }
};

class CudaExecutorTest : public ::testing::Test {
protected:
  /// The tensors' addresses, and the scratch, are memory of device 1.
  static constexpr fake::Memory kTensors{0x1000, 0x10000, 1};
  void SetUp() override {
    const auto scratch = reinterpret_cast<std::uintptr_t>(scratch_);
    fake::reset({.memory = {kTensors, {scratch, scratch + sizeof scratch_, 1}}});
  }
  void TearDown() override { EXPECT_EQ(fake::violations(), std::vector<std::string>{}); }

  static Executor executor(int in_place_of = -1) {
    auto code = compiler::cuda_backend(platform())->load(stored_scale());
    EXPECT_TRUE(code && *code);
    return make(*code, in_place_of);
  }
  static std::optional<Failure> run(const Executor& executor, const Tensor& x, const Tensor& y,
                                    void* scratch, void* stream = nullptr) {
    const DLTensor* in[] = {&x.view};
    const DLTensor* out[] = {&y.view};
    return executor.run(in, out, stream, scratch);
  }
  static std::string message(const std::optional<Failure>& failure) {
    return failure ? failure->message : "none";
  }

  alignas(64) std::int64_t scratch_[8] = {};
};

TEST_F(CudaExecutorTest, RunsOnTheTensorsDeviceAndStream) {
  const Executor scale = executor();
  void* const stream = reinterpret_cast<void*>(0x77);
  ASSERT_EQ(message(run(scale, Tensor(0x1000), Tensor(0x2000), scratch_, stream)), "none");
  const auto launches = fake::launches();
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].device, 1);
  EXPECT_EQ(launches[0].stream, stream);
  const auto status = reinterpret_cast<std::uint64_t>(scratch_) + 32;
  EXPECT_EQ(launches[0].parameters, (std::vector<std::uint64_t>{0x1000, 0x2000, status}));
  EXPECT_EQ(fake::count("cuMemAlloc") + fake::count("cuMemcpyHtoDAsync") +
                fake::count("cuStreamSynchronize"),
            0);
}

TEST_F(CudaExecutorTest, UncheckedRunsOnTheDeviceGiven) {
  const Executor scale = executor();
  ASSERT_EQ(message(scale.prepare(0)), "none");
  void* const pointers[] = {reinterpret_cast<void*>(0x1000), reinterpret_cast<void*>(0x2000),
                            scratch_};
  const int loads = fake::count("cuModuleLoadDataEx");
  EXPECT_EQ(message(scale.run_unchecked(pointers, nullptr, 0)), "none");
  EXPECT_EQ(fake::count("cuModuleLoadDataEx"), loads);
  EXPECT_EQ(message(scale.run_unchecked(pointers, nullptr, 1)), "none");
  ASSERT_EQ(fake::launches().size(), 2U);
  EXPECT_EQ(fake::launches()[0].device, 0);
  EXPECT_EQ(fake::launches()[1].device, 1);
}

TEST_F(CudaExecutorTest, RefusesTensorsOfOtherPlaces) {
  const Executor scale = executor();
  EXPECT_EQ(message(run(scale, Tensor(0x1000, {kDLCPU, 0}), Tensor(0x2000), scratch_)),
            "input 'x' lies on the CPU where a CUDA device is expected");
  EXPECT_EQ(message(run(scale, Tensor(0x1000, {kDLCUDA, 0}), Tensor(0x2000), scratch_)),
            "input 'x' lies on CUDA device 0 and output 'y' on CUDA device 1; all tensors of a run "
            "lie on one device");
  EXPECT_TRUE(fake::launches().empty());
}

TEST_F(CudaExecutorTest, RefusesMemoryThatIsNotWhatTheTensorClaims) {
  const auto scratch = reinterpret_cast<std::uintptr_t>(scratch_);
  fake::reset({.memory = {kTensors,
                          {scratch, scratch + sizeof scratch_, 1},
                          {0x20000, 0x21000, 0},
                          {0x30000, 0x31000, -2, 0},
                          {0x40000, 0x41000, 0, 2, true},
                          {0x50000, 0x51000, 0, 1}}});
  const Executor scale = executor();
  // Memory that is not CUDA's; also where the driver gives it the default values of attributes.
  for (const std::uintptr_t host : {std::uintptr_t{0x900000}, std::uintptr_t{0x30000}}) {
    const auto failure = run(scale, Tensor(host), Tensor(0x2000), scratch_);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Failure::Kind::Argument);
    EXPECT_EQ(failure->message, "input 'x' is no memory that CUDA knows, where memory of device 1 "
                                "(Fake H200) is expected");
  }
  const auto foreign = run(scale, Tensor(0x1000), Tensor(0x20000), scratch_);
  ASSERT_TRUE(foreign);
  EXPECT_EQ(foreign->kind, Failure::Kind::Argument);
  EXPECT_EQ(foreign->message, "output 'y' is memory of device 0 (Fake H200), where memory of "
                              "device 1 (Fake H200) is expected");
  EXPECT_EQ(message(run(scale, Tensor(0x1000), Tensor(0x2000), reinterpret_cast<void*>(0x900000))),
            "the scratch is no memory that CUDA knows, where memory of device 1 (Fake H200) is "
            "expected");
  EXPECT_TRUE(fake::launches().empty());
  // Managed memory of another device, and host memory that was registered.
  EXPECT_EQ(message(run(scale, Tensor(0x40000), Tensor(0x50000), scratch_)), "none");
  EXPECT_EQ(fake::launches().size(), 1U);
}

TEST_F(CudaExecutorTest, UncheckedAsksNothing) {
  const Executor scale = executor();
  void* const pointers[] = {reinterpret_cast<void*>(0x900000), reinterpret_cast<void*>(0x2000),
                            scratch_};
  EXPECT_EQ(message(scale.run_unchecked(pointers, nullptr, 1)), "none");
  EXPECT_EQ(fake::count("cuPointerGetAttribute"), 0);
  // A checked run asks once for memory that is in its place.
  EXPECT_EQ(message(run(scale, Tensor(0x1000), Tensor(0x2000), scratch_)), "none");
  EXPECT_EQ(fake::count("cuPointerGetAttribute"), 3);
}

TEST_F(CudaExecutorTest, TensorsWithoutElementsMayLieAnywhere) {
  auto impl = std::make_shared<Executor::Impl>();
  auto code = compiler::cuda_backend(platform())->load(stored_scale());
  ASSERT_TRUE(code && *code);
  impl->name = "scale";
  impl->input_names = {"x"};
  impl->inputs = {{DType::Float32, {0}, {1}, 16}};
  impl->outputs = impl->inputs;
  impl->output_roles = {{"y", -1}};
  impl->target = *cuda_target("sm_90a");
  impl->code = *code;
  Tensor x(0), y(0x900000);
  x.size = y.size = 0;
  EXPECT_EQ(message(run(Executor(impl), x, y, scratch_)), "none");
}

TEST_F(CudaExecutorTest, AFailingDeviceIsReportedByTheLaunch) {
  const Executor scale = executor();
  ASSERT_EQ(message(scale.prepare(1)), "none");
  fake::fail("cuPointerGetAttribute", 700);
  fake::fail("cuLaunchKernelEx", 700);
  const auto failure = run(scale, Tensor(0x1000), Tensor(0x2000), scratch_);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::Target);
  EXPECT_NE(failure->message.find("scale"), std::string::npos) << failure->message;
}

TEST_F(CudaExecutorTest, RefusesMissingScratchSharedAndUnalignedMemory) {
  const Executor scale = executor();
  EXPECT_EQ(message(run(scale, Tensor(0x1000), Tensor(0x2000), nullptr)),
            "'scale' needs 64 bytes of scratch on the tensors' device: the caller gives them");
  EXPECT_EQ(message(run(scale, Tensor(0x1000), Tensor(0x1010), scratch_)),
            "output 'y' shares memory with input 'x'; give it memory of its own");
  EXPECT_EQ(message(run(scale, Tensor(0x1008), Tensor(0x2000), scratch_)),
            "input 'x' starts at an address that is no multiple of 16 bytes");
  EXPECT_EQ(message(run(executor(0), Tensor(0x1000), Tensor(0x2000), scratch_)),
            "output 'y' is updated in place: it must be the memory of input 'x'");
  EXPECT_EQ(message(run(executor(0), Tensor(0x1000), Tensor(0x1000), scratch_)), "none");
  EXPECT_EQ(fake::launches().size(), 1U);
}

TEST_F(CudaExecutorTest, FailedLaunchNamesTheKernel) {
  const Executor scale = executor();
  ASSERT_EQ(message(scale.prepare(1)), "none");
  fake::fail("cuLaunchKernelEx", kLaunchOutOfResources);
  const auto failure = run(scale, Tensor(0x1000), Tensor(0x2000), scratch_);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::Target);
  EXPECT_NE(failure->message.find("scale"), std::string::npos) << failure->message;
  EXPECT_NE(failure->message.find("701"), std::string::npos) << failure->message;
}

TEST_F(CudaExecutorTest, MoreWorkThanAllowedIsATargetFailure) {
  const StoredKernel large = stored_scale(64, 3'000'000'000'000'000);
  const auto refused = compiler::cuda_backend(platform())->load(large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Failure::Kind::Target);
  EXPECT_EQ(refused.error().message,
            "kernel 'scale' would execute about 3e+15 statements in one launch, at most 2e+15 are "
            "allowed [unsupported] (used 3000000000000000, limit 2000000000000000)");
  const auto allowed = compiler::cuda_backend(platform(), {.work = 0})->load(large);
  EXPECT_TRUE(allowed && *allowed);
}

TEST_F(CudaExecutorTest, DeviceThatIsNotThereIsATargetFailure) {
  const auto failure = executor().prepare(9);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, Failure::Kind::Target);
  EXPECT_NE(failure->message.find("no CUDA device 9"), std::string::npos) << failure->message;
}

TEST_F(CudaExecutorTest, StatusIsCopiedBehindTheStream) {
  const Executor scale = executor();
  EXPECT_EQ(scale.check(scratch_, nullptr, 1), std::nullopt);
  const std::int64_t status[4] = {1, 2, 0, 99};
  std::memcpy(scratch_ + 4, status, sizeof status);
  EXPECT_EQ(scale.check(scratch_, nullptr, 1),
            "statement S2 of 'scale': a subscript of dimension 0 was out of range with value 99");
  EXPECT_EQ(fake::count("cuMemcpyDtoHAsync"), 2);
  EXPECT_EQ(fake::count("cuStreamSynchronize"), 2);
  fake::fail("cuMemcpyDtoHAsync", 700);
  const auto lost = scale.check(scratch_, nullptr, 1);
  ASSERT_TRUE(lost);
  EXPECT_NE(lost->find("copying 32 bytes"), std::string::npos) << *lost;
}

TEST_F(CudaExecutorTest, ResourcesComeBackFromTheStore) {
  auto code = compiler::cuda_backend(platform())->load(stored_scale());
  ASSERT_TRUE(code && *code);
  EXPECT_EQ((*code)->resources(), (std::vector<KernelResources>{{"scale", 40, 16, 4, 8, 128}}));
  EXPECT_EQ((*code)->kernels(), 1);
  EXPECT_EQ((*code)->scratch_bytes(), 64);
}

TEST_F(CudaExecutorTest, DamagedEntriesAreNoCode) {
  const auto backend = compiler::cuda_backend(platform());
  StoredKernel flipped = stored_scale();
  flipped.object[0] ^= 1;
  StoredKernel without_table = stored_scale();
  without_table.launch_table = "scale 40 16 4 8 128\n";
  StoredKernel odd_resources = stored_scale();
  odd_resources.launch_table.replace(0, 8, "scale x ");
  StoredKernel cut = stored_scale();
  cut.launch_table.resize(cut.launch_table.size() - 20);
  for (const StoredKernel& entry : {flipped, without_table, odd_resources, cut}) {
    const auto code = backend->load(entry);
    ASSERT_TRUE(code.has_value());
    EXPECT_EQ(*code, nullptr) << entry.launch_table;
  }
}

TEST_F(CudaExecutorTest, WithoutADriverCodeIsThereButDoesNotRun) {
  const auto nowhere = find_cuda({.path = "/nonexistent", .driver = "/nonexistent/libcuda.so.1"});
  auto code = compiler::cuda_backend(nowhere)->load(stored_scale());
  ASSERT_TRUE(code && *code);
  const Executor scale = make(*code);
  EXPECT_EQ(scale.scratch_bytes(), 64);
  for (const auto& failure :
       {run(scale, Tensor(0x1000), Tensor(0x2000), scratch_), scale.prepare(0)}) {
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, Failure::Kind::Target);
    EXPECT_NE(failure->message.find("/nonexistent/libcuda.so.1"), std::string::npos)
        << failure->message;
  }
}

TEST_F(CudaExecutorTest, CompilingWithoutNvrtcIsATargetFailure) {
  CompileContext context;
  context.cuda = platform();
  Metadata metadata;
  metadata.inputs = {{DType::Float32, {kElements}, {}, 4}};
  const auto executor = compile("def f(float(N) x) -> (y) { y(i) = x(i) }", "", metadata, {},
                                cuda_target("sm_90a"), context);
  ASSERT_FALSE(executor);
  EXPECT_EQ(executor.error().kind, Failure::Kind::Target);
  EXPECT_NE(executor.error().message.find("/nonexistent"), std::string::npos)
      << executor.error().message;
}

TEST_F(CudaExecutorTest, TargetsByName) {
  CompileContext context;
  context.cuda = platform();
  const auto second = find_target("cuda:1", context);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->device, 1);
  EXPECT_EQ(second->target.arch, "sm_90a");
  EXPECT_EQ(second->target.cores, (*context.cuda->driver())->devices()[1].multiprocessors);
  EXPECT_EQ(find_target("cuda-sm_80", context)->target, *cuda_target("sm_80"));
  EXPECT_EQ(find_target("cpu-x86-64-v3", context)->target, *cpu_target("x86-64-v3"));

  const auto third = find_target("cuda:2", context);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().kind, Failure::Kind::Target);
  EXPECT_EQ(third.error().message, "there is no CUDA device 2: the driver shows devices 0 to 1");
  for (const char* wrong :
       {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda-sm_20", "cpu-"})
    EXPECT_EQ(find_target(wrong, context).error().kind, Failure::Kind::Argument) << wrong;
}

TEST_F(CudaExecutorTest, OldDevicesAreRefused) {
  fake::Settings settings;
  settings.devices[0].attributes[75] = 7;  // compute capability, major
  settings.devices[0].attributes[76] = 5;
  fake::reset(settings);
  CompileContext context;
  context.cuda = platform();
  const auto old = find_target("cuda", context);
  ASSERT_FALSE(old);
  EXPECT_NE(old.error().message.find("compute capability 7.5"), std::string::npos)
      << old.error().message;
}

}  // namespace
}  // namespace tc
