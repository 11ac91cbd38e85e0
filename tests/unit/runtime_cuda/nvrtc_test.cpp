// SPDX-License-Identifier: Apache-2.0
//
// Real compilations. TC_TEST_VENV is the virtual environment of the tests, TC_CUDA_PATH a toolkit.
#include "tc/runtime/cuda/nvrtc.h"

#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "support/installed_nvrtc.h"
#include "tc/kernel/seal.h"
#include "tc/support/check.h"

namespace tc::runtime::cuda {
namespace {

namespace fs = std::filesystem;

using test::nvrtc_search;

class NvrtcTest : public test::WithNvrtc {
protected:
  Compiled compile(const std::string& source, std::string_view arch,
                   const CompileOptions& options = {},
                   const std::map<std::string, std::string>& headers = {}) const {
    auto compiled = compile_cubin(*nvrtc_, source, "test.cu", headers, arch, options);
    EXPECT_TRUE(compiled) << compiled.error().message;
    return compiled ? *compiled : Compiled{};
  }
};

constexpr const char* kTwoKernels = R"(
extern "C" __global__ void scale(const float* x, float* y, long long n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = 2.0f * tile[63 - threadIdx.x];
}
extern "C" __global__ void none() {}
)";

/// More values at once than a thread of 1024 has registers for.
constexpr const char* kSpilling = R"(
extern "C" __global__ void __launch_bounds__(1024) many(float* x, int n) {
  float r[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) r[i] = x[i * n];
  for (int j = 0; j < n; ++j) {
#pragma unroll
    for (int i = 0; i < 96; ++i) r[i] = r[i] * r[(i * 7 + 1) % 96] + j;
  }
#pragma unroll
  for (int i = 0; i < 96; ++i) x[i * n] = r[i];
}
)";

TEST_F(NvrtcTest, KnowsItsArchitectures) {
  EXPECT_GE(nvrtc_->major(), 12);
  EXPECT_GE(nvrtc_->highest_arch(), 90);
  EXPECT_EQ(nvrtc_->highest_arch(), nvrtc_->archs().back());
  EXPECT_FALSE(nvrtc_->path().empty());
}

TEST_F(NvrtcTest, CompilesForEachGeneration) {
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a"}) {
    SCOPED_TRACE(arch);
    if (std::string(arch) == "sm_100a" && nvrtc_->highest_arch() < 100) continue;
    const Compiled compiled = compile(kTwoKernels, arch);
    EXPECT_EQ(compiled.cubin.substr(0, 4), "\x7f"
                                           "ELF");
    EXPECT_NE(compiled.ptx.find(std::string(".target ") + arch), std::string::npos);
    EXPECT_EQ(compiled.log, "");
    ASSERT_EQ(compiled.kernels.size(), 2U);
    for (const KernelResources& kernel : compiled.kernels) {
      EXPECT_GT(kernel.registers, 0);
      EXPECT_EQ(kernel.stack_bytes, 0);
      EXPECT_EQ(kernel.spill_stores, 0);
      EXPECT_EQ(kernel.static_shared, kernel.name == "scale" ? 256 : 0) << kernel.name;
    }
    // Sealed bytes give the same file back.
    const std::string sealed = kernel::seal(compiled.cubin);
    EXPECT_EQ(*kernel::unseal(sealed), compiled.cubin);
  }
}

TEST_F(NvrtcTest, SpillsAreCounted) {
  const Compiled compiled = compile(kSpilling, "sm_80");
  ASSERT_EQ(compiled.kernels.size(), 1U);
  EXPECT_EQ(compiled.kernels[0].registers, 64);
  EXPECT_GT(compiled.kernels[0].spill_stores, 0);
  EXPECT_GT(compiled.kernels[0].spill_loads, 0);
  EXPECT_GE(compiled.kernels[0].stack_bytes, compiled.kernels[0].spill_stores / 8);
}

TEST_F(NvrtcTest, RegistersCanBeLimited) {
  // Launch bounds would say more than the option.
  std::string source = kSpilling;
  const std::string bounds = "__launch_bounds__(1024)";
  source.erase(source.find(bounds), bounds.size());
  EXPECT_GT(compile(source, "sm_80").kernels.at(0).registers, 40);
  const Compiled compiled = compile(source, "sm_80", {.max_registers = 40});
  ASSERT_EQ(compiled.kernels.size(), 1U);
  EXPECT_LE(compiled.kernels[0].registers, 40);
}

TEST_F(NvrtcTest, HeadersAreFoundByName) {
  const Compiled compiled =
      compile(R"(#include "device/twice.cuh"
extern "C" __global__ void k(float* x) { *x = twice(*x); }
)",
              "sm_80", {},
              {{"device/twice.cuh", "#pragma once\n#include \"other.h\"\n__device__ float "
                                    "twice(float x) { return kTwo * x; }\n"},
               {"other.h", "constexpr float kTwo = 2.0f;\n"}});
  EXPECT_FALSE(compiled.cubin.empty());
}

TEST_F(NvrtcTest, FastMathShowsInThePtx) {
  const char* source = "extern \"C\" __global__ void k(float* x) { *x = x[1] / x[2]; }\n";
  EXPECT_EQ(compile(source, "sm_80").ptx.find("div.approx"), std::string::npos);
  EXPECT_NE(compile(source, "sm_80", {.fast_math = true}).ptx.find("div.approx"),
            std::string::npos);
}

TEST_F(NvrtcTest, PtxAlone) {
  const Compiled compiled = compile(kTwoKernels, "sm_90a", {.ptx_only = true});
  EXPECT_TRUE(compiled.cubin.empty());
  EXPECT_NE(compiled.ptx.find(".visible .entry scale("), std::string::npos);
  EXPECT_TRUE(compiled.kernels.empty());
}

TEST_F(NvrtcTest, WarningsAreInTheLog) {
  const Compiled compiled =
      compile("extern \"C\" __global__ void k() { int unused_value; }\n", "sm_80");
  EXPECT_NE(compiled.log.find("unused_value"), std::string::npos) << compiled.log;
}

TEST_F(NvrtcTest, UnknownArchitecturesAreRefused) {
  for (const char* arch : {"sm_999", "sm_20", "sm_90x", "sm_", "90", "", "compute_80"}) {
    const auto compiled = compile_cubin(*nvrtc_, kTwoKernels, "test.cu", {}, arch);
    ASSERT_FALSE(compiled) << arch;
    EXPECT_EQ(compiled.error().kind, RejectionKind::TargetMissing);
    EXPECT_EQ(compiled.error().limit, nvrtc_->highest_arch());
  }
}

TEST_F(NvrtcTest, TooMuchStaticSharedMemoryIsARefusal) {
  const struct {
    const char* arch;
    int floats;
    std::int64_t limit;
  } cases[] = {{"sm_80", 20000, 48 << 10}, {"sm_90a", 100000, 227 << 10}};
  for (const auto& c : cases) {
    const auto compiled = compile_cubin(*nvrtc_,
                                        "extern \"C\" __global__ void big(float* x) {\n"
                                        "  __shared__ float tile[" +
                                            std::to_string(c.floats) +
                                            "];\n"
                                            "  tile[threadIdx.x] = x[0];\n"
                                            "  __syncthreads();\n"
                                            "  x[1] = tile[3];\n}\n",
                                        "test.cu", {}, c.arch);
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().kind, RejectionKind::LocalMemoryOverflow);
    EXPECT_EQ(compiled.error().used, 4 * c.floats);
    EXPECT_EQ(compiled.error().limit, c.limit);
  }
}

TEST_F(NvrtcTest, SourceThatDoesNotCompileIsOurDefect) {
  try {
    (void)compile_cubin(*nvrtc_, "extern \"C\" __global__ void k() { nonsense(); }\n", "test.cu",
                        {}, "sm_80");
    FAIL() << "it compiled";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("nonsense"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("test.cu"), std::string::npos) << error.what();
  }
}

TEST_F(NvrtcTest, ThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> cubins(4);
  for (std::string& cubin : cubins)
    threads.emplace_back([&] { cubin = compile(kTwoKernels, "sm_80").cubin; });
  for (auto& thread : threads)
    thread.join();
  for (const std::string& cubin : cubins)
    EXPECT_FALSE(cubin.empty());
}

TEST_F(NvrtcTest, NewerThanTheDriverIsPassedOver) {
  NvrtcSearch old = nvrtc_search();
  old.cuda_path = nvrtc_->path();
  old.driver_version = 11080;
  const auto opened = Nvrtc::open(old);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("the driver supports CUDA 11.8"), std::string::npos)
      << opened.error().message;
}

TEST_F(NvrtcTest, LibrariesOfTheProcessAreFound) {
  // Loaded above, so that its folder is known even when nothing else is.
  const auto opened = Nvrtc::open({});
  ASSERT_TRUE(opened) << opened.error().message;
}

}  // namespace
}  // namespace tc::runtime::cuda
