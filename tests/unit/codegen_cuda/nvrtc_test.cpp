// SPDX-License-Identifier: Apache-2.0
//
// Texts and device headers as the compiler of the device takes them. TC_TEST_VENV is the virtual
// environment of the tests, TC_CUDA_PATH a toolkit; skipped where neither has NVRTC.
#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "batch.h"
#include "support/installed_nvrtc.h"
#include "tc/math/scalar.h"
#include "tc/runtime/cuda/nvrtc.h"

namespace tc::test {
namespace {

class CompiledByNvrtc : public test::WithNvrtc {
protected:
  void SetUp() override {
    WithNvrtc::SetUp();
    for (const auto& header : codegen::cuda::device_headers())
      headers_[std::string(header.name)] = std::string(header.text);
  }

  /// For the oldest and the newest architecture; what the assembler says of the newest.
  runtime::cuda::Compiled compile(const std::string& source) const {
    runtime::cuda::Compiled last;
    for (const char* arch : {"sm_80", "sm_90a"}) {
      auto compiled = runtime::cuda::compile_cubin(*nvrtc_, source, "test.cu", headers_, arch);
      EXPECT_TRUE(compiled) << compiled.error().message;
      if (compiled) last = *compiled;
      EXPECT_EQ(last.log, "") << arch;
    }
    return last;
  }

  std::map<std::string, std::string> headers_;
};

TEST_F(CompiledByNvrtc, RegisterTilesStayInRegistersAndAccessesAreWide) {
  const auto compiled = compile(emitted(R"(kernel tile {
  buffer A float32[64, 128] align 16
  buffer B bfloat16[64, 128] align 16
  buffer C float16[64, 128] align 16 writable
  grid b 4
  thread t 256
  alloc S float32[16, 128] shared writable
  alloc T float32[8] registers writable
  register acc float32x8[2] = broadcast(0.0f, 8)
  S[t / 16, ramp(t % 16 * 8, 1, 8)] = A[b * 16 + t / 16, ramp(t % 16 * 8, 1, 8)]
  barrier block
  for k in 0:16 {
    unrolled for j in 0:2 {
      $acc[j] = $acc[j] + S[k, ramp(t % 8 * 16 + j * 8, 1, 8)]
    }
  }
  T[ramp(0, 1, 8)] = $acc[0] * $acc[1]
  C[b * 16 + t / 16, ramp(t % 16 * 8, 1, 8)] = T[ramp(0, 1, 8)] + B[b * 16 + t / 16, ramp(t % 16 * 8, 1, 8)]
}
)")
                                    .text);
  ASSERT_EQ(compiled.kernels.size(), 1u);
  EXPECT_EQ(compiled.kernels[0].stack_bytes, 0);
  EXPECT_EQ(compiled.kernels[0].static_shared, 16 * 128 * 4);
  for (const char* access : {"ld.global.nc.v4", "ld.shared.v4", "st.shared.v4", "st.global.v4"})
    EXPECT_NE(compiled.ptx.find(access), std::string::npos) << access;
}

/// Every element type is loaded, cast to, updated and stored; every builtin is called.
TEST_F(CompiledByNvrtc, EveryTypeAndBuiltin) {
  std::string buffers, body;
  for (int t = 0; t < kNumDTypes; ++t) {
    const auto type = static_cast<DType>(t);
    buffers += fmt::format(
        " buffer X{0} {1}[64] align 16\n buffer Z{0} {1}[64] align 16 writable\n", t, name(type));
    body += fmt::format(
        " Z{0}[ramp(i * 8, 1, 8)] = X{0}[ramp(i * 8, 1, 8)]\n Z{0}[i] = X{0}[63 - i]\n", t);
    if (type != DType::Bool)
      for (const char* op : {"add", "mul", "min", "max"})
        body += fmt::format(" atomic {1} Z{0}[i] = X{0}[i + 1]\n", t, op);
    body += fmt::format(" F[{0}] = float32({1}(F[i]))\n", t, name(type));
  }
  for (const auto& function : math::scalar_functions()) {
    std::string args = "F[i]";
    for (int a = 1; a < function.arity; ++a)
      args += fmt::format(", F[i + {}]", a);
    if (function.returns_bool)
      body += fmt::format(" F[i] = float32({}<bool>({}))\n", function.name, args);
    else
      body += fmt::format(" F[i] = {}({})\n", function.name, args);
  }
  compile(
      emitted(fmt::format("kernel all {{\n{} buffer F float32[64] writable\n thread i 8\n{}}}\n",
                          buffers, body))
          .text);
}

/// Two bytes are exchanged as such, one goes by the word around it, for which shared memory has
/// room.
TEST_F(CompiledByNvrtc, NarrowAtomicUpdates) {
  const auto ptx_of = [&](const char* type) {
    const auto compiled =
        compile(emitted(fmt::format("kernel k {{\n buffer Z {0}[5] writable\n thread t 5\n alloc S "
                                    "{0}[5] shared writable\n S[t] = 1i32\n barrier block\n "
                                    "atomic mul S[t / 2] = 2i32\n barrier block\n atomic mul "
                                    "Z[t / 2] = S[t]\n}}\n",
                                    type))
                    .text);
    EXPECT_EQ(compiled.kernels.at(0).static_shared, std::string(type) == "int16" ? 12 : 8);
    return compiled.ptx;
  };
  const std::string two = ptx_of("int16");
  EXPECT_NE(two.find(".cas.b16"), std::string::npos) << two;
  EXPECT_EQ(two.find(".cas.b32"), std::string::npos) << two;
  EXPECT_NE(ptx_of("int8").find(".cas.b32"), std::string::npos);
}

/// Exactly as many as a launch takes, which every architecture and release has to take.
TEST_F(CompiledByNvrtc, AsManyParametersAsALaunchTakes) {
  std::string text = "kernel many {\n";
  std::string sum = "0.0f";
  for (int b = 0; b < 511; ++b) {
    text += fmt::format(" buffer x{} float32[8]\n", b);
    sum += fmt::format(" + x{}[i]", b);
  }
  compile(
      emitted(text + " buffer z float32[8] writable\n thread i 8\n z[i] = " + sum + "\n}\n").text);
}

TEST_F(CompiledByNvrtc, AsynchronousCopiesAndShuffles) {
  const auto compiled = compile(R"(
#include "tc/codegen/cuda/device/copy.cuh"
#include "tc/codegen/cuda/device/memory.cuh"
#include "tc/codegen/cuda/device/warp.cuh"
TC_KERNEL(32) tc_copy(const float* X, float* Z) {
  TC_SHARED(float, S, 128, 16, 0);
  const int t = tc::thread_index();
  tc::copy_async<16>(S + 4 * t, X + 4 * t, t < 30);
  tc::copy_commit();
  tc::copy_wait<0>();
  tc::barrier_block();
  tc::store(Z, t, tc::shuffle_xor<32>(tc::load(S, 127 - 4 * t), 16));
}
TC_KERNEL_END(tc_copy)
)");
  EXPECT_NE(compiled.ptx.find("cp.async.cg.shared.global"), std::string::npos);
  EXPECT_NE(compiled.ptx.find("shfl.sync.bfly"), std::string::npos);
}

}  // namespace
}  // namespace tc::test
